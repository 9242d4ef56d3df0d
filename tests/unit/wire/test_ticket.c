/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "golden/golden.h"
#include "suite.h"
#include "wire/api/ticket.h"
#include "wire/json/json.h"

static const char *const types[] = {"ADDED", "MODIFIED", "DELETED"};

/* --- Leases as servers send them, and hostile ones ------------------------ */

static void
put_text(struct buf *b, const char *name, const char *text)
{
	if (text[0] == '\0')
		return;
	buf_printf(b, "%s=", name);
	buf_json(b, text);
	buf_puts(b, "\n");
}

static void
put_ticket(struct buf *b, const struct ticket *t)
{
	char stamp[STAMP_BYTES];

	buf_printf(b, "%s\nuid=%s\nrv=%s\n", t->name, t->uid, t->rv);
	put_text(b, "holder", t->holder);
	put_text(b, "reason", t->reason);
	if (t->renewed_ms != STAMP_NONE) {
		stamp_format(t->renewed_ms, stamp);
		buf_printf(b, "renewed=%s %lld\n", stamp,
			   (long long)t->renewed_ms);
	}
	buf_printf(b, "lasts_ms=%lld\n", (long long)t->lasts_ms);
	if (t->deleting)
		buf_puts(b, "deleting\n");
	if (t->all)
		buf_puts(b, "all\n");
	for (const char *p = t->patterns; *p != '\0'; p += strlen(p) + 1)
		put_text(b, "pattern", p);
	if (t->left_out > 0)
		buf_printf(b, "left_out=%u\n", t->left_out);
}

/* A line of a watch begins with its type; all else is an item of a list. */
static void
golden_ticket(const char *bytes, size_t n, char *out, size_t cap)
{
	static struct ticket t, before;
	static const char line[] = "{\"type\":";
	bool item = n < sizeof(line) || strncmp(bytes, line, sizeof(line) - 1);
	enum watch_type type = WATCH_ADDED;
	struct err e = {0};
	struct buf b;
	int code = -1, rc;

	buf_init(&b, out, cap);
	memset(&t, 'x', sizeof(t));
	before = t;
	rc = item ? ticket_decode(bytes, n, &t, &e)
		  : ticket_watch_decode(bytes, n, &type, &t, &code, &e);
	if (rc != 0 || type == WATCH_ERROR)
		ck_assert(memcmp(&t, &before, sizeof(t)) == 0);
	if (rc != 0) {
		ck_assert_int_eq(e.code, ERR_INPUT);
		buf_printf(&b, "error %s\n", e.text);
	} else if (type == WATCH_ERROR) {
		buf_printf(&b, "ERROR %d %s\n", code, e.text);
	} else if (type == WATCH_BOOKMARK) {
		ck_assert(t.name[0] == '\0' && t.renewed_ms == STAMP_NONE);
		buf_printf(&b, "BOOKMARK %s\n", t.rv);
	} else {
		buf_printf(&b, "%s ", item ? "item" : types[type]);
		put_ticket(&b, &t);
	}
	ck_assert(!b.full);
}

START_TEST(test_golden)
{
	golden_folder("tests/golden/tickets", golden_ticket);
}
END_TEST

/* --- one value ------------------------------------------------------------ */

static char text[1 << 20];
static struct buf b;
static struct ticket t;
static struct err e;

/* Decodes a copy of its exact size, so that ASan sees one byte too many. */
static int
decode(void)
{
	char *exact = malloc(b.len > 0 ? b.len : 1);
	int rc;

	ck_assert(!b.full);
	memcpy(exact, text, b.len);
	e = (struct err){0};
	rc = ticket_decode(exact, b.len, &t, &e);
	free(exact);
	return rc;
}

/* Decodes a Lease with this spec, which is JSON, and these annotations. */
static int
decode_with(const char *spec, const char *key, const char *value)
{
	buf_init(&b, text, sizeof(text));
	buf_puts(&b, "{\"metadata\":{\"name\":\"ci\",\"uid\":\"u\","
		     "\"resourceVersion\":\"9\"");
	if (key != NULL) {
		buf_printf(&b, ",\"annotations\":{\"%s\":", key);
		buf_json(&b, value);
		buf_puts(&b, "}");
	}
	buf_printf(&b, "},\"spec\":%s}", spec);
	return decode();
}

static char *
fill(char *to, const char *what, size_t n)
{
	size_t len = strlen(what);

	for (size_t i = 0; i < n; i++)
		memcpy(to + i * len, what, len);
	to[n * len] = '\0';
	return to;
}

static const struct {
	const char *name, *spec, *error;	/* error NULL: it is read */
	int64_t renewed_ms, lasts_ms;
} specs[] = {
	{"nothing", "{}", NULL, STAMP_NONE, 0},
	{"null", "null", NULL, STAMP_NONE, 0},
	{"no object", "[1]", "Lease ci: spec is no object", 0, 0},
	{"both",
	 "{\"renewTime\":\"2026-01-02T03:04:05.999999Z\","
	 "\"leaseDurationSeconds\":1}",
	 NULL, INT64_C(1767323045999), 1000},
	{"seven days and a second", "{\"leaseDurationSeconds\":604801}", NULL,
	 STAMP_NONE, INT64_C(604801000)},
	{"the longest", "{\"leaseDurationSeconds\":2147483647}", NULL,
	 STAMP_NONE, INT64_C(2147483647000)},
	{"longer", "{\"leaseDurationSeconds\":2147483648}",
	 "Lease ci: spec.leaseDurationSeconds is no 32-bit number", 0, 0},
	{"over 2^53", "{\"leaseDurationSeconds\":9007199254740993}",
	 "Lease ci: spec.leaseDurationSeconds is no 32-bit number", 0, 0},
	{"1e999", "{\"leaseDurationSeconds\":1e999}",
	 "Lease ci: spec.leaseDurationSeconds is no 32-bit number", 0, 0},
	{"a truth", "{\"leaseDurationSeconds\":true}",
	 "Lease ci: spec.leaseDurationSeconds is no 32-bit number", 0, 0},
	{"below zero", "{\"leaseDurationSeconds\":-9007199254740991}", NULL,
	 STAMP_NONE, 0},
	{"a list for a time", "{\"renewTime\":[]}",
	 "Lease ci: spec.renewTime is no time", 0, 0},
	{"the 30th of February", "{\"renewTime\":\"2026-02-30T00:00:00Z\"}",
	 "Lease ci: spec.renewTime is no time", 0, 0},
	{"a time and more", "{\"renewTime\":\"2026-01-02T03:04:05Z \"}",
	 "Lease ci: spec.renewTime is no time", 0, 0},
	{"a time that is cut", "{\"renewTime\":\"2026-01-02T03:04:05Z\\u0000\"}",
	 NULL, INT64_C(1767323045000), 0},
	{"before the year 2000", "{\"renewTime\":\"1999-12-31T23:59:59Z\"}",
	 "Lease ci: spec.renewTime is before the year 2000", 0, 0},
	{"the year 2000", "{\"renewTime\":\"2000-01-01T00:00:00.000000Z\"}",
	 NULL, INT64_C(946684800000), 0},
	{"before the year 0", "{\"renewTime\":\"-001-12-31T10:00:00.000000Z\"}",
	 "Lease ci: spec.renewTime is no time", 0, 0},
	{"a list for a holder", "{\"holderIdentity\":[\"a\"]}",
	 "Lease ci: spec.holderIdentity is no string", 0, 0},
};

START_TEST(test_spec)
{
	const char *error = specs[_i].error;

	memset(&t, 'x', sizeof(t));
	ck_assert_msg(decode_with(specs[_i].spec, NULL, NULL) ==
			      (error != NULL ? -1 : 0),
		      "%s: %s", specs[_i].name, e.text);
	if (error != NULL) {
		ck_assert_str_eq(e.text, error);
		ck_assert_int_eq(e.code, ERR_INPUT);
		ck_assert_int_eq(t.name[0], 'x');
		return;
	}
	ck_assert_msg(t.renewed_ms == specs[_i].renewed_ms &&
			      t.lasts_ms == specs[_i].lasts_ms,
		      "%s: %lld %lld", specs[_i].name, (long long)t.renewed_ms,
		      (long long)t.lasts_ms);
	ck_assert(t.all && t.left_out == 0);
}
END_TEST

/* --- texts that people read ----------------------------------------------- */

#define LONG "\U0001f512"	/* of four bytes */

static const struct {
	const char *name, *value, *want;
} texts[] = {
	{"plain", "nightly", "nightly"},
	{"empty", "", ""},
	{"other letters", "\xc3\xa9\xe2\x82\xac" LONG " <b>%s&\"\\",
	 "\xc3\xa9\xe2\x82\xac" LONG " <b>%s&\"\\"},
	{"lines", "a\nb\r\tc", "a?b??c"},
	{"colors", "\x1b[31mred\x7f", "?[31mred?"},
	{"C1", "a\xc2\x85" "b\xc2\x9b" "c", "a?b?c"},
	{"directions", "a\xe2\x80\xae" "b\xe2\x81\xa6" "c\xd8\x9c" "d\xe2\x80\x8f",
	 "a?b?c?d?"},
	{"ends of lines", "a\xe2\x80\xa8" "b\xe2\x80\xa9", "a?b?"},
};

/* Decodes the value as the holder, and as the reason. */
static void
decode_text(const char *value)
{
	static char spec[4096];
	struct buf s;

	buf_init(&s, spec, sizeof(spec));
	buf_puts(&s, "{\"holderIdentity\":");
	buf_json(&s, value);
	buf_puts(&s, "}");
	ck_assert(!s.full);
	ck_assert_int_eq(decode_with(spec, TICKET_REASON_KEY, value), 0);
}

START_TEST(test_text)
{
	decode_text(texts[_i].value);
	ck_assert_msg(strcmp(t.holder, texts[_i].want) == 0, "%s: holder %s",
		      texts[_i].name, t.holder);
	ck_assert_msg(strcmp(t.reason, texts[_i].want) == 0, "%s: reason %s",
		      texts[_i].name, t.reason);
	ck_assert(t.all);
}
END_TEST

/* A longer text is cut after a whole character, and one byte more is too
 * much. */
START_TEST(test_text_is_cut)
{
	char value[600];
	size_t shown;

	for (size_t n = TICKET_HOLDER_BYTES - 6; n < REASON_BYTES + 2; n++) {
		fill(value, "x", n);
		strcat(value, LONG);
		decode_text(value);
		shown = n + 4 < TICKET_HOLDER_BYTES ? n + 4
			: n < TICKET_HOLDER_BYTES   ? n
						    : TICKET_HOLDER_BYTES - 1;
		ck_assert_uint_eq(strlen(t.holder), shown);
		ck_assert_int_eq(strncmp(t.holder, value, shown), 0);
		shown = n + 4 < REASON_BYTES ? n + 4
			: n < REASON_BYTES   ? n
					     : REASON_BYTES - 1;
		ck_assert_uint_eq(strlen(t.reason), shown);
	}
}
END_TEST

/* --- patterns ------------------------------------------------------------- */

#define A127                                                                   \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"     \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
	const char *name, *value;
	const char *want;	/* each followed by a line end */
	unsigned left_out;
	bool all;
} lists[] = {
	{"nothing", NULL, "", 0, true},
	{"empty", "", "", 0, true},
	{"blanks", " ,\t, \r\n,", "", 0, true},
	{"one", "web", "web\n", 0, false},
	{"all", "*", "*\n", 0, false},
	{"several", ",web-*,, batch\tgpu\r\n?pot-[a-c] ,",
	 "web-*\nbatch\ngpu\n?pot-[a-c]\n", 0, false},
	{"twice", "web web", "web\nweb\n", 0, false},
	{"other blanks are no blanks", "a\xc2\xa0" "b\vc", "a\xc2\xa0" "b\vc\n",
	 0, false},
	{"the longest", A127 ",b", A127 "\nb\n", 0, false},
	{"too long", A127 "a,b", "b\n", 1, false},
	/* It asks for something, and not for all. */
	{"too long, alone", A127 "a", "", 1, false},
};

static void
expect_patterns(const char *name, const char *want, unsigned left_out)
{
	static char got[TICKET_PATTERNS_BYTES + 1];
	struct buf g;

	buf_init(&g, got, sizeof(got));
	for (const char *p = t.patterns; *p != '\0'; p += strlen(p) + 1)
		buf_printf(&g, "%s\n", p);
	ck_assert_msg(strcmp(got, want) == 0, "%s: %s", name, got);
	ck_assert_msg(t.left_out == left_out, "%s: %u", name, t.left_out);
}

START_TEST(test_patterns)
{
	ck_assert_int_eq(decode_with("{}", lists[_i].value == NULL
						   ? NULL
						   : TICKET_NODEPOOLS_KEY,
				     lists[_i].value),
			 0);
	expect_patterns(lists[_i].name, lists[_i].want, lists[_i].left_out);
	ck_assert(t.all == lists[_i].all);
	/* The end of the list, and nothing behind it. */
	for (size_t i = strlen(lists[_i].want); i < sizeof(t.patterns); i++)
		ck_assert_int_eq(t.patterns[i], '\0');
}
END_TEST

/* 64 patterns count, whatever is left out among them. */
START_TEST(test_many_patterns)
{
	char value[2000] = "", want[400] = "";

	for (int i = 0; i < TICKET_PATTERNS_MAX + _i; i++) {
		strcat(value, i == 5 ? A127 "a,p," : "p,");
		if (i < TICKET_PATTERNS_MAX)
			strcat(want, "p\n");
	}
	ck_assert_int_eq(decode_with("{}", TICKET_NODEPOOLS_KEY, value), 0);
	expect_patterns("many", want, 1 + (unsigned)_i);
}
END_TEST

/* A value of 2 KiB counts.  A pattern that has no room is left out, and a
 * shorter one after it may have room. */
START_TEST(test_patterns_without_room)
{
	char value[3000], want[3000];

	fill(value, A127 " d,", 14);
	fill(want, A127 "\nd\n", 14);
	/* 230 bytes are left, of which the last is the end of the list. */
	fill(value + strlen(value), "a", 101);
	strcat(value, ",");
	fill(want + strlen(want), "a", 101);
	strcat(want, "\n");
	fill(value + strlen(value), "b", 126 + (size_t)_i);
	if (_i == 0)
		fill(want + strlen(want), "b", 126);
	else
		strcat(want, "c");
	strcat(want, "\n");
	strcat(value, ",c");
	ck_assert_int_eq(decode_with("{}", TICKET_NODEPOOLS_KEY, value), 0);
	expect_patterns("without room", want, 1);
	ck_assert_int_eq(t.patterns[sizeof(t.patterns) - 1], '\0');
}
END_TEST

/* --- what is large -------------------------------------------------------- */

/* Kubernetes allows 256 KiB of annotations, and a server may allow more.  What
 * others annotate is not read. */
START_TEST(test_large_annotation_of_others)
{
	static char large[(300 << 10) + 1];

	fill(large, "\"", 300 << 10);
	ck_assert_msg(decode_with("{\"leaseDurationSeconds\":60}", "others",
				  large) == 0,
		      "%s", e.text);
	ck_assert_int_eq(t.lasts_ms, 60000);
}
END_TEST

/* Too much of what is read is refused, and the outcome stays. */
START_TEST(test_large_value)
{
	static char large[(300 << 10) + 1], spec[(300 << 10) + 64];
	static const char *const keys[] = {TICKET_NODEPOOLS_KEY,
					   TICKET_REASON_KEY, NULL};
	int rc;

	memset(&t, 'x', sizeof(t));
	fill(large, "w,", 150 << 10);
	(void)snprintf(spec, sizeof(spec), "{\"holderIdentity\":\"%s\"}", large);
	rc = decode_with(keys[_i] == NULL ? spec : "{}", keys[_i], large);
	ck_assert_int_eq(rc, -1);
	ck_assert_int_eq(e.code, ERR_LIMIT);
	ck_assert_int_eq(t.name[0], 'x');
	/* Less is read, and what of it counts. */
	large[60 << 10] = '\0';
	(void)snprintf(spec, sizeof(spec), "{\"holderIdentity\":\"%s\"}", large);
	rc = decode_with(keys[_i] == NULL ? spec : "{}", keys[_i], large);
	ck_assert_msg(rc == 0, "%s", e.text);
	if (_i == 0)
		ck_assert_uint_eq(t.left_out, (30 << 10) - TICKET_PATTERNS_MAX);
	else if (_i == 1)
		ck_assert_uint_eq(strlen(t.reason), REASON_BYTES - 1);
	else
		ck_assert_uint_eq(strlen(t.holder), TICKET_HOLDER_BYTES - 1);
}
END_TEST

/* managedFields may be deep and have thousands of values. */
START_TEST(test_large_object)
{
	buf_init(&b, text, sizeof(text));
	buf_puts(&b, "{\"metadata\":{\"name\":\"ci\",\"uid\":\"u\","
		     "\"resourceVersion\":\"9\",\"managedFields\":[");
	for (int i = 0; i < 20000; i++)
		buf_printf(&b, "%s{\"f:k%d\":{\".\":{}}}", i > 0 ? "," : "", i);
	buf_puts(&b, "]},\"spec\":{\"leaseDurationSeconds\":60}}");
	ck_assert_msg(decode() == 0, "%s", e.text);
	ck_assert_int_eq(t.lasts_ms, 60000);
}
END_TEST

/* --- what cannot be read -------------------------------------------------- */

/* Decodes a copy of an item or, if `type` is not NULL, of a line. */
static int
unread(enum watch_type *type)
{
	char *exact = malloc(b.len);
	struct err why = {0};
	enum watch_type none;
	int code, rc;

	memcpy(exact, text, b.len);
	if (type == NULL)
		ck_assert_int_eq(ticket_decode(exact, b.len, &t, &why), -1);
	else
		ck_assert_int_eq(ticket_watch_decode(exact, b.len, &none, &t,
						     &code, &why), -1);
	memset(&t, 'x', sizeof(t));
	rc = ticket_unread_decode(exact, b.len, type, &t, &why);
	free(exact);
	return rc;
}

/* It has its name, and nothing that it would hold by. */
static void
expect_fault(const char *fault)
{
	ck_assert_str_eq(t.name, "ci");
	ck_assert_str_eq(t.fault, fault);
	ck_assert_int_eq(t.renewed_ms, STAMP_NONE);
	ck_assert(!t.all && !t.deleting && t.patterns[0] == '\0');
}

#define OF(META) "{\"metadata\":{" META "},\"spec\":{\"renewTime\":\"noon\"}}"
#define NAMED "\"name\":\"ci\",\"uid\":\"u\",\"resourceVersion\":\"9\""

static const struct {
	const char *json, *fault;	/* fault NULL: it has no name */
} unreadable[] = {
	{OF(NAMED), "it cannot be read: spec.renewTime is no time"},
	{OF("\"name\":\"ci\""), "it cannot be read: metadata.uid is missing"},
	{OF("\"name\":\"ci\",\"uid\":7"),
	 "it cannot be read: metadata.uid is no string"},
	{OF(NAMED ",\"annotations\":[]"),
	 "it cannot be read: metadata.annotations is no object"},
	{OF("\"name\":\"\",\"uid\":\"u\""), NULL},
	{OF("\"uid\":\"u\""), NULL},
	{"{\"spec\":{}}", NULL},
	{"[]", NULL},
	{"{", NULL},
};

START_TEST(test_unreadable)
{
	static const char *const names[] = {"ADDED", "MODIFIED", "DELETED"};
	const char *json = unreadable[_i].json, *fault = unreadable[_i].fault;
	enum watch_type type;

	buf_init(&b, text, sizeof(text));
	buf_puts(&b, json);
	ck_assert_int_eq(unread(NULL), fault == NULL ? -1 : 0);
	if (fault != NULL)
		expect_fault(fault);
	else
		ck_assert_int_eq(t.name[0], 'x');
	for (int i = 0; i < 3; i++) {
		buf_init(&b, text, sizeof(text));
		buf_printf(&b, "{\"type\":\"%s\",\"object\":%s}", names[i],
			   json);
		type = WATCH_ERROR;
		ck_assert_int_eq(unread(&type), fault == NULL ? -1 : 0);
		if (fault == NULL)
			continue;
		expect_fault(fault);
		ck_assert_int_eq(type, (enum watch_type)(WATCH_ADDED + i));
	}
}
END_TEST

/* A version that is too large has its name. */
START_TEST(test_too_large)
{
	static char large[(300 << 10) + 1];

	fill(large, "h", 300 << 10);
	buf_init(&b, text, sizeof(text));
	buf_printf(&b,
		   "{\"metadata\":{" NAMED
		   "},\"spec\":{\"holderIdentity\":\"%s\"}}",
		   large);
	ck_assert_int_eq(unread(NULL), 0);
	ck_assert_ptr_nonnull(strstr(t.fault, "JSON of more than 65536 bytes"));
	t.fault[0] = '\0';
	expect_fault("");
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

int
main(void)
{
	Suite *s = suite_create("wire/ticket");
	TCase *tc = tcase_create("ticket");

	tcase_add_test(tc, test_golden);
	tcase_add_loop_test(tc, test_spec, 0, ROWS(specs));
	tcase_add_loop_test(tc, test_text, 0, ROWS(texts));
	tcase_add_test(tc, test_text_is_cut);
	tcase_add_loop_test(tc, test_patterns, 0, ROWS(lists));
	tcase_add_loop_test(tc, test_many_patterns, 0, 2);
	tcase_add_loop_test(tc, test_patterns_without_room, 0, 2);
	tcase_add_test(tc, test_large_annotation_of_others);
	tcase_add_loop_test(tc, test_large_value, 0, 3);
	tcase_add_test(tc, test_large_object);
	tcase_add_loop_test(tc, test_unreadable, 0, ROWS(unreadable));
	tcase_add_test(tc, test_too_large);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
