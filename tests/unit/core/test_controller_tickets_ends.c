/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/controller/status.h"
#include "story.h"
#include "ticket_scene.h"

/* How holds by tickets end, and that they last for a minute at least
 * (docs/rules.md#tickets). */

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

static void
by_its_time(struct ticket *t)
{
	t->lasts_ms = 5000;
	world_ticket(w, t);
}

static void
by_deletion(struct ticket *t)
{
	world_ticket_gone(w, t->name);
}

static void
by_a_list(struct ticket *t)
{
	world_watch(w, KIND_TICKET, false);
	world_ticket_gone(w, t->name);
	world_list(w, KIND_TICKET);
}

static void
by_its_patterns(struct ticket *t)
{
	ticket_set_patterns(t, "gpu");
	world_ticket(w, t);
}

static void
by_a_version_that_cannot_be_read(struct ticket *t)
{
	strcpy(t->fault, "it cannot be read: spec.renewTime is no time");
	world_ticket(w, t);
}

static void
by_a_time_far_ahead(struct ticket *t)
{
	t->renewed_ms = stamp_now() + 20 * MINUTE;
	world_ticket(w, t);
}

static void
by_a_finalizer(struct ticket *t)
{
	t->deleting = true;
	world_ticket(w, t);
}

/* The list leaves out a version that is too large. */
static void
by_a_version_that_is_left_out(struct ticket *t)
{
	world_watch(w, KIND_TICKET, false);
	world_ticket_gone(w, t->name);
	controller_listing(w->s, KIND_TICKET);
	controller_skipped(w->s, KIND_TICKET, world_now(w));
	controller_listed(w->s, KIND_TICKET, true, world_now(w));
	world_watch(w, KIND_TICKET, true);
}

static void (*const ends[])(struct ticket *t) = {
	by_its_time,
	by_deletion,
	by_a_list,
	by_its_patterns,
	by_a_version_that_cannot_be_read,
	by_a_time_far_ahead,
	by_a_finalizer,
	by_a_version_that_is_left_out,
};

static struct machine_status
machine(void)
{
	struct machine_status m;

	ck_assert(controller_machine(w->s, node_at(w, 0)->o.name, world_now(w),
				     &m));
	return m;
}

/* Whatever ends it, the hold lasts for a minute from its beginning, and not for
 * longer. */
START_TEST(a_minute_at_least)
{
	struct ticket t = ticket_new("ci", "web", stamp_now(), 30 * MINUTE);
	int64_t least;

	open_pools();
	least = server_ms(w) + MINUTE;
	world_ticket(w, &t);
	world_run(w, 10000);
	ends[_i](&t);
	world_run(w, 5000);
	ck_assert_uint_eq(report().tickets, _i == 3);
	ck_assert_int_eq(machine().manual_ms, least);
	ck_assert(machine().by_ticket);
	ck_assert_str_eq(machine().reason, "a ticket that has ended");
	world_run_until(w, least - 1);
	ck_assert_uint_eq(held_in("web"), 2);
	ck_assert_uint_eq(held_in("batch"), 0);
	holds(0, 0);
	ck_assert_int_eq(machine().manual_ms, STAMP_NONE);
	tells("web held: ticket (ticket ci of tester)\n"
	      "web released: ticket-ended 1\n");
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 1);
}
END_TEST

/* A hold that is older than a minute ends at once. */
START_TEST(no_longer_than_a_minute)
{
	struct ticket t = ticket_new("ci", "web", stamp_now(), 30 * MINUTE);

	open_pools();
	world_ticket(w, &t);
	world_run(w, MINUTE);
	ends[_i](&t);
	if (_i == 0)
		world_run(w, 5000);
	holds(0, 0);
}
END_TEST

/* A writer that makes its hold begin and end all the time.  Each minute begins
 * when the hold begins, and not with each write. */
START_TEST(one_write_a_second)
{
	unsigned writes;

	open_pools();
	for (int i = 0; i < 150; i++) {
		if (i % 2 == 0)
			(void)ticket("ci", "web", 30 * MINUTE);
		else
			world_ticket_gone(w, "ci");
		world_run(w, 1000);
	}
	writes = node_at(w, 0)->writes;
	ck_assert_uint_ge(writes, 1);
	ck_assert_uint_le(writes, 5);
	ck_assert_uint_le(notes(NOTE_NODEPOOL_MANUAL, NULL), 3);
}
END_TEST

/* A person is obeyed at once. */
START_TEST(disabled_at_once)
{
	struct nodepool p = pool_of("web");

	open_pools();
	(void)ticket("ci", "web", 30 * MINUTE);
	holds(2, 0);
	world_ticket_gone(w, "ci");
	p.disabled = true;
	world_pool(w, &p);
	holds(0, 0);
	/* The minute is not remembered. */
	p.disabled = false;
	world_pool(w, &p);
	holds(0, 0);
	/* A ticket that was written meanwhile holds from now on. */
	p.disabled = true;
	world_pool(w, &p);
	(void)ticket("ci", "web", 30 * MINUTE);
	world_run(w, 2 * MINUTE);
	p.disabled = false;
	world_pool(w, &p);
	world_ticket_gone(w, "ci");
	holds(2, 0);
	world_run(w, MINUTE - SLACK - 1);
	ck_assert_uint_eq(held_in("web"), 2);
	holds(0, 0);
}
END_TEST

static void (*const never[])(struct ticket *t) = {
	by_a_version_that_cannot_be_read,
	by_a_time_far_ahead,
	by_a_finalizer,
};

/* What is over, or holds nothing, when it is first seen begins no minute. */
START_TEST(over_when_first_seen)
{
	struct ticket t = ticket_new("ci", "web", stamp_now(), 5 * MINUTE);

	open_pools();
	if (_i == 0)
		t.renewed_ms -= 5 * MINUTE;
	else if (_i == 1)
		t.lasts_ms = 0;
	else
		never[_i - 2](&t);
	world_ticket(w, &t);
	holds(0, 0);
	ck_assert_int_eq(machine().manual_ms, STAMP_NONE);
}
END_TEST

/* A new leader does not know when the hold began, and releases at once. */
START_TEST(a_new_leader_knows_no_minute)
{
	open_pools();
	(void)ticket("ci", "web", 30 * MINUTE);
	world_run(w, 2000);
	killed();
	w->boot_ms -= MINUTE;
	leads(TERM + 1);
	world_run(w, 2000);
	ck_assert_uint_eq(held_in("web"), 2);
	world_ticket_gone(w, "ci");
	holds(0, 0);
	/* Tickets that it sees begin are others. */
	(void)ticket("ci", "web", 30 * MINUTE);
	world_run(w, 2000);
	world_ticket_gone(w, "ci");
	holds(2, 0);
	world_run(w, MINUTE);
	holds(0, 0);
}
END_TEST

/* The clock of the API server is set: the minute lasts as long as before. */
START_TEST(the_clock_is_set_meanwhile)
{
	int64_t by_ms = _i == 0 ? 20 * MINUTE : -20 * MINUTE;

	open_pools();
	(void)ticket("ci", "web", 30 * MINUTE);
	holds(2, 0);
	world_ticket_gone(w, "ci");
	w->offset_ms += by_ms;
	holds(2, 0);
	world_run(w, MINUTE - 3 * SLACK);
	ck_assert_uint_eq(held_in("web"), 2);
	world_run(w, SLACK);
	holds(0, 0);
}
END_TEST

/* --- how far ahead -------------------------------------------------------- */

/* A new leader prolongs it by no more than it was ahead. */
START_TEST(ahead_and_a_new_leader)
{
	struct ticket t = ticket_new("ci", "web", 0, 30 * MINUTE);
	struct ticket_status st;
	int64_t seen;
	uint32_t i = 0;

	open_pools();
	seen = server_ms(w);
	t.renewed_ms = stamp_now() + 8 * MINUTE;
	world_ticket(w, &t);
	ck_assert(controller_ticket_status(w->s, &i, world_now(w), &st));
	ck_assert_int_eq(st.ahead_ms, t.renewed_ms - seen);
	ck_assert_int_eq(st.until_ms, seen + t.lasts_ms);
	ck_assert_int_eq(st.flaw, TICKET_AHEAD);
	for (int n = 1; n <= 3; n++) {
		world_run(w, 4 * MINUTE);
		killed();
		leads(TERM + n);
	}
	world_run_until(w, t.renewed_ms + t.lasts_ms - 1);
	ck_assert_uint_eq(held_in("web"), 2);
	holds(0, 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("controller: ends of tickets");
	TCase *c = run_case(s, "ends");

	tcase_add_checked_fixture(c, ticket_setup, scene_teardown);
	tcase_add_loop_test(c, a_minute_at_least, 0, ROWS(ends));
	tcase_add_loop_test(c, no_longer_than_a_minute, 0, ROWS(ends));
	tcase_add_test(c, one_write_a_second);
	tcase_add_test(c, disabled_at_once);
	tcase_add_loop_test(c, over_when_first_seen, 0, 2 + ROWS(never));
	tcase_add_test(c, a_new_leader_knows_no_minute);
	tcase_add_loop_test(c, the_clock_is_set_meanwhile, 0, 2);
	tcase_add_test(c, ahead_and_a_new_leader);
	return suite_run(s);
}
