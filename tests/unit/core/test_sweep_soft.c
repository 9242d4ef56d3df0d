/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

/* design §4, Cap: what the next leader is to know, and where it is lost. */

#define MINUTE 60000
#define SLACK 5000

static struct rules rules;
static struct world *w;
static char text[4096];

static void
setup(void)
{
	rules = rules_default();
	rules.cap = (struct cap_rules){60 * MINUTE, 10 * MINUTE};
	w = world_new(&rules, THINGS, 1);
	for (int i = 0; i < 3; i++)
		machine_add(w, i, "web", server_ms(w) - DAY);
	world_open(w);
}

static void
teardown(void)
{
	world_free(w);
	w = NULL;
}

/* A machine every 5 minutes: never quiet. */
static void
busy(int first, int minutes)
{
	for (int i = 0; i < minutes / 5; i++) {
		machine_add(w, first + i, "web", server_ms(w) / 1000 * 1000);
		world_run(w, 5 * MINUTE);
	}
}

/* Of the three that were there before. */
static unsigned
spread(void)
{
	unsigned n = 0;

	for (int i = 0; i < 3; i++)
		n += thing_held(node_at(w, i));
	return n;
}

static void
save(void)
{
	struct buf b;

	text[0] = '\0';
	buf_init(&b, text, sizeof(text));
	ck_assert(sweep_soft(w->s, &b, false, world_now(w)));
	ck_assert(!sweep_soft(w->s, &b, false, world_now(w)));	/* nothing has changed since */
}

/* Another leader; fresh marks, so that they tell nothing of the past. */
static void
another_leader(const char *known)
{
	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		if (t->used && t->o.mark == MARK_TIME)
			t->o.mark_ms = server_ms(w) / 1000 * 1000;
	world_restart(w, 9);
	sweep_restore(w->s, known, STAMP_NONE, world_now(w));
	world_open(w);
}

START_TEST(held_since)
{
	busy(10, 30);
	ck_assert_uint_eq(spread(), 3);
	save();
	ck_assert_ptr_nonnull(strstr(text, "* run=2026-01-02T03:"));
	another_leader(text);
	busy(20, 25);
	ck_assert_uint_eq(spread(), 3);
	busy(30, 10);	/* an hour is over, all in all */
	ck_assert_uint_eq(spread(), 0);
}
END_TEST

/* An open window is not held again by the next leader, and ends in time. */
START_TEST(in_the_window)
{
	busy(10, 65);
	ck_assert_uint_eq(spread(), 0);
	save();
	ck_assert_ptr_nonnull(strstr(text, "open="));
	another_leader(text);
	ck_assert_uint_eq(spread(), 0);
	busy(30, 5);
	world_run(w, MINUTE);	/* a window of its own would end later */
	ck_assert_uint_eq(spread(), 3);
}
END_TEST

/* What cannot be read is passed over, and what can is taken. */
static const char *const states[] = {
	"*", "* run=", "* run=yesterday; x", ";;;", "run=1",
	"* run=2026-01-02T03:04:05Z run=x", "  ",
};

START_TEST(nonsense)
{
	another_leader(states[_i]);
	busy(10, 30);
	ck_assert_uint_eq(spread(), 3);
}
END_TEST

START_TEST(scopes_by_name)
{
	teardown();
	rules.scope = SCOPE_NODEPOOL;
	w = world_new(&rules, THINGS, 1);
	machine_add(w, 0, "web", server_ms(w) - DAY);
	machine_add(w, 1, "api", server_ms(w) - DAY);
	world_open(w);
	busy(10, 30);
	save();
	ck_assert_ptr_nonnull(strstr(text, "web run="));
	ck_assert_ptr_null(strstr(text, "api"));
	another_leader(text);
	busy(20, 35);
	ck_assert(!thing_held(node_at(w, 0)));
}
END_TEST

/* A pool may have any name, but not the cluster's. */
START_TEST(a_pool_named_cluster)
{
	teardown();
	rules.scope = SCOPE_NODEPOOL;
	w = world_new(&rules, THINGS, 1);
	machine_add(w, 0, "cluster", server_ms(w) - DAY);
	world_open(w);
	for (int i = 1; i <= 13; i++) {
		machine_add(w, i, "cluster", server_ms(w) / 1000 * 1000);
		world_run(w, 5 * MINUTE);
		if (i == 6) {
			save();
			another_leader(text);
		}
	}
	ck_assert(!thing_held(node_at(w, 0)));
}
END_TEST

/* Its window was a NodePool's, and is none of the cluster's. */
START_TEST(another_scope)
{
	teardown();
	rules.scope = SCOPE_NODEPOOL;
	w = world_new(&rules, THINGS, 1);
	for (int i = 0; i < 3; i++)
		machine_add(w, i, "web", server_ms(w) - DAY);
	world_open(w);
	busy(10, 65);
	ck_assert_uint_eq(spread(), 0);
	save();
	ck_assert_ptr_nonnull(strstr(text, "web run="));
	w->rules.scope = SCOPE_CLUSTER;
	another_leader(text);
	world_run(w, MINUTE);
	ck_assert_uint_eq(spread(), 3);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("sweep: soft state");
	TCase *c = run_case(s, "soft");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, held_since);
	tcase_add_test(c, in_the_window);
	tcase_add_loop_test(c, nonsense, 0,
			    (int)(sizeof(states) / sizeof(states[0])));
	tcase_add_test(c, scopes_by_name);
	tcase_add_test(c, a_pool_named_cluster);
	tcase_add_test(c, another_scope);
	return run_suite(s);
}
