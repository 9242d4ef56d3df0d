/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/str.h"
#include "core/protocol/lease_where.h"
#include "run.h"

/* Which namespace a command takes the Lease in, for each list of Leases. */

#define NOW INT64_C(1767323045000)
#define LATE 5000	/* the allowance for clocks */

struct seen {
	const char *in, *holder;
	int64_t renewed_ms;	/* so long ago; 0: never */
};

static const struct row {
	const char *name, *given;
	struct seen seen[3];
	const char *want, *error;	/* of the error, a part */
} rows[] = {
	{"none is there", "", {{NULL, NULL, 0}}, "", NULL},
	{"one is there", "", {{"a", "", 0}}, "a", NULL},
	{"one that is held", "", {{"a", "h", 1000}}, "a", NULL},
	{"two", "", {{"a", "", 0}, {"b", "", 0}}, NULL, "in a and one in b"},
	{"three: the last is named", "",
	 {{"a", "", 0}, {"b", "", 0}, {"c", "", 0}}, NULL, "in a and one in c"},
	{"given, and there", "a", {{"a", "", 0}}, "a", NULL},
	{"given, and nowhere", "a", {{NULL, NULL, 0}}, "a", NULL},
	{"given, there and renewed elsewhere", "a",
	 {{"b", "h", 1000}, {"a", "", 0}}, "a", NULL},
	{"given, and renewed elsewhere only", "a", {{"b", "h", 1000}}, NULL,
	 "none in a, but h renews one in b: --namespace b"},
	{"… at the last moment", "a", {{"b", "h", 15000 + LATE - 1}}, NULL,
	 "but h renews"},
	{"… no longer", "a", {{"b", "h", 15000 + LATE}}, "a", NULL},
	{"… never renewed", "a", {{"b", "h", 0}}, "a", NULL},
	{"… given up", "a", {{"b", "", 1000}}, "a", NULL},
};

static void
see(struct lease_where *w, const struct seen *s)
{
	static struct lease_record r;
	char name[LEASE_NAMESPACE_BYTES] = "";

	r = (struct lease_record){.present = true, .duration_s = 15};
	r.renew_us = s->renewed_ms == 0 ? STAMP_NONE
					: (NOW - s->renewed_ms) * 1000;
	(void)str_copy(r.holder, sizeof(r.holder),
		       s->holder == NULL ? "" : s->holder);
	(void)str_copy(name, sizeof(name), s->in);
	lease_where_seen(w, name, &r);
}

START_TEST(chosen)
{
	const struct row *r = &rows[_i];
	struct lease_where w = {.given = r->given, .server_ms = NOW};
	char out[LEASE_NAMESPACE_BYTES] = "as before";
	struct err e = {0};
	int rc;

	lease_where_begin(&w);
	for (int i = 0; i < 3 && r->seen[i].in != NULL; i++)
		see(&w, &r->seen[i]);
	rc = lease_where_choose(&w, out, &e);
	ck_assert_msg(rc == (r->error == NULL ? 0 : -1), "%s", r->name);
	ck_assert_str_eq(out, r->error == NULL ? r->want : "as before");
	if (r->error == NULL)
		return;
	ck_assert_int_eq(e.code, ERR_INPUT);
	ck_assert_msg(strstr(e.text, r->error) != NULL, "%s: %s", r->name,
		      e.text);
}
END_TEST

/* Whatever duration somebody wrote: a minute. */
START_TEST(a_day_is_not_believed)
{
	static struct lease_record r;

	for (int over = 0; over < 2; over++) {
		struct lease_where w = {.given = "a", .server_ms = NOW};
		char out[LEASE_NAMESPACE_BYTES];
		char b[LEASE_NAMESPACE_BYTES] = "b";
		struct err e;

		r = (struct lease_record){
			.present = true,
			.holder = "h",
			.duration_s = 86400,
			.renew_us = (NOW - 60000 - LATE + !over) * 1000};
		lease_where_begin(&w);
		lease_where_seen(&w, b, &r);
		ck_assert_int_eq(lease_where_choose(&w, out, &e), over - 1);
	}
}
END_TEST

/* What a list showed before it started over does not count. */
START_TEST(a_list_that_starts_over)
{
	struct lease_where w = {.given = _i == 0 ? "" : "x", .server_ms = NOW};
	char out[LEASE_NAMESPACE_BYTES];
	struct err e;

	lease_where_begin(&w);
	see(&w, &(struct seen){"x", "", 0});
	see(&w, &(struct seen){"b", "h", 1000});
	lease_where_begin(&w);
	see(&w, &(struct seen){"c", "", 0});
	ck_assert_int_eq(lease_where_choose(&w, out, &e), 0);
	ck_assert_str_eq(out, _i == 0 ? "c" : "x");
	ck_assert(!w.there);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("lease_where");
	TCase *c = run_case(s, "namespace");

	tcase_add_test(c, a_day_is_not_believed);
	tcase_add_loop_test(c, chosen, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_loop_test(c, a_list_that_starts_over, 0, 2);
	return suite_run(s);
}
