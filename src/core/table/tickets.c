/* SPDX-License-Identifier: Apache-2.0 */
#include "core/table/tickets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"

/*
 * The tickets are in an array whose places stay, and an index finds them by
 * name.  Each has a bit for each NodePool that it names, so the functions that
 * ask what holds a NodePool look through the array, and compare no names.  An
 * end is computed when a ticket is seen or changed, and shifted when the API
 * server's clock is set.
 */

static uint32_t
ticket_hash(const void *ctx, uint32_t i)
{
	const struct tickets *ts = ctx;

	return index_hash_text(ts->at[i].ticket.name);
}

static bool
ticket_same(const void *ctx, uint32_t i, const void *key)
{
	const struct tickets *ts = ctx;

	return strcmp(ts->at[i].ticket.name, key) == 0;
}

int
tickets_init(struct tickets *ts, uint32_t max)
{
	*ts = (struct tickets){.max = max};
	if (max == 0)
		return 0;
	ts->at = calloc(max, sizeof(*ts->at));
	ts->turned_away = calloc(max, sizeof(*ts->turned_away));
	return ts->at == NULL || ts->turned_away == NULL ||
			       index_init(&ts->by_name, max, max, ticket_hash,
					  ticket_same, ts)
		       ? -1
		       : 0;
}

void
tickets_done(struct tickets *ts)
{
	free(ts->at);
	free(ts->turned_away);
	index_done(&ts->by_name);
	*ts = (struct tickets){0};
}

struct ticket_entry *
tickets_find(const struct tickets *ts, const char *name)
{
	uint32_t i = ts->max == 0 ? NO_ID
				  : index_find(&ts->by_name,
					       index_hash_text(name), name);

	return i == NO_ID ? NULL : &ts->at[i];
}

static struct ticket_entry *
place_make(struct tickets *ts, const char *name)
{
	uint32_t i = 0;

	while (i < ts->top && ts->at[i].ticket.name[0] != '\0')
		i++;
	if (i == ts->max)
		return NULL;
	if (i == ts->top)
		ts->top++;
	ts->at[i] = (struct ticket_entry){.seen_ms = STAMP_NONE};
	memcpy(ts->at[i].ticket.name, name, sizeof(ts->at[i].ticket.name));
	index_add(&ts->by_name, i);
	ts->n++;
	return &ts->at[i];
}

/* Sets the end and the flaw of the ticket, whose renewTime was written before
 * the clock was set by set_ms. */
static void
set_end(struct ticket_entry *e)
{
	int64_t seen_ms = e->seen_ms - e->set_ms;

	e->flaw = ticket_flaw(&e->ticket, seen_ms);
	e->until_ms = ticket_until_ms(&e->ticket, seen_ms);
	if (e->until_ms != STAMP_NONE)
		e->until_ms += e->set_ms;
}

struct ticket_entry *
tickets_put(struct tickets *ts, const struct ticket *t, uint32_t generation,
	    int64_t now_ms)
{
	struct ticket_entry *e = tickets_find(ts, t->name);

	if (e == NULL)
		e = place_make(ts, t->name);
	if (e == NULL)
		return NULL;
	e->generation = generation;
	if (e->seen_ms == STAMP_NONE || strcmp(e->ticket.uid, t->uid) != 0 ||
	    e->ticket.renewed_ms != t->renewed_ms) {
		e->seen_ms = now_ms;
		e->set_ms = 0;
	}
	e->ticket = *t;
	set_end(e);
	return e;
}

bool
tickets_same_nodepools(const struct ticket *a, const struct ticket *b)
{
	return a->all == b->all &&
	       memcmp(a->patterns, b->patterns, sizeof(a->patterns)) == 0;
}

bool
tickets_same(const struct ticket *a, const struct ticket *b)
{
	return strcmp(a->uid, b->uid) == 0 && a->renewed_ms == b->renewed_ms &&
	       a->lasts_ms == b->lasts_ms && a->left_out == b->left_out &&
	       a->deleting == b->deleting && strcmp(a->fault, b->fault) == 0 &&
	       tickets_same_nodepools(a, b);
}

void
tickets_drop(struct tickets *ts, struct ticket_entry *e)
{
	index_remove(&ts->by_name, (uint32_t)(e - ts->at));
	e->ticket.name[0] = '\0';
	e->until_ms = STAMP_NONE;
	ts->n--;
}

void
tickets_forget(struct tickets *ts)
{
	for (uint32_t i = 0; i < ts->top; i++)
		if (ts->at[i].ticket.name[0] != '\0')
			tickets_drop(ts, &ts->at[i]);
	for (uint32_t i = 0; i < ts->max; i++)
		ts->turned_away[i] = 0;
}

bool
tickets_turn_away(struct tickets *ts, const char *name)
{
	/* The lowest bit is set, because 0 marks a free place. */
	uint32_t hash = index_hash_text(name) | 1;
	uint32_t *at = &ts->turned_away[hash / 2 % ts->max];
	bool before = *at == hash;

	*at = hash;
	return !before;
}

struct ticket_entry *
tickets_stale(const struct tickets *ts, uint32_t generation, uint32_t *i)
{
	for (; *i < ts->top; (*i)++)
		if (ts->at[*i].ticket.name[0] != '\0' &&
		    ts->at[*i].generation != generation)
			return &ts->at[*i];
	return NULL;
}

void
tickets_place(struct ticket_entry *e, uint32_t place, const char *nodepool)
{
	uint64_t bit = (uint64_t)1 << place % 64;

	if (ticket_names(&e->ticket, nodepool))
		e->nodepools[place / 64] |= bit;
	else
		e->nodepools[place / 64] &= ~bit;
}

static bool
ends_later(const struct ticket_entry *e, const struct ticket_entry *than)
{
	return than == NULL || e->until_ms > than->until_ms ||
	       (e->until_ms == than->until_ms &&
		strcmp(e->ticket.name, than->ticket.name) < 0);
}

const struct ticket_entry *
tickets_other(const struct tickets *ts, uint32_t place, int64_t now_ms,
	      const struct ticket_entry *e)
{
	const struct ticket_entry *last = NULL;

	for (const struct ticket_entry *o = ts->at; o < ts->at + ts->top; o++)
		if (o->until_ms > now_ms && tickets_holds(o, place) &&
		    strcmp(o->ticket.holder, e->ticket.holder) != 0 &&
		    ends_later(o, last))
			last = o;
	return last;
}

struct ticket_hold
tickets_hold(const struct tickets *ts, uint32_t place, int64_t now_ms)
{
	struct ticket_hold h = {.until_ms = STAMP_NONE, .next_ms = STAMP_NONE};

	for (const struct ticket_entry *e = ts->at; e < ts->at + ts->top; e++) {
		if (e->until_ms <= now_ms || !tickets_holds(e, place))
			continue;
		h.n++;
		if (h.next_ms == STAMP_NONE || e->until_ms < h.next_ms)
			h.next_ms = e->until_ms;
		if (!ends_later(e, h.last))
			continue;
		h.until_ms = e->until_ms;
		h.last = e;
	}
	return h;
}

void
tickets_words(const struct ticket_entry *e, char *out, size_t cap)
{
	const struct ticket *t = &e->ticket;
	char words[NAME_BYTES + TICKET_HOLDER_BYTES + REASON_BYTES + 32];

	(void)snprintf(words, sizeof(words), TICKET_WORDS "%s%s%s%s%s", t->name,
		       t->holder[0] != '\0' ? " of " : "", t->holder,
		       t->reason[0] != '\0' ? ": " : "", t->reason);
	str_shorten(out, cap, words);
}

void
tickets_shift(struct tickets *ts, int64_t by_ms)
{
	for (struct ticket_entry *e = ts->at; e < ts->at + ts->top; e++) {
		e->seen_ms += by_ms;
		e->set_ms += by_ms;
		if (e->until_ms != STAMP_NONE)
			e->until_ms += by_ms;
	}
}

void
tickets_restamp(struct tickets *ts)
{
	for (struct ticket_entry *e = ts->at; e < ts->at + ts->top; e++) {
		e->set_ms = 0;
		if (e->ticket.name[0] != '\0')
			set_end(e);
	}
}
