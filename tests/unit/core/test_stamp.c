/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/duration.h"
#include "core/base/stamp.h"
#include "run.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define BAD INT64_MAX	/* no such stamp: an error is expected */

/* --- RFC 3339 ------------------------------------------------------------- */

static const struct {
	const char *text;
	int64_t ms;
} stamps[] = {
	{"1970-01-01T00:00:00Z", 0},
	{"1969-12-31T23:59:59Z", -1000},
	{"2026-01-02T03:04:05Z", 1767323045000},
	{"2026-01-02t03:04:05z", 1767323045000},
	{"2026-01-02T03:04:05.5Z", 1767323045500},
	{"2026-01-02T03:04:05.123456789Z", 1767323045123},
	{"2026-01-02T03:04:05.0009Z", 1767323045000},
	{"2026-01-02T05:04:05+02:00", 1767323045000},
	{"2026-01-01T19:34:05-07:30", 1767323045000},
	{"2026-01-02T03:04:05+00:00", 1767323045000},
	{"2026-01-02T03:04:05-00:00", 1767323045000},
	{"2024-02-29T00:00:00Z", 1709164800000},
	{"2000-02-29T00:00:00Z", 951782400000},
	{"2400-02-29T00:00:00Z", 13574563200000},
	{"0000-01-01T00:00:00Z", -62167219200000},
	{"0001-01-01T00:00:00Z", -62135596800000},	/* Go's zero time */
	{"9999-12-31T23:59:59Z", 253402300799000},
	{"2016-12-31T23:59:60Z", 1483228800000},	/* a leap second */
	{"9999-12-31T23:59:59.999+00:00", 253402300799999},
	{"0000-01-01T02:00:00+02:00", -62167219200000},
	{"9999-12-31T22:59:59-01:00", 253402300799000},
	/* Those years do not exist in UTC. */
	{"0000-01-01T00:00:09.9+02:00", BAD},
	{"9999-12-31T23:00:00-01:00", BAD},
	{"9999-12-31T23:59:60Z", BAD},
	{"2023-02-29T00:00:00Z", BAD},
	{"1900-02-29T00:00:00Z", BAD},
	{"2100-02-29T00:00:00Z", BAD},
	{"2026-00-01T00:00:00Z", BAD},
	{"2026-13-01T00:00:00Z", BAD},
	{"2026-04-31T00:00:00Z", BAD},
	{"2026-01-00T00:00:00Z", BAD},
	{"2026-01-32T00:00:00Z", BAD},
	{"2026-01-02T24:00:00Z", BAD},
	{"2026-01-02T03:60:05Z", BAD},
	{"2026-01-02T03:04:61Z", BAD},
	{"2026-01-02T03:04:05", BAD},
	{"2026-01-02T03:04:05Zx", BAD},
	{"2026-01-02T03:04:05Z ", BAD},
	{" 2026-01-02T03:04:05Z", BAD},
	{"2026-01-02T03:04:05.Z", BAD},
	{"2026-01-02T03:04:05,5Z", BAD},
	{"2026-01-02T03:04:05+0200", BAD},
	{"2026-01-02T03:04:05+02", BAD},
	{"2026-01-02T03:04:05+24:00", BAD},
	{"2026-01-02T03:04:05+02:60", BAD},
	{"2026-01-02 03:04:05Z", BAD},
	{"2026-1-2T03:04:05Z", BAD},
	{"2026-01-02T3:04:05Z", BAD},
	{"26-01-02T03:04:05Z", BAD},
	{"-026-01-02T03:04:05Z", BAD},
	{"2026-01-02", BAD},
	{"2026-01-02T03:04Z", BAD},
	{"true", BAD},
	{"", BAD},
};

START_TEST(stamp_table)
{
	int64_t ms = 42;
	int r = stamp_parse(stamps[_i].text, &ms);

	if (stamps[_i].ms == BAD) {
		ck_assert_msg(r == -1 && ms == 42, "'%s' read as %lld",
			      stamps[_i].text, (long long)ms);
		return;
	}
	ck_assert_msg(r == 0 && ms == stamps[_i].ms, "'%s' read as %lld",
		      stamps[_i].text, (long long)ms);
}
END_TEST

/* The C library's calendar is the model. */
START_TEST(stamp_round_trip)
{
	struct dice d = dice_new(3);

	for (int i = 0; i < 20000; i++) {
		int64_t s = (int64_t)roll(&d, 1u << 31) * 118 - 1000000000;
		int64_t ms = s * 1000 + roll(&d, 1000), back;
		char text[STAMP_BYTES], want[64];
		time_t t = (time_t)s;
		struct tm tm;

		stamp_format(ms, text);
		ck_assert_ptr_nonnull(gmtime_r(&t, &tm));
		strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%SZ", &tm);
		ck_assert_str_eq(text, want);
		ck_assert_int_eq(stamp_parse(text, &back), 0);
		ck_assert_msg(back == s * 1000, "%s", text);
	}
}
END_TEST

START_TEST(stamp_formats_before_1970_and_the_far_end)
{
	char text[STAMP_BYTES];

	stamp_format(-1, text);
	ck_assert_str_eq(text, "1969-12-31T23:59:59Z");
	stamp_format(253402300799999, text);
	ck_assert_str_eq(text, "9999-12-31T23:59:59Z");
	stamp_format(-62167219200000, text);
	ck_assert_str_eq(text, "0000-01-01T00:00:00Z");
	/* No such year: some stamp that can be read, never a long text. */
	stamp_format(INT64_MAX, text);
	ck_assert_uint_eq(strlen(text), STAMP_BYTES - 4);
	stamp_format(INT64_MIN, text);
	ck_assert_uint_eq(strlen(text), STAMP_BYTES - 4);
}
END_TEST

START_TEST(stamp_formats_microseconds)
{
	char text[STAMP_US_BYTES];

	stamp_format_us(INT64_C(1767323045000007), text);
	ck_assert_str_eq(text, "2026-01-02T03:04:05.000007Z");
	stamp_format_us(0, text);
	ck_assert_str_eq(text, "1970-01-01T00:00:00.000000Z");
	stamp_format_us(-1, text);
	ck_assert_str_eq(text, "1969-12-31T23:59:59.999999Z");
	stamp_format_us(INT64_MIN, text);
	ck_assert_uint_eq(strlen(text), 27);
}
END_TEST

START_TEST(stamp_with_any_offset)
{
	struct dice d = dice_new(4);

	for (int i = 0; i < 5000; i++) {
		int off = (int)roll(&d, 2 * 1439) - 1439, abs_off = abs(off);
		int64_t ms = (int64_t)roll(&d, 2000000000) * 1000, back;
		char text[64];

		stamp_format(ms + off * (int64_t)60000, text);
		ck_assert_int_eq(text[19], 'Z');
		snprintf(text + 19, sizeof(text) - 19, "%c%02d:%02d",
			 off < 0 ? '-' : '+', abs_off / 60, abs_off % 60);
		ck_assert_int_eq(stamp_parse(text, &back), 0);
		ck_assert_msg(back == ms, "%s", text);
	}
}
END_TEST

/* --- Date headers --------------------------------------------------------- */

static const struct {
	const char *text;
	int64_t ms;
} dates[] = {
	{"Sun, 06 Nov 1994 08:49:37 GMT", 784111777000},
	{"Thu, 01 Jan 1970 00:00:00 GMT", 0},
	{"Fri, 02 Jan 2026 03:04:05 GMT", 1767323045000},
	{"Thu, 29 Feb 2024 00:00:00 GMT", 1709164800000},
	{"Wed, 31 Dec 2025 23:59:59 GMT", 1767225599000},
	{"Fri, 29 Feb 2023 00:00:00 GMT", BAD},
	{"Sunday, 06-Nov-94 08:49:37 GMT", BAD},	/* RFC 850 */
	{"Sun Nov  6 08:49:37 1994", BAD},		/* asctime */
	{"Sun, 06 Nov 1994 08:49:37 UTC", BAD},
	{"Sun, 06 nov 1994 08:49:37 GMT", BAD},
	{"Sun, 06 anF 1994 08:49:37 GMT", BAD},
	{"Sun, 6 Nov 1994 08:49:37 GMT", BAD},
	{"Sun, 06 Nov 1994 24:49:37 GMT", BAD},
	{"Sun, 06 Nov 1994 08:49:37 GMT ", BAD},
	{"Sun, 06 Nov 1994 08:49:3x GMT", BAD},
	{"", BAD},
};

START_TEST(date_table)
{
	int64_t ms = 42;
	int r = stamp_parse_http(dates[_i].text, &ms);

	if (dates[_i].ms == BAD)
		ck_assert_msg(r == -1 && ms == 42, "'%s'", dates[_i].text);
	else
		ck_assert_msg(r == 0 && ms == dates[_i].ms, "'%s': %lld",
			      dates[_i].text, (long long)ms);
}
END_TEST

/* --- durations ------------------------------------------------------------ */

#define TEN_YEARS (3650 * (int64_t)86400000)

static const struct {
	const char *text;
	int64_t ms;
} durations[] = {
	{"0", 0},
	{"0s", 0},
	{"95s", 95000},
	{"10m", 600000},
	{"1h30m", 5400000},
	{"1h2m3s4ms", 3723004},
	{"1.5h", 5400000},
	{"0.25s", 250},
	{"500ms", 500},
	{"1.5ms", 1},
	{"90m", 5400000},
	{"5s1h", 3605000},
	{"87600h", TEN_YEARS},
	/* Go reads 0.0001h as 360ms and 1.33333h as 4799988ms. */
	{"0.0001h", 360},
	{"1.33333h", 4799988},
	{"87600h1ms", BAD},
	{"87601h", BAD},
	{"9223372036854775807h", BAD},
	{"99999999999999999999999s", BAD},
	{"43800h43800h1s", BAD},
	{"", BAD},
	{"5", BAD},
	{"00", BAD},
	{"-5s", BAD},
	{"+5s", BAD},
	{"s", BAD},
	{".5s", BAD},
	{"1.s", BAD},
	{"5 s", BAD},
	{"5d", BAD},
	{"5us", BAD},
	{"1h30", BAD},
	{"1hm", BAD},
	{"5S", BAD},
	{"1e3s", BAD},
	{" 5s", BAD},
	{"5s ", BAD},
};

START_TEST(duration_table)
{
	int64_t ms = 42;
	int r = duration_parse(durations[_i].text, &ms);

	if (durations[_i].ms == BAD)
		ck_assert_msg(r == -1 && ms == 42, "'%s' read as %lld",
			      durations[_i].text, (long long)ms);
	else
		ck_assert_msg(r == 0 && ms == durations[_i].ms, "'%s': %lld",
			      durations[_i].text, (long long)ms);
}
END_TEST

static const struct {
	int64_t ms;
	const char *text;
} formats[] = {
	{0, "0s"}, {600000, "10m"}, {5400000, "1h30m"}, {95000, "1m35s"},
	{1, "1ms"}, {3600000, "1h"}, {3723004, "1h2m3s4ms"},
	{TEN_YEARS, "87600h"},
};

START_TEST(duration_formats)
{
	char text[DURATION_BYTES];

	duration_format(formats[_i].ms, text);
	ck_assert_str_eq(text, formats[_i].text);
}
END_TEST

START_TEST(duration_round_trip)
{
	struct dice d = dice_new(5);

	for (int i = 0; i < 20000; i++) {
		int64_t ms = (int64_t)roll(&d, 1u << 31) * 146, back;
		char text[DURATION_BYTES];

		ms = roll(&d, 3) == 0 ? ms / 1000 * 1000 : ms % TEN_YEARS;
		duration_format(ms, text);
		ck_assert_int_eq(duration_parse(text, &back), 0);
		ck_assert_msg(back == ms, "%s", text);
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("stamp");
	TCase *stamp = run_case(s, "stamp"), *date = run_case(s, "date");
	TCase *duration = run_case(s, "duration");

	tcase_add_loop_test(stamp, stamp_table, 0, COUNT(stamps));
	tcase_add_test(stamp, stamp_round_trip);
	tcase_add_test(stamp, stamp_formats_before_1970_and_the_far_end);
	tcase_add_test(stamp, stamp_formats_microseconds);
	tcase_add_test(stamp, stamp_with_any_offset);
	tcase_add_loop_test(date, date_table, 0, COUNT(dates));
	tcase_add_loop_test(duration, duration_table, 0, COUNT(durations));
	tcase_add_loop_test(duration, duration_formats, 0, COUNT(formats));
	tcase_add_test(duration, duration_round_trip);
	return suite_run(s);
}
