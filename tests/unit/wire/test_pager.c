/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api/pager.h"

#include <check.h>
#include <string.h>

#include "suite.h"

#define META(CONT)                                                             \
	"{\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"" CONT "\"}," \
	"\"items\":"
#define FIRST META("a/b") "[{\"n\":1},{\"n\":2}]}"
#define LAST META("") "[{\"n\":3}]}"

static struct pager p;
static int64_t now;
static unsigned items;
static struct err e;

static int
count(void *ctx, const char *bytes, size_t n, struct err *why)
{
	(void)bytes;
	(void)n;
	(void)why;
	++*(unsigned *)ctx;
	return 0;
}

static int
page(const char *text)
{
	return pager_page(&p, text, strlen(text), count, &items, now, &e);
}

static void
setup(void)
{
	now = 5000;
	pager_init(&p, 500, now, LIST_WHOLE_MS);
	items = 0;
	e = (struct err){0};
}

START_TEST(test_two_pages)
{
	ck_assert_int_eq(page(FIRST), 0);
	ck_assert_str_eq(p.cont, "a/b");
	ck_assert_int_eq(page(LAST), 0);
	ck_assert_str_eq(p.cont, "");
	ck_assert_str_eq(p.rv, "7");
	ck_assert_uint_eq(items, 3);
	ck_assert_uint_eq(p.pages, 1);
	ck_assert_ptr_null(p.split);
}
END_TEST

START_TEST(test_as_it_arrives)
{
	const char *text = FIRST;

	ck_assert_int_eq(pager_begin(&p, count, &items, &e), 0);
	for (const char *c = text; *c != '\0'; c++)
		ck_assert_int_eq(pager_feed(&p, c, 1, &e), 0);
	ck_assert_int_eq(pager_end(&p, &e), 0);
	ck_assert_int_eq(pager_turn(&p, now, &e), 0);
	ck_assert_str_eq(p.cont, "a/b");
	ck_assert_uint_eq(items, 2);
}
END_TEST

START_TEST(test_cut)
{
	ck_assert_int_eq(page(FIRST), 0);
	ck_assert_int_eq(page(META("") "[{\"n\":3}"), -1);
	ck_assert_int_eq(e.code, ERR_CUT);
	ck_assert_ptr_null(p.split);
	ck_assert_str_eq(p.cont, "a/b");
}
END_TEST

START_TEST(test_no_list)
{
	ck_assert_int_eq(page("{\"kind\":\"Status\"}"), -1);
	ck_assert_int_eq(e.code, ERR_INPUT);
	ck_assert_ptr_null(p.split);
}
END_TEST

START_TEST(test_dropped)
{
	ck_assert_int_eq(pager_begin(&p, count, &items, &e), 0);
	ck_assert_int_eq(pager_feed(&p, FIRST, 20, &e), 0);
	ck_assert_int_eq(pager_begin(&p, count, &items, &e), 0);
	pager_drop(&p);
	pager_drop(&p);
	ck_assert_ptr_null(p.split);
}
END_TEST

START_TEST(test_pages_bound)
{
	for (unsigned i = 1; i < LIST_PAGES_MAX; i++)
		ck_assert_int_eq(page(FIRST), 0);
	ck_assert_int_eq(page(LAST), 0);
	ck_assert_int_eq(page(FIRST), -1);
	ck_assert_int_eq(e.code, ERR_LIMIT);
}
END_TEST

START_TEST(test_objects_bound)
{
	static char text[sizeof(META("a/b")) + 2 * LIST_OBJECTS_MAX + 2];
	size_t n = strlen(strcpy(text, META("a/b") "["));

	for (unsigned i = 0; i < LIST_OBJECTS_MAX; i++) {
		text[n++] = '1';
		text[n++] = ',';
	}
	text[n - 1] = ']';
	text[n] = '}';
	ck_assert_int_eq(page(text), 0);
	ck_assert_int_eq(page(LAST), -1);
	ck_assert_uint_eq(items, LIST_OBJECTS_MAX);
	ck_assert_int_eq(e.code, ERR_LIMIT);
	ck_assert_str_eq(e.text, "a list of more than 550000 objects");
	/* A list that begins again has its objects again. */
	ck_assert_int_eq(pager_restart(&p, now, &e), 0);
	ck_assert_int_eq(page(text), 0);
}
END_TEST

START_TEST(test_time_bound)
{
	ck_assert_int_eq(page(FIRST), 0);
	now += LIST_WHOLE_MS - 1;
	ck_assert_int_eq(page(FIRST), 0);
	now++;
	ck_assert_int_eq(pager_restart(&p, now, &e), -1);
	ck_assert_int_eq(e.code, ERR_LIMIT);
	ck_assert_int_eq(page(FIRST), -1);
	ck_assert_str_eq(e.text, "a list without an end within 600 s");
	ck_assert_int_eq(page(LAST), 0);
}
END_TEST

START_TEST(test_restart_counts)
{
	ck_assert_int_eq(page(FIRST), 0);
	for (unsigned i = 2; i < LIST_PAGES_MAX; i++)
		ck_assert_int_eq(pager_restart(&p, now, &e), 0);
	ck_assert_str_eq(p.cont, "");
	ck_assert_int_eq(pager_restart(&p, now, &e), -1);
	ck_assert_int_eq(e.code, ERR_LIMIT);
}
END_TEST

START_TEST(test_streams)
{
	(void)err_set(&e, ERR_TIMEOUT, "another");
	ck_assert(!pager_streams(&p, &e));
	ck_assert_int_eq(e.code, ERR_TIMEOUT);
	ck_assert(!p.streams);
	(void)err_set(&e, ERR_LIMIT, "too large");
	ck_assert(pager_streams(&p, &e));
	ck_assert_int_eq(e.code, ERR_NONE);
	ck_assert(p.streams);
	(void)err_set(&e, ERR_LIMIT, "an envelope");
	ck_assert(!pager_streams(&p, &e));
	ck_assert_int_eq(e.code, ERR_LIMIT);
	pager_init(&p, 500, now, LIST_WHOLE_MS);
	ck_assert(!p.streams);
}
END_TEST

START_TEST(test_no_memory_to_begin)
{
	ck_assert_int_eq(pager_feed(&p, FIRST, 20, &e), -1);
	ck_assert_int_eq(e.code, ERR_SYSTEM);
	ck_assert_int_eq(pager_end(&p, &e), -1);
	ck_assert_int_eq(e.code, ERR_CUT);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/pager");
	TCase *tc = tcase_create("pager");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, test_two_pages);
	tcase_add_test(tc, test_as_it_arrives);
	tcase_add_test(tc, test_cut);
	tcase_add_test(tc, test_no_list);
	tcase_add_test(tc, test_dropped);
	tcase_add_test(tc, test_pages_bound);
	tcase_add_test(tc, test_objects_bound);
	tcase_add_test(tc, test_time_bound);
	tcase_add_test(tc, test_restart_counts);
	tcase_add_test(tc, test_streams);
	tcase_add_test(tc, test_no_memory_to_begin);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
