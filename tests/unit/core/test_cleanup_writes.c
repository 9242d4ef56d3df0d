/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cleanup_cluster.h"

/* What a write of `uninstall` stands on, and what is counted and reported. */

static const struct {
	const char *name;
	enum kind kind;
	bool registered;
	enum mark mark;
	bool exact;
} exact_rows[] = {
	{"a claim", KIND_NODECLAIM, false, MARK_TIME, true},
	{"a Node that has joined", KIND_NODE, true, MARK_TIME, true},
	{"a Node that joins: it may get a person's hold by and by", KIND_NODE,
	 false, MARK_TIME, false},
	{"a claim with a mark of no time", KIND_NODECLAIM, true, MARK_ODD,
	 false},
	{"a Node with a mark of no time", KIND_NODE, true, MARK_ODD, false},
};

START_TEST(the_mark_or_the_version_is_tested)
{
	struct cleanup_todo t;
	struct thing *x;

	cluster_init();
	x = cluster_add(exact_rows[_i].kind, "x", "", OURS);
	x->o.registered = exact_rows[_i].registered;
	x->o.mark = exact_rows[_i].mark;
	cluster_start(&cluster_plain);
	t = cluster_go_on();
	ck_assert_int_eq(t.step, CLEANUP_WRITE);
	ck_assert_msg(t.write.mark_exact == exact_rows[_i].exact, "%s",
		      exact_rows[_i].name);
	ck_assert_str_eq(t.write.uid, x->o.uid);
	cleanup_free(cluster.x);
}
END_TEST

/* Marks for other holds are cleared one hold after the other, each by what it
 * says, when those for the configured hold are gone. */
START_TEST(marks_for_other_holds_go)
{
	static const char *const keys[] = {"", "example.com/b", "example.com/a"};
	static const char *const names[] = {"n0", "n2", "n1"};
	struct hold_key k = {.value = "yes"};
	struct cleanup_config config = cluster_plain;
	struct cleanup_todo t;

	config.dry_run = _i == 1;
	cluster_init();
	for (int i = 0; i < 3; i++) {
		struct thing *x = cluster_add(KIND_NODE, i == 0   ? "n0"
							 : i == 1 ? "n1"
								  : "n2",
					      "", OURS);

		strcpy(k.key, keys[i]);
		if (i > 0)
			x->marked = k;
	}
	cluster_start(&config);
	for (int i = 0; i < 3; i++) {
		t = cluster_go_on();
		ck_assert_int_eq(t.step, CLEANUP_WRITE);
		ck_assert_int_eq(t.write.act, CLEANUP_RELEASE);
		ck_assert_str_eq(t.write.name, names[i]);
		ck_assert_str_eq(t.write.hold->key,
				 i == 0 ? cluster_hold.key : keys[3 - i]);
		if (config.dry_run) {
			cluster_done(&(struct cleanup_outcome){.id = t.write.id});
			continue;
		}
		cluster_send(&t.write);
		cluster_answer(0);
	}
	t = cluster_go_on();
	ck_assert_int_eq(t.step, CLEANUP_END);
	ck_assert_int_eq(t.verdict, CLEANUP_CLEAN);
	cleanup_free(cluster.x);
}
END_TEST

/* Marks for another hold do not hide that the writes are refused. */
START_TEST(a_refusal_beside_another_hold)
{
	struct cleanup_todo t;

	cluster_init();
	(void)cluster_add(KIND_NODE, "n0", "", OURS);
	cluster_add(KIND_NODE, "n1", "", OURS)->marked =
		(struct hold_key){.key = "example.com/a", .value = "yes"};
	cluster_start(&cluster_plain);
	t = cluster_go_on();
	ck_assert_str_eq(t.write.name, "n0");
	cluster_done(&(struct cleanup_outcome){.id = t.write.id,
					       .code = CLEANUP_REFUSED});
	t = cluster_go_on();
	ck_assert_int_eq(t.step, CLEANUP_END);
	ck_assert_int_eq(t.verdict, CLEANUP_DENIED);
	cleanup_free(cluster.x);
}
END_TEST

/* Of a mark that says nothing, only the mark goes. */
START_TEST(a_mark_that_says_nothing)
{
	struct cleanup_todo t;
	struct thing *x;

	cluster_init();
	x = cluster_add(KIND_NODE, "n1", "", OURS);
	x->marked.value[0] = '-';
	cluster_start(&cluster_plain);
	t = cluster_go_on();
	ck_assert_int_eq(t.write.act, CLEANUP_UNMARK);
	ck_assert_ptr_null(t.write.hold);
	ck_assert(!t.write.mark_exact);
	cleanup_free(cluster.x);
}
END_TEST

/* The claim is cleared first.  Its hold was ours, so the hold on its Node is
 * not a person's. */
START_TEST(a_claim_that_is_clear_says_so_of_its_node)
{
	struct cleanup_todo t;

	cluster_init();
	(void)cluster_add(KIND_NODECLAIM, "c1", "", OURS);
	(void)cluster_add(KIND_NODE, "n1", "c1", OURS);
	cluster_start(&cluster_plain);
	t = cluster_go_on();
	ck_assert_str_eq(t.write.name, "c1");
	cluster_done(&(struct cleanup_outcome){.id = t.write.id});
	t = cluster_go_on();
	ck_assert_str_eq(t.write.name, "n1");
	ck_assert_int_eq(t.write.act, CLEANUP_RELEASE);
	cleanup_free(cluster.x);
}
END_TEST

/* The claim has a person's hold, without a mark.  Registration has copied it,
 * so the hold beside our mark on the Node is a person's, too. */
START_TEST(a_persons_hold_on_the_claim)
{
	struct cleanup_todo t;

	cluster_init();
	(void)cluster_add(KIND_NODECLAIM, "c1", "", PERSONS);
	(void)cluster_add(KIND_NODE, "n1", "c1", OURS);
	cluster_start(&cluster_plain);
	t = cluster_go_on();
	ck_assert_int_eq(t.step, CLEANUP_WRITE);
	ck_assert_str_eq(t.write.name, "n1");
	ck_assert_int_eq(t.write.act, CLEANUP_UNMARK);
	cleanup_free(cluster.x);
}
END_TEST

/* --- what it counts ------------------------------------------------------- */

START_TEST(more_than_the_table_holds)
{
	struct cleanup_config config = cluster_plain;
	const struct cleanup_report *r;
	struct cleanup_todo t;
	char name[8];

	cluster_init();
	config.machines_max = 3;
	for (int i = 0; i < 17; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		(void)cluster_add(KIND_NODE, name, "", OURS);
	}
	cluster_start(&config);
	r = cleanup_report(cluster.x);
	ck_assert(!r->listed);
	while ((t = cluster_go_on()).step == CLEANUP_WRITE) {
		ck_assert(r->listed);
		if (r->released[KIND_NODE] == 0) {
			ck_assert_uint_eq(r->last.left[KIND_NODE], 17);
			ck_assert_str_eq(r->last.named[0], "node/n0");
			ck_assert_str_eq(r->last.named[CLEANUP_NAMED - 1],
					 "node/n9");
		}
		cluster_send(&t.write);
		cluster_answer(0);
	}
	ck_assert_int_eq(t.verdict, CLEANUP_CLEAN);
	ck_assert_uint_eq(r->released[KIND_NODE], 17);
	ck_assert_uint_eq(r->released[KIND_NODECLAIM], 0);
	ck_assert_uint_eq(r->last.left[KIND_NODE], 0);
	ck_assert_str_eq(r->foreign, "");
	cleanup_free(cluster.x);
}
END_TEST

START_TEST(what_is_done_is_counted)
{
	const struct cleanup_report *r;
	struct cleanup_todo t;

	cluster_init();
	cluster_add(KIND_NODECLAIM, "c1", "", OURS)->o.has_class = true;
	(void)cluster_add(KIND_NODE, "n1", "c1", OURS);
	(void)cluster_add(KIND_NODE, "n2", "", YIELDED);
	cluster_add(KIND_NODE, "n3", "", BARE)->o.has_class = true;
	cluster_start(&cluster_plain);
	r = cleanup_report(cluster.x);
	while ((t = cluster_go_on()).step == CLEANUP_WRITE) {
		cluster_send(&t.write);
		cluster_answer(0);
	}
	ck_assert_uint_eq(r->released[KIND_NODE], 1);
	ck_assert_uint_eq(r->released[KIND_NODECLAIM], 1);
	ck_assert_uint_eq(r->unmarked, 1);
	ck_assert_uint_eq(r->declassified, 2);
	cleanup_free(cluster.x);
}
END_TEST

/* After a 410 between two pages, nothing counts that came before. */
START_TEST(a_list_that_starts_over)
{
	const struct cleanup_report *r;
	struct cleanup_todo t;

	cluster_init();
	cluster_add(KIND_NODE, "gone", "", OURS)->o.has_class = true;
	cluster.at[0].unowned = true;
	(void)cluster_add(KIND_NODE, "n1", "", OURS);
	cluster.unread[KIND_NODE] = 1;
	cluster_start(&cluster_plain);
	r = cleanup_report(cluster.x);
	for (;;) {
		t = cleanup_next(cluster.x, cluster_now());
		if (t.step == CLEANUP_WRITE)
			break;
		if (t.step == CLEANUP_LIST && t.kind == KIND_NODE) {
			cluster_list(KIND_NODE);
			cluster.at[0].there = false;
			cluster.unread[KIND_NODE] = 0;
		}
		cluster_ask(&t, &(struct cleanup_outcome){.led = true});
	}
	ck_assert_str_eq(t.write.name, "n1");
	ck_assert_uint_eq(r->last.left[KIND_NODE], 1);
	ck_assert_uint_eq(r->last.unread[KIND_NODE], 0);
	ck_assert_uint_eq(r->last.classes[KIND_NODE], 0);
	ck_assert_uint_eq(r->last.unowned[KIND_NODE], 0);
	ck_assert_str_eq(r->last.named[0], "node/n1");
	cluster_done(&(struct cleanup_outcome){.id = t.write.id});
	ck_assert_int_eq(cleanup_next(cluster.x, cluster_at(0)).step,
			 CLEANUP_LEAD);
	cleanup_free(cluster.x);
}
END_TEST

/* The report names what the last list showed, and nothing of earlier lists. */
START_TEST(what_is_left_is_named)
{
	const struct cleanup_report *r;
	struct cleanup_todo t;

	cluster_init();
	(void)cluster_add(KIND_NODE, "n1", "", OURS);
	(void)cluster_add(KIND_NODECLAIM, "c1", "", OURS);
	cluster_start(&cluster_plain);
	r = cleanup_report(cluster.x);
	for (int i = 0; i < 2; i++) {
		t = cluster_go_on();
		cluster_send(&t.write);
		cluster.at[i].there = false;
		cluster_answer(0);
		ck_assert_str_eq(r->last.named[0], "node/n1");
		ck_assert_str_eq(r->last.named[1], "nodeclaim/c1");
		ck_assert_str_eq(r->last.named[2], "");
	}
	(void)cluster_add(KIND_NODE, "n2", "", OURS);
	t = cluster_go_on();
	ck_assert_int_eq(t.step, CLEANUP_WRITE);
	ck_assert_str_eq(r->last.named[0], "node/n2");
	ck_assert_str_eq(r->last.named[1], "");
	cleanup_free(cluster.x);
}
END_TEST

/* They are nothing to wait for, and they stay. */
START_TEST(holds_that_nobody_is_on_record_for)
{
	const struct cleanup_report *r;
	char name[16];

	cluster_init();
	for (int i = 0; i < 12; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		cluster_add(KIND_NODE, name, "", PERSONS)->unowned = true;
	}
	cluster_add(KIND_NODECLAIM, "c", "", PERSONS)->unowned = true;
	cluster_start(&cluster_plain);
	r = cleanup_report(cluster.x);
	ck_assert_int_eq(cluster_go_on().verdict, CLEANUP_CLEAN);
	ck_assert_uint_eq(r->last.unowned[KIND_NODE], 12);
	ck_assert_uint_eq(r->last.unowned[KIND_NODECLAIM], 1);
	ck_assert_str_eq(r->last.named_unowned[0], "node/n0");
	ck_assert_str_eq(r->last.named_unowned[CLEANUP_NAMED - 1], "node/n9");
	ck_assert_str_eq(r->last.named[0], "");
	ck_assert_str_eq(cluster.walk, "");
	cleanup_free(cluster.x);
}
END_TEST

/* A list that fails halfway does not count. */
START_TEST(the_last_whole_list_is_reported)
{
	struct cleanup_outcome o = {.led = true};
	const struct cleanup_report *r;
	struct cleanup_todo t;

	cluster_init();
	(void)cluster_add(KIND_NODE, "n1", "", OURS);
	cluster_start(&cluster_plain);
	r = cleanup_report(cluster.x);
	t = cluster_go_on();
	cluster_send(&t.write);
	cluster_answer(0);
	while ((t = cleanup_next(cluster.x, cluster_now())).step !=
	       CLEANUP_END) {
		if (t.step == CLEANUP_LIST && t.kind == KIND_NODECLAIM)
			o.code = CLEANUP_FAILED;
		cluster_ask(&t, &o);
	}
	ck_assert_int_eq(t.verdict, CLEANUP_BROKEN);
	ck_assert_uint_eq(r->last.left[KIND_NODE], 1);
	cleanup_free(cluster.x);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("cleanup_writes");
	TCase *t = run_case(s, "writes");

	tcase_add_loop_test(t, the_mark_or_the_version_is_tested, 0,
			    sizeof(exact_rows) / sizeof(exact_rows[0]));
	tcase_add_loop_test(t, marks_for_other_holds_go, 0, 2);
	tcase_add_test(t, a_refusal_beside_another_hold);
	tcase_add_test(t, a_mark_that_says_nothing);
	tcase_add_test(t, a_claim_that_is_clear_says_so_of_its_node);
	tcase_add_test(t, a_persons_hold_on_the_claim);
	t = run_case(s, "report");
	tcase_add_test(t, more_than_the_table_holds);
	tcase_add_test(t, what_is_done_is_counted);
	tcase_add_test(t, what_is_left_is_named);
	tcase_add_test(t, a_list_that_starts_over);
	tcase_add_test(t, holds_that_nobody_is_on_record_for);
	tcase_add_test(t, the_last_whole_list_is_reported);
	return suite_run(s);
}
