/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/hook.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "edge/log.h"
#include "suite.h"
#include "unit/wire/applier.h"
#include "wire/json/json.h"

/*
 * What the webhook answers, counts and remembers.  The linker puts the
 * functions below in place of the server's: server_new keeps the routes, and
 * the tests call their handler.
 */
struct server *__wrap_server_new(const struct server_options *o, struct err *e);
void __wrap_server_free(struct server *s);

static struct server_options options;

struct server *
__wrap_server_new(const struct server_options *o, struct err *e)
{
	(void)e;
	options = *o;
	return (struct server *)&options;
}

void
__wrap_server_free(struct server *s)
{
	(void)s;
}

/* --- one review ---------------------------------------------------------------- */

#define T INT64_C(1767323045000)	/* the API server's time */
#define SLACK_MS 60000			/* a test takes less */

static struct config config;
static struct state shared;
static struct hook hook;
static struct server_reply reply;
static struct map annotations;	/* of the object, with the reply's patch */

static void
setup(void)
{
	int64_t boot = clock_boot_ms();
	struct err e = {0};

	log_open(LOG_TEXT, LOG_ERROR);
	memset(&shared, 0, sizeof(shared));
	shared.clock = clock_new();
	clock_date(shared.clock, T, boot, boot);
	shared.disabled_nodepools = disabled_nodepools_new();
	disabled_nodepools_set(shared.disabled_nodepools, "asleep", INT64_MIN);
	config.rules = (struct rules){
		.hold = {DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE},
		.include = {1, {"*"}},
		.exclude = {1, {"batch-*"}},
	};
	shared.hold = config.rules.hold;
	ck_assert_int_eq(
		hook_start(&hook, &shared, &config, &timing_default, 16, &e),
		0);
}

static void
teardown(void)
{
	hook_stop(&hook);
	disabled_nodepools_free(shared.disabled_nodepools);
	clock_free(shared.clock);
}

static void
send(const char *text)
{
	struct server_request q = {.method = "POST",
				   .path = "/mutate",
				   .content_type = "application/json",
				   .body = text,
				   .body_bytes = strlen(text)};

	reply = (struct server_reply){0};
	ck_assert_uint_eq(options.routes_n, 1);
	options.routes[0].handler(options.ctx, &q, &reply);
	ck_assert_ptr_null(reply.body_free);
}

/* Applies the patch of the reply to an object without annotations. */
static void
patch_apply(const struct json *root)
{
	static const char *const path[] = {"response", "patch"};
	const char *text = json_string(json_path(root, path, 2));
	char patch[1024];
	struct buf b;

	annotations = (struct map){0};
	if (text == NULL)
		return;
	buf_init(&b, patch, sizeof(patch));
	applier_base64(text, &b);
	applier_patch(&annotations, patch, b.len);
}

struct review_text {
	const char *resource;	/* its `group` and `resource` */
	const char *nodepool, *annotation;	/* "" for none */
	bool dry_run;
};

static void
review(const struct review_text *r)
{
	static const char *const path[] = {"response", "allowed"};
	char text[2048];
	struct buf b;

	buf_init(&b, text, sizeof(text));
	buf_printf(&b,
		   "{\"kind\":\"AdmissionReview\","
		   "\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{"
		   "\"uid\":\"u-1\",\"resource\":{%s,\"version\":\"v1\"},"
		   "\"operation\":\"CREATE\",\"name\":\"n\",\"dryRun\":%s,"
		   "\"object\":{\"metadata\":{\"labels\":{"
		   "\"karpenter.sh/nodepool\":\"%s\"}%s}}}}",
		   r->resource, r->dry_run ? "true" : "false", r->nodepool,
		   r->annotation);
	send(text);
	ck_assert_int_eq(reply.status, 200);
	ck_assert_str_eq(reply.content_type, "application/json");
	{
		AUTO_JSON root = json_parse(reply.body, reply.body_bytes,
					    &json_bounds_default, NULL);

		ck_assert(json_is_true(json_path(root, path, 2)));
		patch_apply(root);
	}
}

/* Fails unless that counter is 1 and all others are 0, and sets it back. */
static void
expect_counted(enum counter id)
{
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		ck_assert_uint_eq(shared.counters.at[i], i == id);
	memset(&shared.counters, 0, sizeof(shared.counters));
}

#define NODES "\"group\":\"\",\"resource\":\"nodes\""
#define CLAIMS "\"group\":\"karpenter.sh\",\"resource\":\"nodeclaims\""
#define PODS "\"group\":\"\",\"resource\":\"pods\""
#define HELD_BY_A_PERSON                                                       \
	",\"annotations\":{\"karpenter.sh/do-not-disrupt\":\"true\"}"
#define HELD_BY_US                                                             \
	",\"annotations\":{\"karpenter.sh/do-not-disrupt\":\"true\","           \
	"\"karpenter-node-holder.io/held-since\":\"2026-01-02T03:04:05Z\"}"

static const struct {
	const char *name;
	struct review_text review;
	enum counter counter;
	bool patched;
} reviews[] = {
	{"a Node", {NODES, "web", "", false}, COUNTER_NODE_HELD, true},
	{"a NodeClaim",
	 {CLAIMS, "web", "", false},
	 COUNTER_CLAIM_HELD,
	 true},
	/* A dry run gets the same answer and creates nothing. */
	{"a dry run", {NODES, "web", "", true}, COUNTER_NODE_HELD, true},
	{"of a disabled NodePool",
	 {NODES, "asleep", "", false},
	 COUNTER_NODE_UNCHANGED,
	 false},
	{"of a NodePool left out",
	 {CLAIMS, "batch-1", "", false},
	 COUNTER_CLAIM_UNCHANGED,
	 false},
	{"a person's hold",
	 {NODES, "web", HELD_BY_A_PERSON, false},
	 COUNTER_NODE_UNCHANGED,
	 false},
	/* The API server may call twice about the same object. */
	{"our own answer",
	 {NODES, "web", HELD_BY_US, false},
	 COUNTER_NODE_HELD,
	 false},
	{"another kind",
	 {PODS, "web", "", false},
	 COUNTER_OTHER_UNCHANGED,
	 false},
};

START_TEST(test_a_review_is_answered_and_counted)
{
	const char *hold, *mark;
	int64_t mark_ms;

	review(&reviews[_i].review);
	expect_counted(reviews[_i].counter);
	hold = map_get(&annotations, DEFAULT_HOLD_KEY);
	mark = map_get(&annotations, MARK_KEY);
	ck_assert_msg((hold != NULL) == reviews[_i].patched, "%s",
		      reviews[_i].name);
	if (reviews[_i].patched) {
		ck_assert_str_eq(hold, DEFAULT_HOLD_VALUE);
		ck_assert_int_eq(stamp_parse(mark, &mark_ms), 0);
		ck_assert_int_ge(mark_ms, T);
		ck_assert_int_lt(mark_ms, T + SLACK_MS);
	}
}
END_TEST

/* With MODE_OBSERVE nothing is patched; what would be is counted. */
START_TEST(test_a_review_is_observed)
{
	enum counter would = reviews[_i].counter;

	config.rules.mode = MODE_OBSERVE;
	if (reviews[_i].patched)
		would = would == COUNTER_NODE_HELD ? COUNTER_NODE_WOULD
						   : COUNTER_CLAIM_WOULD;
	review(&reviews[_i].review);
	expect_counted(would);
	ck_assert_ptr_null(map_get(&annotations, DEFAULT_HOLD_KEY));
}
END_TEST

START_TEST(test_a_nodepool_counts_again_once_it_is_enabled)
{
	disabled_nodepools_set(shared.disabled_nodepools, "asleep", INT64_MAX);
	review(&(struct review_text){NODES, "asleep", "", false});
	expect_counted(COUNTER_NODE_HELD);
}
END_TEST

/* A NodePool that is left alone, and that a person holds until then. */
START_TEST(test_a_hold_until_counts_by_the_server_clock)
{
	bool over = _i == 1;

	disabled_nodepools_set(shared.disabled_nodepools, "asleep",
			       over ? T : T + SLACK_MS);
	review(&(struct review_text){NODES, "asleep", "", false});
	expect_counted(over ? COUNTER_NODE_UNCHANGED : COUNTER_NODE_HELD);
}
END_TEST

START_TEST(test_what_is_no_review_gets_400_with_the_reason)
{
	static const char *const bodies[] = {"", "{", "[]", "{\"kind\":\"x\"}"};

	send(bodies[_i]);
	ck_assert_int_eq(reply.status, 400);
	ck_assert_str_eq(reply.content_type, "text/plain; charset=utf-8");
	ck_assert_uint_gt(reply.body_bytes, 0);
	ck_assert_ptr_null(memchr(reply.body, '\n', reply.body_bytes));
	expect_counted(COUNTER_REFUSED);
}
END_TEST

/* The reason of one refusal does not stay in the next answer. */
START_TEST(test_an_answer_after_a_refusal_is_whole)
{
	send("{");
	review(&(struct review_text){NODES, "web", "", false});
	ck_assert_ptr_nonnull(map_get(&annotations, MARK_KEY));
}
END_TEST

START_TEST(test_each_answer_counts_in_the_latency)
{
	uint64_t n = 0;

	send("{");
	review(&(struct review_text){NODES, "web", "", false});
	for (int i = 0; i <= LATENCY_BUCKETS; i++)
		n += shared.counters.latency[i];
	ck_assert_uint_eq(n, 2);
}
END_TEST

START_TEST(test_what_the_server_refuses_by_itself_is_counted)
{
	options.on_event(options.ctx, SERVER_REFUSED);
	expect_counted(COUNTER_REFUSED);
	options.on_event(options.ctx, SERVER_SHED);
	expect_counted(COUNTER_SHED);
	options.on_event(options.ctx, SERVER_REAPED);
	expect_counted(COUNTER_COUNT);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("daemon/hook");
	TCase *tc = tcase_create("hook");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc,
			    test_a_review_is_answered_and_counted, 0,
			    sizeof(reviews) / sizeof(reviews[0]));
	tcase_add_loop_test(tc,
			    test_a_review_is_observed, 0,
			    sizeof(reviews) / sizeof(reviews[0]));
	tcase_add_test(tc, test_a_nodepool_counts_again_once_it_is_enabled);
	tcase_add_loop_test(tc, test_a_hold_until_counts_by_the_server_clock, 0,
			    2);
	tcase_add_loop_test(tc, test_what_is_no_review_gets_400_with_the_reason,
			    0, 4);
	tcase_add_test(tc, test_an_answer_after_a_refusal_is_whole);
	tcase_add_test(tc, test_each_answer_counts_in_the_latency);
	tcase_add_test(tc, test_what_the_server_refuses_by_itself_is_counted);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
