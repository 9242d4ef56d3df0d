/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "golden/golden.h"
#include "suite.h"
#include "unit/wire/applier.h"
#include "wire/admission/admission.h"
#include "wire/api/patch.h"
#include "wire/json/json.h"

#define NOW INT64_C(1767323045000)
#define NOW_TEXT "2026-01-02T03:04:05Z"

static const struct rules usual = {
	.hold = {DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE},
	.include = {1, {"*"}},
	.exclude = {1, {"batch-*"}},
};
static const struct rules custom = {
	.hold = {"example.com/keep.it", "yes=1"},
	.include = {1, {"*"}},
};

/* --- golden files ----------------------------------------------------------
 */

/* Writes the reply with its patch decoded. */
static void
put_reply(struct buf *b, const char *reply, size_t n)
{
	static const char *const path[] = {"response", "patch"};
	struct err e = {0};
	AUTO_JSON root = json_parse(reply, n, &json_bounds_default, &e);
	const char *patch = json_string(json_path(root, path, 2));
	const char *field = strstr(reply, ",\"patch\":");

	ck_assert_msg(root != NULL, "%s: %s", e.text, reply);
	ck_assert_int_eq(patch != NULL, field != NULL);
	if (patch == NULL) {
		buf_printf(b, "%s\n", reply);
		return;
	}
	buf_printf(b, "%.*s,\"patch\":…}}\n", (int)(field - reply), reply);
	applier_base64(patch, b);
	buf_puts(b, "\n");
}

struct answer {
	struct admission_request request;
	struct verdict verdict;
};

/* Answers as the daemon's hook does.  Only the NodePool "asleep" is
 * disabled. */
static int
answer(const struct rules *r, const char *bytes, size_t n, struct buf *b,
       struct answer *a, struct err *e)
{
	if (admission_decode(bytes, n, &r->hold, &a->request, e))
		return -1;
	a->request.review.disabled =
		strcmp(a->request.review.nodepool, "asleep") == 0;
	a->verdict = admit_decide(r, &a->request.review);
	return admission_encode(b, &a->request, &a->verdict, &r->hold, NOW, e);
}

static void
put_answer(const struct rules *r, const char *bytes, size_t n, struct buf *b)
{
	char reply[ADMISSION_REPLY_BYTES];
	struct answer f;
	const struct review *v = &f.request.review;
	struct err e = {0};
	struct buf a;

	buf_init(&a, reply, sizeof(reply));
	if (answer(r, bytes, n, &a, &f, &e)) {
		ck_assert_int_eq(a.len, 0);
		buf_printf(b, "%s\n%s\n",
			   e.code == ERR_INPUT	 ? "400 input"
			   : e.code == ERR_LIMIT ? "400 limit"
						 : "500",
			   e.text);
		return;
	}
	buf_printf(b, "200 %s name=%s pool=%s%s%s\n",
		   v->kind_known ? object_kind_name(v->kind) : "other",
		   f.request.name, v->nodepool, v->create ? " create" : "",
		   f.request.dry_run ? " dry-run" : "");
	put_reply(b, reply, a.len);
}

static void
golden_usual(const char *bytes, size_t n, char *out, size_t cap)
{
	struct buf b;

	buf_init(&b, out, cap);
	put_answer(&usual, bytes, n, &b);
}

static void
golden_custom(const char *bytes, size_t n, char *out, size_t cap)
{
	struct buf b;

	buf_init(&b, out, cap);
	put_answer(&custom, bytes, n, &b);
}

START_TEST(test_golden)
{
	golden_folder("tests/golden/admission", golden_usual);
	golden_folder("tests/golden/admission-custom", golden_custom);
}
END_TEST

/* One reply is compared byte for byte. */
START_TEST(test_reply_bytes)
{
	static const char body[] =
		"{\"kind\":\"AdmissionReview\",\"apiVersion\":"
		"\"admission.k8s.io/v1\",\"request\":{\"uid\":\"u-1\","
		"\"resource\":{\"group\":\"\",\"version\":\"v1\","
		"\"resource\":\"nodes\"},\"operation\":\"CREATE\","
		"\"object\":{\"metadata\":{\"labels\":"
		"{\"karpenter.sh/nodepool\":\"\"}}}}}";
	char reply[ADMISSION_REPLY_BYTES];
	struct answer f;
	struct buf a;

	buf_init(&a, reply, sizeof(reply));
	ck_assert_int_eq(
		answer(&usual, body, strlen(body), &a, &f, NULL),
		0);
	ck_assert_str_eq(
		reply,
		"{\"kind\":\"AdmissionReview\",\"apiVersion\":"
		"\"admission.k8s.io/v1\",\"response\":{\"uid\":\"u-1\","
		"\"allowed\":true,\"auditAnnotations\":{\"held\":\"true\","
		"\"reason\":\"quiet-period\"},\"patchType\":\"JSONPatch\","
		"\"patch\":\"W3sib3AiOiJhZGQiLCJwYXRoIjoiL21ldGFkYXRhL2Fubm90"
		"YXRpb25zIiwidmFsdWUiOnsia2FycGVudGVyLnNoL2RvLW5vdC1kaXNydXB0"
		"IjoidHJ1ZSIsImthcnBlbnRlci1ub2RlLWhvbGRlci5pby9oZWxkLXNpbmNl"
		"IjoiMjAyNi0wMS0wMlQwMzowNDowNVoifX1d\"}}");
}
END_TEST

/* --- the patch, applied -----------------------------------------------------
 */

static void
apply(struct map *m, const char *reply, size_t n)
{
	static const char *const path[] = {"response", "patch"};
	AUTO_JSON root = json_parse(reply, n, &json_bounds_default, NULL);
	const char *text = json_string(json_path(root, path, 2));
	char patch[PATCH_BYTES];
	struct buf b;

	if (text == NULL)
		return;
	buf_init(&b, patch, sizeof(patch));
	applier_base64(text, &b);
	applier_patch(m, patch, b.len);
}

static void
put_map(struct buf *b, const struct map *m)
{
	buf_puts(b, "{");
	for (size_t i = 0; i < m->n; i++) {
		buf_puts(b, i > 0 ? "," : "");
		buf_json(b, m->at[i].key);
		buf_puts(b, ":");
		buf_json(b, m->at[i].value);
	}
	buf_puts(b, "}");
}

/* What may be on the object.  Each combination is one case. */
enum { A_MISSING, A_NULL, A_EMPTY, A_OTHERS, A_COUNT };
enum { HELD_NONE, HELD_TODAY, HELD_FORMER, HELD_DEFAULT, HELD_ODD, HELD_COUNT };
enum { V_ABSENT, V_SAME, V_OTHER, V_COUNT };

struct combination {
	int annotations, hold, former, mark, held, rules, kind;
};

static const char FORMER_KEY[] = "former.example/k";

static void
combine(const struct combination *c, const struct rules *r, struct map *m)
{
	static const char *const values[] = {NULL, "yes=1", "other"};
	char text[HELD_KEY_BYTES];

	*m = (struct map){.is_object = c->annotations >= A_EMPTY};
	if (c->annotations == A_OTHERS)
		map_set(m, "some/other~key", "a \"value\"");
	if (c->hold != V_ABSENT)
		map_set(m, r->hold.key,
			c->hold == V_SAME ? r->hold.value : "other");
	if (c->former != V_ABSENT)
		map_set(m, FORMER_KEY, values[c->former]);
	if (c->mark)
		map_set(m, MARK_KEY, "2020-01-01T00:00:00Z");
	(void)snprintf(text, sizeof(text), "%s=%s",
		       c->held == HELD_TODAY	? r->hold.key
		       : c->held == HELD_FORMER ? FORMER_KEY
						: DEFAULT_HOLD_KEY,
		       c->held == HELD_TODAY	? r->hold.value
		       : c->held == HELD_FORMER ? values[V_SAME]
						: DEFAULT_HOLD_VALUE);
	if (c->held != HELD_NONE)
		map_set(m, HELD_KEY_KEY, c->held == HELD_ODD ? "odd" : text);
}

/* Works out what should come of the combination, in other words than the
 * product's. */
static void
expect(const struct combination *c, const struct rules *r,
       const struct map *before, struct map *after)
{
	bool other_rules = r != &usual;
	char text[HELD_KEY_BYTES];
	bool ours = c->held == HELD_TODAY ||
		    (!other_rules &&
		     (c->held == HELD_NONE || c->held == HELD_DEFAULT));

	*after = *before;
	if (map_get(before, r->hold.key) != NULL || (c->mark && !ours))
		return;
	after->is_object = true;
	map_set(after, r->hold.key, r->hold.value);
	map_set(after, MARK_KEY, NOW_TEXT);
	(void)snprintf(text, sizeof(text), "%s=%s", r->hold.key, r->hold.value);
	if (other_rules)
		map_set(after, HELD_KEY_KEY, text);
	else if (map_get(after, HELD_KEY_KEY) != NULL)
		map_remove(after, HELD_KEY_KEY);
}

static void
admit(const struct combination *c, const struct rules *r, const struct map *m,
      struct map *after, bool *held)
{
	static char body[8192], reply[ADMISSION_REPLY_BYTES];
	struct answer f;
	struct err e = {0};
	struct buf b, a;

	buf_init(&b, body, sizeof(body));
	buf_printf(&b,
		   "{\"kind\":\"AdmissionReview\",\"apiVersion\":"
		   "\"admission.k8s.io/v1\",\"request\":{\"uid\":\"u-1\","
		   "\"resource\":{\"group\":\"%s\",\"version\":\"v1\","
		   "\"resource\":\"%s\"},\"operation\":\"CREATE\","
		   "\"object\":{\"metadata\":{\"labels\":"
		   "{\"karpenter.sh/nodepool\":\"p\"}",
		   c->kind ? "karpenter.sh" : "",
		   c->kind ? "nodeclaims" : "nodes");
	if (c->annotations != A_MISSING || m->is_object)
		buf_puts(&b, ",\"annotations\":");
	if (m->is_object)
		put_map(&b, m);
	else if (c->annotations == A_NULL)
		buf_puts(&b, "null");
	buf_puts(&b, "}}}}");
	ck_assert(!b.full);
	buf_init(&a, reply, sizeof(reply));
	ck_assert_msg(answer(r, body, b.len, &a, &f, &e) == 0,
		      "%s", e.text);
	*held = f.verdict.held;
	*after = *m;
	apply(after, reply, a.len);
}

static unsigned
check_combination(const struct combination *c)
{
	const struct rules *r = c->rules ? &custom : &usual;
	struct map before, want, got, again;
	bool held, held_again;

	/* An object without annotations has no hold. */
	if (c->annotations < A_EMPTY &&
	    (c->hold || c->former || c->mark || c->held))
		return 0;
	combine(c, r, &before);
	expect(c, r, &before, &want);
	admit(c, r, &before, &got, &held);
	ck_assert_msg(map_same(&got, &want),
		      "annotations %d hold %d former %d mark %d held %d "
		      "rules %d",
		      c->annotations, c->hold, c->former, c->mark, c->held,
		      c->rules);
	/* If the API server sends our output again, it stays as it is and gets
	 * the same answer. */
	admit(c, r, &got, &again, &held_again);
	ck_assert(map_same(&got, &again));
	ck_assert_int_eq(held, held_again);
	return 1;
}

START_TEST(test_combinations)
{
	struct combination c = {.kind = _i % 2, .rules = _i / 2};
	unsigned seen = 0;

	for (c.annotations = 0; c.annotations < A_COUNT; c.annotations++)
		for (c.hold = 0; c.hold < V_COUNT; c.hold++)
			for (c.former = 0; c.former < V_COUNT; c.former++)
				for (c.mark = 0; c.mark < 2; c.mark++)
					for (c.held = 0; c.held < HELD_COUNT;
					     c.held++)
						seen += check_combination(&c);
	ck_assert_uint_eq(seen, 2 + 2 * V_COUNT * V_COUNT * 2 * HELD_COUNT);
}
END_TEST

/* --- bounds ------------------------------------------------------------------
 */

/* An answer with the longest possible hold and uid still fits. */
START_TEST(test_longest)
{
	static struct rules r;
	static char body[4096], reply[ADMISSION_REPLY_BYTES];
	struct answer f;
	struct err e = {0};
	struct buf b, a;

	r = usual;
	memset(r.hold.key, 1, sizeof(r.hold.key) - 1);
	memset(r.hold.value, 1, sizeof(r.hold.value) - 1);
	buf_init(&b, body, sizeof(body));
	buf_puts(&b, "{\"kind\":\"AdmissionReview\",\"apiVersion\":"
		     "\"admission.k8s.io/v1\",\"request\":{\"resource\":"
		     "{\"group\":\"karpenter.sh\",\"resource\":\"nodeclaims\"},"
		     "\"operation\":\"CREATE\",\"object\":{\"metadata\":"
		     "{\"annotations\":{}}},\"uid\":\"");
	for (int i = 0; i < 128; i++)
		buf_puts(&b, "\\u0001");
	buf_puts(&b, "\"}}");
	buf_init(&a, reply, sizeof(reply));
	ck_assert_msg(answer(&r, body, b.len, &a, &f, &e) == 0,
		      "%s", e.text);
	ck_assert(f.verdict.patch);
	buf_init(&a, reply, 100);
	ck_assert_int_eq(answer(&r, body, b.len, &a, &f, &e),
			 -1);
	ck_assert_int_eq(e.code, ERR_SYSTEM);
	ck_assert_uint_eq(a.len, 0);
}
END_TEST

/* Both keys and values count. */
START_TEST(test_annotations_bytes)
{
	static char body[ANNOTATIONS_BYTES_MAX + 1024];
	static const size_t room = ANNOTATIONS_BYTES_MAX - ANNOTATIONS_ROOM;
	char reply[ADMISSION_REPLY_BYTES];
	struct answer f;
	struct err e = {0};
	struct buf b, a;

	buf_init(&b, body, sizeof(body));
	buf_puts(&b, "{\"kind\":\"AdmissionReview\",\"apiVersion\":"
		     "\"admission.k8s.io/v1\",\"request\":{\"resource\":"
		     "{\"group\":\"karpenter.sh\",\"resource\":\"nodeclaims\"},"
		     "\"operation\":\"CREATE\",\"uid\":\"u-1\",\"object\":"
		     "{\"metadata\":{\"annotations\":{\"a/b\":\"12345\",\"k\":\"");
	for (size_t i = 0; i < room - 9 + (size_t)_i; i++)
		buf_add(&b, "v", 1);
	buf_puts(&b, "\"}}}}}");
	ck_assert(!b.full);
	buf_init(&a, reply, sizeof(reply));
	ck_assert_msg(answer(&usual, body, b.len, &a, &f, &e) == 0,
		      "%s", e.text);
	ck_assert_uint_eq(f.request.review.annotations_bytes, room + (size_t)_i);
	ck_assert_int_eq(f.verdict.reason,
			 _i ? REASON_NO_ROOM : REASON_QUIET_PERIOD);
}
END_TEST

START_TEST(test_many_values)
{
	size_t n = 2 * (JSON_VALUES_MAX + 1) + 1;
	char *body = malloc(n), reply[ADMISSION_REPLY_BYTES];
	struct answer f;
	struct err e = {0};
	struct buf a;

	for (size_t i = 0; i < n; i++)
		body[i] = i % 2 ? '1' : ',';
	body[0] = '[';
	body[n - 1] = ']';
	buf_init(&a, reply, sizeof(reply));
	ck_assert_int_eq(answer(&usual, body, n, &a, &f, &e),
			 -1);
	ck_assert_int_eq(e.code, ERR_LIMIT);
	free(body);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/admission");
	TCase *tc = tcase_create("admission");

	tcase_add_test(tc, test_golden);
	tcase_add_test(tc, test_reply_bytes);
	tcase_add_loop_test(tc, test_combinations, 0, 4);
	tcase_add_test(tc, test_longest);
	tcase_add_loop_test(tc, test_annotations_bytes, 0, 2);
	tcase_add_test(tc, test_many_values);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
