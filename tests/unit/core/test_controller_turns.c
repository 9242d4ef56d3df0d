/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/controller/status.h"
#include "scene.h"
#include "story.h"

/* The history that outlives a leader: each kind of turn with its reason, told
 * by the leader that saw it, and by the next one. */

static int64_t until;	/* of the hold by hand */
static struct figures *f;

static void
setup(void)
{
	rules = rules_default();
	rules.cap = (struct cap_rules){60 * MINUTE, 10 * MINUTE};
	w = world_new(&rules, THINGS, 1);
	f = figures_new();
	ck_assert_ptr_nonnull(f);
}

static void
teardown(void)
{
	figures_free(f);
	scene_teardown();
}

/* --- what is told --------------------------------------------------------- */

static struct scope_status
the_scope(void)
{
	struct scope_status sc;
	uint32_t i = 0;

	figures_begin(f);
	while (figures_count(w->s, f, world_now(w)))
		;
	ck_assert(controller_scope_status(w->s, f, &i, world_now(w), &sc));
	return sc;
}

/* --- people --------------------------------------------------------------- */

/* Quietly: while nobody leads, so that the next list shows it. */
static void
say(int64_t hold_until, int64_t released, const char *reason, bool quietly)
{
	static unsigned rv;
	struct nodepool p;

	nodepool_init(&p);
	strcpy(p.name, "web");
	strcpy(p.uid, "u-web");
	snprintf(p.rv, sizeof(p.rv), "%u", ++rv);
	p.hold_until_ms = hold_until;
	p.released_at_ms = released;
	nodepool_set_reason(&p, reason);
	if (quietly) {
		world_pool_quietly(w, &p);
		return;
	}
	world_pool(w, &p);
	world_run(w, SLACK);
}

static void
hold(int minutes, const char *reason)
{
	until = stamp_now() + minutes * MINUTE;
	say(until, STAMP_NONE, reason, false);
}

/* --- each kind of turn ---------------------------------------------------- */

static void
begin(void)
{
	say(STAMP_NONE, STAMP_NONE, "", true);
	open_old(3);
}

START_TEST(held_and_quiet)
{
	int64_t quiet, since;

	begin();
	quiet = machine_now(9, "web");
	world_run(w, SLACK);
	since = the_scope().since_ms;
	told_by_both("* held: scale-up c9\n");
	/* It goes on, as one hold. */
	ck_assert(the_scope().state == SCOPE_HELD);
	ck_assert_int_eq(the_scope().since_ms, since / 1000 * 1000);
	world_run_until(w, quiet + SLACK);
	ck_assert_int_eq(latest().held_ms / MINUTE, rules.hold_ms / MINUTE);
	since = the_scope().since_ms;
	told_by_both("* held: scale-up c9\n"
		     "* released: quiet 10 c9\n");
	ck_assert(the_scope().state == SCOPE_QUIET);
	ck_assert_int_eq(the_scope().since_ms, since / 1000 * 1000);
}
END_TEST

START_TEST(capped)
{
	begin();
	for (int i = 0; i < 13; i++) {
		machine_now(10 + i, "web");
		world_run(w, 5 * MINUTE);
	}
	told_by_both("* held: scale-up c10\n"
		     "* capped: cap 60 c21\n");
}
END_TEST

START_TEST(held_by_hand)
{
	begin();
	hold(30, "a sale");
	ck_assert_int_eq(latest().until_ms, until);
	told_by_both("web held: hold-until (a sale)\n");
	ck_assert_int_eq(latest().until_ms, until);
	/* Its end, with the reason that it had. */
	world_run_until(w, until + SLACK);
	told_by_both("web held: hold-until (a sale)\n"
		     "web released: hold-until-over 30 (a sale)\n");
}
END_TEST

START_TEST(released_by_hand)
{
	int64_t at;

	begin();
	hold(30, "a sale");
	world_run(w, 5 * MINUTE);
	at = stamp_now();
	say(STAMP_NONE, at, "all is well", false);
	ck_assert_int_eq(latest().until_ms, at);
	told_by_both("web held: hold-until (a sale)\n"
		     "web released: released-at 5 (all is well)\n");
	say(STAMP_NONE, STAMP_NONE, "", false);
	told_by_both("web held: hold-until (a sale)\n"
		     "web released: released-at 5 (all is well)\n"
		     "web resumed: by-hand (all is well)\n");
}
END_TEST

/* A stamp has whole seconds, so it may be before the lead in whose first second
 * the annotation was set. */
START_TEST(released_in_the_second_of_the_lead)
{
	int64_t at;

	begin();
	world_run(w, 500);
	at = stamp_now();
	ck_assert_int_lt(at, server_ms(w));
	killed();
	open_again();
	say(STAMP_NONE, at, "", false);
	told_by_both("web released: released-at\n");
}
END_TEST

START_TEST(resumed)
{
	begin();
	hold(30, "a sale");
	world_run(w, 5 * MINUTE);
	hold(40, "a longer sale");
	world_run(w, 5 * MINUTE);
	say(STAMP_NONE, STAMP_NONE, "", false);
	told_by_both("web held: hold-until (a sale)\n"
		     "web held: hold-until (a longer sale)\n"
		     "web resumed: by-hand 10 (a longer sale)\n");
	/* What was held before that has its end. */
	hold(30, "");
	world_run(w, 5 * MINUTE);
	say(STAMP_NONE, STAMP_NONE, "", false);
	ck_assert_int_eq(latest().held_ms / MINUTE, 5);
}
END_TEST

/* A release by hand of a scope that is held. */
START_TEST(scope_released_by_hand)
{
	begin();
	machine_now(9, "web");
	world_run(w, MINUTE);
	say(STAMP_NONE, stamp_now(), "", false);
	told_by_both("* held: scale-up c9\n"
		     "web released: released-at\n"
		     "* released: released-at 1 c9\n");
}
END_TEST

/* What does not count is no turn. */
START_TEST(without_effect)
{
	begin();
	say(stamp_now() - MINUTE, stamp_now() - DAY, "a sale", false);
	say(STAMP_NONE, stamp_now() + 60 * MINUTE, "a sale", false);
	tells("");
	/* … but when its time comes. */
	world_run(w, 61 * MINUTE);
	tells("web released: released-at (a sale)\n");
}
END_TEST

/* --- while nobody led ----------------------------------------------------- */

START_TEST(quiet_meanwhile)
{
	begin();
	machine_now(9, "web");
	world_run(w, MINUTE);
	killed();
	w->boot_ms += 20 * MINUTE;
	leads(TERM + 1);
	tells("* held: scale-up c9\n"
	      "* released: quiet 22\n");
}
END_TEST

START_TEST(by_hand_meanwhile)
{
	begin();
	killed();
	say(stamp_now() + 10 * MINUTE, STAMP_NONE, "a sale", true);
	leads(TERM + 1);
	tells("web held: hold-until (a sale)\n");
	killed();
	w->boot_ms += 20 * MINUTE;
	leads(TERM + 1);
	tells("web held: hold-until (a sale)\n"
	      "web released: hold-until-over 10 (a sale)\n");
	killed();
	say(STAMP_NONE, stamp_now(), "", true);
	leads(TERM + 1);
	ck_assert_str_eq(strrchr(story(), 'w'), "web released: released-at\n");
}
END_TEST

/* --- what is lost --------------------------------------------------------- */

/* A leader without a text was in between: what the text tells is told, but
 * nothing is concluded from it. */
START_TEST(a_gap)
{
	int64_t since;

	begin();
	machine_now(9, "web");
	world_run(w, SLACK);
	killed();
	since = server_ms(w);
	leads(TERM + 2);
	tells("* held: scale-up c9\n* held: scale-up c9\n");
	ck_assert_int_ge(the_scope().since_ms, since);
}
END_TEST

/* Without an election the text may come when the lead has long begun. */
START_TEST(a_late_text)
{
	begin();
	hold(30, "a sale");
	machine_now(9, "web");
	world_run(w, MINUTE);
	killed();
	open_again();
	controller_recall(w->s, text, TERM, world_now(w));
	world_run(w, SLACK);
	tells("web held: hold-until (a sale)\n* held: scale-up c9\n");
}
END_TEST

/* Of another mode, or another kind of scope; or no text. */
START_TEST(not_ours)
{
	static const char *const begins[] = {
		"observe cluster", "enforce nodepool", "enforce", ""};

	begin();
	hold(30, "a sale");
	killed();
	memcpy(text, begins[_i], strlen(begins[_i]) + (_i > 1));
	leads(TERM + 1);
	tells("web held: hold-until (a sale)\n");
	ck_assert_int_ge(latest().at_ms, server_ms(w) - MINUTE);
}
END_TEST

/* The same replica leads again.  Of what it told in the time of the text, the
 * text is right; what is older only it knows. */
START_TEST(leads_again)
{
	begin();
	for (int i = 0; i < 40; i++) {
		hold(30, "");
		say(STAMP_NONE, STAMP_NONE, "", false);
	}
	save(TERM);
	hold(30, "not written");
	controller_lead(w->s, false, world_now(w));
	controller_lead(w->s, true, world_now(w));
	controller_recall(w->s, text, TERM, world_now(w));
	ck_assert_ptr_null(strstr(story(), "not written"));
	{
		uint64_t before = UINT64_MAX;
		struct turn t;
		int n = 0;

		while (controller_turn(w->s, &before, &t))
			n++;
		ck_assert_int_eq(n, 80);
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("controller: turns");
	TCase *k = run_case(s, "kinds"), *n = run_case(s, "nobody");
	TCase *l = run_case(s, "lost");

	tcase_add_checked_fixture(k, setup, teardown);
	tcase_add_test(k, held_and_quiet);
	tcase_add_test(k, capped);
	tcase_add_test(k, held_by_hand);
	tcase_add_test(k, released_by_hand);
	tcase_add_test(k, released_in_the_second_of_the_lead);
	tcase_add_test(k, resumed);
	tcase_add_test(k, scope_released_by_hand);
	tcase_add_test(k, without_effect);
	tcase_add_checked_fixture(n, setup, teardown);
	tcase_add_test(n, quiet_meanwhile);
	tcase_add_test(n, by_hand_meanwhile);
	tcase_add_checked_fixture(l, setup, teardown);
	tcase_add_test(l, a_gap);
	tcase_add_test(l, a_late_text);
	tcase_add_loop_test(l, not_ours, 0, 4);
	tcase_add_test(l, leads_again);
	return suite_run(s);
}
