/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/table/timers.h"
#include "run.h"

/*
 * The timer table against a naive model that keeps each machine's facts and
 * works everything out anew at each step.
 */

#define IDS 40
#define POOLS 5
#define START 1000000

struct fact {
	bool used;
	int nodepool;
	int64_t deadline_ms, counts_ms, created_ms, hold_ms;
	bool booting, machine;
	uint32_t given;		/* counts with so many; 0: as many as
				   minScaleUp says */
	uint32_t takes;		/* fixed since it counts; 0: not yet */
};

struct model {
	enum scope_kind kind;
	uint32_t least, percent;	/* minScaleUp */
	struct fact at[IDS];
	int64_t now_ms;
	bool busy[POOLS];	/* when it was looked at last */
	bool told[POOLS];	/* held, as timers_turned has said */
	uint64_t seed;
	int step;
};

/* Check writes a file at each assertion of its own: here there are millions. */
#define SAYS(m, cond)                                                          \
	do {                                                                   \
		if (!(cond))                                                   \
			ck_abort_msg("seed %llu step %d, scope kind %d: %s",   \
				     (unsigned long long)(m)->seed, (m)->step, \
				     (m)->kind, #cond);                        \
	} while (0)

static int
put_timer(struct timers *h, uint32_t id, const char *nodepool,
	  int64_t deadline_ms, int64_t counts_ms, int64_t now_ms)
{
	struct timer_facts f = {.nodepool = nodepool,
				.deadline_ms = deadline_ms,
				.own_ms = deadline_ms,
				.counts_ms = counts_ms};

	return timers_put(h, id, &f, now_ms);
}

static const char *
pool_name(int nodepool)
{
	static const char *const names[POOLS] = {"", "web", "api", "batch",
						 "gpu"};
	return names[nodepool];
}

static int
scope_of(const struct model *m, const struct fact *f)
{
	return m->kind == SCOPE_CLUSTER ? 0 : f->nodepool;
}

static bool
counts(const struct model *m, const struct fact *f)
{
	return f->used && f->counts_ms != STAMP_NONE &&
	       f->counts_ms <= m->now_ms;
}

/* The share that was taken when it came to count, or the number. */
static uint32_t
takes(const struct model *m, const struct fact *f)
{
	return m->percent > 0 ? f->takes : m->least;
}

/* Takes it for those that have come to count since the last look. */
static void
model_take(struct model *m)
{
	for (int i = 0; i < IDS; i++) {
		struct fact *f = &m->at[i];
		uint32_t n = 0;

		for (int k = 0; k < IDS; k++)
			n += m->at[k].used && m->at[k].machine &&
			     scope_of(m, &m->at[k]) == scope_of(m, f);
		if (!counts(m, f))
			f->takes = 0;
		else if (f->takes == 0)
			f->takes = f->given > 0 ? f->given
				   : n == 0	? 1
						: (n * m->percent + 99) / 100;
	}
}

/* As many as minScaleUp were created within its hold period,
 * before or after, itself included. */
static bool
enough(const struct model *m, const struct fact *f)
{
	uint32_t n = 0;

	for (int i = 0; i < IDS; i++) {
		const struct fact *g = &m->at[i];

		n += counts(m, g) && scope_of(m, g) == scope_of(m, f) &&
		     llabs(g->created_ms - f->created_ms) <= f->hold_ms;
	}
	return n >= takes(m, f);
}

static bool
model_live(const struct model *m, int scope)
{
	if (m->kind == SCOPE_NODE)
		return false;
	for (int i = 0; i < IDS; i++) {
		const struct fact *f = &m->at[i];

		if (counts(m, f) && scope_of(m, f) == scope &&
		    f->deadline_ms > m->now_ms && enough(m, f))
			return true;
	}
	return false;
}

/* Held, or it was and one is about to count. */
static void
model_look(struct model *m)
{
	for (int p = 0; p < POOLS; p++) {
		bool coming = false;

		for (int i = 0; i < IDS; i++) {
			const struct fact *f = &m->at[i];

			coming |= f->used && f->counts_ms > m->now_ms &&
				  scope_of(m, f) == p &&
				  (f->deadline_ms > m->now_ms ||
				   m->least > 1 || m->percent > 0);
		}
		m->busy[p] = model_live(m, p) || (m->busy[p] && coming);
	}
}

static int64_t
model_next(const struct model *m)
{
	int64_t least = STAMP_NONE;

	for (int i = 0; i < IDS; i++) {
		const struct fact *f = &m->at[i];
		int64_t turns[] = {f->deadline_ms, f->counts_ms};

		for (int k = 0; f->used && k < 2; k++)
			if (turns[k] > m->now_ms &&
			    (least == STAMP_NONE || turns[k] < least))
				least = turns[k];
	}
	return least;
}

static void
put(struct timers *h, const struct model *m, uint32_t id)
{
	const struct fact *f = &m->at[id];

	struct timer_facts facts = {
		.nodepool = pool_name(f->nodepool),
		.deadline_ms = f->deadline_ms,
		.own_ms = f->deadline_ms,
		.counts_ms = f->counts_ms,
		.created_ms = f->created_ms,
		.hold_ms = f->hold_ms,
		.least = f->given,
		.booting = f->booting,
		.machine = f->machine,
	};

	SAYS(m, timers_put(h, id, &facts, m->now_ms) == 0);
}

static void
random_fact(struct model *m, struct dice *d, struct fact *f)
{
	bool counted = counts(m, f);
	int nodepool = (int)roll(d, POOLS);
	uint32_t fixed = m->kind == SCOPE_CLUSTER || nodepool == f->nodepool
				 ? f->takes
				 : 0;

	*f = (struct fact){.used = true, .nodepool = nodepool};
	f->machine = roll(d, 4) > 0;
	if (m->percent > 0 && roll(d, 6) == 0)
		f->given = 1 + roll(d, 6);
	f->deadline_ms = m->now_ms + (int64_t)roll(d, 400) - 100;
	f->created_ms = m->now_ms - (int64_t)roll(d, 800);
	f->hold_ms = 20 + (int64_t)roll(d, 8) * 30;
	f->booting = roll(d, 3) == 0;
	switch (roll(d, 4)) {
	case 0:
		f->counts_ms = STAMP_NONE;
		break;
	case 1:
		f->counts_ms = STAMP_NONE + 1;	/* always */
		break;
	default:
		f->counts_ms = m->now_ms + (int64_t)roll(d, 300) - 100;
	}
	/* By then nothing waits for what it is: it would not be looked at. */
	if (f->counts_ms > f->deadline_ms && (m->least > 1 || m->percent > 0))
		f->counts_ms = f->deadline_ms;
	if (counted && counts(m, f))
		f->takes = fixed;
}

static void
random_step(struct timers *h, struct model *m, struct dice *d)
{
	uint32_t id = roll(d, IDS);
	struct fact *f = &m->at[id];

	switch (roll(d, 8)) {
	case 0:
		f->used = false;
		timers_drop(h, id);
		break;
	case 1:
	case 2:
		m->now_ms += roll(d, 60);
		break;
	case 3:		/* to the very moment */
		if (timers_next_ms(h) > m->now_ms)
			m->now_ms = timers_next_ms(h);
		break;
	case 4:		/* the clock went back: everything is put anew */
		if (roll(d, 20) > 0)
			break;
		m->now_ms -= roll(d, 500);
		for (id = 0; id < IDS; id++) {
			if (!counts(m, &m->at[id]))
				m->at[id].takes = 0;
			if (m->at[id].used)
				put(h, m, id);
		}
		break;
	default:
		random_fact(m, d, f);
		put(h, m, id);
	}
}

static void
settle(struct timers *h, struct model *m)
{
	struct now now = {m->now_ms, m->now_ms};
	uint32_t id, scope;

	while (timers_due(h, m->now_ms, &id)) {
		SAYS(m, id < IDS && m->at[id].used);
		put(h, m, id);
	}
	model_take(m);
	model_look(m);
	while ((scope = timers_turned(h, now)) != NO_ID) {
		for (int p = 0; p < POOLS; p++) {
			if (strcmp(h->scopes[scope].name, pool_name(p)) != 0)
				continue;
			SAYS(m, m->told[p] != h->scopes[scope].held);
			m->told[p] = h->scopes[scope].held;
		}
	}
}

/* What boots is taken as ready now. */
static int64_t
model_expects(const struct model *m, int scope, bool *earliest)
{
	int64_t latest = STAMP_NONE;

	*earliest = false;
	for (int i = 0; i < IDS; i++) {
		const struct fact *f = &m->at[i];
		int64_t at = f->deadline_ms;

		if (!counts(m, f) || scope_of(m, f) != scope ||
		    at <= m->now_ms || !enough(m, f))
			continue;
		if (f->booting && m->now_ms + f->hold_ms < at) {
			at = m->now_ms + f->hold_ms;
			*earliest = true;
		}
		if (at > latest)
			latest = at;
	}
	return latest;
}

static void
compare_quiet(const struct timers *h, const struct model *m, uint32_t scope,
	      int p)
{
	bool earliest;
	int64_t at = model_expects(m, p, &earliest);
	struct quiet q = timers_expects(h, scope, m->now_ms);

	SAYS(m, q.at_ms == at && q.earliest == earliest);
	SAYS(m, (q.id == NO_ID) == (at == STAMP_NONE));
	if (q.id != NO_ID)
		SAYS(m, m->at[q.id].created_ms == q.created_ms &&
				scope_of(m, &m->at[q.id]) == p);
}

static void
compare(const struct timers *h, const struct model *m)
{
	for (uint32_t id = 0; id < IDS; id++) {
		const struct fact *f = &m->at[id];
		bool own = f->used && f->deadline_ms > m->now_ms;
		uint32_t scope = timers_at(h, id)->scope;

		SAYS(m, timers_own(h, id, m->now_ms) == own);
		SAYS(m, timers_scope_held(h, id) ==
				(f->used && m->kind != SCOPE_NODE &&
				 m->busy[scope_of(m, f)]));
		if (f->used && m->kind != SCOPE_NODE)
			compare_quiet(h, m, scope, scope_of(m, f));
	}
	for (int p = 0; p < POOLS; p++)
		SAYS(m, m->told[p] == m->busy[p]);
	SAYS(m, timers_next_ms(h) == model_next(m));
}

static void
walk(enum scope_kind kind, uint32_t least, uint32_t percent, uint64_t seed)
{
	struct rules r = {.scope = kind,
			  .min_scale_up = least,
			  .min_scale_up_percent = percent};
	struct timers *h = calloc(1, sizeof(*h));
	struct model m = {.kind = kind, .least = least, .percent = percent,
			  .now_ms = START, .seed = seed};
	struct dice d = dice_new(seed);

	ck_assert_ptr_nonnull(h);
	ck_assert_int_eq(timers_init(h, &r, IDS), 0);
	for (m.step = 0; m.step < 6000; m.step++) {
		random_step(h, &m, &d);
		if (roll(&d, 4) == 0)
			continue;	/* nobody asks at each step */
		settle(h, &m);
		compare(h, &m);
	}
	timers_done(h);
	free(h);
}

START_TEST(cluster)
{
	walk(SCOPE_CLUSTER, 1 + (uint32_t)_i % 5, 0, (uint64_t)_i);
}
END_TEST

START_TEST(nodepool)
{
	walk(SCOPE_NODEPOOL, 1 + (uint32_t)_i % 4, 0, 100 + (uint64_t)_i);
}
END_TEST

START_TEST(node)
{
	walk(SCOPE_NODE, 1, 0, 200 + (uint64_t)_i);
}
END_TEST

START_TEST(share)
{
	static const uint32_t percents[] = {1, 5, 10, 20, 50};

	walk((enum scope_kind)(_i % 3), 1, percents[_i % 5], 300 + (uint64_t)_i);
}
END_TEST

/* Of machines that count, in a scope of so many: by 2 %. */
static const struct {
	uint32_t machines, takes;
} shares[] = {{0, 1}, {1, 1}, {50, 1}, {51, 2}, {100, 2}, {101, 3}};

START_TEST(a_share_is_rounded_up)
{
	struct rules r = {.min_scale_up = 1, .min_scale_up_percent = 2};
	struct timers *h = calloc(1, sizeof(*h));
	struct timer_facts f = {.nodepool = "",
				.deadline_ms = 5,
				.counts_ms = STAMP_NONE,
				.machine = true};
	uint32_t n = shares[_i].machines;

	ck_assert_int_eq(timers_init(h, &r, 200), 0);
	for (uint32_t id = 0; id < 150; id++) {
		f.machine = id < n;
		ck_assert_int_eq(timers_put(h, id, &f, 10), 0);
	}
	ck_assert_uint_eq(timers_min_scale_up(h, 0), shares[_i].takes);
	for (uint32_t id = 0; id < 150; id++)
		timers_drop(h, id);
	ck_assert_uint_eq(timers_min_scale_up(h, 0), 1);
	timers_done(h);
	free(h);
}
END_TEST

/* --- bounds --------------------------------------------------------------- */

static struct timers *
holds_new(enum scope_kind kind, uint32_t ids)
{
	struct rules r = {.scope = kind, .min_scale_up = 1};
	struct timers *h = calloc(1, sizeof(*h));

	ck_assert_ptr_nonnull(h);
	ck_assert_int_eq(timers_init(h, &r, ids), 0);
	return h;
}

START_TEST(one_pool_too_many)
{
	struct timers *h = holds_new(SCOPE_NODEPOOL, SCOPES_MAX + 2);
	char name[NODEPOOL_BYTES];

	for (uint32_t i = 0; i <= SCOPES_MAX; i++) {
		snprintf(name, sizeof(name), "pool-%u", i);
		ck_assert_int_eq(put_timer(h, i, name, 100, 1, 10),
				 i < SCOPES_MAX ? 0 : -1);
	}
	ck_assert(!timers_own(h, SCOPES_MAX, 10));
	ck_assert(!timers_scope_held(h, SCOPES_MAX));
	/* A known pool is no new one; a free one is used again, once it has
	 * been reported as quiet. */
	ck_assert_int_eq(put_timer(h, SCOPES_MAX + 1, "pool-7", 100, 1, 10), 0);
	timers_drop(h, 3);
	while (timers_turned(h, (struct now){10, 10}) != NO_ID)
		;
	ck_assert_int_eq(put_timer(h, SCOPES_MAX, "new", 100, 1, 10), 0);
	ck_assert_int_eq(put_timer(h, 3, "pool-3", 100, 1, 10), -1);
	timers_done(h);
	free(h);
}
END_TEST

/* Machines that come and go between two calls of timers_turned: a list that is
 * taken in while the sweeper is busy, or a loop of failing launches.  Each
 * scope stands in `dirty` at most once, whatever happens. */
START_TEST(many_changes_between_two_looks)
{
	struct timers *h = holds_new(SCOPE_NODEPOOL, 4);

	for (int i = 0; i < SCOPES_MAX + 10; i++) {
		put_timer(h, 0, "web", 100, 1, 10);
		timers_drop(h, 0);
		ck_assert_msg(h->dirty_n <= h->scopes_top,
			      "%u entries in dirty[%d] for %u scopes",
			      h->dirty_n, SCOPES_MAX, h->scopes_top);
	}
	timers_done(h);
	free(h);
}
END_TEST

START_TEST(moved_last_deadline_is_no_end)
{
	struct timers *h = holds_new(SCOPE_CLUSTER, 4);
	struct now now = {10, 10};

	put_timer(h, 0, "web", 100, 1, 10);
	ck_assert_uint_eq(timers_turned(h, now), 0);
	ck_assert_uint_eq(timers_turned(h, now), NO_ID);
	/* One goes, another comes, before anybody looks. */
	timers_drop(h, 0);
	put_timer(h, 1, "api", 200, 1, 10);
	ck_assert_uint_eq(timers_turned(h, now), NO_ID);
	ck_assert(timers_scope_held(h, 1));
	timers_done(h);
	free(h);
}
END_TEST

START_TEST(deadline_is_exact)
{
	struct timers *h = holds_new(SCOPE_CLUSTER, 1);
	uint32_t id;

	put_timer(h, 0, "web", 100, 1, 10);
	(void)timers_turned(h, (struct now){10, 10});
	ck_assert(!timers_due(h, 99, &id));
	ck_assert(timers_own(h, 0, 99));
	ck_assert(timers_due(h, 100, &id));
	ck_assert(!timers_own(h, 0, 100));
	put_timer(h, 0, "web", 100, 1, 100);
	ck_assert_uint_eq(timers_turned(h, (struct now){100, 100}), 0);
	ck_assert(!h->scopes[0].held);
	ck_assert(timers_next_ms(h) == STAMP_NONE);
	timers_done(h);
	free(h);
}
END_TEST

/* A boot that failed keeps its scope busy for a minute, if the machine did.  What
 * is created meanwhile is told from what was there before. */
START_TEST(a_boot_that_failed)
{
	struct rules r = {.scope = SCOPE_CLUSTER, .min_scale_up = 1};
	struct timers *h = calloc(1, sizeof(*h));
	int64_t until = 20 + FAILED_BOOT_MS;

	ck_assert_int_eq(timers_init(h, &r, 10), 0);
	put_timer(h, 1, "web", _i == 0 ? 100000 : 15, 1, 10);
	put_timer(h, 2, "web", _i == 0 ? 0 : 100000, 1, 10);
	ck_assert_uint_eq(timers_turned(h, (struct now){10, 110}), 0);
	ck_assert_uint_eq(timers_turned(h, (struct now){10, 110}), NO_ID);
	put_timer(h, 1, "web", _i == 0 ? 100000 : 15, 1, 20);
	timers_boot_failed(h, 1, 20);
	timers_drop(h, 1);
	timers_drop(h, 2);
	ck_assert_uint_eq(timers_turned(h, (struct now){20, 120}),
			  _i == 0 ? NO_ID : 0);
	ck_assert(h->scopes[0].held == (_i == 0));
	ck_assert(timers_again(h, "web", 25, 25) == (_i == 0));
	ck_assert(!timers_again(h, "web", until + 1, until + 1));
	ck_assert(!timers_again(h, "web", 5, 20 - STAMPS_MS - 1));
	if (_i == 0) {
		ck_assert_int_eq(timers_cap_next_ms(h), 120 + FAILED_BOOT_MS);
		ck_assert_uint_eq(timers_turned(h, (struct now){until - 1,
								119 + FAILED_BOOT_MS}),
				  NO_ID);
		ck_assert_uint_eq(timers_turned(h, (struct now){until,
								120 + FAILED_BOOT_MS}),
				  0);
		ck_assert(!h->scopes[0].held);
		ck_assert_int_eq(timers_cap_next_ms(h), STAMP_NONE);
	}
	timers_done(h);
	free(h);
}
END_TEST

/* --- the cap of a scope --------------------------------------------------- */

#define HOUR 3600000
#define MINUTE 60000

/* A hold of a day, from server time `at` and boot time 0 on. */
static struct timers *
busy_holds(enum scope_kind kind, int64_t at)
{
	struct rules r = {.scope = kind,
			  .min_scale_up = 1,
			  .cap = {.max_ms = HOUR, .window_ms = 10 * MINUTE}};
	struct timers *h = calloc(1, sizeof(*h));

	ck_assert_ptr_nonnull(h);
	ck_assert_int_eq(timers_init(h, &r, 4), 0);
	timers_usable(h, true);
	timers_seen(h);
	put_timer(h, 0, "web", at + 24 * HOUR, 1, at);
	ck_assert_uint_eq(timers_turned(h, (struct now){at, 0}), 0);
	ck_assert(h->scopes[0].held);
	return h;
}

static void
holds_end(struct timers *h)
{
	timers_done(h);
	free(h);
}

/* The cap is on CLOCK_BOOTTIME: the API server's clock is set by an hour, to
 * and fro, and it fires when it is due. */
START_TEST(shifted_clock)
{
	int64_t at = 10000000;
	struct timers *h = busy_holds(SCOPE_CLUSTER, at);

	ck_assert_uint_eq(timers_turned(h, (struct now){at + HOUR, 2}), NO_ID);
	ck_assert_uint_eq(timers_turned(h, (struct now){at, HOUR - 1}), NO_ID);
	ck_assert_int_eq(timers_cap_next_ms(h), HOUR);
	ck_assert_uint_eq(timers_turned(h, (struct now){at, HOUR}), 0);
	ck_assert(!h->scopes[0].held && h->scopes[0].busy);
	ck_assert_uint_eq(timers_turned(h, (struct now){at, HOUR + 1}), NO_ID);
	ck_assert_int_eq(timers_cap_next_ms(h), HOUR + 10 * MINUTE);
	ck_assert_uint_eq(timers_turned(h, (struct now){at, HOUR +
						       10 * MINUTE}), 0);
	ck_assert(h->scopes[0].held);
	holds_end(h);
}
END_TEST

/* All its pools are released by hand: that ends debt and window, once for each
 * moment. */
START_TEST(released_by_hand)
{
	int64_t at = 10000000;
	struct timers *h = busy_holds(SCOPE_CLUSTER, at);
	struct cap_rules r = {HOUR, 10 * MINUTE};

	timers_released(h, 0, at + 40 * MINUTE,
		       (struct now){at + 50 * MINUTE, 50 * MINUTE});
	ck_assert_int_eq(cap_debt_ms(&h->scopes[0].cap, &r, 51 * MINUTE),
			 MINUTE);
	ck_assert_uint_eq(timers_turned(h, (struct now){at + 110 * MINUTE,
						       110 * MINUTE - 1}),
			  NO_ID);
	ck_assert_uint_eq(timers_turned(h, (struct now){at + 110 * MINUTE,
						       110 * MINUTE}), 0);
	ck_assert(!h->scopes[0].held);
	/* It was there when the window opened: it did not end it. */
	timers_released(h, 0, at + 40 * MINUTE,
		       (struct now){at + 111 * MINUTE, 111 * MINUTE});
	ck_assert_uint_eq(timers_turned(h, (struct now){at + 111 * MINUTE,
						       111 * MINUTE}), NO_ID);
	timers_released(h, 0, at + 41 * MINUTE,
		       (struct now){at + 112 * MINUTE, 112 * MINUTE});
	ck_assert_uint_eq(timers_turned(h, (struct now){at + 112 * MINUTE,
						       112 * MINUTE}), 0);
	ck_assert(h->scopes[0].held);
	timers_released(h, 0, STAMP_NONE,
		       (struct now){at + 113 * MINUTE, 113 * MINUTE});
	ck_assert_int_eq(cap_debt_ms(&h->scopes[0].cap, &r, 120 * MINUTE),
			 8 * MINUTE);
	holds_end(h);
}
END_TEST

/* Once everything was seen, a state that says `held` holds nobody. */
START_TEST(a_state_that_is_read_late)
{
	int64_t at = 10000000;
	struct timers *h = busy_holds(SCOPE_CLUSTER, at);
	struct cap_rules r = {HOUR, 10 * MINUTE};
	struct cap left = {.debt_ms = 20 * MINUTE, .grows = true};
	struct now now = {at + 5000, 5000};

	timers_drop(h, 0);
	(void)timers_turned(h, (struct now){at + 1000, 1000});
	timers_restore(h, "", &left, at, now);
	(void)timers_turned(h, now);
	ck_assert_int_eq(cap_debt_ms(&h->scopes[0].cap, &r, 5000 + MINUTE),
			 14 * MINUTE);
	holds_end(h);
}
END_TEST

/* When only a deadline moves, that is news as well. */
START_TEST(a_deadline_that_moves_is_news)
{
	int64_t at = 10000000;
	struct timers *h = busy_holds(SCOPE_CLUSTER, at);

	while (timers_moved(h) != NO_ID)
		;
	put_timer(h, 0, "web", at + 24 * HOUR, 1, at);
	ck_assert_uint_eq(timers_moved(h), NO_ID);
	put_timer(h, 0, "web", at + 25 * HOUR, 1, at);
	ck_assert_uint_eq(timers_moved(h), 0);
	holds_end(h);
}
END_TEST

/* The next lead sees for itself what it cannot read. */
START_TEST(an_unknown_claim_ends_with_the_lead)
{
	int64_t at = 10000000;
	struct timers *h = busy_holds(SCOPE_CLUSTER, at);

	timers_unknown(h, at + HOUR, at);
	timers_drop(h, 0);
	timers_forget(h);
	timers_usable(h, true);
	put_timer(h, 0, "web", at, 1, at);
	timers_seen(h);
	(void)timers_turned(h, (struct now){at, 1});
	ck_assert(!h->scopes[0].held);
	holds_end(h);
}
END_TEST

/* The state of a leader before us is of a whole second.  A released-at of that
 * second may have been seen by that leader, one of the next second was not. */
START_TEST(released_after_the_state)
{
	int64_t at = 10000000;
	struct timers *h = busy_holds(SCOPE_CLUSTER, at);
	struct cap_rules r = {HOUR, 10 * MINUTE};
	struct cap left = {.debt_ms = 20 * MINUTE, .grows = true};
	struct now now = {at + 5000, 5000};

	timers_restore(h, "", &left, at, now);
	timers_released(h, 0, at, now);
	ck_assert_int_eq(cap_debt_ms(&h->scopes[0].cap, &r, 5000),
			 20 * MINUTE);
	timers_released(h, 0, at + 1000, now);
	ck_assert_int_eq(cap_debt_ms(&h->scopes[0].cap, &r, 5000), 0);
	holds_end(h);
}
END_TEST

/* A scope that owes something is not given to another pool; one that owes
 * nothing is. */
START_TEST(a_debt_keeps_its_scope)
{
	struct timers *h = busy_holds(SCOPE_NODEPOOL, 10000000);
	struct now now = {10000000, 30 * MINUTE};

	timers_drop(h, 0);
	ck_assert_uint_eq(timers_turned(h, now), 0);
	ck_assert(timers_keeps(h, 0, 30 * MINUTE));
	put_timer(h, 1, "api", 20000000, 1, 10000000);
	ck_assert_str_eq(h->scopes[0].name, "web");
	ck_assert_uint_eq(timers_turned(h, now), 1);
	ck_assert_uint_eq(timers_turned(h, now), NO_ID);
	/* 30 min are paid by 5 of quiet. */
	now.boot_ms = 36 * MINUTE;
	while (timers_turned(h, now) != NO_ID)
		;
	ck_assert(!timers_keeps(h, 0, now.boot_ms));
	put_timer(h, 2, "gpu", 20000000, 1, 10000000);
	ck_assert_str_eq(h->scopes[0].name, "gpu");
	holds_end(h);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("holds");
	TCase *model = run_case(s, "model"), *c = run_case(s, "bounds");
	TCase *cap = run_case(s, "cap");

	tcase_add_loop_test(model, cluster, 0, 15);
	tcase_add_loop_test(model, nodepool, 0, 12);
	tcase_add_loop_test(model, node, 0, 5);
	tcase_add_loop_test(model, share, 0, 20);
	tcase_add_loop_test(c, a_share_is_rounded_up, 0,
			    sizeof(shares) / sizeof(shares[0]));
	tcase_add_loop_test(c, a_boot_that_failed, 0, 2);
	tcase_add_test(cap, shifted_clock);
	tcase_add_test(cap, released_by_hand);
	tcase_add_test(cap, released_after_the_state);
	tcase_add_test(cap, a_state_that_is_read_late);
	tcase_add_test(cap, a_deadline_that_moves_is_news);
	tcase_add_test(cap, an_unknown_claim_ends_with_the_lead);
	tcase_add_test(cap, a_debt_keeps_its_scope);
	tcase_add_test(c, one_pool_too_many);
	tcase_add_test(c, many_changes_between_two_looks);
	tcase_add_test(c, moved_last_deadline_is_no_end);
	tcase_add_test(c, deadline_is_exact);
	return suite_run(s);
}
