/* SPDX-License-Identifier: Apache-2.0 */
#include "waits.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/base/str.h"

/*
 * Adds up the cost of the decisions that would have waited.  A decision waits
 * from waits_begin until waits_end_one has been called for each of its
 * machines.  The cost of a decision depends on whether a scale-up of the same
 * NodePool follows within regret_ms (waits_scale_up), so a decision is settled
 * only when that time is over.
 *
 * All decisions are in one array.  `next` links the free places.  It also links
 * the decisions of one NodePool that a scale-up may still follow (`hope`).
 * When the array is full, decisions that are over are settled first.  The
 * memory therefore grows with the number of decisions that wait at the same
 * time, and not with the log.
 */

#define HOUR 3600000.0
#define DOLLAR 1000000.0

struct wait {
	bool used, followed, spared, replaces;
	/* Whether the reason is drift.  Karpenter would then decide the same
	 * again under any load. */
	bool drift;
	uint64_t nth;
	/* waited_ms is the sum of the waits of the decision's machines. */
	int64_t at_ms, waited_ms;
	int64_t savings, price;
	/* nodes: number of machines that have waited.  open: number of them
	 * that still wait. */
	uint32_t nodes, open;
	size_t total;
	/* The next free place, or the next decision after which a scale-up of
	 * the NodePool may still come. */
	uint32_t next;
};

/* The decisions about one NodePool after which a scale-up may still come. */
struct hope {
	char pool[NODEPOOL_BYTES];
	uint32_t first; /* the first of them; UINT32_MAX: none */
};

struct waits {
	struct waits_setup setup;
	struct wait *at;
	uint32_t room, used_n, free;
	struct hope *hopes;
	size_t hopes_n;
	struct waits_sums sums;
	struct spans spans;
};

struct waits *
waits_new(const struct waits_setup *setup)
{
	struct waits *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->setup = *setup;
	spans_init(&w->spans);
	return w;
}

void
waits_free(struct waits *w)
{
	if (w == NULL)
		return;
	free(w->at);
	free(w->hopes);
	free(w);
}

/* Adds the cost of the decision to the sums, under each of the two assumptions.
 * `known` is false if the log ends too early to show whether a scale-up
 * followed. */
static void
settle(struct waits *w, uint32_t number, bool known)
{
	struct wait *d = &w->at[number];
	struct span *span = spans_at(&w->spans, d->nth);
	double waited = (double)d->waited_ms;
	double high = waited + d->nodes * (double)SIMULATE_RETHINK_MS;
	double low = d->replaces ? waited * (d->nodes - 1) / d->nodes : waited;
	double price = -1;

	if (d->followed)
		low = 0;
	w->sums.hours_low += low / HOUR;
	w->sums.hours_high += high / HOUR;
	span->hours_high += high / HOUR;
	if (d->savings >= 0)
		price = (double)d->savings / DOLLAR / (double)d->total;
	else if (w->setup.price >= 0)
		price = (double)w->setup.price / DOLLAR;
	else if (d->price >= 0)
		price = (double)d->price / DOLLAR;
	/* The savings in the log are those of the whole decision, and include
	 * the cost of the replacement.  They are lost for as long as the
	 * decision waits. */
	if (d->savings >= 0 && !d->followed)
		low = waited;
	w->sums.unpriced += price < 0;
	span->unpriced += price < 0;
	if (price >= 0) {
		w->sums.dollars_low += low / HOUR * price;
		w->sums.dollars_high += high / HOUR * price;
		span->dollars_high += high / HOUR * price;
	}
	if (!d->drift) {
		span->decisions += known;
		span->early += !known;
		span->regret += d->followed;
		span->spared += d->spared;
	}
	d->used = false;
	d->next = w->free;
	w->free = number;
	w->used_n--;
}

/* Drops decisions from the list: those whose regret_ms is over and, if
 * scales_up is set, those that a scale-up follows now. */
static void
drop_followed(struct waits *w, struct hope *h, int64_t now_ms, bool scales_up)
{
	uint32_t *at = &h->first;

	while (*at != UINT32_MAX) {
		struct wait *d = &w->at[*at];
		bool late = now_ms > d->at_ms + w->setup.regret_ms;

		if (!late && (!scales_up || now_ms <= d->at_ms)) {
			at = &d->next;
			continue;
		}
		d->followed = !late;
		d->spared = !late && d->open > 0;
		w->sums.regret += d->followed;
		w->sums.spared += d->spared;
		*at = d->next;
	}
}

static bool
is_over(const struct waits *w, const struct wait *d, int64_t now_ms)
{
	return d->open == 0 && now_ms > d->at_ms + w->setup.regret_ms;
}

/* Makes room in a full array.  It settles the decisions that are over, and
 * doubles the array if fewer than half were over.  The average cost of this for
 * a decision is therefore constant, however many decisions wait. */
static int
make_room(struct waits *w, int64_t now_ms)
{
	uint32_t room = 2 * w->room + 16;
	struct wait *more;

	for (size_t i = 0; i < w->hopes_n; i++)
		drop_followed(w, &w->hopes[i], now_ms, false);
	for (uint32_t n = 0; n < w->room; n++)
		if (w->at[n].used && is_over(w, &w->at[n], now_ms))
			settle(w, n, true);
	if (w->used_n <= w->room / 2 && w->room > 0)
		return 0;
	more = realloc(w->at, room * sizeof(*more));
	if (more == NULL)
		return w->used_n < w->room ? 0 : -1;
	w->at = more;
	while (w->room < room) {
		w->at[w->room].used = false;
		w->at[w->room].next = w->free;
		w->free = w->room++;
	}
	return 0;
}

static uint32_t
find_room(struct waits *w, int64_t now_ms)
{
	uint32_t n;

	if (w->used_n == w->room && make_room(w, now_ms))
		return UINT32_MAX;
	n = w->free;
	w->free = w->at[n].next;
	w->used_n++;
	return n;
}

static struct hope *
find_hope(const struct waits *w, const char *pool)
{
	for (size_t i = 0; i < w->hopes_n; i++)
		if (strcmp(w->hopes[i].pool, pool) == 0)
			return &w->hopes[i];
	return NULL;
}

static struct hope *
add_hope(struct waits *w, const char *pool)
{
	struct hope *more = realloc(w->hopes, (w->hopes_n + 1) * sizeof(*more));

	if (more == NULL)
		return NULL;
	w->hopes = more;
	more += w->hopes_n++;
	str_cut(more->pool, sizeof(more->pool), pool);
	more->first = UINT32_MAX;
	return more;
}

uint32_t
waits_begin(struct waits *w, const struct fact *f, uint64_t nth,
	    const char *pool, size_t total, uint32_t nodes)
{
	struct hope *h = find_hope(w, pool);
	uint32_t n = UINT32_MAX;
	struct wait *d;

	if (h == NULL)
		h = add_hope(w, pool);
	if (h != NULL)
		n = find_room(w, f->at_ms);
	if (n == UINT32_MAX)
		return n;
	d = &w->at[n];
	*d = (struct wait){.used = true,
			   .replaces = strcmp(f->action, "replace") == 0,
			   .drift = strcmp(f->reason, "drifted") == 0,
			   .nth = nth,
			   .at_ms = f->at_ms,
			   .savings = f->savings,
			   .price = f->price,
			   .nodes = nodes,
			   .open = nodes,
			   .total = total,
			   .next = h->first};
	h->first = n;
	w->sums.decisions++;
	w->sums.nodes += nodes;
	if (f->pods > 0)
		w->sums.pods += ((uint64_t)f->pods * nodes + total / 2) / total;
	return n;
}

void
waits_end_one(struct waits *w, uint32_t number, int64_t now_ms)
{
	struct wait *d = &w->at[number];
	int64_t waited_ms = now_ms - d->at_ms;

	d->open--;
	d->waited_ms += waited_ms;
	if (waited_ms > w->sums.longest_ms)
		w->sums.longest_ms = waited_ms;
}

void
waits_scale_up(struct waits *w, const char *pool, int64_t now_ms)
{
	struct hope *h = find_hope(w, pool);

	if (h != NULL)
		drop_followed(w, h, now_ms, true);
}

void
waits_finish(struct waits *w, int64_t now_ms)
{
	for (uint32_t n = 0; n < w->room; n++) {
		struct wait *d = &w->at[n];

		if (!d->used)
			continue;
		w->sums.open += d->open > 0;
		while (d->open > 0)
			waits_end_one(w, n, now_ms);
		settle(w, n,
		       d->followed || now_ms > d->at_ms + w->setup.regret_ms);
	}
}

void
waits_report(const struct waits *w, struct waits_sums *out)
{
	*out = w->sums;
}

const struct spans *
waits_spans(const struct waits *w)
{
	return &w->spans;
}
