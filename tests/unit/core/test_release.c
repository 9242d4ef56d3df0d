/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/limits.h"
#include "core/controller/release.h"
#include "run.h"

#define IDS 4

static struct release r;
static struct notes notes;
static struct pace pace;

static void
setup(void)
{
	ck_assert_int_eq(release_init(&r, IDS, false), 0);
	notes = (struct notes){0};
	pace_init(&pace, 1);
}

static void
teardown(void)
{
	release_free(&r);
}

static bool
start(int64_t boot_ms, enum kind want)
{
	enum kind kind;

	return release_start(&r, boot_ms, &kind) && kind == want;
}

static enum release_result
done(enum kind kind, bool ok, int64_t boot_ms)
{
	return release_done(&r, kind, ok, boot_ms, &pace, &notes);
}

START_TEST(two_lists_and_then_it_may)
{
	ck_assert(release_may(&r, 0, false, 1000)); /* it is not due */
	ck_assert(!start(1000, KIND_NODECLAIM));
	release_due(&r, 0, 1000);
	ck_assert(!release_may(&r, 0, false, 1000));
	ck_assert_int_eq(release_next_boot_ms(&r), 0);
	ck_assert(start(1000, KIND_NODECLAIM));
	ck_assert(!start(1001, KIND_NODECLAIM));
	ck_assert_int_eq(release_next_boot_ms(&r), STAMP_NONE);
	ck_assert_int_eq(done(KIND_NODECLAIM, true, 1500), RELEASE_WAITS);
	ck_assert(start(1500, KIND_NODEPOOL));
	ck_assert_int_eq(done(KIND_NODEPOOL, true, 1600), RELEASE_GOOD);
	ck_assert(release_may(&r, 0, false, 1000));
	/* Who fell due after the list began needs another. */
	release_due(&r, 1, 1001);
	ck_assert(!release_may(&r, 1, false, 1000));
	release_not_due(&r, 1);
	ck_assert(release_may(&r, 1, false, 1000));
}
END_TEST

/* Only machines that asked in vain are looked at again, and each once. */
START_TEST(those_that_wait)
{
	ck_assert_uint_eq(release_take(&r), NO_ID);
	for (uint32_t id = 0; id < IDS; id++)
		release_due(&r, id, 1000);
	for (uint32_t id = IDS - 1; id > 0; id--)
		ck_assert(!release_may(&r, id, false, 1000));
	release_not_due(&r, 2);
	ck_assert_uint_eq(release_take(&r), 1);
	ck_assert_uint_eq(release_take(&r), 3);
	ck_assert_uint_eq(release_take(&r), NO_ID);
	ck_assert_uint_eq(release_take(&r), NO_ID);
	ck_assert(!release_may(&r, 0, false, 1000));
	ck_assert_uint_eq(release_take(&r), 0);
	ck_assert_uint_eq(release_take(&r), NO_ID);
}
END_TEST

START_TEST(what_is_not_known_stops_it)
{
	struct note n;
	int64_t now = 1000;

	release_due(&r, 0, now);
	for (int i = 1; i <= FRESH_TRIES; i++, now += FRESH_RETRY_MS) {
		(void)release_may(&r, 0, false, 1000);
		ck_assert(start(now, KIND_NODECLAIM));
		release_unknown(&r);
		ck_assert_int_eq(done(KIND_NODECLAIM, true, now),
				 i == FRESH_TRIES ? RELEASE_MISTRUSTS
						  : RELEASE_WAITS);
		ck_assert(notes_take(&notes, &n) && n.type == NOTE_STOPPED &&
			  n.as.objects == 1);
		ck_assert(!start(now + FRESH_RETRY_MS - 1, KIND_NODECLAIM));
	}
}
END_TEST

START_TEST(the_first_half_is_lost_with_the_view)
{
	release_due(&r, 0, 1000);
	(void)release_may(&r, 0, false, 1000);
	ck_assert(start(1000, KIND_NODECLAIM));
	(void)done(KIND_NODECLAIM, true, 1000);
	ck_assert(start(1000, KIND_NODEPOOL));
	release_unseen(&r);
	ck_assert_int_eq(done(KIND_NODEPOOL, true, 1000), RELEASE_WAITS);
	ck_assert(!release_may(&r, 0, false, 1000));
	ck_assert(start(1000, KIND_NODECLAIM));
}
END_TEST

START_TEST(a_list_that_fails_is_named)
{
	release_due(&r, 0, 1000);
	(void)release_may(&r, 0, false, 1000);
	ck_assert(start(1000, KIND_NODECLAIM));
	ck_assert_int_eq(done(KIND_NODECLAIM, false, 1000), RELEASE_WAITS);
	ck_assert_int_eq(r.failed, KIND_NODECLAIM);
	ck_assert(!start(1000, KIND_NODECLAIM));
	release_forget(&r);
	ck_assert(r.failed == VIEW_COUNT && !r.wanted);
}
END_TEST

static void
lists(int64_t boot_ms)
{
	ck_assert(start(boot_ms, KIND_NODECLAIM));
	ck_assert_int_eq(done(KIND_NODECLAIM, true, boot_ms), RELEASE_WAITS);
	ck_assert(start(boot_ms, KIND_NODEPOOL));
	ck_assert_int_eq(done(KIND_NODEPOOL, true, boot_ms), RELEASE_GOOD);
}

/* However many claims are about to count, one after another. */
START_TEST(it_waits_as_long_as_one_claim_takes)
{
	release_due(&r, 0, 1000);
	release_due(&r, 1, 1000);
	ck_assert(!release_may(&r, 0, true, 1000));
	lists(2000);
	ck_assert(release_may(&r, 1, false, 2000));
	ck_assert(!release_may(&r, 0, true, 3000));
	lists(4000);
	ck_assert(!release_may(&r, 0, true, 4000));
	ck_assert(release_may(&r, 0, false, 4000));
	lists(2000 + COUNTS_AGE_MS);
	ck_assert(!release_may(&r, 0, true, 2000 + COUNTS_AGE_MS));
	lists(3000 + COUNTS_AGE_MS);
	ck_assert(release_may(&r, 0, true, 3000 + COUNTS_AGE_MS));
	/* The next release waits again. */
	release_not_due(&r, 0);
	release_due(&r, 0, 20000);
	ck_assert(!release_may(&r, 0, true, 20000));
	lists(20000);
	ck_assert(!release_may(&r, 0, true, 20000));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("release");
	TCase *c = run_case(s, "release");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, two_lists_and_then_it_may);
	tcase_add_test(c, those_that_wait);
	tcase_add_test(c, what_is_not_known_stops_it);
	tcase_add_test(c, the_first_half_is_lost_with_the_view);
	tcase_add_test(c, a_list_that_fails_is_named);
	tcase_add_test(c, it_waits_as_long_as_one_claim_takes);
	return suite_run(s);
}
