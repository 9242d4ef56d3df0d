/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/controller/status.h"
#include "scene.h"

/* What the API server may answer (docs/rules.md#writes-that-are-refused), and
 * the bounds of the table. */

static void
setup(void)
{
	scene_setup();
	add_old(5);
}

/* --- answers -------------------------------------------------------------- */

static const struct {
	const char *name;
	enum act act;
	enum reply_fault fault;
	int times;
	int64_t within_ms;	/* of the moment it was due */
} answers[] = {
	{"hold: reply lost", ACT_HOLD, REPLY_LOST, 1, 2000},
	{"hold: done after the timeout", ACT_HOLD, REPLY_LATE, 1, 16000},
	{"hold: 500 once", ACT_HOLD, REPLY_ERROR, 1, 4000},
	{"hold: 500 five times", ACT_HOLD, REPLY_ERROR, 5, 60000},
	{"hold: 429", ACT_HOLD, REPLY_BUSY, 1, 6000},
	{"hold: 409 without a change", ACT_HOLD, REPLY_CONFLICT, 1, 2000},
	{"hold: 409 four times", ACT_HOLD, REPLY_CONFLICT, 4, 20000},
	{"clear: reply lost", ACT_CLEAR, REPLY_LOST, 1, 2000},
	{"clear: done after the timeout", ACT_CLEAR, REPLY_LATE, 1, 16000},
	{"clear: 500 once", ACT_CLEAR, REPLY_ERROR, 1, 4000},
	{"clear: 429", ACT_CLEAR, REPLY_BUSY, 1, 6000},
	{"clear: 409", ACT_CLEAR, REPLY_CONFLICT, 1, 2000},
	{"read: 500", ACT_READ, REPLY_ERROR, 1, 4000},
};

START_TEST(answer_table)
{
	int64_t due = server_ms(w);

	go_wrong("n0", answers[_i].act, answers[_i].fault, answers[_i].times);
	if (answers[_i].act != ACT_HOLD) {
		object_hold(&node_at(w, 0)->o, due - DAY);
		world_open(w);
	} else {
		busy_until(9, 10 * MINUTE - 1000);
		world_open(w);
	}
	due += answers[_i].within_ms + 1000;
	if (due > server_ms(w))
		world_run_until(w, due);
	ck_assert_msg(answers[_i].act == ACT_HOLD ? thing_held(node_at(w, 0))
						  : thing_clear(node_at(w, 0)),
		      "%s", answers[_i].name);
	world_run(w, 15 * MINUTE);
	ck_assert_msg(count_marked(w) == 0, "%s: at the end",
		      answers[_i].name);
	ck_assert_uint_le(node_at(w, 0)->writes, 2);
}
END_TEST

/* The object moves on between our look and our write. */
START_TEST(conflict_then_the_watch_line)
{
	struct thing *n = node_at(w, 0);

	world_open(w);
	w->frozen[KIND_NODE] = true;
	thing_changed(w, n);
	busy_until(9, 5 * MINUTE);
	w->frozen[KIND_NODE] = false;
	w->watch_ms = 1;
	w->reply_ms = 1;
	world_run(w, SLACK);
	ck_assert(thing_held(n));
	ck_assert_uint_eq(w->acts[ACT_READ], 0);
}
END_TEST

static int changes;

static enum reply_fault
changes_meanwhile(struct world *x, const struct action *a)
{
	if (a->act != ACT_HOLD || strcmp(a->name, "n0") != 0 ||
	    changes-- <= 0)
		return REPLY_WHOLE;
	thing_changed(x, node_at(x, 0));
	return REPLY_CONFLICT;
}

/* The watch line came before the answer, so there is nothing to wait for. */
START_TEST(conflict_after_the_watch_line)
{
	world_open(w);
	changes = 1;
	w->fault = changes_meanwhile;
	w->watch_ms = 1;
	w->reply_ms = 100;
	busy_until(9, 5 * MINUTE);
	world_run(w, 200);
	ck_assert_int_lt(changes, 1);
	ck_assert(thing_held(node_at(w, 0)));
}
END_TEST

START_TEST(conflict_without_a_line_leads_to_a_read)
{
	struct thing *n = node_at(w, 0);

	world_open(w);
	w->frozen[KIND_NODE] = true;
	thing_changed(w, n);
	busy_until(9, 5 * MINUTE);
	world_run(w, SLACK);
	ck_assert_uint_ge(w->acts[ACT_READ], 1);
	ck_assert(thing_held(n));
}
END_TEST

START_TEST(conflict_for_ever_is_no_loop)
{
	go_wrong("n0", ACT_HOLD, REPLY_CONFLICT, -1);
	busy_until(9, 10 * MINUTE - 1000);
	world_open(w);
	world_run(w, 9 * MINUTE);
	ck_assert_uint_le(w->acts[ACT_HOLD], 60);
	ck_assert_uint_le(w->acts[ACT_READ], 60);
}
END_TEST

/* The test of a clear fails because the mark is not what we saw. */
START_TEST(clear_of_what_changed)
{
	struct thing *n = node_at(w, 0);

	object_hold(&n->o, server_ms(w) - DAY);
	world_open(w);
	ck_assert(thing_clear(n));
	object_hold(&n->o, server_ms(w) - DAY);
	thing_changed(w, n);
	w->frozen[KIND_NODE] = true;	/* it is seen as it was ... */
	world_lose_lines(w, KIND_NODE);
	controller_track(w->s, &n->o, world_now(w));
	n->o.mark_ms -= 5000;		/* ... and has changed since */
	snprintf(n->o.rv, RV_BYTES, "%llu", (unsigned long long)++w->rv);
	world_run(w, SLACK);
	ck_assert_uint_ge(w->acts[ACT_READ], 1);
	ck_assert(thing_clear(n));
}
END_TEST

/* A person takes the hold over just before our clear, and it stays. */
START_TEST(clear_races_a_person)
{
	struct thing *n = node_at(w, 0);
	int64_t quiet = busy_until(9, MINUTE);

	world_open(w);
	world_run_until(w, quiet - 100);
	w->frozen[KIND_NODE] = true;
	n->o.mark = MARK_ABSENT;
	thing_changed(w, n);
	world_run(w, 5000);
	w->frozen[KIND_NODE] = false;
	world_run(w, MINUTE);
	ck_assert_int_eq(n->o.hold, HOLD_SAME);
	ck_assert_uint_eq(n->writes, 1);
}
END_TEST

/* The reply to a GET comes after the watch line of a later version: the table
 * must not go back to what the GET showed. */
START_TEST(read_older_than_the_line)
{
	struct thing *n = node_at(w, 0);

	object_hold(&n->o, server_ms(w) - DAY);
	w->watch_ms = 1;
	world_list(w, KIND_NODE);
	world_list(w, KIND_NODECLAIM);
	w->frozen[KIND_NODE] = true;
	n->o.hold = HOLD_ABSENT;	/* stripped: our clear is a 422 */
	n->o.mark = MARK_ABSENT;
	thing_changed(w, n);
	while (w->acts[ACT_READ] == 0)
		world_run(w, 1);
	world_delay_replies(w, 500);
	object_hold(&n->o, server_ms(w) - DAY);	/* Karpenter's late copy */
	thing_changed(w, n);
	w->frozen[KIND_NODE] = false;
	world_run(w, 10 * MINUTE);
	ck_assert(thing_clear(n));
}
END_TEST

START_TEST(expectation_times_out)
{
	struct thing *n = node_at(w, 0);
	unsigned calls;

	world_open(w);
	busy_until(9, 10 * MINUTE - 30000);
	world_run(w, 10);
	w->frozen[KIND_NODE] = true;	/* the lines of our writes never come */
	world_run(w, EXPECT_MS / 2);
	calls = w->acts[ACT_HOLD];
	world_run(w, EXPECT_MS / 3);
	ck_assert_uint_eq(w->acts[ACT_HOLD], calls);	/* waits for it */
	world_run(w, 4 * EXPECT_MS);
	ck_assert_uint_ge(w->acts[ACT_READ], 1);	/* then looks */
	ck_assert(thing_held(n));
	ck_assert_uint_eq(n->writes, 1);
}
END_TEST

/* The watch line of a write is slow to come.  Nothing is written twice. */
START_TEST(slow_lines)
{
	int64_t quiet = busy_until(9, 5 * MINUTE);

	w->watch_ms = EXPECT_MS / 2;
	w->reply_ms = 5;
	world_open(w);
	world_run_until(w, quiet + 3 * EXPECT_MS);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(w->acts[ACT_HOLD], 6);
	ck_assert_uint_eq(w->acts[ACT_CLEAR], 6);
	ck_assert_uint_eq(w->acts[ACT_READ], 0);
}
END_TEST

START_TEST(busy_server_is_left_alone)
{
	unsigned n;

	w->retry_after_ms = 7000;
	go_wrong("n0", ACT_HOLD, REPLY_BUSY, 1);
	world_open(w);
	busy_until(9, 10 * MINUTE - 30000);
	world_run(w, 300);
	n = w->acts[ACT_HOLD];
	world_run(w, 6500);
	ck_assert_uint_eq(w->acts[ACT_HOLD], n);
	world_run(w, 10000);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 6);
}
END_TEST

/* --- gone ----------------------------------------------------------------- */

/* The object has gone before the 429 comes.  The request to wait counts all
 * the same. */
START_TEST(busy_though_it_is_gone)
{
	unsigned before;

	go_wrong("n0", ACT_CLEAR, REPLY_BUSY, 1);
	world_open(w);
	object_hold(&node_at(w, 0)->o, server_ms(w) - DAY);
	thing_changed(w, node_at(w, 0));
	while (w->acts[ACT_CLEAR] == 0)
		world_run(w, 1);
	world_delay_replies(w, 500);
	machine_delete(w, 0);
	world_run(w, 600);
	before = w->acts[ACT_HOLD];
	(void)busy_until(9, MINUTE);
	world_run(w, w->retry_after_ms - 200);
	ck_assert_uint_eq(w->acts[ACT_HOLD], before);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
}
END_TEST

START_TEST(gone_while_queued)
{
	int64_t quiet;

	for (int i = 20; i < 220; i++)
		machine_add(w, i, "web", server_ms(w) - DAY);
	world_open(w);
	quiet = busy_until(9, 5 * MINUTE);
	world_run(w, 60 + _i * 20);
	for (int i = 20; i < 220; i += 2) {
		machine_delete(w, i);
	}
	for (int i = 300; i < 350; i++)	/* ids are used again */
		machine_add(w, i, "web", server_ms(w) - DAY);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 156);
	world_run_until(w, quiet + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

START_TEST(node_created_again_under_its_name)
{
	int64_t quiet = busy_until(9, 5 * MINUTE);
	struct object o;

	world_open(w);
	o = node_at(w, 0)->o;
	thing_delete(w, node_at(w, 0));
	strcpy(o.uid, "again");
	o.hold = HOLD_ABSENT;
	o.mark = MARK_ABSENT;
	thing_add(w, &o);
	world_run(w, SLACK);
	ck_assert(thing_held(node_at(w, 0)));
	world_run_until(w, quiet + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* A late line that the former Node is gone does not concern the new one of the
 * same name. */
START_TEST(the_former_node_is_gone)
{
	struct controller_report r;
	struct object former = node_at(w, 0)->o;

	world_open(w);
	strcpy(node_at(w, 0)->o.uid, "again");
	thing_changed(w, node_at(w, 0));
	world_run(w, SLACK);
	controller_forget(w->s, &former, world_now(w));
	controller_report(w->s, &r);
	ck_assert_uint_eq(r.objects[KIND_NODE], 5);
}
END_TEST

/* A 404 means that the object is gone (docs/rules.md#writes).  A GET under way
 * brings back a claim whose DELETED line has passed meanwhile, and no watch
 * line will ever take it away again.  Its Node must be cleared all the same. */
START_TEST(ghost_of_a_claim)
{
	struct object ghost;
	struct thing *c = claim_at(w, 0), *n = node_at(w, 0);

	object_hold(&c->o, server_ms(w) - DAY);
	object_hold(&n->o, server_ms(w) - DAY);
	ghost = c->o;
	world_list(w, KIND_NODE);
	world_list(w, KIND_NODECLAIM);
	controller_forget(w->s, &ghost, world_now(w));
	thing_delete(w, c);
	world_lose_lines(w, KIND_NODECLAIM);
	controller_track(w->s, &ghost, world_now(w)); /* the late GET */
	world_run(w, 10 * MINUTE);
	ck_assert_msg(thing_clear(n), "held by a ghost");
	ck_assert_uint_le(w->acts[ACT_CLEAR], 10);
}
END_TEST

/* The same, but it was a new list that showed that the claim is gone.  The
 * late GET must not bring it back, because nothing would remove it again. */
START_TEST(ghost_after_a_list)
{
	struct thing *c = claim_at(w, 0);
	struct controller_report r;

	object_hold(&node_at(w, 0)->o, server_ms(w) - DAY);
	c->o.deleting = true;	/* so the fresh list passes it over */
	world_list(w, KIND_NODE);
	c->used = false;
	world_list(w, KIND_NODECLAIM);
	c->used = true;
	while (w->acts[ACT_READ_CLAIM] == 0)
		world_run(w, 1);
	world_delay_replies(w, 500);
	world_run(w, 1);
	c->used = false;
	world_list(w, KIND_NODECLAIM);
	world_run(w, 10 * MINUTE);
	controller_report(w->s, &r);
	ck_assert_uint_eq(r.objects[KIND_NODECLAIM], 4);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* Two Nodes name one claim.  The second is no part of the machine, and its
 * mark is removed as well.  The claim is in the table, so no GET is needed. */
START_TEST(second_node_of_a_claim)
{
	struct object o = node_at(w, 0)->o;

	strcpy(o.name, "n0-twin");
	strcpy(o.uid, "twin");
	object_hold(&o, server_ms(w) - DAY);
	thing_add(w, &o);
	world_open(w);
	world_run(w, 10 * MINUTE);
	ck_assert_msg(count_marked(w) == 0, "%u marks left after %u GETs",
		      count_marked(w), w->acts[ACT_READ_CLAIM]);
}
END_TEST

/* --- bounds --------------------------------------------------------------- */

static void
small_world(uint32_t max, int machines)
{
	world_free(w);
	w = world_new(&rules, max, 3);
	for (int i = 0; i < machines; i++)
		machine_add(w, i, "web", server_ms(w) - DAY);
	world_open(w);
}

START_TEST(table_full)
{
	int64_t quiet;

	small_world(10, 12);
	ck_assert_uint_ge(notes(NOTE_TABLE_FULL, NULL), 4);
	ck_assert_uint_ge(w->counters.at[COUNTER_TABLE_FULL], 4);
	claim_at(w, 0)->o.ready_ms = server_ms(w);
	quiet = server_ms(w) + rules.hold_ms;
	thing_changed(w, claim_at(w, 0));
	world_run(w, SLACK);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 10);
	world_run_until(w, quiet + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* Room in the table comes in steps a few seconds apart.  In the end everything
 * that fits is known, and nothing else has to happen for that. */
START_TEST(table_has_room_again)
{
	struct controller_report r;

	small_world(10, 14);
	world_run(w, 2 * MINUTE);
	for (int i = 0; i < 4; i++) {
		machine_delete(w, i);
		world_run(w, 3000);
	}
	world_run(w, 5 * MINUTE);
	controller_report(w->s, &r);
	ck_assert_uint_eq(r.objects[KIND_NODECLAIM], 10);
	ck_assert_uint_eq(r.objects[KIND_NODE], 10);
}
END_TEST

/* --- what is told --------------------------------------------------------- */

static uint64_t
latencies(void)
{
	uint64_t n = 0;

	for (int i = 0; i <= HOLD_BUCKETS; i++)
		n += w->counters.hold_latency[i];
	return n;
}

/* The latency is observed once in a period, also where a Node was seen before
 * its claim. */
START_TEST(hold_latency)
{
	world_open(w);
	if (_i == 1) {	/* its hold is refused, and then the claim comes */
		w->frozen[KIND_NODECLAIM] = true;
		go_wrong("n9", ACT_HOLD, REPLY_ERROR, 1);
	}
	machine_add(w, 9, "web", server_ms(w) - 30000);
	world_run(w, 100);
	w->frozen[KIND_NODECLAIM] = false;
	world_run(w, 30000);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 6);
	ck_assert_uint_eq(latencies(), 1);
}
END_TEST

START_TEST(report_is_right)
{
	struct figures *f = figures_new();
	struct scope_report sc;
	struct controller_report r;
	uint32_t i = 0;
	int64_t quiet = busy_until(9, 5 * MINUTE);

	world_open(w);
	controller_report(w->s, &r);
	ck_assert_uint_eq(r.objects[KIND_NODE], 6);
	ck_assert_uint_eq(r.held[KIND_NODE], 6);
	ck_assert_uint_eq(r.held[KIND_NODECLAIM], 0);
	ck_assert_uint_eq(r.timers, 1);
	ck_assert(r.up[0] && r.up[1]);
	ck_assert_ptr_nonnull(f);
	while (figures_count(w->s, f, world_now(w)))
		;
	ck_assert(controller_scope(w->s, f, &i, &sc));
	ck_assert(sc.held && sc.quiet_ms == quiet);
	ck_assert(!controller_scope(w->s, f, &i, &sc));
	figures_free(f);
	ck_assert_uint_eq(notes(NOTE_SCOPE_HELD, NULL), 1);
	world_run_until(w, quiet + SLACK);
	ck_assert_uint_eq(notes(NOTE_SCOPE_QUIET, NULL), 1);
	controller_report(w->s, &r);
	ck_assert_uint_eq(r.held[KIND_NODE], 0);
	ck_assert_uint_eq(r.timers, 0);
}
END_TEST

/* How long a scope was held is not computed from stamps, because the API
 * server's clock may be set meanwhile. */
START_TEST(told_for_how_long)
{
	struct note n;

	(void)busy_until(9, 5 * MINUTE);
	world_open(w);
	world_run(w, MINUTE);
	w->offset_ms += 60 * MINUTE;
	world_run(w, 5 * MINUTE);
	do
		ck_assert(controller_note(w->s, &n));
	while (n.type != NOTE_SCOPE_QUIET);
	ck_assert_int_ge(n.as.quiet.held_ms, 5 * MINUTE - 1000);
	ck_assert_int_le(n.as.quiet.held_ms, 5 * MINUTE);
	ck_assert_ptr_null(n.as.quiet.unseen);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("controller: faults");
	TCase *c = run_case(s, "faults");

	tcase_add_checked_fixture(c, setup, scene_teardown);
	tcase_add_loop_test(c, answer_table, 0,
			    sizeof(answers) / sizeof(answers[0]));
	tcase_add_test(c, conflict_then_the_watch_line);
	tcase_add_test(c, conflict_after_the_watch_line);
	tcase_add_test(c, conflict_without_a_line_leads_to_a_read);
	tcase_add_test(c, conflict_for_ever_is_no_loop);
	tcase_add_test(c, clear_of_what_changed);
	tcase_add_test(c, clear_races_a_person);
	tcase_add_test(c, read_older_than_the_line);
	tcase_add_test(c, expectation_times_out);
	tcase_add_test(c, slow_lines);
	tcase_add_test(c, busy_server_is_left_alone);
	tcase_add_test(c, busy_though_it_is_gone);
	tcase_add_loop_test(c, gone_while_queued, 0, 6);
	tcase_add_test(c, node_created_again_under_its_name);
	tcase_add_test(c, the_former_node_is_gone);
	tcase_add_test(c, ghost_of_a_claim);
	tcase_add_test(c, ghost_after_a_list);
	tcase_add_test(c, second_node_of_a_claim);
	tcase_add_test(c, table_full);
	tcase_add_test(c, table_has_room_again);
	tcase_add_loop_test(c, hold_latency, 0, 2);
	tcase_add_test(c, report_is_right);
	tcase_add_test(c, told_for_how_long);
	return suite_run(s);
}
