/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/disabled_nodepools.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/base/limits.h"
#include "suite.h"

#define NOW 1767323045000	/* 2026-01-02T03:04:05Z */

static struct disabled_nodepools *set;

static void
setup(void)
{
	set = disabled_nodepools_new();
	ck_assert_ptr_nonnull(set);
}

static void
teardown(void)
{
	disabled_nodepools_free(set);
}

static void
disable(const char *nodepool)
{
	disabled_nodepools_set(set, nodepool, INT64_MIN);
}

static void
enable(const char *nodepool)
{
	disabled_nodepools_set(set, nodepool, INT64_MAX);
}

static bool
has(const char *nodepool)
{
	return disabled_nodepools_has(set, nodepool, NOW);
}

START_TEST(test_a_new_set_is_empty)
{
	ck_assert(!has("a"));
	ck_assert(!has(""));
}
END_TEST

START_TEST(test_each_name_is_found_until_it_is_enabled)
{
	disable("a");
	disable("b");
	disable("c");
	ck_assert(has("a") && has("b") && has("c"));
	ck_assert(!has("") && !has("ab") && !has("B"));
	enable("a");
	ck_assert(!has("a") && has("b") && has("c"));
	enable("c");
	enable("b");
	ck_assert(!has("b") && !has("c"));
}
END_TEST

/* Its hold-until ends at that moment. */
START_TEST(test_a_name_counts_from_its_moment_on)
{
	disabled_nodepools_set(set, "a", NOW + 1);
	ck_assert(!has("a"));
	ck_assert(disabled_nodepools_has(set, "a", NOW + 1));
	disabled_nodepools_set(set, "a", NOW);
	ck_assert(has("a"));
	disabled_nodepools_set(set, "a", NOW + 1);
	ck_assert(!has("a"));
	disable("a");
	ck_assert(disabled_nodepools_has(set, "a", 0));
}
END_TEST

START_TEST(test_a_name_is_in_the_set_once)
{
	disable("a");
	disable("b");
	disable("a");
	enable("a");
	ck_assert(!has("a"));
	ck_assert(has("b"));
}
END_TEST

START_TEST(test_enabling_an_unknown_name_changes_nothing)
{
	enable("a");
	disable("b");
	enable("a");
	ck_assert(has("b"));
}
END_TEST

START_TEST(test_a_list_drops_the_names_it_does_not_show)
{
	disable("old");
	disable("kept");
	disable("older");
	disabled_nodepools_listing(set);
	disable("kept");
	disable("new");
	ck_assert(has("old"));	/* until the list is complete */
	disabled_nodepools_listed(set);
	ck_assert(!has("old") && !has("older"));
	ck_assert(has("kept") && has("new"));
}
END_TEST

START_TEST(test_a_list_that_is_cut_drops_nothing)
{
	disable("a");
	disable("b");
	disabled_nodepools_listing(set);
	disable("a");
	/* The next list begins before this one was complete. */
	disabled_nodepools_listing(set);
	disable("b");
	ck_assert(has("a") && has("b"));
	disabled_nodepools_listed(set);
	ck_assert(!has("a"));
	ck_assert(has("b"));
}
END_TEST

static const char *
numbered(unsigned i)
{
	static char name[NODEPOOL_BYTES];

	(void)snprintf(name, sizeof(name), "p-%u", i);
	return name;
}

START_TEST(test_one_name_too_many_counts_as_enabled)
{
	for (unsigned i = 0; i < SCOPES_MAX; i++)
		disable(numbered(i));
	disable("late");
	ck_assert(!has("late"));
	for (unsigned i = 0; i < SCOPES_MAX; i++)
		ck_assert(has(numbered(i)));
	/* As soon as there is room, it is taken. */
	enable(numbered(0));
	disable("late");
	ck_assert(has("late"));
	ck_assert(!has(numbered(0)));
}
END_TEST

START_TEST(test_a_full_set_keeps_what_a_list_shows_again)
{
	for (unsigned i = 0; i < SCOPES_MAX; i++)
		disable(numbered(i));
	disabled_nodepools_listing(set);
	for (unsigned i = 0; i < SCOPES_MAX; i++)
		disable(numbered(i));
	disabled_nodepools_listed(set);
	for (unsigned i = 0; i < SCOPES_MAX; i++)
		ck_assert(has(numbered(i)));
}
END_TEST

START_TEST(test_the_longest_name_is_kept_whole)
{
	char name[NODEPOOL_BYTES];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	disable(name);
	ck_assert(has(name));
	name[sizeof(name) - 2] = '\0';
	ck_assert(!has(name));
}
END_TEST

/* --- the webhook's threads read while a watcher writes ---------------------- */

#define READERS 2
#define BETWEEN 300	/* names, so that a reader is among them most times */
#define ROUNDS 20

static atomic_bool done;
static atomic_uint missed, reading;

static void *
reader_run(void *ctx)
{
	(void)ctx;
	atomic_fetch_add(&reading, 1);
	while (!atomic_load(&done))
		if (!has("always"))
			atomic_fetch_add(&missed, 1);
	return NULL;
}

/* When the first name leaves, the last one moves into its place, past whoever
 * is looking for it. */
START_TEST(test_readers_never_miss_a_name_while_others_leave)
{
	pthread_t readers[READERS];

	atomic_store(&done, false);
	atomic_store(&missed, 0);
	atomic_store(&reading, 0);
	for (unsigned i = 0; i < BETWEEN; i++)
		disable(numbered(i));
	disable("always");
	for (int i = 0; i < READERS; i++)
		ck_assert_int_eq(
			pthread_create(&readers[i], NULL, reader_run, NULL), 0);
	while (atomic_load(&reading) < READERS)
		(void)sched_yield();
	enable(numbered(0));
	atomic_store(&done, true);
	for (int i = 0; i < READERS; i++)
		(void)pthread_join(readers[i], NULL);
	ck_assert_uint_eq(atomic_load(&missed), 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("daemon/disabled_nodepools");
	TCase *tc = tcase_create("disabled_nodepools");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_a_new_set_is_empty);
	tcase_add_test(tc, test_each_name_is_found_until_it_is_enabled);
	tcase_add_test(tc, test_a_name_counts_from_its_moment_on);
	tcase_add_test(tc, test_a_name_is_in_the_set_once);
	tcase_add_test(tc, test_enabling_an_unknown_name_changes_nothing);
	tcase_add_test(tc, test_a_list_drops_the_names_it_does_not_show);
	tcase_add_test(tc, test_a_list_that_is_cut_drops_nothing);
	tcase_add_test(tc, test_one_name_too_many_counts_as_enabled);
	tcase_add_test(tc, test_a_full_set_keeps_what_a_list_shows_again);
	tcase_add_test(tc, test_the_longest_name_is_kept_whole);
	tcase_add_test(tc, test_a_full_set_keeps_what_a_list_shows_again);
	tcase_add_loop_test(
		tc, test_readers_never_miss_a_name_while_others_leave, 0,
		ROUNDS);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
