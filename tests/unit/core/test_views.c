/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "core/controller/views.h"
#include "run.h"

static struct views v;
static struct notes notes;

static void
setup(void)
{
	v = (struct views){0};
	notes = (struct notes){0};
}

static void
see(enum kind kind, bool served)
{
	views_listing(&v, kind, true);
	views_list_end(&v, kind);
	views_listed(&v, kind, served, true);
	(void)views_watch(&v, kind, served);
}

START_TEST(whole_without_events)
{
	see(KIND_NODE, true);
	see(KIND_NODECLAIM, true);
	ck_assert_str_eq(views_unseen(&v), object_kind_name(KIND_NODEPOOL));
	see(KIND_NODEPOOL, true);
	ck_assert(views_all_synced(&v) && views_settled(&v));
	ck_assert(!views_claimless(&v));
	(void)views_watch(&v, KIND_NODE, false);
	ck_assert_str_eq(views_unseen(&v), object_kind_name(KIND_NODE));
	ck_assert(views_watch(&v, KIND_NODE, true));
	ck_assert(!views_watch(&v, KIND_NODE, true)); /* it was open */
	views_listing(&v, KIND_NODECLAIM, true);
	ck_assert(!views_all_synced(&v) && !views_settled(&v));
	views_lead(&v, true);
	ck_assert(!views_watch(&v, KIND_NODE, true)); /* not listed */
}
END_TEST

START_TEST(no_such_resource_is_an_empty_list)
{
	views_listing(&v, KIND_NODECLAIM, true);
	views_list_end(&v, KIND_NODECLAIM);
	views_listed(&v, KIND_NODECLAIM, false, true);
	ck_assert(views_claimless(&v) && v.at[KIND_NODECLAIM].up);
	views_listing(&v, KIND_NODECLAIM, true); /* it is asked again */
	ck_assert(v.at[KIND_NODECLAIM].up);
}
END_TEST

START_TEST(a_lead_waits_and_then_begins_without)
{
	struct note n;

	ck_assert(!views_begin(&v, true, false, 1000, &notes));
	ck_assert_int_eq(views_next_boot_ms(&v), 1000 + BEGIN_WAIT_MS);
	ck_assert(!views_begin(&v, true, false, 999 + BEGIN_WAIT_MS, &notes));
	ck_assert(views_begin(&v, true, false, 1000 + BEGIN_WAIT_MS, &notes));
	for (int k = KIND_NODEPOOL; k <= KIND_EVENT; k++) {
		ck_assert(notes_take(&notes, &n) && n.type == NOTE_WITHOUT);
		ck_assert_str_eq(n.name, object_kind_name((enum kind)k));
	}
	views_lead(&v, true);
	see(KIND_NODEPOOL, true);
	ck_assert(views_begin(&v, false, false, 5, &notes));
	ck_assert(!notes_take(&notes, &n));
	views_lead(&v, true);
	see(KIND_NODEPOOL, true);
	ck_assert(!views_begin(&v, false, true, 5, &notes));
	ck_assert(views_begin(&v, false, true, 5 + BEGIN_WAIT_MS, &notes));
	ck_assert(notes_take(&notes, &n) && n.type == NOTE_WITHOUT);
	ck_assert_str_eq(n.name, object_kind_name(KIND_TICKET));
}
END_TEST

START_TEST(marks_that_stay_are_told_after_a_while)
{
	struct note n;

	v.lead = LEAD_ACTS;
	views_block(&v, "Node", 3, 1000, &notes);
	ck_assert(!v.blocked && views_next_boot_ms(&v) == 1000 + BLOCKED_MS);
	views_block(&v, "Node", 3, 1000 + BLOCKED_MS, &notes);
	ck_assert(v.blocked && notes_take(&notes, &n) && n.as.objects == 3);
	views_block(&v, NULL, 3, 1001 + BLOCKED_MS, &notes);
	ck_assert(!v.blocked && views_next_boot_ms(&v) == STAMP_NONE);
}
END_TEST

START_TEST(what_had_no_room_is_asked_for)
{
	see(KIND_NODE, true);
	v.lead = LEAD_ACTS;
	v.at[KIND_NODE].full = true;
	views_ask_for_rest(&v, 1000);
	ck_assert(!views_take_request(&v, KIND_NODE));
	views_room(&v, KIND_NODE);
	views_ask_for_rest(&v, 1000);
	ck_assert(views_take_request(&v, KIND_NODE));
	ck_assert(!views_take_request(&v, KIND_NODE));
	views_room(&v, KIND_NODE);
	views_ask_for_rest(&v, 999 + RELIST_LEFT_OUT_MS);
	ck_assert(!views_take_request(&v, KIND_NODE));
	ck_assert_int_eq(views_next_boot_ms(&v), 1000 + RELIST_LEFT_OUT_MS);
}
END_TEST

/* A watch that leaves an object out is behind; a list would leave it out
 * again. */
START_TEST(what_is_left_out_is_asked_for)
{
	views_listing(&v, KIND_NODE, true);
	views_skipped(&v, KIND_NODE);
	views_list_end(&v, KIND_NODE);
	views_listed(&v, KIND_NODE, true, true);
	(void)views_watch(&v, KIND_NODE, true);
	ck_assert(v.at[KIND_NODE].skipped);
	views_ask_for_rest(&v, 1000);
	ck_assert(!views_take_request(&v, KIND_NODE));
	views_skipped(&v, KIND_NODE);
	views_ask_for_rest(&v, 1000);
	ck_assert(views_take_request(&v, KIND_NODE));
	views_listing(&v, KIND_NODE, true);
	ck_assert(!v.at[KIND_NODE].skipped);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("views");
	TCase *c = run_case(s, "views");

	tcase_add_checked_fixture(c, setup, NULL);
	tcase_add_test(c, whole_without_events);
	tcase_add_test(c, no_such_resource_is_an_empty_list);
	tcase_add_test(c, a_lead_waits_and_then_begins_without);
	tcase_add_test(c, marks_that_stay_are_told_after_a_while);
	tcase_add_test(c, what_had_no_room_is_asked_for);
	tcase_add_test(c, what_is_left_out_is_asked_for);
	return suite_run(s);
}
