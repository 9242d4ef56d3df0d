/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/base/stamp.h"
#include "core/controller/deletions.h"
#include "run.h"

/* Whose substitute is a claim? */

#define S 1000
#define MINUTE (60 * S)
#define T 1767323045000

static struct deletions d;

static void
setup(void)
{
	ck_assert_int_eq(deletions_init(&d, 8), 0);
}

static void
teardown(void)
{
	deletions_done(&d);
}

static const char *
match_in(enum scope_kind scope, const char *nodepool, int64_t created_ms)
{
	const struct deletion *it =
		deletions_match(&d, scope, nodepool, created_ms);

	return it == NULL ? "" : it->uid;
}

static const char *
match(const char *nodepool, int64_t created_ms)
{
	return match_in(SCOPE_CLUSTER, nodepool, created_ms);
}

/* Created so long after the deletion began; gone so long after that, -1: it
 * is still there. */
static const struct {
	const char *name;
	int64_t created, gone;
	bool matched;
} ages[] = {
	{"at once", 0, -1, true},
	{"at most 60 s, gone", 60 * S, 5 * S, true},
	{"over 60 s, gone before", 61 * S, 5 * S, false},
	{"over 60 s, gone a moment before", 61 * S, 61 * S - 1, false},
	{"over 60 s, gone that very moment", 61 * S, 61 * S, true},
	{"over 60 s, still draining", 61 * S, -1, true},
	{"over 60 s, gone since", 61 * S, 90 * S, true},
	{"15 min, still draining", 15 * MINUTE, -1, true},
	{"over 15 min, still draining", 15 * MINUTE + S, -1, false},
	{"a second before it: stamps of two clocks", -S, -1, true},
	{"two seconds before it", -2 * S, -1, false},
};

START_TEST(age)
{
	deletions_put(&d, "a", "web", T, STAMP_NONE);
	if (ages[_i].gone >= 0)
		deletions_gone(&d, "a", T + ages[_i].gone);
	ck_assert_msg((match("web", T + ages[_i].created)[0] != '\0') ==
			      ages[_i].matched,
		      "%s", ages[_i].name);
}
END_TEST

START_TEST(own_pool_first_then_the_earliest_then_the_uid)
{
	deletions_put(&d, "a", "batch", T - 20 * S, STAMP_NONE);
	deletions_put(&d, "d", "web", T - 5 * S, STAMP_NONE);
	deletions_put(&d, "c", "web", T - 5 * S, STAMP_NONE);
	deletions_put(&d, "b", "web", T - 9 * S, STAMP_NONE);
	ck_assert_str_eq(match("web", T), "b");
	deletions_spend(&d, "b");
	ck_assert_str_eq(match("web", T), "c");
	deletions_spend(&d, "c");
	ck_assert_str_eq(match("web", T), "d");
	deletions_spend(&d, "d");
	ck_assert_str_eq(match("web", T), "a");
	deletions_spend(&d, "a");
	ck_assert_str_eq(match("web", T), "");
}
END_TEST

/* One that is too old does not stand in the way of another. */
START_TEST(the_earliest_that_may)
{
	deletions_put(&d, "a", "web", T - 61 * S, STAMP_NONE);
	deletions_gone(&d, "a", T - 50 * S);
	deletions_put(&d, "b", "web", T - 30 * S, STAMP_NONE);
	ck_assert_str_eq(match("web", T), "b");
}
END_TEST

START_TEST(scopes)
{
	deletions_put(&d, "a", "batch", T, STAMP_NONE);
	ck_assert_str_eq(match_in(SCOPE_CLUSTER, "web", T), "a");
	ck_assert_str_eq(match_in(SCOPE_NODEPOOL, "web", T), "");
	ck_assert_str_eq(match_in(SCOPE_NODEPOOL, "batch", T), "a");
	ck_assert_str_eq(match_in(SCOPE_CLUSTER, "", T), "a");
	ck_assert_str_eq(match_in(SCOPE_NODEPOOL, "", T), "");
}
END_TEST

/* Whoever Karpenter named, created from the disruption to the deletion, closes
 * the earliest place. */
START_TEST(what_karpenter_named)
{
	deletions_put(&d, "a", "web", T, T - 60 * S);
	deletions_put(&d, "b", "web", T + 5 * S, T - 60 * S);
	ck_assert(!deletions_close(&d, SCOPE_CLUSTER, "web", T - 62 * S));
	ck_assert(!deletions_close(&d, SCOPE_CLUSTER, "web", T + 6 * S));
	ck_assert(deletions_close(&d, SCOPE_CLUSTER, "web", T));
	ck_assert_str_eq(match("web", T + 5 * S), "b");
	ck_assert(deletions_close(&d, SCOPE_CLUSTER, "web", T + 5 * S));
	ck_assert_str_eq(match("web", T + 5 * S), "");
}
END_TEST

/* Seen once more it begins not anew, nor does its end move. */
START_TEST(put_once)
{
	deletions_put(&d, "a", "web", T, STAMP_NONE);
	deletions_gone(&d, "a", T + 5 * S);
	deletions_gone(&d, "a", T + 500 * S);
	deletions_put(&d, "a", "web", T + 100 * S, STAMP_NONE);
	ck_assert_str_eq(match("web", T + 100 * S), "");
	deletions_spend(&d, "a");
	deletions_put(&d, "a", "web", T, STAMP_NONE);
	ck_assert_str_eq(match("web", T), "");
	deletions_gone(&d, "nobody", T);
	deletions_spend(&d, "nobody");
}
END_TEST

/* Where there is no room the spent go first, then the oldest. */
START_TEST(no_room)
{
	char uid[16];

	for (int i = 0; i < 8; i++) {
		snprintf(uid, sizeof(uid), "u%d", i);
		deletions_put(&d, uid, "web", T + i * S, STAMP_NONE);
	}
	deletions_spend(&d, "u5");
	deletions_put(&d, "new", "web", T + 20 * S, STAMP_NONE);
	ck_assert_str_eq(match("web", T + 20 * S), "u0");
	deletions_put(&d, "newer", "web", T + 21 * S, STAMP_NONE);
	ck_assert_str_eq(match("web", T + 21 * S), "u1");
	for (int i = 1; i < 8; i++) {
		snprintf(uid, sizeof(uid), "u%d", i);
		deletions_spend(&d, uid);
	}
	ck_assert_str_eq(match("web", T + 21 * S), "new");
	deletions_spend(&d, "new");
	ck_assert_str_eq(match("web", T + 21 * S), "newer");
	deletions_forget(&d);
	ck_assert_str_eq(match("web", T + 21 * S), "");
}
END_TEST

/* --- the naive model ------------------------------------------------------ */

#define FEW 7		/* there is always room: what goes is tested above */

struct fact {
	bool put, spent, is_gone;
	int nodepool;
	int64_t began, gone;
};

static int
naive(const struct fact *facts, enum scope_kind scope, int nodepool, int64_t at)
{
	int best = -1;

	for (int own = 1; own >= 0 && best < 0; own--)
		for (int i = 0; i < FEW; i++) {
			const struct fact *f = &facts[i];
			bool near = at - f->began <= 60 * S;
			bool there = !f->is_gone || f->gone >= at;

			if (!f->put || f->spent ||
			    (f->nodepool == nodepool) != own ||
			    (!own && scope == SCOPE_NODEPOOL) ||
			    at - f->began < -S || at - f->began > 15 * MINUTE ||
			    !(near || there))
				continue;
			if (best < 0 || f->began < facts[best].began)
				best = i;
		}
	return best;
}

START_TEST(at_random)
{
	static const char *const nodepools[] = {"web", "batch", ""};
	struct dice dice = dice_new((uint64_t)_i);
	struct fact facts[FEW] = {0};

	for (int step = 0; step < 4000; step++) {
		uint32_t i = roll(&dice, FEW), nodepool = roll(&dice, 3);
		int64_t at = T + (int64_t)roll(&dice, 1200) * S;
		enum scope_kind scope =
			roll(&dice, 2) ? SCOPE_CLUSTER : SCOPE_NODEPOOL;
		char uid[8], want[16] = "";
		int best;

		snprintf(uid, sizeof(uid), "u%u", i);
		switch (roll(&dice, 8)) {
		case 0:
			deletions_put(&d, uid, nodepools[nodepool], at,
				      STAMP_NONE);
			if (!facts[i].put)
				facts[i] =
					(struct fact){.put = true,
						      .nodepool = (int)nodepool,
						      .began = at};
			break;
		case 1:
			deletions_gone(&d, uid, at);
			if (facts[i].put && !facts[i].is_gone) {
				facts[i].is_gone = true;
				facts[i].gone = at;
			}
			break;
		case 2:
			deletions_spend(&d, uid);
			facts[i].spent = facts[i].put;
			break;
		case 3:
			if (roll(&dice, 30) > 0)
				break;
			deletions_forget(&d);
			memset(facts, 0, sizeof(facts));
			break;
		default:
			break;
		}
		best = naive(facts, scope, (int)nodepool, at);
		if (best >= 0)
			snprintf(want, sizeof(want), "u%d", best);
		if (strcmp(match_in(scope, nodepools[nodepool], at), want) != 0)
			ck_abort_msg("seed %d step %d: %s, not %s", _i, step,
				     match_in(scope, nodepools[nodepool], at),
				     want);
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("deletions");
	TCase *c = run_case(s, "deletions");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_loop_test(c, age, 0, sizeof(ages) / sizeof(ages[0]));
	tcase_add_test(c, own_pool_first_then_the_earliest_then_the_uid);
	tcase_add_test(c, the_earliest_that_may);
	tcase_add_test(c, scopes);
	tcase_add_test(c, what_karpenter_named);
	tcase_add_test(c, put_once);
	tcase_add_test(c, no_room);
	tcase_add_loop_test(c, at_random, 0, 20);
	return suite_run(s);
}
