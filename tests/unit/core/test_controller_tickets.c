/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "story.h"
#include "ticket_scene.h"

/* What a ticket holds and until when, and what is told of it
 * (docs/rules.md#tickets). */

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

static uint64_t flawed_before;	/* see told_flaw */

static void
setup(void)
{
	flawed_before = 0;
	ticket_setup();
}

static uint64_t
flawed(void)
{
	return w->counters.at[COUNTER_TICKETS_FLAWED];
}

/* Asserts that one ticket was told to have this flaw since the last call, and
 * that it was counted, or that none was (TICKET_GOOD). */
static void
told_flaw(enum ticket_flaw flaw)
{
	struct note n;
	unsigned told = notes(NOTE_TICKET, &n);

	if (flaw == TICKET_DELETING) /* is no fault of its writer */
		flaw = TICKET_GOOD;
	ck_assert_uint_eq(told, flaw == TICKET_GOOD ? 0 : 1);
	ck_assert_uint_eq(flawed() - flawed_before, told);
	flawed_before = flawed();
	if (flaw == TICKET_GOOD)
		return;
	ck_assert_int_eq(n.as.ticket.flaw, flaw);
	ck_assert_str_eq(n.name, "ci");
	ck_assert_str_eq(n.as.ticket.holder, "tester");
}

/* The reason of the latest hold that was written. */
static const char *reason;

static enum reply_fault
note_reason(struct world *x, const struct action *a)
{
	(void)x;
	if (a->act == ACT_HOLD)
		reason = a->reason;
	return REPLY_WHOLE;
}

/* --- what it holds -------------------------------------------------------- */

START_TEST(only_the_nodepools_that_it_names)
{
	int64_t until;
	struct note n;

	open_pools();
	until = ticket("ci", "web", 30 * MINUTE);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 1);
	ck_assert_str_eq(n.name, "web");
	ck_assert_str_eq(n.as.manual.uid, "u-web");
	ck_assert_int_eq(n.as.manual.until_ms, until);
	ck_assert_str_eq(n.as.manual.reason, "ticket ci of tester: a sale");
	w->fault = note_reason;
	holds(2, 0);
	ck_assert_str_eq(reason, "ticket");
	/* It spreads to no other, and its machines hold nobody. */
	machine_now(4, "web");
	ck_assert_uint_eq(notes(NOTE_SCOPE_HELD, NULL), 0);
	machine_add(w, 5, "batch", server_ms(w) - DAY);
	world_run_until(w, until - 1);
	ck_assert_uint_eq(held_in("web"), 3);
	holds(0, 0);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 0);
}
END_TEST

static const struct {
	const char *patterns;
	unsigned web, batch;
} patterns[] = {
	{"web", 2, 0},
	{"b*", 0, 2},
	{"gpu, batch\tweb", 2, 2},
	{"*", 2, 2},
	{"gpu", 0, 0},
	{NULL, 2, 2},	/* all */
	{" ", 2, 2},
};

START_TEST(by_patterns)
{
	int64_t until;

	open_pools();
	until = ticket("ci", patterns[_i].patterns, 30 * MINUTE);
	holds(patterns[_i].web, patterns[_i].batch);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL),
			  (patterns[_i].web + patterns[_i].batch) / 2);
	world_run_until(w, until - 1);
	ck_assert_uint_eq(count_held(w, KIND_NODE),
			  patterns[_i].web + patterns[_i].batch);
	holds(0, 0);
}
END_TEST

/* The NodePools that it names no more are released. */
START_TEST(other_patterns)
{
	open_pools();
	(void)ticket("ci", "web", 30 * MINUTE);
	holds(2, 0);
	world_run(w, MINUTE);
	(void)ticket("ci", "batch", 30 * MINUTE);
	holds(0, 2);
	(void)ticket("ci", NULL, 30 * MINUTE);
	holds(2, 2);
	world_run(w, MINUTE);
	(void)ticket("ci", "gpu", 30 * MINUTE);
	holds(0, 0);
}
END_TEST

/* Machines that are of no NodePool, or of one that nobody has seen. */
START_TEST(of_no_nodepool)
{
	open_pools();
	machine_add(w, 4, "", server_ms(w) - DAY);
	machine_add(w, 5, "gpu", server_ms(w) - DAY);
	(void)ticket("ci", NULL, 30 * MINUTE);
	holds(2, 2);
	ck_assert_uint_eq(held_in("") + held_in("gpu"), 0);
	pool("gpu");
	holds(2, 2);
	ck_assert_uint_eq(held_in("gpu"), 1);
	ck_assert_uint_eq(held_in(""), 0);
}
END_TEST

START_TEST(excluded_and_disabled_are_stronger)
{
	struct nodepool p = pool_of("web");

	open_pools();
	machine_add(w, 4, "excluded", server_ms(w) - DAY);
	pool("excluded");
	p.disabled = true;
	world_pool(w, &p);
	(void)ticket("ci", NULL, 30 * MINUTE);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 1);
	holds(0, 2);
	ck_assert_uint_eq(held_in("excluded"), 0);
	pool("web");
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 1);
	holds(2, 2);
	world_pool(w, &p);
	holds(0, 2);
}
END_TEST

/* A static NodePool, or one with `Never`. */
START_TEST(left_alone)
{
	struct nodepool p = pool_of("web");
	int64_t until;

	open_pools();
	p.spec_known = p.inert = true;
	world_pool(w, &p);
	until = ticket("ci", "web", 30 * MINUTE);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 1);
	holds(2, 0);
	/* New machines are held as well, but count for nobody. */
	machine_now(4, "web");
	holds(3, 0);
	p.disabled = true;
	world_pool(w, &p);
	holds(0, 0);
	p.disabled = false;
	world_pool(w, &p);
	world_run_until(w, until - 1);
	ck_assert_uint_eq(held_in("web"), 3);
	holds(0, 0);
	ck_assert_uint_eq(notes(NOTE_SCOPE_HELD, NULL), 0);
}
END_TEST

START_TEST(released_at_does_not_end_it)
{
	struct nodepool p = pool_of("web");
	int64_t until;

	use_scope(SCOPE_NODEPOOL, 0);
	open_pools();
	machine_now(4, "web");
	until = ticket("ci", "web", 20 * MINUTE);
	holds(3, 0);
	p.released_at_ms = stamp_now();
	world_pool(w, &p);
	world_run_until(w, until - 1);
	ck_assert_uint_eq(held_in("web"), 3);
	holds(0, 0);
}
END_TEST

/* A cap ends it neither at once nor later, and it leaves no debt. */
START_TEST(no_cap_ends_it)
{
	int64_t until;

	use_scope(SCOPE_NODEPOOL, 30 * MINUTE);
	open_pools();
	until = ticket("ci", "web", 2 * 60 * MINUTE);
	for (int i = 0; i < 11; i++) {
		world_run(w, 10 * MINUTE);
		ck_assert_uint_eq(held_in("web"), 2);
	}
	world_run_until(w, until + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	for (int i = 4; i < 9; i++) {
		machine_now(i, "web");
		world_run(w, 5 * MINUTE);
		ck_assert_uint_eq(held_in("web"), (unsigned)i - 1);
	}
}
END_TEST

START_TEST(no_release_window_ends_it)
{
	int n = 4;

	use_scope(SCOPE_NODEPOOL, 10 * MINUTE);
	open_pools();
	while (n < 6) {
		machine_now(n++, "web");
		world_run(w, 4 * MINUTE);
	}
	machine_now(n++, "web");
	world_run(w, 3 * MINUTE);	/* The window is open since a minute. */
	ck_assert_uint_eq(held_in("web"), 2);	/* the newest, for themselves */
	(void)ticket("ci", "web", MINUTE);
	holds(5, 0);
	world_run(w, MINUTE);
	holds(2, 0);
	/* The window ends when it would have ended. */
	world_run(w, 3 * MINUTE);
	ck_assert_uint_eq(held_in("web"), 5);
}
END_TEST

/* --- NodePools that come and go ------------------------------------------- */

START_TEST(created_later)
{
	struct note n;

	world_open(w);
	(void)ticket("ci", "web", 30 * MINUTE);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 0);
	machine_add(w, 0, "web", server_ms(w) - DAY);
	holds(0, 0);
	pool("batch");
	pool("web");
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 1);
	ck_assert_str_eq(n.name, "web");
	ck_assert_str_eq(n.as.manual.reason, "ticket ci of tester: a sale");
	holds(1, 0);
}
END_TEST

/* Its place in the table may meanwhile be another's. */
START_TEST(created_again)
{
	struct nodepool p = pool_of("web");
	struct note n;

	open_pools();
	machine_add(w, 4, "gpu", server_ms(w) - DAY);
	(void)ticket("ci", "web", 30 * MINUTE);
	holds(2, 0);
	pool_gone("web");
	holds(0, 0);
	pool("gpu");
	holds(0, 0);
	ck_assert_uint_eq(held_in("gpu"), 0);
	(void)notes(NOTE_NODEPOOL_MANUAL, NULL);
	strcpy(p.uid, "another");
	world_pool(w, &p);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 1);
	ck_assert_str_eq(n.as.manual.uid, "another");
	holds(2, 0);
	ck_assert_uint_eq(held_in("gpu"), 0);
	/* What it was held by ends while it does not exist. */
	pool_gone("web");
	world_ticket_gone(w, "ci");
	pool("web");
	holds(0, 0);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 0);
}
END_TEST

/* Shown again, with other annotations or without a change. */
START_TEST(shown_again)
{
	struct nodepool p = pool_of("web");
	int64_t until;

	open_pools();
	until = ticket("ci", "web", 30 * MINUTE);
	(void)notes(NOTE_NODEPOOL_MANUAL, NULL);
	pool("web");
	p.hold_ms = 2 * MINUTE;
	world_pool(w, &p);
	holds(2, 0);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 0);
	world_run_until(w, until - 1);
	ck_assert_uint_eq(held_in("web"), 2);
	holds(0, 0);
}
END_TEST

/* --- until when ----------------------------------------------------------- */

START_TEST(a_renewal_prolongs)
{
	int64_t until = 0;

	open_pools();
	for (int i = 0; i < 10; i++) {
		until = ticket("ci", "web", 2 * MINUTE);
		world_run(w, MINUTE);
		ck_assert_uint_eq(held_in("web"), 2);
	}
	/* One note, and one write for each object. */
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 1);
	ck_assert_uint_eq(node_at(w, 0)->writes, 1);
	ck_assert_uint_eq(claim_at(w, 0)->writes, 0);
	world_run_until(w, until - 1);
	ck_assert_uint_eq(held_in("web"), 2);
	holds(0, 0);
	/* A new hold is told of again. */
	(void)ticket("ci", "web", 2 * MINUTE);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 1);
	holds(2, 0);
}
END_TEST

/* A renewal may end it sooner, too. */
START_TEST(a_shorter_renewal)
{
	open_pools();
	(void)ticket("ci", "web", 60 * MINUTE);
	holds(2, 0);
	world_run(w, MINUTE);
	(void)ticket("ci", "web", 1000);
	holds(0, 0);
}
END_TEST

/* The end that is told is that of the first renewal, and what is told besides
 * is told when it changes. */
START_TEST(a_new_reason_is_told)
{
	struct ticket t;
	struct note n;

	open_pools();
	(void)ticket("ci", "web", 30 * MINUTE);
	(void)notes(NOTE_NODEPOOL_MANUAL, NULL);
	t = w->tickets[0];
	strcpy(t.reason, "");
	world_ticket(w, &t);
	world_run(w, MINUTE);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 1);
	ck_assert_str_eq(n.as.manual.reason, "ticket ci of tester");
	strcpy(t.holder, "");
	world_ticket(w, &t);
	world_run(w, MINUTE - 1);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 0);
	world_run(w, 1);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 1);
	ck_assert_str_eq(n.as.manual.reason, "ticket ci");
	ck_assert_int_eq(n.as.manual.until_ms, t.renewed_ms + t.lasts_ms);
}
END_TEST

START_TEST(deleted)
{
	open_pools();
	(void)ticket("ci", "web", 30 * MINUTE);
	holds(2, 0);
	ck_assert_uint_eq(report().tickets, 1);
	world_run(w, MINUTE);
	world_ticket_gone(w, "ci");
	ck_assert_uint_eq(report().tickets, 0);
	holds(0, 0);
}
END_TEST

/* The watch is closed while one ticket goes, one comes and one stays. */
START_TEST(a_list_shows_it_no_more)
{
	open_pools();
	(void)ticket("ci", "web", 30 * MINUTE);
	(void)ticket("stays", "b*", 30 * MINUTE);
	holds(2, 2);
	world_run(w, MINUTE);
	world_watch(w, KIND_TICKET, false);
	world_ticket_gone(w, "ci");
	(void)ticket("comes", "gpu", 30 * MINUTE);
	holds(2, 2);
	world_list(w, KIND_TICKET);
	ck_assert_uint_eq(report().tickets, 2);
	holds(0, 2);
}
END_TEST

/* The writer's clock is ten minutes ahead: each renewal counts from when it was
 * seen, and one that is shown again does not count again. */
START_TEST(a_clock_ahead)
{
	struct ticket t = ticket_new("ci", "web", 0, 5 * MINUTE);
	int64_t until = 0;

	open_pools();
	for (int i = 0; i < 3; i++) {
		until = server_ms(w) + 5 * MINUTE;
		t.renewed_ms = stamp_now() + 10 * MINUTE;
		world_ticket(w, &t);
		world_run(w, 2 * MINUTE);
	}
	world_list(w, KIND_TICKET);
	world_run_until(w, until - 1);
	ck_assert_uint_eq(held_in("web"), 2);
	holds(0, 0);
	ck_assert_uint_eq(notes(NOTE_TICKET, NULL), 1);
}
END_TEST

/* It holds for what is left, or for nothing. */
START_TEST(a_clock_behind)
{
	struct ticket t = ticket_new("ci", "web", 0, 5 * MINUTE);

	open_pools();
	t.renewed_ms = stamp_now() - 3 * MINUTE;
	world_ticket(w, &t);
	holds(2, 0);
	world_run_until(w, t.renewed_ms + t.lasts_ms - 1);
	ck_assert_uint_eq(held_in("web"), 2);
	holds(0, 0);
	ck_assert_uint_eq(notes(NOTE_TICKET, NULL), 0);
	t.renewed_ms = stamp_now() - 5 * MINUTE;
	world_ticket(w, &t);
	holds(0, 0);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 0);
}
END_TEST

/* It ends, and so does a renewal that comes late, before the controller is
 * asked again. */
START_TEST(over_before_anybody_looks)
{
	struct ticket t;

	open_pools();
	(void)ticket("ci", "web", MINUTE);
	holds(2, 0);
	t = w->tickets[0];
	t.renewed_ms += 30 * 1000;
	w->boot_ms += 2 * MINUTE;
	world_ticket(w, &t);
	holds(0, 0);
}
END_TEST

/* What has been seen lasts as long as before, also if it is listed again. */
START_TEST(the_api_servers_clock_is_set)
{
	int64_t by_ms = _i % 2 == 0 ? 20 * MINUTE : -20 * MINUTE, until;

	open_pools();
	until = ticket("ci", "web", 10 * MINUTE);
	holds(2, 0);
	w->offset_ms += by_ms;
	if (_i >= 2) {
		world_run(w, MINUTE);
		world_list(w, KIND_TICKET);
	}
	world_run_until(w, until + by_ms - 1);
	ck_assert_uint_eq(held_in("web"), 2);
	holds(0, 0);
	ck_assert_uint_eq(notes(NOTE_TICKET, NULL), 0);
}
END_TEST

/* It is edited after the clock was set, but not renewed: it lasts as long as
 * before. */
START_TEST(edited_after_the_clock_was_set)
{
	int64_t by_ms = _i % 2 == 0 ? 20 * MINUTE : -20 * MINUTE, until;
	struct ticket t;

	open_pools();
	until = ticket("ci", "web", 10 * MINUTE);
	holds(2, 0);
	w->offset_ms += by_ms;
	world_run(w, MINUTE);
	t = w->tickets[0];
	if (_i < 2) {
		ticket_set_patterns(&t, "batch");
	} else {
		t.lasts_ms += 5 * MINUTE;
		until += 5 * MINUTE;
	}
	world_ticket(w, &t);
	holds(_i < 2 ? 0 : 2, _i < 2 ? 2 : 0);
	world_run_until(w, until + by_ms - 1);
	ck_assert_uint_eq(held_in(_i < 2 ? "batch" : "web"), 2);
	holds(0, 0);
	ck_assert_uint_eq(notes(NOTE_TICKET, NULL), 0);
}
END_TEST

/* The first of two tickets ends, and the clock is set, before the controller is
 * asked again.  The last one still ends. */
START_TEST(one_ends_while_the_clock_is_set)
{
	int64_t by_ms = _i == 0 ? 20 * MINUTE : -20 * MINUTE, first, last;

	open_pools();
	first = ticket("ci", "web", 5 * MINUTE);
	last = ticket("deploy", "web", 10 * MINUTE);
	holds(2, 0);
	w->boot_ms += first - server_ms(w) + 1;
	w->offset_ms += by_ms;
	world_run_until(w, last + by_ms - 1);
	ck_assert_uint_eq(held_in("web"), 2);
	holds(0, 0);
}
END_TEST

/* --- several -------------------------------------------------------------- */

START_TEST(until_the_last_of_them_ends)
{
	int64_t first, last;
	struct note n;

	open_pools();
	first = ticket("ci", "web", 10 * MINUTE);
	(void)notes(NOTE_NODEPOOL_MANUAL, NULL);
	(void)ticket("rollout", "web", 15 * MINUTE);
	last = ticket("deploy", NULL, 20 * MINUTE);
	ck_assert_uint_eq(report().tickets, 3);
	/* web is said to be held by the first as long as this lasts. */
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 1);
	ck_assert_str_eq(n.name, "batch");
	holds(2, 2);
	world_run_until(w, first + SLACK);
	ck_assert_uint_eq(report().tickets, 2);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 1);
	ck_assert_str_eq(n.name, "web");
	ck_assert_int_eq(n.as.manual.until_ms, last);
	ck_assert_str_eq(n.as.manual.reason, "ticket deploy of tester: a sale");
	ck_assert_uint_eq(held_in("web"), 2);
	world_run_until(w, last - 1);
	ck_assert_uint_eq(held_in("web") + held_in("batch"), 4);
	holds(0, 0);
	ck_assert_uint_eq(node_at(w, 0)->writes, 2);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 0);
}
END_TEST

/* The one that was told names it no more. */
START_TEST(one_of_several_names_another)
{
	struct note n;

	open_pools();
	(void)ticket("ci", "web", 10 * MINUTE);
	(void)ticket("deploy", "web", 20 * MINUTE);
	(void)ticket("rollout", "web", 15 * MINUTE);
	(void)notes(NOTE_NODEPOOL_MANUAL, NULL);
	(void)ticket("ci", "gpu", 10 * MINUTE);
	world_run(w, MINUTE - 1);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 0);
	world_run(w, 1);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 1);
	ck_assert_str_eq(n.as.manual.reason, "ticket deploy of tester: a sale");
	holds(2, 0);
}
END_TEST

START_TEST(renewed_in_turns)
{
	struct note n;

	open_pools();
	for (int i = 0; i < 20; i++) {
		(void)ticket("ci", "web", 90 * 1000);
		world_run(w, MINUTE / 2);
		(void)ticket("deploy", "web", 90 * 1000);
		world_run(w, MINUTE / 2);
		ck_assert_uint_eq(held_in("web"), 2);
	}
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 2);
	/* The last report named deploy. */
	world_ticket_gone(w, "deploy");
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 1);
	ck_assert_str_eq(n.as.manual.reason, "ticket ci of tester: a sale");
	holds(2, 0);
	world_ticket_gone(w, "ci");
	holds(0, 0);
}
END_TEST

/* Whichever lasts longer holds. */
START_TEST(beside_hold_until)
{
	struct nodepool p = pool_of("web");
	struct note n;
	int64_t until;

	open_pools();
	p.hold_until_ms = stamp_now() + 10 * MINUTE;
	nodepool_set_reason(&p, "by hand");
	world_pool(w, &p);
	(void)notes(NOTE_NODEPOOL_MANUAL, NULL);
	(void)ticket("ci", "web", 5 * MINUTE);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 0);
	w->fault = note_reason;
	holds(2, 0);
	ck_assert_str_eq(reason, "hold-until");
	world_run(w, 4 * MINUTE);
	until = ticket("ci", "web", 15 * MINUTE);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 1);
	ck_assert_str_eq(n.as.manual.reason, "ticket ci of tester: a sale");
	ck_assert_int_eq(n.as.manual.until_ms, until);
	until = ticket("ci", "web", 16 * MINUTE);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 0);
	world_ticket_gone(w, "ci");
	world_run(w, MINUTE);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 1);
	ck_assert_str_eq(n.as.manual.reason, "by hand");
	until = ticket("ci", "web", 15 * MINUTE);
	/* The hold-until, which was reported last, is still in force. */
	world_run(w, MINUTE);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 0);
	world_run_until(w, p.hold_until_ms + SLACK);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 1);
	ck_assert_int_eq(n.as.manual.until_ms, until);
	ck_assert_uint_eq(held_in("web"), 2);
	world_run_until(w, until - 1);
	ck_assert_uint_eq(held_in("web"), 2);
	holds(0, 0);
}
END_TEST

/* --- bounds --------------------------------------------------------------- */

/* So many patterns, of which the first names web. */
static const char *
many(int n)
{
	static char value[2048];

	strcpy(value, "web");
	while (--n > 0)
		strcat(value, ",gpu");
	return value;
}

static struct ticket
with_flaw(enum ticket_flaw flaw)
{
	struct ticket t = ticket_new("ci", "web", stamp_now(), 30 * MINUTE);

	if (flaw == TICKET_UNREADABLE)
		strcpy(t.fault, "it cannot be read: spec.renewTime is no time");
	if (flaw == TICKET_DELETING)
		t.deleting = true;
	if (flaw == TICKET_ENDLESS)
		t.lasts_ms = 0;
	if (flaw == TICKET_FAR_AHEAD)
		t.renewed_ms += 31 * MINUTE;
	if (flaw == TICKET_OVER)
		t.renewed_ms -= 31 * MINUTE;
	if (flaw == TICKET_LONG)
		t.lasts_ms = 8 * DAY;
	if (flaw == TICKET_AHEAD)
		t.renewed_ms += 9 * MINUTE;
	if (flaw == TICKET_BROAD)
		ticket_set_patterns(&t, many(65));
	return t;
}

/* Each flaw is told and counted once, as long as it lasts. */
START_TEST(a_flaw_is_told_once)
{
	enum ticket_flaw flaw = (enum ticket_flaw)_i;
	bool all = flaw > TICKET_OVER;
	struct ticket t, good;

	open_pools();
	t = with_flaw(flaw);
	world_ticket(w, &t);
	told_flaw(flaw);
	ck_assert_uint_eq(report().tickets, all);
	holds(all ? 2 : 0, 0);
	/* Not by a line or a list that says the same. */
	world_ticket(w, &t);
	world_list(w, KIND_TICKET);
	strcpy(t.reason, "another");
	world_ticket(w, &t);
	told_flaw(TICKET_GOOD);
	world_run(w, 10 * MINUTE);
	t = with_flaw(flaw);
	world_ticket(w, &t);
	told_flaw(TICKET_GOOD);
	/* Again when it has come again. */
	good = with_flaw(TICKET_GOOD);
	world_ticket(w, &good);
	told_flaw(TICKET_GOOD);
	holds(2, 0);
	world_ticket(w, &t);
	told_flaw(flaw);
	/* With another flaw, or as another ticket. */
	t = with_flaw(flaw == TICKET_LONG ? TICKET_OVER : TICKET_LONG);
	world_ticket(w, &t);
	told_flaw(flaw == TICKET_LONG ? TICKET_OVER : TICKET_LONG);
	world_ticket_gone(w, "ci");
	t = with_flaw(flaw);
	world_ticket(w, &t);
	told_flaw(flaw);
}
END_TEST

/* The one pattern that is too much comes later, and changes nothing else. */
START_TEST(one_pattern_more)
{
	struct ticket t;

	open_pools();
	t = with_flaw(TICKET_GOOD);
	ticket_set_patterns(&t, many(64));
	world_ticket(w, &t);
	told_flaw(TICKET_GOOD);
	ticket_set_patterns(&t, many(65));
	world_ticket(w, &t);
	told_flaw(TICKET_BROAD);
	ticket_set_patterns(&t, many(64));
	world_ticket(w, &t);
	told_flaw(TICKET_GOOD);
}
END_TEST

START_TEST(seven_days)
{
	struct ticket t;

	open_pools();
	t = with_flaw(TICKET_LONG);
	world_ticket(w, &t);
	world_run_until(w, t.renewed_ms + TICKET_MAX_MS - 1);
	ck_assert_uint_eq(held_in("web"), 2);
	holds(0, 0);
	told_flaw(TICKET_LONG);
}
END_TEST

/* --- more than there is room for ------------------------------------------ */

/* Writes n tickets named PREFIX and a number, which hold no NodePool here. */
static void
crowd(const char *prefix, int n)
{
	char name[32];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s%d", prefix, i);
		(void)ticket(name, "gpu", DAY);
	}
}

START_TEST(more_than_a_thousand)
{
	struct note n;

	open_pools();
	crowd("t", TICKETS_MAX);
	ck_assert_uint_eq(flawed(), 0);
	ck_assert_uint_eq(report().tickets, TICKETS_MAX);
	(void)ticket("ci", "web", DAY);
	told_flaw(TICKET_FULL);
	holds(0, 0);
	ck_assert_uint_eq(report().tickets, TICKETS_MAX);
	/* Not again by its renewals and by lists, nor by fresh lists. */
	(void)ticket("ci", "web", DAY);
	world_list(w, KIND_TICKET);
	machine_add(w, 4, "web", server_ms(w) - rules.hold_ms + MINUTE);
	world_run(w, MINUTE + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_ge(w->acts[ACT_LIST_TICKETS], 1);
	told_flaw(TICKET_GOOD);
	/* Another one is told of. */
	(void)ticket("deploy", "web", DAY);
	ck_assert_uint_eq(notes(NOTE_TICKET, &n), 1);
	ck_assert_str_eq(n.name, "deploy");
	/* Those that are in the table are renewed. */
	(void)ticket("t7", "batch", DAY);
	holds(0, 2);
	world_run(w, MINUTE);
	/* When there is room, a list brings one of those that had none. */
	world_ticket_gone(w, "t7");
	holds(3, 0);
	ck_assert_uint_eq(w->relists[KIND_TICKET], 1);
	ck_assert_uint_eq(report().tickets, TICKETS_MAX);
	ck_assert_uint_eq(notes(NOTE_TICKET, NULL), 0);
}
END_TEST

/* All are others after the watch was down: there is room once the list has
 * ended. */
START_TEST(a_thousand_others)
{
	char name[32];

	open_pools();
	crowd("t", TICKETS_MAX);
	world_watch(w, KIND_TICKET, false);
	for (int i = 0; i < TICKETS_MAX; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		world_ticket_gone(w, name);
	}
	crowd("u", TICKETS_MAX - 1);
	(void)ticket("ci", "web", DAY);
	world_list(w, KIND_TICKET);
	world_run(w, RELIST_LEFT_OUT_MS);
	ck_assert_uint_eq(report().tickets, TICKETS_MAX);
	holds(2, 0);
	ck_assert_uint_eq(w->relists[KIND_TICKET], 1);
	world_run(w, 10 * MINUTE);
	ck_assert_uint_eq(w->relists[KIND_TICKET], 1);
}
END_TEST

static uint32_t
nodepools_of_first(void)
{
	struct ticket_status t;
	uint32_t i = 0;

	ck_assert(controller_ticket_status(w->s, &i, world_now(w), &t));
	return t.nodepools;
}

/* A NodePool that is disabled or excluded is not held, and not counted.  A
 * static one is held. */
START_TEST(its_nodepools_are_those_that_may_be_held)
{
	struct nodepool p = pool_of("web");

	open_pools();
	pool("excluded");
	(void)ticket("ci", NULL, 10 * MINUTE);
	ck_assert_uint_eq(nodepools_of_first(), 2);
	p.inert = true;
	world_pool(w, &p);
	ck_assert_uint_eq(nodepools_of_first(), 2);
	p.disabled = true;
	world_pool(w, &p);
	ck_assert_uint_eq(nodepools_of_first(), 1);
	world_run(w, 10 * MINUTE);
	ck_assert_uint_eq(nodepools_of_first(), 0);
}
END_TEST

/* --- the history ---------------------------------------------------------- */

#define CI "ticket ci of tester: a sale"

START_TEST(one_turn_for_each_ticket)
{
	int64_t until = 0;

	open_pools();
	for (int i = 0; i < 10; i++) {
		until = ticket("ci", "web", 5 * MINUTE);
		world_run(w, 2 * MINUTE);
	}
	told_by_both("web held: ticket (" CI ")\n");
	world_run_until(w, until + SLACK);
	told_by_both("web held: ticket (" CI ")\n"
		     "web released: ticket-ended 23\n");
}
END_TEST

START_TEST(a_turn_that_is_ended_by_deletion)
{
	open_pools();
	(void)ticket("ci", NULL, 60 * MINUTE);
	world_run(w, 5 * MINUTE);
	world_ticket_gone(w, "ci");
	told_by_both("web held: ticket (" CI ")\n"
		     "batch held: ticket (" CI ")\n"
		     "web released: ticket-ended 5\n"
		     "batch released: ticket-ended 5\n");
}
END_TEST

/* One after the other, and both at once. */
START_TEST(turns_of_several)
{
	int64_t first, last;

	open_pools();
	first = ticket("ci", "web", 10 * MINUTE);
	world_run(w, 5 * MINUTE);
	last = ticket("deploy", "web", 10 * MINUTE);
	world_run(w, MINUTE);
	told_by_both("web held: ticket (" CI ")\n");
	world_run_until(w, first + SLACK);
	world_run_until(w, last + SLACK);
	told_by_both("web held: ticket (" CI ")\n"
		     "web released: ticket-ended 15\n");
}
END_TEST

/* A released-at that comes meanwhile releases nothing, also not later, whether
 * the ticket ends by its time or is deleted. */
START_TEST(a_released_at_is_no_turn_meanwhile)
{
	struct nodepool p = pool_of("web");
	int64_t until;

	open_pools();
	until = ticket("ci", "web", 10 * MINUTE);
	world_run(w, MINUTE);
	p.released_at_ms = stamp_now();
	world_pool(w, &p);
	world_run(w, MINUTE);
	told_by_both("web held: ticket (" CI ")\n");
	if (_i == 0)
		world_run_until(w, until + SLACK);
	else
		world_ticket_gone(w, "ci");
	world_run(w, MINUTE);
	world_pool(w, &p);
	told_by_both(_i == 0 ? "web held: ticket (" CI ")\n"
			       "web released: ticket-ended 10\n"
			     : "web held: ticket (" CI ")\n"
			       "web released: ticket-ended 3\n");
}
END_TEST

START_TEST(turns_beside_hold_until)
{
	struct nodepool p = pool_of("web");
	int64_t until;

	open_pools();
	p.hold_until_ms = stamp_now() + 10 * MINUTE;
	nodepool_set_reason(&p, "by hand");
	world_pool(w, &p);
	/* It lasts for less, and then for longer. */
	(void)ticket("ci", "web", 5 * MINUTE);
	world_run(w, MINUTE);
	told_by_both("web held: hold-until (by hand)\n");
	until = ticket("ci", "web", 15 * MINUTE);
	world_run_until(w, until + SLACK);
	told_by_both("web held: hold-until (by hand)\n"
		     "web released: ticket-ended 17\n");
}
END_TEST

/* While nobody leads: it is renewed, or ends by its time, or is deleted; or
 * another one has taken its place. */
START_TEST(turns_while_nobody_leads)
{
	open_pools();
	(void)ticket("ci", "web", 5 * MINUTE);
	world_run(w, MINUTE);
	killed();
	w->boot_ms += 10 * MINUTE;
	switch (_i) {
	case 0:
		(void)ticket("ci", "web", 5 * MINUTE);
		leads(TERM + 1);
		tells("web held: ticket (" CI ")\n");
		break;
	case 1:
		leads(TERM + 1);
		tells("web held: ticket (" CI ")\n"
		      "web released: ticket-ended 12\n");
		break;
	case 2:
		w->boot_ms -= 9 * MINUTE;
		world_ticket_gone(w, "ci");
		leads(TERM + 1);
		tells("web held: ticket (" CI ")\n"
		      "web released: ticket-ended 3\n");
		break;
	case 3:
		world_ticket_gone(w, "ci");
		(void)ticket("deploy", "web", 5 * MINUTE);
		leads(TERM + 1);
		tells("web held: ticket (" CI ")\n");
		break;
	}
}
END_TEST

/* The next leader knows its NodePools, and not yet its tickets: the turn goes
 * on until their list has come. */
START_TEST(a_turn_waits_for_the_list)
{
	open_pools();
	(void)ticket("ci", "web", 5 * MINUTE);
	world_run(w, MINUTE);
	killed();
	if (_i != 0)
		world_ticket_gone(w, "ci");
	controller_recall(w->s, text, TERM + 1, world_now(w));
	list_nodepools();
	list_machines();
	world_run(w, 8000);
	tells("web held: ticket (" CI ")\n");
	world_list(w, KIND_TICKET);
	if (_i == 0)
		tells("web held: ticket (" CI ")\n");
	else
		tells("web held: ticket (" CI ")\n"
		      "web released: ticket-ended 2\n");
}
END_TEST

/* The Lease has the text of a release that called a ticket hold-until.  The
 * hold goes on, and its end is that of a ticket. */
START_TEST(turns_of_an_older_release)
{
	static const char older[] = "held hold-until", newer[] = "held ticket";
	char *at;

	open_pools();
	(void)ticket("ci", "web", 5 * MINUTE);
	world_run(w, MINUTE);
	(void)ticket("ci", "web", 15 * MINUTE);
	killed();
	w->boot_ms += 5 * MINUTE;
	at = strstr(text, newer);
	ck_assert_ptr_nonnull(at);
	memmove(at + strlen(older), at + strlen(newer),
		strlen(at + strlen(newer)) + 1);
	memcpy(at, older, strlen(older));
	leads(TERM + 1);
	tells("web held: hold-until (" CI ")\n");
	world_ticket_gone(w, "ci");
	world_run(w, 2 * MINUTE);
	tells("web held: hold-until (" CI ")\n"
	      "web released: ticket-ended 7\n");
}
END_TEST

/* A person's reason may begin as a ticket's words do, with tickets and
 * without. */
START_TEST(a_persons_reason)
{
	struct nodepool p = pool_of("web"), none = p;

	if (_i == 0) {
		rules.tickets[0] = '\0';
		scene_again();
	}
	open_pools();
	p.hold_until_ms = stamp_now() + 10 * MINUTE;
	nodepool_set_reason(&p, "ticket 4711");
	world_pool(w, &p);
	world_run(w, MINUTE);
	p.hold_until_ms += 10 * MINUTE;
	world_pool(w, &p);
	world_run(w, 2 * MINUTE);
	world_pool(w, &none);
	told_by_both("web held: hold-until (ticket 4711)\n"
		     "web held: hold-until (ticket 4711)\n"
		     "web resumed: by-hand 3 (ticket 4711)\n");
}
END_TEST

/* --- the report ----------------------------------------------------------- */

START_TEST(tickets_in_force)
{
	struct ticket t;
	int64_t until;

	open_pools();
	ck_assert(report().has_tickets);
	ck_assert(report().up[KIND_TICKET]);
	ck_assert_uint_eq(report().tickets, 0);
	until = ticket("ci", "web", 10 * MINUTE);
	(void)ticket("of-none", "gpu", 20 * MINUTE);
	t = ticket_new("over", "web", stamp_now() - MINUTE, MINUTE);
	world_ticket(w, &t);
	ck_assert_uint_eq(report().tickets, 2);
	world_run_until(w, until - 1);
	ck_assert_uint_eq(report().tickets, 2);
	world_run(w, SLACK);
	ck_assert_uint_eq(report().tickets, 1);
	world_watch(w, KIND_TICKET, false);
	ck_assert(!report().up[KIND_TICKET]);
	ck_assert_uint_eq(report().tickets, 1);
}
END_TEST

static void
add_holds(TCase *c)
{
	tcase_add_checked_fixture(c, setup, scene_teardown);
	tcase_add_test(c, only_the_nodepools_that_it_names);
	tcase_add_loop_test(c, by_patterns, 0, ROWS(patterns));
	tcase_add_test(c, other_patterns);
	tcase_add_test(c, of_no_nodepool);
	tcase_add_test(c, excluded_and_disabled_are_stronger);
	tcase_add_test(c, left_alone);
	tcase_add_test(c, released_at_does_not_end_it);
	tcase_add_test(c, no_cap_ends_it);
	tcase_add_test(c, no_release_window_ends_it);
	tcase_add_test(c, created_later);
	tcase_add_test(c, created_again);
	tcase_add_test(c, shown_again);
}

static void
add_until(TCase *c)
{
	tcase_add_checked_fixture(c, setup, scene_teardown);
	tcase_add_test(c, a_renewal_prolongs);
	tcase_add_test(c, a_shorter_renewal);
	tcase_add_test(c, a_new_reason_is_told);
	tcase_add_test(c, deleted);
	tcase_add_test(c, a_list_shows_it_no_more);
	tcase_add_test(c, a_clock_ahead);
	tcase_add_test(c, a_clock_behind);
	tcase_add_test(c, over_before_anybody_looks);
	tcase_add_loop_test(c, the_api_servers_clock_is_set, 0, 4);
	tcase_add_loop_test(c, edited_after_the_clock_was_set, 0, 4);
	tcase_add_loop_test(c, one_ends_while_the_clock_is_set, 0, 2);
	tcase_add_test(c, until_the_last_of_them_ends);
	tcase_add_test(c, one_of_several_names_another);
	tcase_add_test(c, renewed_in_turns);
	tcase_add_test(c, beside_hold_until);
}

static void
add_bounds(TCase *c)
{
	tcase_add_checked_fixture(c, setup, scene_teardown);
	tcase_add_loop_test(c, a_flaw_is_told_once, TICKET_UNREADABLE,
			    TICKET_FULL);
	tcase_add_test(c, one_pattern_more);
	tcase_add_test(c, seven_days);
	tcase_add_test(c, more_than_a_thousand);
	tcase_add_test(c, a_thousand_others);
	tcase_add_test(c, tickets_in_force);
	tcase_add_test(c, its_nodepools_are_those_that_may_be_held);
}

static void
add_history(TCase *c)
{
	tcase_add_checked_fixture(c, setup, scene_teardown);
	tcase_add_test(c, one_turn_for_each_ticket);
	tcase_add_test(c, a_turn_that_is_ended_by_deletion);
	tcase_add_test(c, turns_of_several);
	tcase_add_loop_test(c, a_released_at_is_no_turn_meanwhile, 0, 2);
	tcase_add_test(c, turns_beside_hold_until);
	tcase_add_loop_test(c, turns_while_nobody_leads, 0, 4);
	tcase_add_loop_test(c, a_turn_waits_for_the_list, 0, 2);
	tcase_add_test(c, turns_of_an_older_release);
	tcase_add_loop_test(c, a_persons_reason, 0, 2);
}

int
main(void)
{
	Suite *s = suite_create("controller: tickets");

	add_holds(run_case(s, "holds"));
	add_until(run_case(s, "until"));
	add_bounds(run_case(s, "bounds"));
	add_history(run_case(s, "history"));
	return suite_run(s);
}
