/* SPDX-License-Identifier: Apache-2.0 */
#include "figures.h"

#include <stdlib.h>
#include <string.h>

#include "controller_parts.h"

/*
 * This file counts the machines for /status and the metrics.  It counts one
 * slice of them at a time, so that the owner can release its lock in between.
 * Every count has a number, `turn`.  Entries with the number of another count
 * are taken as empty, so a new count has nothing to clear.
 */

/* A slice has fewer NodePools than objects, because each NodePool is compared
 * with the configuration's patterns. */
#define NODEPOOLS_SLICE (STATUS_SLICE / 8)
#define PLACES (SCOPES_MAX / 2 * 3) /* more than the number of NodePools */

struct place {
	uint32_t turn; /* number of the count that used this place last */
	uint32_t ref; /* reference to the NodePool's name in machines.strings */
	bool by_hand; /* a hold-until or a ticket holds it */
	struct nodepool_figures n;
};

struct busiest {
	uint32_t turn;
	struct quiet quiet;
	int64_t deadline_ms; /* the latest deadline of its timers */
};

struct figures {
	uint32_t turn;	      /* number of this count */
	uint32_t at;	      /* the next id to count */
	uint32_t nodepool_at; /* place of the next NodePool to count */
	uint32_t used;	      /* number of places that this count uses */
	uint32_t machines;
	/* Number of objects with our hold and mark, in NodePools that a
	 * hold-until or a ticket holds. */
	uint32_t by_hand[KIND_COUNT];
	struct hand_holds hand;		/* of all NodePools */
	struct place nodepools[PLACES]; /* hashed by ref */
	struct busiest scopes[SCOPES_MAX];
};

static const struct hand_holds hand_none = {.first_ms = STAMP_NONE,
					    .last_ms = STAMP_NONE};

struct figures *
figures_new(void)
{
	struct figures *f = calloc(1, sizeof(*f));

	if (f != NULL)
		figures_begin(f);
	return f;
}

void
figures_free(struct figures *f)
{
	free(f);
}

void
figures_begin(struct figures *f)
{
	f->turn++;
	f->at = f->nodepool_at = f->used = f->machines = 0;
	memset(f->by_hand, 0, sizeof(f->by_hand));
	f->hand = hand_none;
}

static uint32_t
place_of(const struct figures *f, uint32_t ref)
{
	uint32_t i = ref * 2654435769u % PLACES;

	while (f->nodepools[i].turn == f->turn && f->nodepools[i].ref != ref)
		i = (i + 1) % PLACES;
	return i;
}

/* Returns the place of a NodePool's counts, or NULL if no place is left.
 * Places can run out only if machines name NodePools that are long gone.  One
 * place always stays free, so that each search ends. */
static struct place *
counts_of(const struct controller *s, struct figures *f, uint32_t ref,
	  int64_t now_ms)
{
	struct place *p = &f->nodepools[place_of(f, ref)];

	if (p->turn != f->turn) {
		if (f->used == PLACES - 1)
			return NULL;
		f->used++;
		*p = (struct place){.turn = f->turn, .ref = ref};
		p->by_hand =
			nodepools_terms(&s->nodepools,
					strings_text(&s->machines.strings, ref),
					now_ms)
				.until_ms != STAMP_NONE;
	}
	return p;
}

struct nodepool_figures
figures_nodepool(const struct figures *f, uint32_t ref)
{
	const struct place *p = &f->nodepools[place_of(f, ref)];

	return p->turn == f->turn ? p->n : (struct nodepool_figures){0};
}

struct quiet
figures_scope(const struct figures *f, uint32_t scope)
{
	const struct quiet none = {
		.at_ms = STAMP_NONE, .id = NO_ID, .created_ms = STAMP_NONE};

	return f->scopes[scope].turn == f->turn ? f->scopes[scope].quiet : none;
}

int64_t
figures_deadline_ms(const struct figures *f, uint32_t scope)
{
	return f->scopes[scope].turn == f->turn ? f->scopes[scope].deadline_ms
						: STAMP_NONE;
}

uint32_t
figures_by_hand(const struct figures *f, enum kind kind)
{
	return f->by_hand[kind];
}

struct hand_holds
figures_hand(const struct figures *f)
{
	return f->hand;
}

uint32_t
figures_machines(const struct controller *s, const struct figures *f,
		 const char *nodepool)
{
	uint32_t ref;

	if (nodepool[0] == '\0')
		return f->machines;
	ref = strings_find(&s->machines.strings, nodepool);
	return ref != NO_ID ? figures_nodepool(f, ref).machines : 0;
}

static void
count_machine(const struct controller *s, struct figures *f, uint32_t head,
	      int64_t now_ms)
{
	const struct entry *e = machines_at(&s->machines, head);
	const struct entry *halves[] = {machines_claim(&s->machines, head),
					machines_node(&s->machines, head)};
	struct place *p = counts_of(s, f, e->nodepool, now_ms);
	bool ours = false, person = false, waits = false, off = false;

	f->machines++;
	if (p == NULL)
		return;
	for (int i = 0; i < 2; i++) {
		enum tenure t;

		if (halves[i] == NULL)
			continue;
		t = machines_entry_tenure(halves[i]);
		ours |= t == TENURE_OURS;
		if (t == TENURE_OURS && p->by_hand)
			f->by_hand[halves[i]->kind]++;
		person |= t == TENURE_PERSON && halves[i]->hold == HOLD_SAME;
		off |= t == TENURE_YIELDED ||
		       (t == TENURE_PERSON && halves[i]->hold == HOLD_OTHER);
		waits |= writes_state(&s->writes,
				      machines_id(&s->machines, halves[i])) ==
			 WRITE_BACKING_OFF;
	}
	p->n.machines++;
	p->n.held += ours;
	p->n.by_people += person;
	p->n.opted_out += off;
	p->n.waiting += waits;
	p->n.unheld += !ours && !person && !off &&
		       !machines_deleting(&s->machines, head);
}

/* Counts a timer.  A booting machine counts as if it became ready now, as in
 * the reports (timers_expects). */
static void
count_timer(const struct controller *s, struct figures *f, uint32_t id,
	    int64_t now_ms)
{
	const struct timer *t = timers_at(&s->timers, id);
	struct quiet q = {
		.at_ms = t->deadline_ms, .id = id, .created_ms = t->created_ms};
	struct busiest *b;

	if (!t->used || !t->enough || t->scope == NO_SCOPE)
		return;
	b = &f->scopes[t->scope];
	if (b->turn != f->turn)
		*b = (struct busiest){f->turn, figures_scope(f, t->scope),
				      STAMP_NONE};
	if (t->deadline_ms > b->deadline_ms)
		b->deadline_ms = t->deadline_ms;
	if (t->live && t->booting && now_ms + t->hold_ms < q.at_ms) {
		b->quiet.earliest = true;
		q.at_ms = now_ms + t->hold_ms;
	}
	q.earliest = b->quiet.earliest;
	if (q.at_ms > b->quiet.at_ms ||
	    (q.at_ms == b->quiet.at_ms && q.created_ms > b->quiet.created_ms))
		b->quiet = q;
}

static void
add_nodepool(struct hand_holds *hand, const struct nodepool_terms *t)
{
	if (t->out)
		return;
	hand->nodepools++;
	if (t->until_ms == STAMP_NONE)
		return;
	hand->tickets += t->by_ticket;
	if (hand->held++ == 0 || t->until_ms < hand->first_ms)
		hand->first_ms = t->until_ms;
	if (t->until_ms > hand->last_ms)
		hand->last_ms = t->until_ms;
}

bool
figures_scope_hand(const struct controller *s, const struct figures *f,
		   uint32_t scope, int64_t now_ms, struct hand_holds *out)
{
	struct nodepool_terms t;

	*out = f->hand;
	if (s->rules.scope != SCOPE_CLUSTER) {
		*out = hand_none;
		t = nodepools_terms(&s->nodepools,
				    timers_scope(&s->timers, scope)->name,
				    now_ms);
		add_nodepool(out, &t);
	}
	return out->held > 0 && out->held == out->nodepools &&
	       out->first_ms > now_ms;
}

/* Returns true while there are NodePools left to count. */
static bool
count_nodepools(const struct controller *s, struct figures *f, int64_t now_ms)
{
	uint32_t top = s->nodepools.top, end = f->nodepool_at + NODEPOOLS_SLICE;
	struct nodepool_terms t;

	for (; f->nodepool_at < top && f->nodepool_at < end; f->nodepool_at++) {
		if (s->nodepools.at[f->nodepool_at].name[0] == '\0')
			continue;
		t = nodepools_terms_at(&s->nodepools, f->nodepool_at, now_ms);
		add_nodepool(&f->hand, &t);
	}
	return f->nodepool_at < top;
}

bool
figures_count(const struct controller *s, struct figures *f, struct now now)
{
	uint32_t top = s->machines.top, end = f->at + STATUS_SLICE;

	if (f->at >= top)
		return count_nodepools(s, f, now.server_ms);
	for (; f->at < top && f->at < end; f->at++) {
		if (!machines_at(&s->machines, f->at)->used ||
		    machines_head(&s->machines, f->at) != f->at)
			continue;
		count_machine(s, f, f->at, now.server_ms);
		count_timer(s, f, f->at, now.server_ms);
	}
	return true;
}
