/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "suite.h"
#include "wire/api/disruption_event.h"
#include "wire/api/resource.h"

/* What the API server is asked for: each path, whole. */

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/hold-tickets/leases"
#define EVENTS                                                                 \
	"/api/v1/namespaces/default/events?" DISRUPTION_EVENTS_SELECTOR "&"
#define WATCHED                                                                \
	"watch=1&allowWatchBookmarks=true&timeoutSeconds=301&resourceVersion="

static const struct {
	enum kind kind;
	const char *name;
	const char *path;	/* up to the first parameter of our own */
	const char *list_accept, *item_accept;
} rows[] = {
	{KIND_NODE, "nodes", "/api/v1/nodes?", ACCEPT_METADATA_LIST,
	 ACCEPT_METADATA},
	{KIND_NODECLAIM, "nodeclaims", "/apis/karpenter.sh/v1/nodeclaims?",
	 NULL, NULL},
	{KIND_NODEPOOL, "nodepools", "/apis/karpenter.sh/v1/nodepools?", NULL,
	 NULL},
	{KIND_EVENT, "events", EVENTS, NULL, NULL},
	{KIND_TICKET, "tickets", LEASES "?", NULL, NULL},
};
#define ROWS (int)(sizeof(rows) / sizeof(rows[0]))

static char path[PATH_BYTES];
static struct buf b;

static void
setup(void)
{
	buf_init(&b, path, sizeof(path));
}

static void
expect(const char *begin, const char *end)
{
	char want[1024];

	(void)snprintf(want, sizeof(want), "%s%s", begin, end);
	ck_assert(!b.full);
	ck_assert_str_eq(path, want);
}

START_TEST(test_list)
{
	enum kind kind = rows[_i].kind;

	resource_list_path(&b, kind, "hold-tickets", 500, "");
	expect(rows[_i].path, "limit=500");
	buf_init(&b, path, sizeof(path));
	resource_list_path(&b, kind, "hold-tickets", 2000, "aZ09-._~/+= &");
	expect(rows[_i].path,
	       "limit=2000&continue=aZ09-._~%2F%2B%3D%20%26");
}
END_TEST

START_TEST(test_watch)
{
	enum kind kind = rows[_i].kind;

	resource_watch_path(&b, kind, "hold-tickets", 301, "4711");
	expect(rows[_i].path, WATCHED "4711");
	buf_init(&b, path, sizeof(path));
	resource_watch_path(&b, kind, "hold-tickets", 301, "1&watch=0");
	expect(rows[_i].path, WATCHED "1%26watch%3D0");
}
END_TEST

/* Whether objects come whole: a ticket's metadata does not say until when it
 * holds. */
START_TEST(test_form)
{
	const struct resource *r = &resources[rows[_i].kind];

	ck_assert_str_eq(r->name, rows[_i].name);
	ck_assert(r->list_accept == NULL
			  ? rows[_i].list_accept == NULL
			  : strcmp(r->list_accept, rows[_i].list_accept) == 0);
	ck_assert(r->item_accept == NULL
			  ? rows[_i].item_accept == NULL
			  : strcmp(r->item_accept, rows[_i].item_accept) == 0);
	ck_assert((r->rest != NULL) == (rows[_i].kind == KIND_TICKET));
}
END_TEST

/* The counters of the ends of watches: four of each kind. */
START_TEST(test_counters)
{
	ck_assert_int_eq(ROWS, VIEW_COUNT);
	for (int k = 0; k < ROWS; k++)
		for (int i = 0; i < k; i++)
			ck_assert_int_ge(abs((int)resources[k].restarts -
					     (int)resources[i].restarts), 4);
	ck_assert_int_eq(resources[KIND_TICKET].restarts,
			 COUNTER_WATCH_TICKETS_END);
}
END_TEST

/* The longest of all that may stand in a path has room. */
START_TEST(test_longest)
{
	static char cont[CONTINUE_BYTES], rv[RV_BYTES], name[NODEPOOL_BYTES];
	char watch[WATCH_PATH_BYTES];

	memset(cont, '/', sizeof(cont) - 1);
	memset(rv, '/', sizeof(rv) - 1);
	memset(name, 'n', sizeof(name) - 1);
	for (int k = 0; k < VIEW_COUNT; k++) {
		buf_init(&b, path, sizeof(path));
		resource_list_path(&b, (enum kind)k, name, UINT32_MAX, cont);
		ck_assert(!b.full);
		buf_init(&b, watch, sizeof(watch));
		resource_watch_path(&b, (enum kind)k, name, INT32_MAX, rv);
		ck_assert(!b.full);
	}
	ck_assert_ptr_nonnull(strstr(watch, name));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/resource");
	TCase *tc = tcase_create("resource");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, test_list, 0, ROWS);
	tcase_add_loop_test(tc, test_watch, 0, ROWS);
	tcase_add_loop_test(tc, test_form, 0, ROWS);
	tcase_add_test(tc, test_counters);
	tcase_add_test(tc, test_longest);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
