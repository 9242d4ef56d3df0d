/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "suite.h"
#include "wire/api/event.h"
#include "wire/json/json.h"

#define US INT64_C(1767323045000250) /* 2026-01-02T03:04:05.000250Z */
#define NAME "general.6475ef64cf43a" /* US in hex */
#define HEAD                                                                   \
	"{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\","             \
	"\"metadata\":{\"namespace\":\"default\",\"name\":\""
#define TIME "\"},\"eventTime\":\"2026-01-02T03:04:05.000250Z\","
#define BY                                                                     \
	"\"reportingController\":"                                             \
	"\"karpenter-node-holder.io/karpenter-node-holder\","                  \
	"\"reportingInstance\":\"pod-1\","
#define REGARDING                                                              \
	",\"regarding\":{\"apiVersion\":\"karpenter.sh/v1\","                  \
	"\"kind\":\"NodePool\",\"name\":\"general\",\"uid\":\"u-1\"}}"

static const struct event_series_event plain = {
	.reason = EVENT_HOLD_STARTED,
	.nodepool = "general",
	.nodepool_uid = "u-1",
	.action = "Hold",
	.note = "held until \"quiet\"",
	.first_us = US,
	.last_us = US,
	.count = 1,
};

static char out[EVENT_BYTES];
static struct buf b;

static void
create(const struct event_series_event *v, const char *instance)
{
	buf_init(&b, out, sizeof(out));
	event_create(&b, v, instance);
	ck_assert(!b.full);
}

START_TEST(test_create)
{
	struct event_series_event v = plain;

	create(&v, "pod-1");
	ck_assert_str_eq(out, HEAD NAME TIME BY
			 "\"action\":\"Hold\",\"reason\":\"HoldStarted\","
			 "\"type\":\"Normal\","
			 "\"note\":\"held until \\\"quiet\\\"\"" REGARDING);
	v.reason = EVENT_INVALID_ANNOTATION;
	v.count = 3;
	v.last_us = US + 61000000;
	create(&v, "pod-1");
	ck_assert_str_eq(out, HEAD NAME TIME
			 "\"series\":{\"count\":3,\"lastObservedTime\":"
			 "\"2026-01-02T03:05:06.000250Z\"}," BY
			 "\"action\":\"Hold\","
			 "\"reason\":\"InvalidAnnotation\","
			 "\"type\":\"Warning\","
			 "\"note\":\"held until \\\"quiet\\\"\"" REGARDING);
}
END_TEST

START_TEST(test_series)
{
	buf_init(&b, out, sizeof(out));
	event_series(&b, 1000, US + 999750);
	ck_assert_str_eq(out, "{\"series\":{\"count\":1000,"
			      "\"lastObservedTime\":"
			      "\"2026-01-02T03:04:06.000000Z\"}}");
}
END_TEST

static const struct {
	const char *name;
	int64_t us;
	const char *text;
} times[] = {
	{"the last microsecond", US + 999749, "2026-01-02T03:04:05.999999Z"},
	{"1970", 0, "1970-01-01T00:00:00.000000Z"},
	{"just before 1970", -1, "1969-12-31T23:59:59.999999Z"},
	{"a second before 1970", -1000000, "1969-12-31T23:59:59.000000Z"},
};

START_TEST(test_time)
{
	buf_init(&b, out, sizeof(out));
	event_series(&b, 2, times[_i].us);
	ck_assert_msg(strstr(out, times[_i].text) != NULL, "%s: %s",
		      times[_i].name, out);
}
END_TEST

#define N63 "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"

/* The path has the name that the body has, and the API server takes this
 * name. */
static const struct {
	const char *name, *nodepool, *want;
} names[] = {
	{"usual", "general", "general.6475ef64cf43a"},
	{"63 bytes", N63, N63 ".6475ef64cf43a"},
	{"dots and dashes", "a--b.c-1", "a--b.c-1.6475ef64cf43a"},
	{"none", "", "nodepool.6475ef64cf43a"},
	{"capitals", "General", "nodepool.6475ef64cf43a"},
	{"a slash", "a/b", "nodepool.6475ef64cf43a"},
	{"a quote", "a\"b", "nodepool.6475ef64cf43a"},
	{"a dash first", "-a", "nodepool.6475ef64cf43a"},
	{"a dash last", "a-", "nodepool.6475ef64cf43a"},
	{"a dot last", "a.", "nodepool.6475ef64cf43a"},
	{"two dots", "a..b", "nodepool.6475ef64cf43a"},
	{"a dash before a dot", "a-.b", "nodepool.6475ef64cf43a"},
	{"a dash after a dot", "a.-b", "nodepool.6475ef64cf43a"},
};

START_TEST(test_name)
{
	char path[EVENT_PATH_BYTES], want[EVENT_PATH_BYTES];
	struct event_series_event v = plain;
	struct buf p;

	ck_assert_int_eq(
		str_copy(v.nodepool, sizeof(v.nodepool), names[_i].nodepool),
		0);
	buf_init(&p, want, sizeof(want));
	buf_printf(&p, "%s/%s", EVENT_PATH, names[_i].want);
	buf_init(&p, path, sizeof(path));
	event_path(&p, &v);
	ck_assert_msg(strcmp(path, want) == 0, "%s: %s", names[_i].name, path);
	create(&v, "pod-1");
	buf_init(&p, want, sizeof(want));
	buf_printf(&p, "\"name\":\"%s\"}", names[_i].want);
	ck_assert_msg(strstr(out, want) != NULL, "%s: %s", names[_i].name, out);
}
END_TEST

static const char *
member(const struct json *root, const char *key)
{
	const char *s = json_string(json_member(root, key));

	ck_assert_ptr_nonnull(s);
	return s;
}

static void
fill(char *s, size_t cap, char c)
{
	memset(s, c, cap - 1);
	s[cap - 1] = '\0';
}

/* The longest and strangest texts still fit, are JSON, and keep the lengths
 * that Kubernetes allows.  0xff is not UTF-8 and must not grow. */
static const char worst[] = {'\x01', '"', '\xff', 'x'};

START_TEST(test_bounds)
{
	static char instance[4 * EVENT_INSTANCE_BYTES];
	struct event_series_event v = plain;

	fill(instance, sizeof(instance), worst[_i]);
	fill(v.note, sizeof(v.note), worst[_i]);
	fill(v.action, sizeof(v.action), worst[_i]);
	fill(v.nodepool, sizeof(v.nodepool), worst[_i]);
	fill(v.nodepool_uid, sizeof(v.nodepool_uid), worst[_i]);
	v.count = 2147483647;
	create(&v, instance);
	AUTO_JSON root = json_parse(out, b.len, &json_bounds_default, NULL);
	ck_assert_ptr_nonnull(root);
	ck_assert_uint_eq(strlen(member(root, "note")), 1024);
	ck_assert_uint_eq(strlen(member(root, "action")), 128);
	ck_assert_uint_eq(strlen(member(root, "reportingInstance")), 128);
	ck_assert_uint_eq(strlen(member(json_member(root, "regarding"),
					"name")), NODEPOOL_BYTES - 1);
}
END_TEST

/* The text has 127 bytes and a character of two bytes, which is left out as a
 * whole. */
START_TEST(test_whole_characters)
{
	char instance[EVENT_INSTANCE_BYTES + 4];

	fill(instance, sizeof(instance), 'i');
	memcpy(instance + 127, "\xc3\xa9", 2);
	create(&plain, instance);
	AUTO_JSON root = json_parse(out, b.len, &json_bounds_default, NULL);
	ck_assert_uint_eq(strlen(member(root, "reportingInstance")), 127);
	memcpy(instance + 126, "\xc3\xa9i", 3);
	create(&plain, instance);
	AUTO_JSON again = json_parse(out, b.len, &json_bounds_default, NULL);
	ck_assert_uint_eq(strlen(member(again, "reportingInstance")), 128);
}
END_TEST

/* The Event has what Kubernetes requires and nothing that it forbids. */
START_TEST(test_fields)
{
	static const char *const required[] = {
		"reportingController", "reportingInstance", "action",
		"reason", "type", "note", "eventTime"};
	static const char *const forbidden[] = {
		"deprecatedSource", "deprecatedFirstTimestamp",
		"deprecatedLastTimestamp", "deprecatedCount", "series"};

	create(&plain, "");
	AUTO_JSON root = json_parse(out, b.len, &json_bounds_default, NULL);
	for (size_t i = 0; i < sizeof(required) / sizeof(*required); i++)
		ck_assert_str_ne(member(root, required[i]), "");
	for (size_t i = 0; i < sizeof(forbidden) / sizeof(*forbidden); i++)
		ck_assert_ptr_null(json_member(root, forbidden[i]));
}
END_TEST

#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))

int
main(void)
{
	Suite *s = suite_create("wire/event");
	TCase *tc = tcase_create("event");

	tcase_add_test(tc, test_create);
	tcase_add_test(tc, test_series);
	tcase_add_loop_test(tc, test_time, 0, LENGTH(times));
	tcase_add_loop_test(tc, test_name, 0, LENGTH(names));
	tcase_add_loop_test(tc, test_bounds, 0, LENGTH(worst));
	tcase_add_test(tc, test_whole_characters);
	tcase_add_test(tc, test_fields);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
