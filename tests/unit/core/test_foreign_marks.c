/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/protocol/foreign_marks.h"
#include "objects.h"
#include "run.h"

/* Whose is a mark that comes while `uninstall` clears? */

#define EPOCH INT64_C(1767323045000)
#define SLACK 5000

static const struct {
	const char *name;
	enum mark mark;
	int64_t mark_ms;	/* after the start; the list is 10 s after it */
	int64_t created_ms;
	enum kind kind;
	bool registered;
	int64_t newest_ms;	/* of the first list; 0: none */
	bool foreign;
} foreign_rows[] = {
	{"made after the start", MARK_TIME, 1, -90000, .foreign = true},
	{"made before it", MARK_TIME, -2001, -90000, .foreign = false},
	{"two clocks differ by two seconds", MARK_TIME, -2000, -90000,
	 .foreign = true},
	{"as young as the youngest of the first list", MARK_TIME, 500, -90000,
	 .newest_ms = 500},
	{"younger than that", MARK_TIME, 501, -90000, .newest_ms = 500,
	 .foreign = true},
	{"the youngest of the first list is old", MARK_TIME, -2000, -90000,
	 .newest_ms = -60000, .foreign = true},
	{"the first list has one of a clock that is ahead", MARK_TIME, 2000,
	 -90000, .newest_ms = 3000},
	{"… or that is no clock's", MARK_TIME, 2000, -90000,
	 .newest_ms = 3001, .foreign = true},
	{"made a moment ahead of us", MARK_TIME, 13000, -90000,
	 .foreign = true},
	{"from the future: somebody's own writing", MARK_TIME, 13001, -90000,
	 .foreign = false},
	{"a new object, by a webhook that was just removed", MARK_TIME, 4999,
	 4000, .foreign = false},
	{"a new object, and no webhook is left", MARK_TIME, 5000, 4000,
	 .foreign = true},
	{"a new object by the clocks' difference", MARK_TIME, 4999, -2000,
	 .foreign = false},
	{"no mark", MARK_ABSENT, 0, 8000, .foreign = false},
	{"a policy marks what is new", MARK_ODD, 0, 5001, .foreign = true},
	{"… also Nodes", MARK_ODD, 0, 5001, KIND_NODE, .foreign = true},
	{"… which may be a copy from the claim once they have joined",
	 MARK_ODD, 0, 5001, KIND_NODE, .registered = true},
	{"… and not on claims", MARK_ODD, 0, 5001, KIND_NODECLAIM,
	 .registered = true, .foreign = true},
	{"a policy that was just removed", MARK_ODD, 0, 5000,
	 .foreign = false},
	{"a word on what is old", MARK_ODD, 0, -90000, .foreign = false},
};

static struct foreign_marks
first_list(int64_t newest_ms)
{
	struct foreign_marks f = {0};
	struct object o = claim_new("first", EPOCH - 90000);

	foreign_marks_begin(&f, EPOCH, SLACK);
	if (newest_ms != 0) {
		object_hold(&o, EPOCH);
		o.mark_ms = EPOCH + newest_ms;
		foreign_marks_look(&f, &o, EPOCH + 1000);
	}
	foreign_marks_listed(&f, true);
	ck_assert_str_eq(f.text, "");
	return f;
}

START_TEST(a_foreign_mark)
{
	struct foreign_marks f = first_list(foreign_rows[_i].newest_ms);
	struct object o = object_new(foreign_rows[_i].kind, "x", "x",
				     EPOCH + foreign_rows[_i].created_ms);

	o.mark = foreign_rows[_i].mark;
	o.mark_ms = EPOCH + foreign_rows[_i].mark_ms;
	o.registered = foreign_rows[_i].registered;
	foreign_marks_look(&f, &o, EPOCH + 10000);
	ck_assert_str_eq(f.text, "");
	foreign_marks_listed(&f, true);
	ck_assert_msg((f.text[0] != '\0') == foreign_rows[_i].foreign,
		      "%s: \"%s\"", foreign_rows[_i].name, f.text);
}
END_TEST

static void
look(struct foreign_marks *f, const char *name, int64_t mark_ms)
{
	struct object o = object_new(KIND_NODE, name, name, EPOCH - 90000);

	o.mark = MARK_TIME;
	o.mark_ms = EPOCH + mark_ms;
	foreign_marks_look(f, &o, EPOCH + 10000);
}

/* A mark of no time in the first list says nothing of when. */
START_TEST(a_word_is_no_measure)
{
	struct foreign_marks f = {0};
	struct object o = claim_new("first", EPOCH - 90000);

	foreign_marks_begin(&f, EPOCH, SLACK);
	o.mark = MARK_ODD;
	o.mark_ms = EPOCH + 2000;
	foreign_marks_look(&f, &o, EPOCH + 1000);
	foreign_marks_listed(&f, true);
	look(&f, "a", 1000);
	foreign_marks_listed(&f, true);
	ck_assert_str_ne(f.text, "");
}
END_TEST

START_TEST(the_first_foreign_mark_stays)
{
	struct foreign_marks f = first_list(0);
	struct object word = object_new(KIND_NODECLAIM, "w", "w",
					EPOCH + 9000);

	look(&f, "stolen", 1000);
	foreign_marks_listed(&f, false);	/* a holder may well mark */
	ck_assert_str_eq(f.text, "");
	look(&f, "a", 1000);
	look(&f, "b", 2000);
	foreign_marks_listed(&f, true);
	ck_assert_str_eq(f.text,
			 "Node a was marked at 2026-01-02T03:04:06Z");
	look(&f, "c", 3000);
	foreign_marks_listed(&f, true);
	foreign_marks_begin(&f, EPOCH + 9000, SLACK);
	ck_assert_str_eq(f.text,
			 "Node a was marked at 2026-01-02T03:04:06Z");
	f = first_list(0);
	word.mark = MARK_ODD;
	foreign_marks_look(&f, &word, EPOCH + 10000);
	foreign_marks_listed(&f, true);
	ck_assert_str_eq(f.text, "NodeClaim w was created with a mark at "
				 "2026-01-02T03:04:14Z");
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("foreign marks");
	TCase *t = run_case(s, "marks");

	tcase_add_loop_test(t, a_foreign_mark, 0,
			    sizeof(foreign_rows) / sizeof(foreign_rows[0]));
	tcase_add_test(t, a_word_is_no_measure);
	tcase_add_test(t, the_first_foreign_mark_stays);
	return s;
}

int
main(void)
{
	return suite_run(suite());
}
