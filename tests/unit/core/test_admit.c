/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/rules/admit.h"
#include "run.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

static const struct rules rules = {
	.hold = {DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE},
	.include = {1, {"*"}},
	.exclude = {1, {"batch-*"}},
};

/* A new Node of Karpenter's; each row below says what is different. */
#define NEW .create = true, .kind_known = true, .kind = KIND_NODE, \
	    .has_nodepool = true, .nodepool = "web"

#define ROOM (ANNOTATIONS_BYTES_MAX - ANNOTATIONS_ROOM)

static const struct {
	const char *row;	/* of docs/rules.md#admission */
	struct review review;
	bool held, patch;
	enum reason reason;
} rows[] = {
	{"new Node", {NEW}, true, true, REASON_QUIET_PERIOD},
	{"new Node with the taint alone",
	 {.create = true, .kind_known = true, .unregistered = true},
	 true,
	 true,
	 REASON_QUIET_PERIOD},
	{"new NodeClaim",
	 {.create = true, .kind_known = true, .kind = KIND_NODECLAIM},
	 true,
	 true,
	 REASON_QUIET_PERIOD},
	{"mark without hold, a stale copy",
	 {NEW, .has_mark = true},
	 true,
	 true,
	 REASON_QUIET_PERIOD},
	{"hold without mark: a person's",
	 {NEW, .hold = HOLD_SAME},
	 false,
	 false,
	 REASON_USER_HOLD},
	{"hold of another value without mark",
	 {NEW, .hold = HOLD_OTHER},
	 false,
	 false,
	 REASON_USER_HOLD},
	{"the fullest map that ours fits in",
	 {NEW, .annotations_bytes = ROOM},
	 true,
	 true,
	 REASON_QUIET_PERIOD},
	{"one byte more",
	 {NEW, .annotations_bytes = ROOM + 1},
	 false,
	 false,
	 REASON_NO_ROOM},
	{"one byte more, a stale copy",
	 {NEW, .annotations_bytes = ROOM + 1, .has_mark = true},
	 false,
	 false,
	 REASON_NO_ROOM},
	{"one byte more, hold and mark",
	 {NEW, .annotations_bytes = ROOM + 1, .hold = HOLD_SAME,
	  .has_mark = true},
	 true,
	 false,
	 REASON_QUIET_PERIOD},
	{"hold and mark",
	 {NEW, .hold = HOLD_SAME, .has_mark = true},
	 true,
	 false,
	 REASON_QUIET_PERIOD},
	{"hold of another value and mark",
	 {NEW, .hold = HOLD_OTHER, .has_mark = true},
	 true,
	 false,
	 REASON_QUIET_PERIOD},
	{"not Karpenter's",
	 {.create = true, .kind_known = true},
	 false,
	 false,
	 REASON_NOT_KARPENTER},
	{"not Karpenter's, with a mark",
	 {.create = true, .kind_known = true, .has_mark = true},
	 false,
	 false,
	 REASON_NOT_KARPENTER},
	{"disabled pool",
	 {NEW, .disabled = true},
	 false,
	 false,
	 REASON_NODEPOOL_DISABLED},
	{"disabled pool, stale mark",
	 {NEW, .disabled = true, .has_mark = true},
	 false,
	 false,
	 REASON_NODEPOOL_DISABLED},
	{"excluded pool",
	 {.create = true,
	  .kind_known = true,
	  .has_nodepool = true,
	  .nodepool = "batch-1"},
	 false,
	 false,
	 REASON_NODEPOOL_EXCLUDED},
	{"excluded pool, stale mark",
	 {.create = true,
	  .kind_known = true,
	  .has_nodepool = true,
	  .nodepool = "batch-1",
	  .has_mark = true},
	 false,
	 false,
	 REASON_NODEPOOL_EXCLUDED},
	{"other kind",
	 {.create = true, .has_nodepool = true},
	 false,
	 false,
	 REASON_NOT_HANDLED},
	{"other operation or subresource",
	 {.kind_known = true, .has_nodepool = true},
	 false,
	 false,
	 REASON_NOT_HANDLED},
	{"malformed", {NEW, .malformed = true}, false, false, REASON_MALFORMED},
	{"malformed, other operation",
	 {.kind_known = true, .malformed = true},
	 false,
	 false,
	 REASON_NOT_HANDLED},
};

START_TEST(table)
{
	struct verdict v = admit_decide(&rules, &rows[_i].review);

	ck_assert_msg(v.held == rows[_i].held && v.patch == rows[_i].patch &&
			      v.reason == rows[_i].reason,
		      "%s: held %d patch %d reason %s", rows[_i].row, v.held,
		      v.patch, admit_reason_name(v.reason));
}
END_TEST

/* With MODE_OBSERVE nothing is patched, and what would be is named.  All else is
 * as before: what carries our hold already is held. */
START_TEST(observed)
{
	struct rules r = rules;
	struct verdict v;

	r.mode = MODE_OBSERVE;
	v = admit_decide(&r, &rows[_i].review);
	ck_assert_msg(!v.patch && v.held == (rows[_i].held && !rows[_i].patch) &&
			      v.reason == (rows[_i].patch ? REASON_OBSERVED
							  : rows[_i].reason),
		      "%s: held %d patch %d reason %s", rows[_i].row, v.held,
		      v.patch, admit_reason_name(v.reason));
}
END_TEST

/* What we answered with a patch is answered alike without one when it comes
 * again: audit annotations cannot be overwritten. */
START_TEST(own_output_again)
{
	struct review v = rows[_i].review;
	struct verdict first = admit_decide(&rules, &v), again;

	if (!first.patch)
		return;
	v.has_mark = true;
	v.hold = HOLD_SAME;
	again = admit_decide(&rules, &v);
	ck_assert_msg(!again.patch && again.held == first.held &&
			      again.reason == first.reason,
		      "%s", rows[_i].row);
}
END_TEST

static const struct {
	const char *include, *exclude, *nodepool;
	bool included;
} nodepools[] = {
	{"*", NULL, "web", true},
	{"*", NULL, "", true},
	{"*", "web", "web", false},
	{"*", "web", "web2", true},
	{"*", "web*", "web2", false},
	{"web", NULL, "web", true},
	{"web", NULL, "api", false},
	{"web", NULL, "", false},
	{"web-?", NULL, "web-1", true},
	{"web-?", NULL, "web-10", false},
	{"[ab]*", NULL, "b-pool", true},
	{"[ab]*", NULL, "c-pool", false},
	/* "" is matched by "*" only, here as there. */
	{"**", NULL, "", false},
	{"", NULL, "", false},
	{"*", "*", "", false},
	{"*", "**", "", true},
	{"*", "web", "", true},
	{"*.example", NULL, ".example", true},
	{NULL, NULL, "web", false},
	{NULL, NULL, "", false},
};

static void
pattern_add(struct patterns *p, const char *s)
{
	if (s != NULL)
		strcpy(p->at[p->n++], s);
}

START_TEST(pool_table)
{
	struct rules r = {0};

	pattern_add(&r.include, nodepools[_i].include);
	pattern_add(&r.exclude, nodepools[_i].exclude);
	ck_assert_msg(rules_nodepool_included(&r, nodepools[_i].nodepool) ==
			      nodepools[_i].included,
		      "include %s, exclude %s, pool '%s'",
		      nodepools[_i].include, nodepools[_i].exclude,
		      nodepools[_i].nodepool);
}
END_TEST

START_TEST(any_pattern_of_a_list)
{
	struct rules r = {0};

	pattern_add(&r.include, "web");
	pattern_add(&r.include, "api");
	pattern_add(&r.exclude, "x");
	pattern_add(&r.exclude, "api");
	ck_assert(rules_nodepool_included(&r, "web"));
	ck_assert(!rules_nodepool_included(&r, "api"));
	ck_assert(!rules_nodepool_included(&r, "x"));
}
END_TEST

START_TEST(default_hold_is_known)
{
	struct hold_key k = rules.hold;

	ck_assert(rules_hold_is_default(&k));
	strcpy(k.value, "false");
	ck_assert(!rules_hold_is_default(&k));
	k = rules.hold;
	strcpy(k.key, "karpenter.sh/do-not-consolidate");
	ck_assert(!rules_hold_is_default(&k));
}
END_TEST

START_TEST(every_reason_has_a_name)
{
	for (int i = 0; i < REASON_COUNT; i++) {
		ck_assert_ptr_nonnull(admit_reason_name((enum reason)i));
		for (int k = 0; k < i; k++)
			ck_assert_str_ne(admit_reason_name((enum reason)i),
					 admit_reason_name((enum reason)k));
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("policy");
	TCase *c = run_case(s, "admit"), *p = run_case(s, "pools");

	tcase_add_loop_test(c, table, 0, COUNT(rows));
	tcase_add_loop_test(c, observed, 0, COUNT(rows));
	tcase_add_loop_test(c, own_output_again, 0, COUNT(rows));
	tcase_add_test(c, every_reason_has_a_name);
	tcase_add_loop_test(p, pool_table, 0, COUNT(nodepools));
	tcase_add_test(p, any_pattern_of_a_list);
	tcase_add_test(p, default_hold_is_known);
	return suite_run(s);
}
