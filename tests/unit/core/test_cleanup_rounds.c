/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cleanup_cluster.h"

/* The rounds of `uninstall`: named cases, each with the whole walk that is
 * expected of it. */

struct spec {
	const char *name;	/* "c…": a NodeClaim */
	enum what what;
	const char *owner;
	bool joining;		/* a Node that is not registered */
	bool class;
	enum cleanup_code answer;
	unsigned times;
};

struct row {
	const char *name, *walk;
	struct spec specs[4];
	unsigned lanes;		/* 0: 1 */
	bool dry_run, remove;
	unsigned registered, registered_later, unread, unread_claims;
	enum cleanup_step fails;	/* this step fails, unless it is WAIT */
	enum kind fails_kind;
	enum cleanup_code code;		/* with which it fails */
	int64_t until_ms;		/* 0: none */
	void (*meanwhile)(unsigned list);	/* before the list of that
						   number, from 1 on */
	bool not_led;
	const char *why;	/* in the report, at the end; NULL: none */
};

static void
mark_now(unsigned number)
{
	if (number != 3)	/* between two that show nothing */
		return;
	cluster_put(cluster_find(KIND_NODE, "n1"), OURS);
	cluster_find(KIND_NODE, "n1")->o.mark_ms = EPOCH + cluster.now;
}

static void
mark_old(unsigned number)
{
	if (number == 3)
		cluster_put(cluster_find(KIND_NODE, "n1"), OURS);
}

static void
come_held(unsigned number)
{
	struct thing *t;

	if (number != 2)
		return;
	cluster.now += SETTLE - 1;
	t = cluster_add(KIND_NODE, "new", "", OURS);
	t->o.created_ms = t->o.mark_ms = EPOCH + cluster.now;
}

static void
goes(unsigned number)
{
	if (number == 2)
		cluster.unread[KIND_NODE] = 0;
}

static void
then_gone(unsigned number)
{
	if (number == 2)
		cluster_find(KIND_NODE, "n1")->answer = CLEANUP_GONE;
}

static void
then_refused(unsigned number)
{
	if (number == 2)
		cluster_find(KIND_NODE, "n1")->answer = CLEANUP_REFUSED;
}

#define BEGIN "registered lead nodes claims"
#define AGAIN " lead nodes claims"
#define SETTLES " settle lead nodes claims"
#define CLEAN SETTLES " registered end:clean"

static const struct row rows[] = {
	{.name = "nothing is there", .walk = BEGIN CLEAN},
	{"the claim, and when that is answered its Node, and classes at last",
	 BEGIN " release:c1 release:n1 declassify:c1" AGAIN CLEAN,
	 .specs = {{"c1", OURS, .class = true}, {"n1", OURS, "c1"}}},
	{"side by side within a pass only",
	 BEGIN " release:c1 release:c2 =c1 =c2 release:n1 release:n2 =n1 =n2"
	       AGAIN CLEAN,
	 .specs = {{"c1", OURS}, {"n1", OURS, "c1"}, {"c2", OURS},
		   {"n2", OURS, "c2"}},
	 .lanes = 4},
	{"a class on a Node goes, too", BEGIN " declassify:n1" AGAIN CLEAN,
	 .specs = {{"n1", BARE, .class = true}}},
	{"a person's hold is let alone", BEGIN CLEAN,
	 .specs = {{"n1", PERSONS}}},
	{"of one that was changed the mark goes",
	 BEGIN " unmark:n1" AGAIN CLEAN, .specs = {{"n1", YIELDED}}},
	{"a template's hold, copied beside our mark",
	 BEGIN " unmark:n1" AGAIN CLEAN,
	 .specs = {{"c1", PERSONS}, {"n1", OURS, "c1"}}},
	{"a claim that cannot be written to keeps the Node that joins",
	 BEGIN " release:c1 end:denied",
	 .specs = {{"c1", OURS, .answer = CLEANUP_REFUSED, .times = 9},
		   {"n1", OURS, "c1", .joining = true}},
	 .why = "c1_refused"},
	{"what fails is let alone for the rest of the round",
	 BEGIN " release:c1 end:denied",
	 .specs = {{"c1", OURS, .class = true, .answer = CLEANUP_REFUSED,
		    .times = 9}},
	 .why = "c1_refused"},
	{"a claim that cannot be written to keeps none that has joined",
	 BEGIN " release:c1 release:n1" AGAIN " release:c1 end:denied",
	 .specs = {{"c1", OURS, .answer = CLEANUP_REFUSED, .times = 9},
		   {"n1", OURS, "c1"}},
	 .why = "c1_refused"},
	{"what is registered stands in the way", "registered end:registered",
	 .specs = {{"n1", OURS}}, .registered = 1},
	{"… or is removed", "unregister lead nodes claims" CLEAN,
	 .registered = 1, .remove = true},
	{"registered while it ran", BEGIN SETTLES " registered end:registered",
	 .registered_later = 1},
	{"it cannot be seen", "registered end:broken",
	 .fails = CLEANUP_REGISTERED, .code = CLEANUP_FAILED},
	{"no lead", "registered lead end:broken", .fails = CLEANUP_LEAD,
	 .code = CLEANUP_FAILED},
	{"no list of Nodes", "registered lead nodes end:broken",
	 .fails = CLEANUP_LIST, .fails_kind = KIND_NODE,
	 .code = CLEANUP_FAILED},
	{"no list of claims", BEGIN " end:broken", .fails = CLEANUP_LIST,
	 .fails_kind = KIND_NODECLAIM, .code = CLEANUP_FAILED},
	{"a cluster has Nodes", "registered lead nodes end:broken",
	 .fails = CLEANUP_LIST, .fails_kind = KIND_NODE,
	 .code = CLEANUP_UNSERVED},
	{"… and need not have NodeClaims", BEGIN " release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS}}, .fails = CLEANUP_LIST,
	 .fails_kind = KIND_NODECLAIM, .code = CLEANUP_UNSERVED},
	{"all is refused", BEGIN " release:n1 release:n2 end:denied",
	 .specs = {{"n1", OURS, .answer = CLEANUP_REFUSED, .times = 9},
		   {"n2", OURS, .answer = CLEANUP_REFUSED, .times = 9}},
	 .why = "n1_refused"},
	{"refused beside one that changed: another round",
	 BEGIN " release:n1 release:n2 again:n1_refused backoff" AGAIN
	       " release:n2 release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS, .answer = CLEANUP_REFUSED, .times = 1},
		   {"n2", OURS, .answer = CLEANUP_CHANGED, .times = 1}}},
	{"… and the refusal is said, also where it came later",
	 BEGIN " release:n1 release:n2 again:n2_refused backoff" AGAIN
	       " release:n2 release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS, .answer = CLEANUP_CHANGED, .times = 1},
		   {"n2", OURS, .answer = CLEANUP_REFUSED, .times = 1}}},
	{"… or beside one without an answer",
	 BEGIN " release:n1 release:n2 again:n1_refused backoff" AGAIN
	       " release:n2 release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS, .answer = CLEANUP_REFUSED, .times = 1},
		   {"n2", OURS, .answer = CLEANUP_UNANSWERED, .times = 1}}},
	{"no answer, three rounds long: said once",
	 BEGIN " release:n1 again:n1_unanswered backoff" AGAIN
	       " release:n1 backoff" AGAIN " release:n1 backoff" AGAIN
	       " release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS, .answer = CLEANUP_UNANSWERED, .times = 3}}},
	{"one done: at once again, and the next failure is said",
	 BEGIN " release:n1 release:n2 again:n2_changed backoff" AGAIN
	       " release:n2 release:n1" AGAIN
	       " release:n1 again:n1_changed backoff" AGAIN
	       " release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS, .answer = CLEANUP_CHANGED, .times = 3},
		   {"n2", OURS, .answer = CLEANUP_CHANGED, .times = 1}}},
	{"gone: nothing to say", BEGIN " release:n1 backoff" AGAIN
				       " release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS, .answer = CLEANUP_GONE, .times = 1}}},
	{"… nor of an earlier round",
	 BEGIN " release:n1 release:n2" AGAIN " release:n1 backoff" AGAIN
	       " release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS, .answer = CLEANUP_CHANGED, .times = 2},
		   {"n2", OURS}},
	 .meanwhile = then_gone},
	{"what was not answered counts for one round",
	 BEGIN " release:n1 release:n2" AGAIN " release:n1 end:denied",
	 .specs = {{"n1", OURS, .answer = CLEANUP_UNANSWERED, .times = 2},
		   {"n2", OURS}},
	 .meanwhile = then_refused, .why = "n1_refused"},
	{"… what had changed, too",
	 BEGIN " release:n1 release:n2" AGAIN " release:n1 end:denied",
	 .specs = {{"n1", OURS, .answer = CLEANUP_CHANGED, .times = 2},
		   {"n2", OURS}},
	 .meanwhile = then_refused, .why = "n1_refused"},
	{"… and what was refused",
	 BEGIN " release:n1 release:n2" AGAIN " release:n1 backoff" AGAIN
	       " release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS, .answer = CLEANUP_REFUSED, .times = 2},
		   {"n2", OURS}},
	 .meanwhile = then_gone},
	{"what cannot be read is left", BEGIN " end:unreadable", .unread = 1},
	{"… a claim, too", BEGIN " end:unreadable", .unread_claims = 1},
	{"… after the rest", BEGIN " release:n1" AGAIN " end:unreadable",
	 .specs = {{"n1", OURS}}, .unread = 1},
	{"… unless something else may still change it",
	 BEGIN " release:n1 again:n1_changed backoff" AGAIN " release:n1" AGAIN
	       CLEAN,
	 .specs = {{"n1", OURS, .answer = CLEANUP_CHANGED, .times = 1}},
	 .unread = 1, .meanwhile = goes},
	{"a dry run", "registered nodes claims release:c1 release:n1 "
		      "declassify:c1 end:clean",
	 .specs = {{"c1", OURS, .class = true}, {"n1", OURS, "c1"}},
	 .dry_run = true},
	{"a dry run deletes nothing", "registered nodes claims end:clean",
	 .registered = 1, .remove = true, .dry_run = true},
	{"marked by somebody else: two more lists, and it is said",
	 BEGIN " release:n1" AGAIN SETTLES " release:n1" AGAIN SETTLES
	       " registered end:foreign",
	 .specs = {{"n1", OURS}}, .meanwhile = mark_now},
	{"… which says nothing where the lead was lost",
	 BEGIN " release:n1" AGAIN SETTLES " release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS}}, .meanwhile = mark_now, .not_led = true},
	{"a new one, by a webhook that was removed just now",
	 BEGIN " release:n1" AGAIN " release:new" AGAIN CLEAN,
	 .specs = {{"n1", OURS}}, .meanwhile = come_held},
	{"a copy of an old mark is nobody's",
	 BEGIN " release:n1" AGAIN SETTLES " release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS}}, .meanwhile = mark_old},
	{"the time is over while it settles", BEGIN " cut end:late",
	 .until_ms = SETTLE - 1},
	{"… and at the moment itself", BEGIN " cut end:late",
	 .until_ms = SETTLE},
	{"… in the middle of a row of failures",
	 BEGIN " release:n1 again:n1_unanswered cut end:late",
	 .specs = {{"n1", OURS, .answer = CLEANUP_UNANSWERED, .times = 9}},
	 .until_ms = 700, .why = "n1_unanswered"},
	{"… and what has ended well has ended well", BEGIN CLEAN,
	 .until_ms = SETTLE + 1},
};

static const char *const verdicts[] = {
	[CLEANUP_CLEAN] = "clean",
	[CLEANUP_STILL_REGISTERED] = "registered",
	[CLEANUP_FOREIGN_MARKS] = "foreign",
	[CLEANUP_DENIED] = "denied",
	[CLEANUP_UNREADABLE] = "unreadable",
	[CLEANUP_LATE] = "late",
	[CLEANUP_BROKEN] = "broken",
};

static void
row_wait(const struct row *r, const struct cleanup_todo *t, unsigned *in_a_row)
{
	int64_t min = *in_a_row == 0 ? 0 : INT64_C(800) << (*in_a_row - 1);

	if (cluster.sent_n > 0) {
		ck_assert_int_eq(t->wait_ms,
				 r->until_ms == 0 ? INT64_MAX
						  : r->until_ms - cluster.now);
		cluster_answer(0);
		return;
	}
	ck_assert_int_gt(t->wait_ms, 0);
	if (t->trying_again)
		cluster_note("again:%s", cleanup_report(cluster.x)->why);
	if (r->until_ms != 0 && cluster.now + t->wait_ms == r->until_ms) {
		cluster_note("cut");
	} else if (t->wait_ms == SETTLE) {
		cluster_note("settle");
	} else {
		cluster_note("backoff");
		if (++*in_a_row == 1 || min == 0)
			min = 800;
		ck_assert_int_ge(t->wait_ms, min);
		ck_assert_int_lt(t->wait_ms, 4 * min);
	}
	cluster.now += t->wait_ms;
}

static void
row_ask(const struct row *r, const struct cleanup_todo *t)
{
	struct cleanup_outcome o = {.led = !r->not_led};

	if (t->step == CLEANUP_REGISTERED) {
		cluster_note(t->remove ? "unregister" : "registered");
		o.registered = t->remove ? 0 : cluster.registered;
		cluster.registered = r->registered_later;
	} else if (t->step == CLEANUP_LEAD) {
		cluster_note("lead");
	} else {
		if (t->kind == KIND_NODE && r->meanwhile != NULL)
			r->meanwhile(++cluster.lists);
		cluster_note(t->kind == KIND_NODE ? "nodes" : "claims");
		cluster_list(t->kind);
	}
	if (t->step == r->fails &&
	    (t->step != CLEANUP_LIST || t->kind == r->fails_kind))
		o.code = r->code;
	cluster_done(&o);
}

static void
row_write(const struct row *r, const struct cleanup_write *w)
{
	cluster_send(w);
	if (r->dry_run) {	/* the write is not made */
		cluster_find(w->object->kind, w->name)->under_way = false;
		cluster.sent_n = 0;
		cluster_done(&(struct cleanup_outcome){.id = w->id});
	} else if (cluster.sent_n == cluster.lanes) {
		cluster_answer(0);
	}
}

static void
row_begin(const struct row *r)
{
	const struct cleanup_config config = {
		.hold = cluster_hold,
		.machines_max = THINGS,
		.dry_run = r->dry_run,
		.remove_registered = r->remove,
		.settle_ms = SETTLE,
		.until_ms = r->until_ms == 0 ? INT64_MAX : r->until_ms,
	};

	cluster = (struct cluster){.lanes = r->lanes == 0 ? 1 : r->lanes,
			     .registered = r->registered,
			     .unread = {[KIND_NODE] = r->unread,
					[KIND_NODECLAIM] = r->unread_claims}};
	for (int i = 0; i < 4 && r->specs[i].name != NULL; i++) {
		const struct spec *s = &r->specs[i];
		bool claim = s->name[0] == 'c';
		struct thing *t =
			cluster_add(claim ? KIND_NODECLAIM : KIND_NODE, s->name,
				    s->owner == NULL ? "" : s->owner, s->what);

		t->o.registered = !s->joining;
		t->o.has_class = s->class;
		t->answer = s->answer;
		t->times = s->times;
	}
	cluster_start(&config);
}

START_TEST(walk)
{
	const struct row *r = &rows[_i];
	struct cleanup_todo t;
	unsigned in_a_row = 0;

	row_begin(r);
	for (int i = 0; i < 200; i++) {
		t = cleanup_next(cluster.x, cluster_now());
		if (t.step == CLEANUP_END)
			break;
		if (t.step == CLEANUP_WAIT) {
			row_wait(r, &t, &in_a_row);
		} else if (t.step != CLEANUP_WRITE) {
			row_ask(r, &t);
		} else {
			row_write(r, &t.write);
		}
	}
	cluster_note("end:%s",
		     t.step == CLEANUP_END ? verdicts[t.verdict] : "never");
	ck_assert_msg(strcmp(cluster.walk, r->walk) == 0,
		      "%s\n  got:  %s\n  want: %s", r->name, cluster.walk,
		      r->walk);
	t = cleanup_next(cluster.x, cluster_at(cluster.now + 1000000));
	ck_assert_int_eq(t.step, CLEANUP_END);
	ck_assert_str_eq(verdicts[t.verdict], strstr(cluster.walk, "end:") + 4);
	ck_assert_str_eq(cleanup_report(cluster.x)->why,
			 r->why == NULL ? "" : r->why);
	cleanup_free(cluster.x);
}
END_TEST

START_TEST(an_answer_after_the_end)
{
	struct cleanup_config config = cluster_plain;
	struct cleanup_todo t;

	cluster_init();
	config.until_ms = 1000;
	(void)cluster_add(KIND_NODE, "n1", "", OURS);
	(void)cluster_add(KIND_NODE, "n2", "", OURS);
	cluster_start(&config);
	t = cluster_go_on();
	cluster_send(&t.write);
	cluster.now = 1000;
	t = cleanup_next(cluster.x, cluster_now());
	ck_assert_int_eq(t.step, CLEANUP_END);
	ck_assert_int_eq(t.verdict, CLEANUP_LATE);
	cluster_answer(0);
	ck_assert_uint_eq(cleanup_report(cluster.x)->released[KIND_NODE], 1);
	ck_assert_int_eq(cleanup_next(cluster.x, cluster_now()).step,
			 CLEANUP_END);
	cleanup_free(cluster.x);
}
END_TEST

/* A step is given out once.  Until it is answered there is nothing to do. */
START_TEST(one_step_at_a_time)
{
	struct cleanup_todo t;

	cluster_init();
	cluster_start(&cluster_plain);
	ck_assert_int_eq(cleanup_next(cluster.x, cluster_at(0)).step,
			 CLEANUP_REGISTERED);
	t = cleanup_next(cluster.x, cluster_at(0));
	ck_assert_int_eq(t.step, CLEANUP_WAIT);
	ck_assert(t.wait_ms == INT64_MAX);
	cluster_done(&(struct cleanup_outcome){0});
	ck_assert_int_eq(cleanup_next(cluster.x, cluster_at(0)).step,
			 CLEANUP_LEAD);
	ck_assert_int_eq(cleanup_next(cluster.x, cluster_at(0)).step,
			 CLEANUP_WAIT);
	cleanup_free(cluster.x);
}
END_TEST

/* When the lead was lost and is taken again, the next list is the measure for
 * foreign marks, because a holder may have led in between. */
START_TEST(a_lead_taken_again_begins_anew)
{
	struct cleanup_todo t;
	unsigned leads = 0;

	cluster_init();
	(void)cluster_add(KIND_NODE, "n1", "", OURS);
	cluster_start(&cluster_plain);
	for (;;) {
		struct cleanup_outcome o = {.led = true};

		t = cleanup_next(cluster.x, cluster_now());
		if (t.step == CLEANUP_END)
			break;
		if (t.step == CLEANUP_WAIT) {
			cluster.now += t.wait_ms;
		} else if (t.step == CLEANUP_WRITE) {
			cluster_send(&t.write);
			cluster_answer(0);
		} else if (t.step == CLEANUP_LEAD && ++leads == 2) {
			cluster_put(&cluster.at[0],
				    OURS); /* by a holder that led */
			cluster.at[0].o.mark_ms = EPOCH + cluster.now;
			cluster.now += 1000;
			o.anew = _i == 1;
			cluster_done(&o);
		} else {
			if (t.step == CLEANUP_LIST)
				cluster_list(t.kind);
			cluster_done(&o);
		}
	}
	ck_assert_int_eq(t.verdict,
			 _i == 1 ? CLEANUP_CLEAN : CLEANUP_FOREIGN_MARKS);
	cleanup_free(cluster.x);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("cleanup_rounds");
	TCase *t = run_case(s, "rounds");

	tcase_add_loop_test(t, walk, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(t, one_step_at_a_time);
	tcase_add_test(t, an_answer_after_the_end);
	tcase_add_loop_test(t, a_lead_taken_again_begins_anew, 0, 2);
	return suite_run(s);
}
