/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ticket_scene.h"

/* What happens while tickets cannot be listed or watched: when a lead begins,
 * meanwhile, and before a release (docs/rules.md#tickets). */

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

/* --- the lead ------------------------------------------------------------- */

/* A lead in which nothing is listed yet, with machines that are to be held. */
static void
lead_begins(void)
{
	pool("web");
	add_old(2);
	machine_now(9, "web");
	list_machines();
}

START_TEST(a_lead_waits_for_the_list)
{
	struct note n;

	lead_begins();
	world_run(w, BEGIN_WAIT_MS - 1);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(notes(NOTE_WITHOUT, NULL), 0);
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 3);
	ck_assert_uint_eq(notes(NOTE_WITHOUT, &n), 1);
	ck_assert_str_eq(n.name, "Ticket");
	/* A list that comes later counts as well. */
	(void)ticket("ci", "web", 60 * MINUTE);
	world_list(w, KIND_TICKET);
	world_run(w, 15 * MINUTE);
	ck_assert_uint_eq(held_in("web"), 3);
	ck_assert_uint_eq(notes(NOTE_WITHOUT, NULL), 0);
}
END_TEST

/* The first answers come from a clock that is wrong.  Once it is right, the
 * ticket counts as it is written. */
START_TEST(a_clock_that_was_wrong_at_the_start)
{
	int64_t wrong = _i == 0 ? 60 * MINUTE : -60 * MINUTE, until;

	pool("web");
	add_old(2);
	until = ticket("ci", "web", 30 * MINUTE);
	w->offset_ms += wrong;
	list_nodepools();
	list_events();
	world_list(w, KIND_TICKET);
	world_list(w, KIND_NODECLAIM);
	world_run(w, 2000);
	w->offset_ms -= wrong;
	world_run(w, 2000);
	world_list(w, KIND_NODE);
	holds(2, 0);
	world_run_until(w, until - 1);
	ck_assert_uint_eq(held_in("web"), 2);
	holds(0, 0);
}
END_TEST

START_TEST(a_list_ends_the_wait)
{
	lead_begins();
	world_run(w, 3000);
	ck_assert_uint_eq(count_marked(w), 0);
	world_list(w, KIND_TICKET);
	world_run(w, 1000);
	ck_assert_uint_eq(held_in("web"), 3);
	world_run(w, BEGIN_WAIT_MS);
	ck_assert_uint_eq(notes(NOTE_WITHOUT, NULL), 0);
}
END_TEST

START_TEST(without_tickets_no_lead_waits)
{
	rules.tickets[0] = '\0';
	scene_again();
	lead_begins();
	world_run(w, 1000);
	ck_assert_uint_eq(held_in("web"), 3);
	world_run(w, BEGIN_WAIT_MS);
	ck_assert_uint_eq(notes(NOTE_WITHOUT, NULL), 0);
}
END_TEST

static void
lead(bool leads)
{
	controller_lead(w->s, leads, world_now(w));
	w->up[KIND_TICKET] = false;
}

/* What one lead has seen of tickets is nothing to the next one. */
START_TEST(the_end_of_a_lead_forgets_them)
{
	open_pools();
	(void)ticket("ci", "web", 60 * MINUTE);
	(void)ticket("gone", NULL, 60 * MINUTE);
	holds(2, 2);
	lead(false);
	ck_assert_uint_eq(report().tickets, 0);
	world_ticket_gone(w, "gone");
	/* Who does not lead takes none. */
	controller_ticket(w->s, &w->tickets[0], world_now(w));
	ck_assert_uint_eq(report().tickets, 0);
	lead(true);
	(void)notes(NOTE_NODEPOOL_MANUAL, NULL);
	list_machines();
	list_nodepools();
	list_events();
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 0);
	world_run(w, 1000);
	world_list(w, KIND_TICKET);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 1);
	holds(2, 0);
	ck_assert_uint_eq(report().tickets, 1);
}
END_TEST

/* Whichever list comes first: a new leader tells of a hold once. */
START_TEST(told_once_in_a_lead)
{
	struct note n;

	open_pools();
	(void)ticket("ci", "web", 60 * MINUTE);
	holds(2, 0);
	lead(false);
	lead(true);
	(void)notes(NOTE_NODEPOOL_MANUAL, NULL);
	list_machines();
	list_events();
	if (_i == 0)
		list_nodepools();
	world_list(w, KIND_TICKET);
	if (_i != 0)
		list_nodepools();
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 1);
	ck_assert_str_eq(n.name, "web");
	world_run(w, MINUTE);
	(void)ticket("ci", "web", 60 * MINUTE);
	holds(2, 0);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 0);
}
END_TEST

/* The new leader cannot list tickets before it has to begin: the fresh list
 * before the release shows the one that holds. */
START_TEST(a_lead_without_the_list_releases_none_of_them)
{
	int64_t until;

	open_pools();
	until = ticket("ci", "web", 60 * MINUTE);
	(void)ticket("gone", "batch", 60 * MINUTE);
	holds(2, 2);
	lead(false);
	world_ticket_gone(w, "gone");
	lead(true);
	list_machines();
	list_nodepools();
	list_events();
	world_run(w, BEGIN_WAIT_MS + MINUTE);
	ck_assert_uint_eq(held_in("web"), 2);
	ck_assert_uint_eq(held_in("batch"), 0);
	ck_assert_uint_eq(node_at(w, 0)->writes, 1);
	world_run_until(w, until - 1);
	ck_assert_uint_eq(held_in("web"), 2);
	holds(0, 0);
}
END_TEST

/* --- the watch is broken -------------------------------------------------- */

/* Down or frozen, it blocks no release of others, and ends no ticket before its
 * time. */
START_TEST(a_broken_watch)
{
	int64_t until, quiet;

	use_scope(SCOPE_NODEPOOL, 0);
	open_pools();
	quiet = machine_now(4, "batch");
	until = ticket("ci", "web", 30 * MINUTE);
	holds(2, 3);
	if (_i == 0)
		world_watch(w, KIND_TICKET, false);
	else
		w->frozen[KIND_TICKET] = true;
	world_run_until(w, quiet - 1);
	ck_assert_uint_eq(held_in("batch"), 3);
	holds(2, 0);
	world_run_until(w, until - 1);
	ck_assert_uint_eq(held_in("web"), 2);
	holds(0, 0);
	ck_assert_uint_eq(notes(NOTE_BLOCKED, NULL), 0);
	ck_assert(!report().blocked);
}
END_TEST

/* A ticket that is renewed all the time stops no release of others, however
 * late its watch is. */
START_TEST(a_frozen_watch_of_many_renewals)
{
	int64_t quiet;

	use_scope(SCOPE_NODEPOOL, 0);
	open_pools();
	quiet = machine_now(4, "batch");
	(void)ticket("ci", "web", 20 * MINUTE);
	holds(2, 3);
	w->frozen[KIND_TICKET] = true;
	world_run_until(w, quiet - 1);
	for (int i = 0; i < SLACK / 200; i++) {
		/* Each has whole seconds, and one may look like the last. */
		struct ticket t = ticket_new("ci", "web", server_ms(w),
					     20 * MINUTE);

		strcpy(t.reason, "a sale");
		world_ticket(w, &t);
		world_run(w, 200);
	}
	ck_assert_uint_eq(held_in("batch"), 0);
	ck_assert_uint_eq(held_in("web"), 2);
	/* It goes on for as long as its last renewal says. */
	world_run(w, 19 * MINUTE);
	ck_assert_uint_eq(held_in("web"), 2);
	world_run(w, 2 * MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* --- the release ---------------------------------------------------------- */

/* web has two old machines and is held for another minute.  Returns until
 * when. */
static int64_t
due_in_a_minute(void)
{
	int64_t quiet;

	pool("web");
	add_old(2);
	quiet = busy_until(9, MINUTE);
	world_open(w);
	ck_assert_uint_eq(held_in("web"), 3);
	memset(w->acts, 0, sizeof(w->acts));
	return quiet;
}

START_TEST(a_third_fresh_list)
{
	int64_t quiet = due_in_a_minute();

	world_run_until(w, quiet - 1);
	ck_assert_uint_eq(w->acts[ACT_LIST_CLAIMS], 0);
	world_run(w, 1);
	ck_assert_uint_eq(w->acts[ACT_LIST_CLAIMS], 1);
	ck_assert_uint_eq(w->acts[ACT_LIST_NODEPOOLS], 0);
	held_until(server_ms(w) + 1, 3);
	ck_assert_uint_eq(w->acts[ACT_LIST_CLAIMS], 1);
	ck_assert_uint_eq(w->acts[ACT_LIST_NODEPOOLS], 1);
	ck_assert_uint_eq(w->acts[ACT_LIST_TICKETS], 1);
}
END_TEST

/* The third list comes last, and nothing is cleared before its answer. */
START_TEST(nothing_before_its_answer)
{
	int64_t quiet = due_in_a_minute();
	struct action a;

	w->boot_ms += quiet - server_ms(w);
	(void)act_done(ACT_LIST_CLAIMS, CONTROLLER_OK);
	(void)act_done(ACT_LIST_NODEPOOLS, CONTROLLER_OK);
	a = act_next(ACT_LIST_TICKETS);
	ck_assert_int_eq(a.kind, KIND_TICKET);
	ck_assert(act_waits());
	act_answer(&a, CONTROLLER_OK);
	(void)act_next(ACT_CLEAR);
}
END_TEST

START_TEST(no_third_list_without_a_namespace)
{
	int64_t quiet;

	rules.tickets[0] = '\0';
	scene_again();
	quiet = due_in_a_minute();
	go_wrong(NULL, ACT_LIST_TICKETS, REPLY_REFUSED, -1);
	held_until(quiet, 3);
	ck_assert_uint_eq(w->acts[ACT_LIST_NODEPOOLS], 1);
	ck_assert_uint_eq(w->acts[ACT_LIST_TICKETS], 0);
	ck_assert(!report().has_tickets);
}
END_TEST

/* The watch has not shown it yet.  Whatever it names, the next lists decide. */
START_TEST(an_unknown_ticket_stops_it)
{
	int64_t quiet = due_in_a_minute(), until;
	struct note n;

	w->frozen[KIND_TICKET] = true;
	until = ticket("ci", _i == 0 ? "web" : "batch", 30 * MINUTE);
	world_run_until(w, quiet + FRESH_RETRY_MS - 100);
	ck_assert_uint_eq(notes(NOTE_STOPPED, &n), 1);
	ck_assert_str_eq(n.name, "Ticket");
	ck_assert_uint_eq(n.as.objects, 1);
	ck_assert_uint_eq(held_in("web"), 3);
	ck_assert_uint_eq(report().tickets, 1);
	if (_i != 0) {
		holds(0, 0);
		ck_assert_uint_eq(notes(NOTE_STOPPED, NULL), 0);
		return;
	}
	world_run_until(w, until - 1);
	ck_assert_uint_eq(held_in("web"), 3);
	holds(0, 0);
	ck_assert_uint_eq(notes(NOTE_STOPPED, NULL), 0);
}
END_TEST

/* A ticket that is known by other patterns, or that was over. */
START_TEST(a_changed_ticket_stops_it)
{
	int64_t quiet = due_in_a_minute();

	(void)ticket("ci", _i == 0 ? "batch" : "web", _i == 0 ? DAY : 1000);
	world_run(w, 2000);
	w->frozen[KIND_TICKET] = true;
	(void)ticket("ci", "web", 30 * MINUTE);
	world_run_until(w, quiet + SLACK);
	ck_assert_uint_eq(held_in("web"), 3);
	world_run(w, 28 * MINUTE);
	ck_assert_uint_eq(held_in("web"), 3);
	world_run(w, 2 * MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* It is over already, or says no end, or has just changed its reason. */
START_TEST(what_stops_no_release)
{
	int64_t quiet = due_in_a_minute();
	struct ticket t;

	(void)ticket("known", "batch", DAY);
	world_run(w, 1000);
	w->frozen[KIND_TICKET] = true;
	t = ticket_new("over", "web", stamp_now() - MINUTE, MINUTE);
	world_ticket(w, &t);
	t = ticket_new("endless", "web", STAMP_NONE, DAY);
	world_ticket(w, &t);
	t = w->tickets[0];
	strcpy(t.reason, "another");
	world_ticket(w, &t);
	held_until(quiet, 3);
	ck_assert_uint_eq(notes(NOTE_STOPPED, NULL), 0);
	ck_assert_uint_eq(report().tickets, 1);
}
END_TEST

/* The release is due, and its list of tickets is under way. */
static struct action
list_under_way(void)
{
	(void)act_done(ACT_LIST_CLAIMS, CONTROLLER_OK);
	(void)act_done(ACT_LIST_NODEPOOLS, CONTROLLER_OK);
	return act_next(ACT_LIST_TICKETS);
}

/* A line comes while the fresh list is under way.  The list may be older than
 * the watch, so what it shows is not taken, and the release waits for another
 * one: of a ticket that is unknown, that names other NodePools, or that is
 * over. */
START_TEST(the_watch_may_be_newer)
{
	int64_t quiet = due_in_a_minute();
	struct ticket t = ticket_new("ci", _i == 1 ? "batch" : "web",
				     stamp_now() - MINUTE,
				     _i == 1 ? DAY : 1000);
	struct ticket line = ticket_new("line", "gpu", stamp_now(), DAY);
	uint32_t known = _i == 1;
	struct action a;

	if (_i != 0)
		world_ticket(w, &t);
	world_run_until(w, quiet - 1);
	w->boot_ms++;
	t = ticket_new("ci", "web", stamp_now(), DAY);
	w->frozen[KIND_TICKET] = true;
	world_ticket(w, &t);
	a = list_under_way();
	controller_ticket(w->s, &line, world_now(w));
	controller_fresh_ticket(w->s, &t, world_now(w));
	ck_assert_uint_eq(report().tickets, known + 1);
	act_answer(&a, CONTROLLER_OK);
	ck_assert(act_waits());
	ck_assert_uint_eq(notes(NOTE_STOPPED, NULL), 1);
	w->boot_ms += FRESH_RETRY_MS;
	a = list_under_way();
	controller_ticket_gone(w->s, "line", world_now(w));
	controller_fresh_ticket(w->s, &t, world_now(w));
	act_answer(&a, CONTROLLER_OK);
	ck_assert(act_waits());
	ck_assert_uint_eq(notes(NOTE_STOPPED, NULL), 1);
	ck_assert_uint_eq(report().tickets, known);
	/* Without a line, it is taken. */
	w->boot_ms += FRESH_RETRY_MS;
	a = list_under_way();
	controller_fresh_ticket(w->s, &t, world_now(w));
	ck_assert_uint_eq(report().tickets, 1);
	act_answer(&a, CONTROLLER_OK);
	world_run(w, 60 * MINUTE);
	ck_assert_uint_eq(held_in("web"), 3);
}
END_TEST

/* --- the fresh list fails ------------------------------------------------- */

static const enum reply_fault faults[] = {REPLY_REFUSED, REPLY_ERROR,
					  REPLY_LOST};

/* Asserts that so many machines are held for a minute longer, and not for
 * longer than that and a call. */
static void
waits_for_a_minute(int64_t quiet, unsigned nodes, enum reply_fault fault)
{
	struct note n;

	world_run_until(w, quiet + FRESH_TICKETS_MS - 1);
	ck_assert_uint_eq(notes(NOTE_WITHOUT, NULL), 0);
	ck_assert_uint_eq(held_in("web"), nodes);
	world_run(w, 1000 + (fault == REPLY_LOST ? CALL_MS : 0));
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(notes(NOTE_WITHOUT, &n), 1);
	ck_assert_str_eq(n.name, "Ticket");
}

START_TEST(a_list_that_fails)
{
	enum reply_fault fault = faults[_i % 3];
	int64_t quiet;

	world_free(w);
	w = world_new(&rules, THINGS, (uint64_t)_i);
	quiet = due_in_a_minute();
	go_wrong(NULL, ACT_LIST_TICKETS, fault, -1);
	waits_for_a_minute(quiet, 3, fault);
	/* The next release does not wait, and this is not told again. */
	quiet = busy_until(10, MINUTE);
	world_run_until(w, quiet - 1);
	ck_assert_uint_eq(held_in("web"), 4);
	world_run(w, SLACK + (fault == REPLY_LOST ? CALL_MS : 0));
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(notes(NOTE_WITHOUT, NULL), 0);
	ck_assert(!report().blocked);
	/* After a list that succeeds, all is as it was in the beginning. */
	w->fault = NULL;
	held_until(busy_until(11, MINUTE), 5);
	go_wrong(NULL, ACT_LIST_TICKETS, fault, -1);
	waits_for_a_minute(busy_until(12, MINUTE), 6, fault);
}
END_TEST

/* The release goes on with the first list that succeeds. */
START_TEST(a_list_that_fails_for_a_while)
{
	int64_t quiet = due_in_a_minute();

	go_wrong(NULL, ACT_LIST_TICKETS, REPLY_ERROR, 3);
	world_run_until(w, quiet + 5000);
	ck_assert_uint_eq(held_in("web"), 3);
	world_run(w, 10000);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(notes(NOTE_WITHOUT, NULL), 0);
	ck_assert_uint_eq(w->acts[ACT_LIST_TICKETS], 4);
	ck_assert_uint_eq(w->acts[ACT_LIST_CLAIMS], 4);
	/* What fails later has its own minute. */
	quiet = busy_until(10, 2 * MINUTE);
	go_wrong(NULL, ACT_LIST_TICKETS, REPLY_ERROR, -1);
	waits_for_a_minute(quiet, 4, REPLY_ERROR);
}
END_TEST

/* A new lead waits, and tells, anew. */
START_TEST(a_list_that_fails_in_the_next_lead)
{
	int64_t quiet = due_in_a_minute();

	go_wrong(NULL, ACT_LIST_TICKETS, REPLY_REFUSED, -1);
	waits_for_a_minute(quiet, 3, REPLY_REFUSED);
	lead(false);
	lead(true);
	quiet = busy_until(10, MINUTE);
	list_nodepools();
	list_events();
	world_open(w);
	waits_for_a_minute(quiet, 4, REPLY_REFUSED);
}
END_TEST

/* The lists of the others fail for longer than a minute: no release. */
START_TEST(the_other_lists_are_needed)
{
	int64_t quiet = due_in_a_minute();

	go_wrong(NULL, _i == 0 ? ACT_LIST_CLAIMS : ACT_LIST_NODEPOOLS,
		 REPLY_ERROR, -1);
	world_run_until(w, quiet + 5 * MINUTE);
	ck_assert_uint_eq(held_in("web"), 3);
	ck_assert_uint_eq(notes(NOTE_WITHOUT, NULL), 0);
}
END_TEST

static void
add_lead(TCase *c)
{
	tcase_add_checked_fixture(c, ticket_setup, scene_teardown);
	tcase_add_test(c, a_lead_waits_for_the_list);
	tcase_add_loop_test(c, a_clock_that_was_wrong_at_the_start, 0, 2);
	tcase_add_test(c, a_list_ends_the_wait);
	tcase_add_test(c, without_tickets_no_lead_waits);
	tcase_add_test(c, the_end_of_a_lead_forgets_them);
	tcase_add_loop_test(c, told_once_in_a_lead, 0, 2);
	tcase_add_test(c, a_lead_without_the_list_releases_none_of_them);
	tcase_add_loop_test(c, a_broken_watch, 0, 2);
	tcase_add_test(c, a_frozen_watch_of_many_renewals);
}

static void
add_release(TCase *c)
{
	tcase_add_checked_fixture(c, ticket_setup, scene_teardown);
	tcase_add_test(c, a_third_fresh_list);
	tcase_add_test(c, nothing_before_its_answer);
	tcase_add_test(c, no_third_list_without_a_namespace);
	tcase_add_loop_test(c, an_unknown_ticket_stops_it, 0, 2);
	tcase_add_loop_test(c, a_changed_ticket_stops_it, 0, 2);
	tcase_add_test(c, what_stops_no_release);
	tcase_add_loop_test(c, the_watch_may_be_newer, 0, 3);
	tcase_add_loop_test(c, a_list_that_fails, 0, 4 * ROWS(faults));
	tcase_add_test(c, a_list_that_fails_for_a_while);
	tcase_add_test(c, a_list_that_fails_in_the_next_lead);
	tcase_add_loop_test(c, the_other_lists_are_needed, 0, 2);
}

int
main(void)
{
	Suite *s = suite_create("controller: views of tickets");

	add_lead(run_case(s, "lead"));
	add_release(run_case(s, "release"));
	return suite_run(s);
}
