/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "golden/golden.h"
#include "suite.h"
#include "wire/api/disruption_event.h"

static const char *const types[] = {"ADDED", "MODIFIED", "DELETED"};

static void
golden_sign(const char *bytes, size_t n, char *out, size_t cap)
{
	enum watch_type type;
	struct disruption_event s;
	struct err e = {0};
	struct buf b;
	int code = -1;

	buf_init(&b, out, cap);
	if (disruption_event_watch_decode(bytes, n, &type, &s, &code, &e))
		buf_printf(&b, "error %s\n", e.text);
	else if (type == WATCH_ERROR)
		buf_printf(&b, "ERROR %d %s\n", code, e.text);
	else if (type == WATCH_BOOKMARK)
		buf_printf(&b, "BOOKMARK %s\n", s.rv);
	else
		buf_printf(&b, "%s %s\nrv=%s\nclaim=%s\nuid=%s\nreason=%s\n",
			   types[type],
			   s.replacement ? "replacement" : "nothing", s.rv,
			   s.claim_name, s.claim_uid, s.reason);
}

START_TEST(test_golden)
{
	golden_folder("tests/golden/events", golden_sign);
}
END_TEST

START_TEST(test_item)
{
	static const char item[] =
		"{\"metadata\":{\"resourceVersion\":\"9\"},\"reason\":"
		"\"DisruptionLaunching\",\"message\":"
		"\"Launching NodeClaim: Drifted\",\"involvedObject\":{"
		"\"kind\":\"NodeClaim\",\"apiVersion\":\"karpenter.sh/v1\","
		"\"name\":\"c\",\"uid\":\"u\"}}";
	struct disruption_event s = {.rv = "before"};
	struct err e = {0};

	ck_assert_int_eq(disruption_event_decode("{}", 2, &s, &e), -1);
	ck_assert_int_eq(disruption_event_decode("7", 1, &s, &e), -1);
	ck_assert_int_eq(disruption_event_decode("{", 1, &s, &e), -1);
	ck_assert_str_eq(s.rv, "before");
	ck_assert_int_eq(
		disruption_event_decode(item, sizeof(item) - 1, &s, &e), 0);
	ck_assert(s.replacement);
	ck_assert_str_eq(s.claim_uid, "u");
	ck_assert_str_eq(s.claim_name, "c");
	ck_assert_str_eq(s.reason, "drifted");
	ck_assert_str_eq(s.rv, "9");
}
END_TEST

START_TEST(test_untouched)
{
	static const char error[] = "{\"type\":\"ERROR\",\"object\":{\"kind\":"
				    "\"Status\",\"code\":410}}";
	static const char bad[] = "{\"type\":\"ADDED\",\"object\":{}}";
	enum watch_type type = WATCH_DELETED;
	struct disruption_event s = {.rv = "before"};
	struct err e = {0};
	int code = 7;

	ck_assert_int_eq(disruption_event_watch_decode(bad, sizeof(bad) - 1,
						       &type, &s, &code, &e),
			 -1);
	ck_assert_int_eq(type, WATCH_DELETED);
	ck_assert_int_eq(code, 7);
	ck_assert_str_eq(s.rv, "before");
	ck_assert_int_eq(disruption_event_watch_decode(error, sizeof(error) - 1,
						       &type, &s, &code, &e),
			 0);
	ck_assert_int_eq(type, WATCH_ERROR);
	ck_assert_int_eq(code, 410);
	ck_assert_str_eq(s.rv, "before");
}
END_TEST

/* A query must not contain anything that has another meaning in a URL. */
START_TEST(test_selectors)
{
	static const char *const all[] = {DISRUPTION_EVENTS_SELECTOR,
					  DISRUPTION_EVENTS_SELECTOR_LAUNCHING};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const char *value = strchr(all[i], '=') + 1;

		ck_assert_int_eq((int)(value - all[i]),
				 (int)strlen("fieldSelector="));
		ck_assert_uint_eq(strcspn(value, "=,!&+ "), strlen(value));
	}
	ck_assert_ptr_null(strstr(DISRUPTION_EVENTS_SELECTOR, "Launching"));
	ck_assert_ptr_null(
		strstr(DISRUPTION_EVENTS_SELECTOR, "WaitingReadiness"));
}
END_TEST

/* A message that large is nobody's, and an Event is no part of the truth. */
START_TEST(test_large_message)
{
	enum { ROOM = JSON_SMALL_BYTES_MAX + 1000 };
	static char item[ROOM + 400];
	struct disruption_event s;
	struct err e = {0};

	for (int large = 0; large < 2; large++) {
		int n = snprintf(item, sizeof(item),
				 "{\"metadata\":{\"resourceVersion\":\"9\"},"
				 "\"%s\":\"%0*d\"}",
				 large ? "message" : "other", ROOM, 0);

		ck_assert_int_eq(disruption_event_decode(item, (size_t)n, &s,
							 &e), large ? -1 : 0);
	}
	ck_assert_int_eq(e.code, ERR_LIMIT);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/disruption_event");
	TCase *tc = tcase_create("disruption_event");

	tcase_add_test(tc, test_golden);
	tcase_add_test(tc, test_item);
	tcase_add_test(tc, test_untouched);
	tcase_add_test(tc, test_large_message);
	tcase_add_test(tc, test_selectors);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
