/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "golden/golden.h"
#include "suite.h"
#include "wire/api/nodepool.h"

static const char *const types[] = {"ADDED", "MODIFIED", "DELETED"};

static void
put_time(struct buf *b, const char *name, int64_t ms)
{
	char text[STAMP_BYTES];

	if (ms == STAMP_NONE)
		return;
	stamp_format(ms, text);
	buf_printf(b, "%s=%s +%d ms\n", name, text, (int)(ms % 1000));
}

static void
put_pool(struct buf *b, const struct nodepool *p)
{
	buf_printf(b, "%s\nuid=%s\nrv=%s\n", p->name, p->uid, p->rv);
	if (p->generation != 0)
		buf_printf(b, "generation=%lld\n", p->generation);
	if (p->spec_known)
		buf_puts(b, p->inert ? "spec: inert\n" : "spec\n");
	else
		ck_assert(!p->inert);
	if (p->disabled)
		buf_puts(b, "disabled\n");
	put_time(b, "hold_until", p->hold_until_ms);
	put_time(b, "released_at", p->released_at_ms);
	buf_printf(b, "hold_ms=%lld\n", (long long)p->hold_ms);
	for (int k = 0; k < NODEPOOL_KEY_COUNT; k++) {
		if (p->bad[k][0] == '\0')
			continue;
		buf_printf(b,
			   "bad %s=", nodepool_key_name((enum nodepool_key)k));
		buf_json(b, p->bad[k]);
		buf_puts(b, "\n");
	}
}

static void
golden_pool(const char *bytes, size_t n, char *out, size_t cap)
{
	enum watch_type type;
	struct nodepool p;
	struct err e = {0};
	struct buf b;
	int code = -1;

	buf_init(&b, out, cap);
	if (nodepool_watch_decode(bytes, n, &type, &p, &code, &e)) {
		buf_printf(&b, "error %s\n", e.text);
	} else if (type == WATCH_ERROR) {
		buf_printf(&b, "ERROR %d %s\n", code, e.text);
	} else if (type == WATCH_BOOKMARK) {
		buf_printf(&b, "BOOKMARK %s\n", p.rv);
	} else {
		buf_printf(&b, "%s ", types[type]);
		put_pool(&b, &p);
	}
}

START_TEST(test_golden)
{
	golden_folder("tests/golden/nodepools", golden_pool);
}
END_TEST

/* --- one annotation ----------------------------------------------------- */

#define T 1767323045000 /* 2026-01-02T03:04:05Z */
#define CUT "1234567890123456789012345678901234567890123456789012345678901"

static const struct {
	const char *name;
	enum nodepool_key key;
	const char *value;
	int64_t want;	/* what the key's field holds; for disabled 0 or 1 */
	const char *bad;
} values[] = {
	{"not there", NODEPOOL_ENABLED, NULL, 0, ""},
	{"enabled", NODEPOOL_ENABLED, "true", 0, ""},
	{"disabled", NODEPOOL_ENABLED, "false", 1, ""},
	{"a capital", NODEPOOL_ENABLED, "False", 0, "False"},
	{"a number", NODEPOOL_ENABLED, "0", 0, "0"},
	{"a space", NODEPOOL_ENABLED, "false ", 0, "false "},
	{"empty", NODEPOOL_ENABLED, "", 0, "(empty)"},
	{"until", NODEPOOL_HOLD_UNTIL, "2026-01-02T03:04:05Z", T, ""},
	{"until, offset", NODEPOOL_HOLD_UNTIL, "2026-01-02T05:04:05+02:00", T,
	 ""},
	{"until, a duration", NODEPOOL_HOLD_UNTIL, "2h", STAMP_NONE, "2h"},
	{"until, no day", NODEPOOL_HOLD_UNTIL, "2026-02-30T00:00:00Z",
	 STAMP_NONE, "2026-02-30T00:00:00Z"},
	{"released", NODEPOOL_RELEASED_AT, "2026-01-02T03:04:05Z", T, ""},
	{"released, a word", NODEPOOL_RELEASED_AT, "now", STAMP_NONE, "now"},
	{"hold", NODEPOOL_HOLD_DURATION, "10m", 600000, ""},
	{"hold, the least", NODEPOOL_HOLD_DURATION, "1ms", 1, ""},
	{"hold, nothing", NODEPOOL_HOLD_DURATION, "0", -1, "0"},
	{"hold, less than a millisecond", NODEPOOL_HOLD_DURATION, "0.0001ms",
	 -1, "0.0001ms"},
	{"hold, no unit", NODEPOOL_HOLD_DURATION, "10", -1, "10"},
	{"hold, negative", NODEPOOL_HOLD_DURATION, "-10m", -1, "-10m"},
	{"hold, 10 years", NODEPOOL_HOLD_DURATION, "87600h", 315360000000, ""},
	{"hold, beyond", NODEPOOL_HOLD_DURATION, "87601h", -1, "87601h"},
	{"63 bytes", NODEPOOL_ENABLED, CUT "23", 0, CUT "23"},
	{"64 bytes", NODEPOOL_ENABLED, CUT "234", 0, CUT "23"},
	{"a character over the edge", NODEPOOL_ENABLED, CUT "2\xc3\xa9", 0,
	 CUT "2"},
	{"a character up to the edge", NODEPOOL_ENABLED, CUT "\xc3\xa9", 0,
	 CUT "\xc3\xa9"},
};

static int64_t
field(const struct nodepool *p, enum nodepool_key k)
{
	const int64_t all[NODEPOOL_KEY_COUNT] = {
		p->disabled, p->hold_until_ms, p->released_at_ms, p->hold_ms};

	return all[k];
}

START_TEST(test_value)
{
	struct nodepool p, plain;

	nodepool_init(&p);
	nodepool_init(&plain);
	nodepool_set(&p, values[_i].key, values[_i].value);
	ck_assert_msg(field(&p, values[_i].key) == values[_i].want, "%s: %lld",
		      values[_i].name, (long long)field(&p, values[_i].key));
	for (int k = 0; k < NODEPOOL_KEY_COUNT; k++) {
		bool own = k == (int)values[_i].key;

		ck_assert_msg(strcmp(p.bad[k], own ? values[_i].bad : "") == 0,
			      "%s: bad %s", values[_i].name, p.bad[k]);
		ck_assert_msg(
			own || field(&p, (enum nodepool_key)k) ==
					field(&plain, (enum nodepool_key)k),
			"%s: touches %d", values[_i].name, k);
	}
}
END_TEST

/* The reason is shown and never interpreted. */
static const struct {
	const char *value, *want;
} reasons[] = {
	{NULL, ""},
	{"", ""},
	{"Black Friday", "Black Friday"},
	{"a\nb\tc\x1b[31m\x7f", "a b c [31m "},
	{"a\xc2\x9b" "b\xe2\x80\xae" "c\xe2\x81\xa6" "d\xe2\x80\xa8",
	 "a b c d "},
	{"\xc3\xa9\xe2\x82\xac <b>%s&", "\xc3\xa9\xe2\x82\xac <b>%s&"},
};

START_TEST(test_reason)
{
	struct nodepool p;

	nodepool_init(&p);
	nodepool_set_reason(&p, reasons[_i].value);
	ck_assert_str_eq(p.reason, reasons[_i].want);
}
END_TEST

START_TEST(test_reason_is_cut)
{
	char value[400];
	struct nodepool p;

	memset(value, 'x', sizeof(value));
	value[256] = '\0';
	nodepool_init(&p);
	nodepool_set_reason(&p, value);
	ck_assert_str_eq(p.reason, value);
	strcpy(value + 255, "\xc3\xa9");	/* of which half would fit */
	nodepool_set_reason(&p, value);
	ck_assert_uint_eq(strlen(p.reason), 255);
}
END_TEST

START_TEST(test_names)
{
	static const char *const names[NODEPOOL_KEY_COUNT] = {
		"karpenter-node-holder.io/enabled",
		"karpenter-node-holder.io/hold-until",
		"karpenter-node-holder.io/released-at",
		"karpenter-node-holder.io/hold-duration"};
	static const char *const expected[NODEPOOL_KEY_COUNT] = {
		"\"true\"", "RFC 3339", "RFC 3339", "10m"};

	for (int k = 0; k < NODEPOOL_KEY_COUNT; k++) {
		ck_assert_str_eq(nodepool_key_name((enum nodepool_key)k),
				 names[k]);
		ck_assert_ptr_nonnull(strstr(
			nodepool_expected((enum nodepool_key)k), expected[k]));
	}
}
END_TEST

START_TEST(test_item)
{
	static const char item[] =
		"{\"metadata\":{\"name\":\"general\",\"uid\":\"u\","
		"\"resourceVersion\":\"9\",\"annotations\":{"
		"\"karpenter-node-holder.io/reason\":\"a\\nb\","
		"\"karpenter-node-holder.io/enabled\":\"false\"}}}";
	struct nodepool p = {.name = "before"};
	struct err e = {0};

	ck_assert_int_eq(nodepool_decode("{}", 2, &p, &e), -1);
	ck_assert_str_eq(e.text, "NodePool ?: metadata is missing");
	ck_assert_str_eq(p.name, "before");
	ck_assert_int_eq(nodepool_decode("{", 1, &p, &e), -1);
	ck_assert_str_eq(p.name, "before");
	ck_assert_int_eq(nodepool_decode(item, sizeof(item) - 1, &p, &e), 0);
	ck_assert_str_eq(p.name, "general");
	ck_assert_str_eq(p.reason, "a b");
	ck_assert(p.disabled);
}
END_TEST

static const struct {
	const char *name, *more;	/* members beside metadata */
	bool known, inert;
} specs[] = {
	{"metadata alone", "", false, false},
	{"no object", ",\"spec\":7", false, false},
	{"nothing in it", ",\"spec\":{}", true, false},
	{"static", ",\"spec\":{\"replicas\":3}", true, true},
	{"static, of none", ",\"spec\":{\"replicas\":0}", true, true},
	{"null", ",\"spec\":{\"replicas\":null}", true, false},
	{"a string", ",\"spec\":{\"replicas\":\"3\"}", true, false},
	{"a fraction", ",\"spec\":{\"replicas\":0.5}", true, false},
	{"replicas elsewhere",
	 ",\"replicas\":3,\"spec\":{\"template\":{"
	 "\"replicas\":3}}",
	 true, false},
	{"Never",
	 ",\"spec\":{\"disruption\":{\"consolidateAfter\":"
	 "\"Never\"}}",
	 true, true},
	{"never",
	 ",\"spec\":{\"disruption\":{\"consolidateAfter\":"
	 "\"never\"}}",
	 true, false},
	{"a duration",
	 ",\"spec\":{\"disruption\":{\"consolidateAfter\":"
	 "\"30s\"}}",
	 true, false},
	{"a number", ",\"spec\":{\"disruption\":{\"consolidateAfter\":0}}",
	 true, false},
	{"disruption is a list", ",\"spec\":{\"disruption\":[\"Never\"]}", true,
	 false},
	{"expireAfter",
	 ",\"spec\":{\"template\":{\"spec\":{\"expireAfter\":"
	 "\"Never\"}}}",
	 true, false},
	{"both",
	 ",\"spec\":{\"replicas\":1,\"disruption\":{"
	 "\"consolidateAfter\":\"Never\"}}",
	 true, true},
};

START_TEST(test_spec)
{
	char item[400];
	struct nodepool p;
	struct err e = {0};

	(void)snprintf(item, sizeof(item),
		       "{\"metadata\":{\"name\":\"general\",\"uid\":\"u\","
		       "\"resourceVersion\":\"9\",\"generation\":4}%s}",
		       specs[_i].more);
	ck_assert_msg(nodepool_decode(item, strlen(item), &p, &e) == 0,
		      "%s: %s", specs[_i].name, e.text);
	ck_assert_msg(p.spec_known == specs[_i].known &&
			      p.inert == specs[_i].inert,
		      "%s: known %d, inert %d", specs[_i].name, p.spec_known,
		      p.inert);
	ck_assert_int_eq(p.generation, 4);
}
END_TEST

/* A generation that is no number counts as missing. */
START_TEST(test_generation)
{
	static const char item[] =
		"{\"metadata\":{\"name\":\"general\",\"uid\":\"u\","
		"\"resourceVersion\":\"9\",\"generation\":\"4\"}}";
	struct nodepool p;
	struct err e = {0};

	ck_assert_int_eq(nodepool_decode(item, sizeof(item) - 1, &p, &e), 0);
	ck_assert_int_eq(p.generation, 0);
}
END_TEST

/* --- from when on it is left alone --------------------------------------- */

static const struct {
	const char *name;
	bool disabled, inert;
	int64_t until_ms, alone_ms;
} alones[] = {
	{"plain", false, false, STAMP_NONE, INT64_MAX},
	{"held by hand", false, false, T, INT64_MAX},
	{"inert", false, true, STAMP_NONE, INT64_MIN},
	{"inert, held by hand", false, true, T, T},
	{"disabled", true, false, STAMP_NONE, INT64_MIN},
	{"disabled, held by hand", true, false, T, INT64_MIN},
	{"all of it", true, true, T, INT64_MIN},
};

START_TEST(test_alone)
{
	struct nodepool p;

	nodepool_init(&p);
	p.disabled = alones[_i].disabled;
	p.inert = alones[_i].inert;
	p.hold_until_ms = alones[_i].until_ms;
	ck_assert_msg(nodepool_alone_ms(&p) == alones[_i].alone_ms, "%s",
		      alones[_i].name);
}
END_TEST

START_TEST(test_keep_spec)
{
	struct nodepool known, p;

	nodepool_init(&known);
	strcpy(known.uid, "u");
	known.spec_known = known.inert = true;
	p = known;
	p.spec_known = p.inert = false;
	nodepool_keep_spec(&p, NULL);
	ck_assert(!p.inert);
	nodepool_keep_spec(&p, &known);
	ck_assert(p.inert && !p.spec_known);
	p.inert = false;
	strcpy(p.uid, "v");
	nodepool_keep_spec(&p, &known);
	ck_assert(!p.inert);
	strcpy(p.uid, "u");
	p.spec_known = true;
	nodepool_keep_spec(&p, &known);
	ck_assert(!p.inert);
}
END_TEST

/* An ERROR and a line that cannot be read leave *out as it was. */
START_TEST(test_untouched)
{
	static const char error[] = "{\"type\":\"ERROR\",\"object\":{\"kind\":"
				    "\"Status\",\"code\":410}}";
	static const char bad[] = "{\"type\":\"ADDED\",\"object\":{}}";
	enum watch_type type = WATCH_DELETED;
	struct nodepool p = {.name = "before"};
	struct err e = {0};
	int code = 7;

	ck_assert_int_eq(nodepool_watch_decode(bad, sizeof(bad) - 1, &type, &p,
					   &code, &e), -1);
	ck_assert_int_eq(type, WATCH_DELETED);
	ck_assert_int_eq(code, 7);
	ck_assert_str_eq(p.name, "before");
	ck_assert_int_eq(nodepool_watch_decode(error, sizeof(error) - 1, &type,
					       &p, &code, &e),
			 0);
	ck_assert_int_eq(type, WATCH_ERROR);
	ck_assert_int_eq(code, 410);
	ck_assert_str_eq(p.name, "before");
}
END_TEST

/* kubectl apply keeps the whole object in an annotation. */
START_TEST(test_large_annotation_of_others)
{
	enum { ROOM = JSON_SMALL_BYTES_MAX + 1000 };
	static char item[ROOM + 400];
	struct nodepool p;
	struct err e = {0};
	int n = snprintf(item, sizeof(item),
			 "{\"metadata\":{\"name\":\"p\",\"uid\":\"u\","
			 "\"resourceVersion\":\"9\",\"annotations\":{"
			 "\"kubectl.kubernetes.io/last-applied-configuration\":"
			 "\"%0*d\",\"karpenter-node-holder.io/hold-duration\":"
			 "\"7m\"}}}",
			 ROOM, 0);

	ck_assert_msg(nodepool_decode(item, (size_t)n, &p, &e) == 0, "%s",
		      e.text);
	ck_assert_int_eq(p.hold_ms, 7 * 60000);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/nodepool");
	TCase *tc = tcase_create("nodepool");

	tcase_add_test(tc, test_golden);
	tcase_add_loop_test(tc, test_value, 0,
			    sizeof(values) / sizeof(values[0]));
	tcase_add_test(tc, test_names);
	tcase_add_loop_test(tc, test_reason, 0,
			    sizeof(reasons) / sizeof(reasons[0]));
	tcase_add_test(tc, test_reason_is_cut);
	tcase_add_test(tc, test_item);
	tcase_add_loop_test(tc, test_spec, 0, sizeof(specs) / sizeof(specs[0]));
	tcase_add_test(tc, test_generation);
	tcase_add_loop_test(tc, test_alone, 0,
			    sizeof(alones) / sizeof(alones[0]));
	tcase_add_test(tc, test_keep_spec);
	tcase_add_test(tc, test_untouched);
	tcase_add_test(tc, test_large_annotation_of_others);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
