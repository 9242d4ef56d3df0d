/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/holds.h"
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
	int pool;
	int64_t deadline_ms, counts_ms;
};

struct model {
	enum scope_kind kind;
	struct fact at[IDS];
	int64_t now_ms;
	bool told[POOLS];	/* held, as holds_turned has said */
	uint64_t seed;
	int step;
};

#define SAYS(m, cond)                                                          \
	ck_assert_msg(cond, "seed %llu step %d, scope kind %d",                \
		      (unsigned long long)(m)->seed, (m)->step, (m)->kind)

static int
put_timer(struct holds *h, uint32_t id, const char *pool, int64_t deadline_ms,
    int64_t counts_ms, int64_t now_ms)
{
	struct timer_facts f = {pool, deadline_ms, counts_ms, false};

	return holds_put(h, id, &f, now_ms);
}

static const char *
pool_name(int pool)
{
	static const char *const names[POOLS] = {"", "web", "api", "batch",
						 "gpu"};
	return names[pool];
}

static int
scope_of(const struct model *m, const struct fact *f)
{
	return m->kind == SCOPE_CLUSTER ? 0 : f->pool;
}

static bool
counts(const struct model *m, const struct fact *f)
{
	return f->used && f->counts_ms != STAMP_NONE &&
	       f->counts_ms <= m->now_ms;
}

static bool
model_held(const struct model *m, int scope)
{
	if (m->kind == SCOPE_NODE)
		return false;
	for (int i = 0; i < IDS; i++) {
		const struct fact *f = &m->at[i];

		if (counts(m, f) && scope_of(m, f) == scope &&
		    f->deadline_ms > m->now_ms)
			return true;
	}
	return false;
}

static int64_t
model_next(const struct model *m)
{
	int64_t least = STAMP_NONE;

	for (int i = 0; i < IDS; i++) {
		const struct fact *f = &m->at[i];
		int64_t at = f->deadline_ms;

		if (!f->used || at <= m->now_ms)
			continue;
		if (f->counts_ms > m->now_ms && f->counts_ms < at)
			at = f->counts_ms;
		if (least == STAMP_NONE || at < least)
			least = at;
	}
	return least;
}

static void
put(struct holds *h, const struct model *m, uint32_t id)
{
	const struct fact *f = &m->at[id];

	SAYS(m, put_timer(h, id, pool_name(f->pool), f->deadline_ms,
			  f->counts_ms, m->now_ms) == 0);
}

static void
random_fact(struct model *m, struct dice *d, struct fact *f)
{
	*f = (struct fact){.used = true, .pool = (int)roll(d, POOLS)};
	f->deadline_ms = m->now_ms + (int64_t)roll(d, 400) - 100;
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
}

static void
random_step(struct holds *h, struct model *m, struct dice *d)
{
	uint32_t id = roll(d, IDS);
	struct fact *f = &m->at[id];

	switch (roll(d, 8)) {
	case 0:
		f->used = false;
		holds_drop(h, id);
		break;
	case 1:
	case 2:
		m->now_ms += roll(d, 60);
		break;
	case 3:		/* to the very moment */
		if (holds_next_ms(h) > m->now_ms)
			m->now_ms = holds_next_ms(h);
		break;
	case 4:		/* the clock went back: everything is put anew */
		if (roll(d, 20) > 0)
			break;
		m->now_ms -= roll(d, 500);
		for (id = 0; id < IDS; id++)
			if (m->at[id].used)
				put(h, m, id);
		break;
	default:
		random_fact(m, d, f);
		put(h, m, id);
	}
}

static void
settle(struct holds *h, struct model *m)
{
	struct now now = {m->now_ms, m->now_ms};
	uint32_t id, scope;

	while (holds_due(h, m->now_ms, &id)) {
		SAYS(m, id < IDS && m->at[id].used);
		put(h, m, id);
	}
	while ((scope = holds_turned(h, now)) != NO_ID) {
		for (int p = 0; p < POOLS; p++) {
			if (strcmp(h->scopes[scope].name, pool_name(p)) != 0)
				continue;
			SAYS(m, m->told[p] != h->scopes[scope].held);
			m->told[p] = h->scopes[scope].held;
		}
	}
}

static int64_t
model_quiet(const struct model *m, int scope)
{
	int64_t latest = STAMP_NONE;

	for (int i = 0; i < IDS; i++)
		if (counts(m, &m->at[i]) && scope_of(m, &m->at[i]) == scope &&
		    m->at[i].deadline_ms > latest)
			latest = m->at[i].deadline_ms;
	return latest;
}

static void
compare(const struct holds *h, const struct model *m)
{
	for (uint32_t id = 0; id < IDS; id++) {
		const struct fact *f = &m->at[id];
		bool own = f->used && f->deadline_ms > m->now_ms;
		uint32_t scope = h->timers[id].scope;

		SAYS(m, holds_own(h, id, m->now_ms) == own);
		SAYS(m, holds_scope_held(h, id) ==
				(f->used && model_held(m, scope_of(m, f))));
		/* What is past is told as far as it was looked at. */
		if (holds_scope_held(h, id))
			SAYS(m, holds_quiet_ms(h, scope, IDS) ==
					model_quiet(m, scope_of(m, f)));
	}
	for (int p = 0; p < POOLS; p++)
		SAYS(m, m->told[p] == model_held(m, p));
	SAYS(m, holds_next_ms(h) == model_next(m));
}

static void
walk(enum scope_kind kind, uint64_t seed)
{
	struct holds *h = calloc(1, sizeof(*h));
	struct model m = {.kind = kind, .now_ms = START, .seed = seed};
	struct dice d = dice_new(seed);

	ck_assert_ptr_nonnull(h);
	ck_assert_int_eq(holds_init(h, &(struct rules){.scope = kind}, IDS), 0);
	for (m.step = 0; m.step < 6000; m.step++) {
		random_step(h, &m, &d);
		if (roll(&d, 4) == 0)
			continue;	/* nobody asks at each step */
		settle(h, &m);
		compare(h, &m);
	}
	holds_done(h);
	free(h);
}

START_TEST(cluster)
{
	walk(SCOPE_CLUSTER, (uint64_t)_i);
}
END_TEST

START_TEST(nodepool)
{
	walk(SCOPE_NODEPOOL, 100 + (uint64_t)_i);
}
END_TEST

START_TEST(node)
{
	walk(SCOPE_NODE, 200 + (uint64_t)_i);
}
END_TEST

/* --- bounds --------------------------------------------------------------- */

static struct holds *
holds_new(enum scope_kind kind, uint32_t ids)
{
	struct holds *h = calloc(1, sizeof(*h));

	ck_assert_ptr_nonnull(h);
	ck_assert_int_eq(holds_init(h, &(struct rules){.scope = kind}, ids), 0);
	return h;
}

START_TEST(one_pool_too_many)
{
	struct holds *h = holds_new(SCOPE_NODEPOOL, SCOPES_MAX + 2);
	char pool[POOL_BYTES];

	for (uint32_t i = 0; i <= SCOPES_MAX; i++) {
		snprintf(pool, sizeof(pool), "pool-%u", i);
		ck_assert_int_eq(put_timer(h, i, pool, 100, 1, 10),
				 i < SCOPES_MAX ? 0 : -1);
	}
	ck_assert(!holds_own(h, SCOPES_MAX, 10));
	ck_assert(!holds_scope_held(h, SCOPES_MAX));
	/* A known pool is no new one; a free one is used again, once it has
	 * been reported as quiet. */
	ck_assert_int_eq(put_timer(h, SCOPES_MAX + 1, "pool-7", 100, 1, 10), 0);
	holds_drop(h, 3);
	while (holds_turned(h, (struct now){10, 10}) != NO_ID)
		;
	ck_assert_int_eq(put_timer(h, SCOPES_MAX, "new", 100, 1, 10), 0);
	ck_assert_int_eq(put_timer(h, 3, "pool-3", 100, 1, 10), -1);
	holds_done(h);
	free(h);
}
END_TEST

/* Machines that come and go between two calls of holds_turned: a list that is
 * taken in while the sweeper is busy, or a loop of failing launches.  Each
 * scope stands in `dirty` at most once, whatever happens. */
START_TEST(many_changes_between_two_looks)
{
	struct holds *h = holds_new(SCOPE_NODEPOOL, 4);

	for (int i = 0; i < SCOPES_MAX + 10; i++) {
		put_timer(h, 0, "web", 100, 1, 10);
		holds_drop(h, 0);
		ck_assert_msg(h->dirty_n <= h->scopes_top,
			      "%u entries in dirty[%d] for %u scopes",
			      h->dirty_n, SCOPES_MAX, h->scopes_top);
	}
	holds_done(h);
	free(h);
}
END_TEST

START_TEST(moved_last_deadline_is_no_end)
{
	struct holds *h = holds_new(SCOPE_CLUSTER, 4);
	struct now now = {10, 10};

	put_timer(h, 0, "web", 100, 1, 10);
	ck_assert_uint_eq(holds_turned(h, now), 0);
	ck_assert_uint_eq(holds_turned(h, now), NO_ID);
	/* One goes, another comes, before anybody looks. */
	holds_drop(h, 0);
	put_timer(h, 1, "api", 200, 1, 10);
	ck_assert_uint_eq(holds_turned(h, now), NO_ID);
	ck_assert(holds_scope_held(h, 1));
	ck_assert_int_eq(h->scopes[0].since_boot_ms, 10);
	holds_done(h);
	free(h);
}
END_TEST

START_TEST(deadline_is_exact)
{
	struct holds *h = holds_new(SCOPE_CLUSTER, 1);
	uint32_t id;

	put_timer(h, 0, "web", 100, 1, 10);
	(void)holds_turned(h, (struct now){10, 10});
	ck_assert(!holds_due(h, 99, &id));
	ck_assert(holds_own(h, 0, 99));
	ck_assert(holds_due(h, 100, &id));
	ck_assert(!holds_own(h, 0, 100));
	put_timer(h, 0, "web", 100, 1, 100);
	ck_assert_uint_eq(holds_turned(h, (struct now){100, 100}), 0);
	ck_assert(!h->scopes[0].held);
	ck_assert(holds_next_ms(h) == STAMP_NONE);
	holds_done(h);
	free(h);
}
END_TEST

/* The first Date was an hour behind: no cap is reached by its correction. */
START_TEST(shifted_clock)
{
	struct rules r = {.scope = SCOPE_CLUSTER,
			  .cap = {.max_ms = 3600000, .window_ms = 600000}};
	struct holds *h = calloc(1, sizeof(*h));
	int64_t wrong = 10000000, right = wrong + 3600000;

	ck_assert_int_eq(holds_init(h, &r, 1), 0);
	put_timer(h, 0, "web", right + 5000000, 0, wrong);
	ck_assert_uint_eq(holds_turned(h, (struct now){wrong, 1}), 0);
	ck_assert(h->scopes[0].held);
	holds_shifted(h, right);
	ck_assert_uint_eq(holds_turned(h, (struct now){right, 2}), NO_ID);
	ck_assert(h->scopes[0].held);
	ck_assert_uint_eq(holds_turned(h, (struct now){right + 3600000, 3}), 0);
	ck_assert(!h->scopes[0].held);
	holds_done(h);
	free(h);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("holds");
	TCase *model = run_case(s, "model"), *c = run_case(s, "bounds");

	tcase_add_loop_test(model, cluster, 0, 5);
	tcase_add_loop_test(model, nodepool, 0, 5);
	tcase_add_loop_test(model, node, 0, 5);
	tcase_add_test(c, shifted_clock);
	tcase_add_test(c, one_pool_too_many);
	tcase_add_test(c, many_changes_between_two_looks);
	tcase_add_test(c, moved_last_deadline_is_no_end);
	tcase_add_test(c, deadline_is_exact);
	return run_suite(s);
}
