/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "core/controller/notes.h"
#include "run.h"

static struct notes t;

static void
put_many(int64_t from, int64_t to)
{
	char name[NAME_BYTES];

	for (int64_t i = from; i < to; i++) {
		(void)snprintf(name, sizeof(name), "scope-%d", (int)i);
		notes_put(&t, NOTE_SCOPE_QUIET, name)->as.quiet.held_ms = i;
	}
}

START_TEST(comes_out_in_order)
{
	struct note n;

	t = (struct notes){0};
	ck_assert(!notes_take(&t, &n));
	put_many(0, 3);
	notes_put(&t, NOTE_BLOCKED, "NodeClaim")->as.objects = 7;
	for (int i = 0; i < 3; i++) {
		ck_assert(notes_take(&t, &n));
		ck_assert_int_eq(n.as.quiet.held_ms, i);
	}
	ck_assert(notes_take(&t, &n));
	ck_assert(n.type == NOTE_BLOCKED && n.as.objects == 7);
	ck_assert_str_eq(n.name, "NodeClaim");
	ck_assert(!notes_take(&t, &n));
}
END_TEST

/* One more than there is room for: the oldest goes, and nothing else. */
START_TEST(a_full_ring_forgets_the_oldest)
{
	struct note n;

	t = (struct notes){0};
	put_many(0, NOTES_MAX + 1);
	for (int i = 1; i <= NOTES_MAX; i++) {
		ck_assert(notes_take(&t, &n));
		ck_assert_int_eq(n.as.quiet.held_ms, i);
	}
	ck_assert(!notes_take(&t, &n));
}
END_TEST

/* What an earlier note said in the same place is gone. */
START_TEST(a_place_is_cleared)
{
	struct note n;

	t = (struct notes){0};
	for (int i = 0; i < NOTES_MAX; i++) {
		notes_put(&t, NOTE_SCOPE_HELD, "x")->as.held.earliest = true;
		ck_assert(notes_take(&t, &n));
	}
	(void)notes_put(&t, NOTE_SCOPE_HELD, "y");
	ck_assert(notes_take(&t, &n) && !n.as.held.earliest);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("notes");
	TCase *c = run_case(s, "notes");

	tcase_add_test(c, comes_out_in_order);
	tcase_add_test(c, a_full_ring_forgets_the_oldest);
	tcase_add_test(c, a_place_is_cleared);
	return suite_run(s);
}
