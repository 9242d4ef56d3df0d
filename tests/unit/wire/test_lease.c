/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "golden/golden.h"
#include "suite.h"
#include "wire/api/lease.h"
#include "wire/json/json.h"

#define ACQUIRED INT64_C(1767323045000001) /* 2026-01-02T03:04:05.000001Z */
#define RENEWED INT64_C(1767323046999999)

static struct lease_record r, back;
static char body[LEASE_BODY_BYTES + 64];
static struct buf b;

static void
setup(void)
{
	memset(&r, 0, sizeof(r));
	r.hold = (struct hold_key){"a/k", "y=s"};
	(void)str_copy(r.holder, sizeof(r.holder), "pod-1_uid");
	(void)str_copy(r.rv, sizeof(r.rv), "4711");
	r.duration_s = 15;
	r.transitions = 3;
	r.acquire_us = ACQUIRED;
	r.renew_us = RENEWED;
	buf_init(&b, body, LEASE_BODY_BYTES);
}

/* --- reading -------------------------------------------------------------- */

static void
put_us(struct buf *out, const char *name, int64_t us)
{
	if (us != STAMP_NONE)
		buf_printf(out, "%s=%lld\n", name, (long long)us);
}

static void
golden_lease(const char *bytes, size_t n, char *out, size_t cap)
{
	static struct lease_record before;
	struct err e = {0};
	struct buf o;

	buf_init(&o, out, cap);
	memset(&back, 'x', sizeof(back));
	before = back;
	if (lease_decode(bytes, n, false, &back, &e)) {
		buf_printf(&o, "error %s\n", e.text);
		ck_assert(memcmp(&back, &before, sizeof(back)) == 0);
		return;
	}
	ck_assert(back.present);
	buf_printf(&o, "holder=%s%s\nduration=%d\ntransitions=%d\nrv=%s\n",
		   back.holder, back.holder_cut ? "…" : "",
		   (int)back.duration_s, (int)back.transitions, back.rv);
	put_us(&o, "acquire", back.acquire_us);
	put_us(&o, "renew", back.renew_us);
	if (back.state[0] != '\0')
		buf_printf(&o, "state=%s\n", back.state);
	if (back.state_bad)
		buf_puts(&o, "state_bad\n");
	if (back.history[0] != '\0')
		buf_printf(&o, "history=%s\n", back.history);
}

START_TEST(test_golden)
{
	golden_folder("tests/golden/leases", golden_lease);
}
END_TEST

/* --- writing -------------------------------------------------------------- */

#define SPEC(holder, s, acquired, renewed, n)                                  \
	"\"spec\":{\"holderIdentity\":\"" holder                               \
	"\",\"leaseDurationSeconds\":" s ",\"acquireTime\":" acquired          \
	",\"renewTime\":" renewed ",\"leaseTransitions\":" n "}"
#define USUAL                                                                  \
	SPEC("pod-1_uid", "15", "\"2026-01-02T03:04:05.000001Z\"",             \
	     "\"2026-01-02T03:04:06.999999Z\"", "3")
#define HISTORY "\"karpenter-node-holder.io/history\":"
#define HOLD "\"annotations\":{\"karpenter-node-holder.io/hold\":"
#define HELD HOLD "\"a/k=y=s\""
#define STATE "\"karpenter-node-holder.io/state\":"
#define ANNOTATION HELD "," STATE
#define CREATED                                                                \
	"{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","       \
	"\"metadata\":{\"namespace\":\"ns\",\"name\":\"l\""

static const struct {
	const char *name, *state, *history;
	bool nobody;
	const char *want;
} creates[] = {
	{"usual", "", "", false, CREATED "," HELD "}}," USUAL "}"},
	{"with a state", "a\"b\n", "", false,
	 CREATED "," ANNOTATION "\"a\\\"b\\n\"}}," USUAL "}"},
	{"with both", "s", "a\nb", false,
	 CREATED "," ANNOTATION "\"s\"," HISTORY "\"a\\nb\"}}," USUAL "}"},
	{"with a history", "", "h", false,
	 CREATED "," HELD "," HISTORY "\"h\"}}," USUAL "}"},
	{"nobody's", "", "", true, CREATED "," HELD "}},\"spec\":{}}"},
	{"nobody's with a state", "s", "", true,
	 CREATED "," ANNOTATION "\"s\"}},\"spec\":{}}"},
};

START_TEST(test_create)
{
	(void)str_copy(r.state, sizeof(r.state), creates[_i].state);
	(void)str_copy(r.history, sizeof(r.history), creates[_i].history);
	if (creates[_i].nobody) {
		r.holder[0] = '\0';
		r.duration_s = r.transitions = 0;
		r.acquire_us = r.renew_us = STAMP_NONE;
	}
	lease_create(&b, "ns", "l", &r);
	ck_assert_msg(strcmp(body, creates[_i].want) == 0, "%s: %s",
		      creates[_i].name, body);
}
END_TEST

#define AT "{\"metadata\":{\"resourceVersion\":\"4711\""

static const struct {
	const char *name, *state, *history;
	bool with_spec, with_state;
	const char *want;
} updates[] = {
	{"renewal", "unchanged", "unchanged", true, false, AT "," HELD "}}," USUAL "}"},
	{"with a state", "new", "h", true, true,
	 AT "," ANNOTATION "\"new\"," HISTORY "\"h\"}}," USUAL "}"},
	{"both go", "", "", true, true,
	 AT "," ANNOTATION "null," HISTORY "null}}," USUAL "}"},
	{"these alone", "new", "h", false, true,
	 AT "," ANNOTATION "\"new\"," HISTORY "\"h\"}}}"},
	{"nothing", "unchanged", "unchanged", false, false, AT "," HELD "}}}"},
};

START_TEST(test_update)
{
	(void)str_copy(r.state, sizeof(r.state), updates[_i].state);
	(void)str_copy(r.history, sizeof(r.history), updates[_i].history);
	lease_update(&b, &r, updates[_i].with_spec, updates[_i].with_state);
	ck_assert_msg(strcmp(body, updates[_i].want) == 0, "%s: %s",
		      updates[_i].name, body);
}
END_TEST

/* A hold with the key "" goes. */
START_TEST(test_no_hold)
{
	r.hold.key[0] = '\0';
	lease_update(&b, &r, false, true);
	ck_assert_str_eq(body, AT "," HOLD "null," STATE "null," HISTORY
			       "null}}}");
	buf_init(&b, body, sizeof(body));
	lease_create(&b, "ns", "l", &r);
	ck_assert_str_eq(body, CREATED ",\"annotations\":{}}," USUAL "}");
}
END_TEST

static const struct {
	const char *text, *key, *value;
} holds[] = {
	{"a/k=y=s", "a/k", "y=s"},
	{"a/k", "", ""},
	{"", "", ""},
	{"karpenter-node-holder.io/held-since=x", "", ""},
};

START_TEST(test_hold_is_read)
{
	struct err e = {0};
	char object[500];
	int n = snprintf(object, sizeof(object),
			 "{\"kind\":\"Lease\",\"metadata\":{"
			 "\"resourceVersion\":\"1\"," HOLD "\"%s\"}}}",
			 holds[_i].text);

	ck_assert_int_eq(lease_decode(object, (size_t)n, false, &back, &e), 0);
	ck_assert_str_eq(back.hold.key, holds[_i].key);
	ck_assert_str_eq(back.hold.value, holds[_i].value);
}
END_TEST

/* A leader that observes keeps its state apart, and each mode removes the
 * other's. */
START_TEST(test_observed)
{
	struct err e = {0};
	const char *key = _i ? "observed-state" : "state";
	const char *other = _i ? "state" : "observed-state";
	char want[400];
	int n = snprintf(want, sizeof(want),
			 "{\"kind\":\"Lease\",\"metadata\":{"
			 "\"resourceVersion\":\"1\",\"annotations\":{"
			 "\"karpenter-node-holder.io/%s\":\"mine\","
			 "\"karpenter-node-holder.io/%s\":\"other\"}}}",
			 key, other);

	ck_assert_int_eq(lease_decode(want, (size_t)n, _i, &back, &e), 0);
	ck_assert_str_eq(back.state, "mine");
	ck_assert(back.state_other && back.observes == _i);
	n = snprintf(want, sizeof(want),
		     "{\"kind\":\"Lease\",\"metadata\":{"
		     "\"resourceVersion\":\"1\",\"annotations\":{"
		     "\"karpenter-node-holder.io/%s\":\"mine\"}}}", key);
	ck_assert_int_eq(lease_decode(want, (size_t)n, !_i, &back, &e), 0);
	ck_assert_str_eq(back.state, "");
	ck_assert(back.state_other);
	r.observes = _i;
	r.state_other = true;
	(void)str_copy(r.state, sizeof(r.state), "new");
	lease_update(&b, &r, false, true);
	snprintf(want, sizeof(want),
		 AT "," HELD ","
		    "\"karpenter-node-holder.io/%s\":\"new\"," HISTORY "null,"
		    "\"karpenter-node-holder.io/%s\":null}}}",
		 key, other);
	ck_assert_str_eq(body, want);
}
END_TEST

START_TEST(test_release)
{
	r.holder[0] = '\0';
	r.duration_s = 1;
	r.acquire_us = r.renew_us;
	lease_update(&b, &r, true, false);
	ck_assert_str_eq(body, AT "," HELD "}},"
			 SPEC("", "1", "\"2026-01-02T03:04:06.999999Z\"",
			      "\"2026-01-02T03:04:06.999999Z\"", "3") "}");
}
END_TEST

/* A Lease is written back as it was read.  A time that is not set stays
 * unset. */
START_TEST(test_no_time)
{
	r.acquire_us = STAMP_NONE;
	lease_update(&b, &r, true, false);
	ck_assert_ptr_nonnull(strstr(body, "\"acquireTime\":null,"));
}
END_TEST

/* --- and back ------------------------------------------------------------- */

static const struct {
	const char *name, *holder, *state;
	int64_t us;
} trips[] = {
	{"usual", "pod-1_uid", "", RENEWED},
	{"escapes", "a\"b\\c\x7f\n\té/~", "{\"v\":1}", ACQUIRED},
	{"before 1970", "x", "s", -1},
	{"a whole second before 1970", "x", "s", -1000000},
	{"year 1", "x", "s", INT64_C(-62135596800000000)},
	{"year 9999", "x", "s", INT64_C(253402300799999999)},
};

static void
same(const char *name)
{
	ck_assert_msg(strcmp(back.holder, r.holder) == 0, "%s: %s", name,
		      back.holder);
	ck_assert_msg(strcmp(back.state, r.state) == 0, "%s: %s", name,
		      back.state);
	ck_assert_msg(back.acquire_us == r.acquire_us &&
			      back.renew_us == r.renew_us,
		      "%s: %lld %lld", name, (long long)back.acquire_us,
		      (long long)back.renew_us);
	ck_assert_int_eq(back.duration_s, r.duration_s);
	ck_assert_int_eq(back.transitions, r.transitions);
	ck_assert_str_eq(back.rv, r.rv);
	ck_assert_int_eq(object_hold_compare(&back.hold, &r.hold), 0);
	ck_assert(!back.holder_cut && !back.state_bad && back.present);
}

/* An update has all of the object but its kind. */
static void
there_and_back(const char *name)
{
	static char object[sizeof(body) + 32];
	struct err e = {0};
	int n;

	buf_init(&b, body, LEASE_BODY_BYTES);
	lease_update(&b, &r, true, true);
	ck_assert_msg(!b.full, "%s", name);
	n = snprintf(object, sizeof(object), "{\"kind\":\"Lease\",%s",
		     body + 1);
	ck_assert_msg(lease_decode(object, (size_t)n, false, &back, &e) == 0,
		      "%s: %s", name, e.text);
	same(name);
}

START_TEST(test_round_trip)
{
	(void)str_copy(r.holder, sizeof(r.holder), trips[_i].holder);
	(void)str_copy(r.state, sizeof(r.state), trips[_i].state);
	r.acquire_us = r.renew_us = trips[_i].us;
	there_and_back(trips[_i].name);
}
END_TEST

START_TEST(test_bounds)
{
	char name[NAME_BYTES];

	memset(r.holder, 1, sizeof(r.holder) - 1);
	memset(r.state, 1, sizeof(r.state) - 1);
	memset(r.rv, '9', sizeof(r.rv) - 1);
	memset(name, 1, sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	r.duration_s = r.transitions = INT32_MIN;
	there_and_back("every byte escapes");
	buf_init(&b, body, LEASE_BODY_BYTES);
	lease_create(&b, name, name, &r);
	ck_assert(!b.full);

	AUTO_JSON root = json_parse(body, b.len, &json_bounds_default, NULL);

	ck_assert_ptr_nonnull(root);
}
END_TEST

START_TEST(test_too_small)
{
	for (size_t cap = 1; cap <= 120; cap++) {
		buf_init(&b, body, cap);
		lease_update(&b, &r, true, true);
		ck_assert(b.full);
		buf_init(&b, body, cap);
		lease_create(&b, "ns", "l", &r);
		ck_assert(b.full);
	}
}
END_TEST

/* A state at its bound is read, and one byte more is refused. */
START_TEST(test_state_bound)
{
	for (size_t n = LEASE_STATE_BYTES - 1; n <= LEASE_STATE_BYTES; n++) {
		struct err e = {0};

		buf_init(&b, body, sizeof(body));
		buf_puts(&b, "{\"kind\":\"Lease\",\"metadata\":"
			     "{\"resourceVersion\":\"1\"," ANNOTATION "\"");
		for (size_t i = 0; i < n; i++)
			buf_add(&b, "x", 1);
		buf_puts(&b, "\"}}}");
		ck_assert(!b.full);
		ck_assert_int_eq(lease_decode(body, b.len, false, &back, &e), 0);
		ck_assert(back.state_bad == (n == LEASE_STATE_BYTES));
		ck_assert_uint_eq(strlen(back.state),
				  n == LEASE_STATE_BYTES ? 0 : n);
	}
}
END_TEST

START_TEST(test_paths)
{
	char path[128];

	(void)snprintf(path, sizeof(path), LEASE_ITEM_PATH, "ns", "l");
	ck_assert_str_eq(path, "/apis/coordination.k8s.io/v1/namespaces/ns/"
			       "leases/l");
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

/* Items of a list have no kind.  A namespace's name has at most 63 bytes. */
START_TEST(test_item)
{
	char json[300], name[65], out[64];
	struct err e;
	static struct lease_record got;
	static const char lease[] =
		"{\"metadata\":{\"namespace\":\"%s\","
		"\"resourceVersion\":\"7\"},\"spec\":{"
		"\"holderIdentity\":\"who\",\"leaseDurationSeconds\":15,"
		"\"renewTime\":\"1970-01-01T00:00:01.000002Z\"}}";

	memset(name, 'x', sizeof(name));
	for (size_t n = 63; n <= 64; n++) {
		name[n] = '\0';
		(void)snprintf(json, sizeof(json), lease, name);
		ck_assert_int_eq(lease_item_decode(json, strlen(json), out,
						   &got, &e),
				 n == 63 ? 0 : -1);
		ck_assert_uint_eq(strlen(out), 63);
		name[n] = 'x';
	}
	ck_assert_str_eq(got.holder, "who");
	ck_assert_int_eq(got.duration_s, 15);
	ck_assert(got.renew_us == 1000002);
	ck_assert_int_eq(lease_decode(json, strlen(json), false, &got, &e), -1);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/lease");
	TCase *tc = tcase_create("lease");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_item);
	tcase_add_test(tc, test_golden);
	tcase_add_loop_test(tc, test_create, 0, ROWS(creates));
	tcase_add_loop_test(tc, test_update, 0, ROWS(updates));
	tcase_add_test(tc, test_release);
	tcase_add_loop_test(tc, test_observed, 0, 2);
	tcase_add_test(tc, test_no_time);
	tcase_add_loop_test(tc, test_round_trip, 0, ROWS(trips));
	tcase_add_test(tc, test_bounds);
	tcase_add_test(tc, test_too_small);
	tcase_add_test(tc, test_no_hold);
	tcase_add_loop_test(tc, test_hold_is_read, 0,
			    sizeof(holds) / sizeof(holds[0]));
	tcase_add_test(tc, test_state_bound);
	tcase_add_test(tc, test_paths);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
