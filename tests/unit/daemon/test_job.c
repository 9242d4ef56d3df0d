/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/job.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "edge/log.h"
#include "suite.h"

/*
 * What an answer means for the action that was asked for.  The linker puts the
 * functions below in the place of the table's.
 */
void __wrap_state_found(struct state *s, const struct action *a,
			const struct object *o);
void __wrap_state_fresh(struct state *s, const struct object *claim);
void __wrap_state_fresh_nodepool(struct state *s, const struct nodepool *p);
void __wrap_state_fresh_ticket(struct state *s, const struct ticket *t);
void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
int __wrap_kube_lanes_start(struct kube_lanes *p, const struct kube_request *q,
			    uint64_t tag, struct err *e);

static struct kube_request sent;
static char sent_path[512];
static bool no_memory, starved;	/* starved: while items come */
static unsigned found, found_whole, fresh, fresh_nodepools;
static unsigned fresh_tickets;
static struct ticket fresh_ticket;	/* the last of them */

void
__wrap_state_found(struct state *s, const struct action *a,
		   const struct object *o)
{
	(void)s;
	(void)a;
	found++;
	found_whole += !o->unread;
}

void
__wrap_state_fresh(struct state *s, const struct object *claim)
{
	(void)s;
	(void)claim;
	fresh++;
}

void
__wrap_state_fresh_nodepool(struct state *s, const struct nodepool *p)
{
	(void)s;
	(void)p;
	fresh_nodepools++;
}

void
__wrap_state_fresh_ticket(struct state *s, const struct ticket *t)
{
	(void)s;
	fresh_ticket = *t;
	fresh_tickets++;
}

int
__wrap_kube_lanes_start(struct kube_lanes *p, const struct kube_request *q,
			uint64_t tag, struct err *e)
{
	(void)p;
	(void)tag;
	(void)e;
	sent = *q;
	snprintf(sent_path, sizeof(sent_path), "%s", q->path);
	return 0;
}

#define STATUS(REASON, MESSAGE)                                                \
	"{\"kind\":\"Status\",\"reason\":\"" REASON                            \
	"\",\"message\":\"" MESSAGE "\"}"
#define META(NAME, UID)                                                        \
	"\"metadata\":{\"name\":\"" NAME "\",\"uid\":\"" UID                   \
	"\",\"resourceVersion\":\"8\","                                        \
	"\"creationTimestamp\":\"2026-01-02T03:04:05Z\"}"
#define CLAIM "{" META("c-1", "u-1") "}"
#define OTHER "{" META("c-1", "u-2") "}"
#define LIST(CONT, ITEMS)                                                      \
	"{\"metadata\":{\"resourceVersion\":\"9\",\"continue\":\"" CONT        \
	"\"},\"items\":[" ITEMS "]}"

static const struct rules rules = {.tickets = "hold-tickets"};
static const struct job_env env = {.rules = &rules,
				   .timing = &timing_default};
static struct job job;
static struct controller_outcome out;

void *
__wrap_malloc(size_t n)
{
	return no_memory ? NULL : __real_malloc(n);
}

static void
setup(void)
{
	log_open(LOG_TEXT, LOG_ERROR);
	memset(&job, 0, sizeof(job));
	found = found_whole = fresh = fresh_nodepools = 0;
	fresh_tickets = 0;
	starved = false;
}

/* Is the action over? */
static bool
answered(enum act act, int status, const char *body)
{
	struct kube_reply r = {.status = status,
			       .retry_after_ms = 3000,
			       .body = body,
			       .body_bytes = strlen(body)};
	struct err none = {0};

	job.action = (struct action){.act = act,
				     .kind = KIND_NODECLAIM,
				     .name = "c-1",
				     .uid = "u-1",
				     .reason = "quiet"};
	return job_answered(&env, &job, &r, &none, &out);
}

/* What refuses a write names both objects before it says why. */
#define POLICY                                                                 \
	"nodeclaims.karpenter.sh 'web-x7k2p' is forbidden: "                   \
	"ValidatingAdmissionPolicy 'annotations-need-a-ticket.example.org' "   \
	"with binding 'annotations-need-a-ticket.example.org' denied "         \
	"request: name the ticket"

static const struct {
	const char *name;
	int status;
	const char *body;
	enum controller_code want;
	const char *why;
} writes[] = {
	{"written", 200, CLAIM, CONTROLLER_OK, NULL},
	{"no such object", 404, STATUS("NotFound", ""), CONTROLLER_GONE, NULL},
	{"no such resource", 404, "404 page not found", CONTROLLER_GONE, NULL},
	{"a proxy's 404", 404, "<html>", CONTROLLER_FAILED, NULL},
	{"version", 409, STATUS("Conflict", ""), CONTROLLER_CONFLICT, NULL},
	{"exists", 409, STATUS("AlreadyExists", ""), CONTROLLER_CONFLICT, NULL},
	{"test", 422, STATUS("Invalid", "no"), CONTROLLER_INVALID, "422: no"},
	{"busy", 429, "", CONTROLLER_BUSY, NULL},
	{"unavailable", 503, "", CONTROLLER_BUSY, NULL},
	{"RBAC", 403, STATUS("Forbidden", "no"), CONTROLLER_REFUSED, "403: no"},
	{"policy", 422, STATUS("Invalid", POLICY), CONTROLLER_INVALID,
	 "422: " POLICY},
	{"expired", 410, "", CONTROLLER_REFUSED, "410: HTTP 410"},
	{"webhook", 500, STATUS("", "failed calling webhook"),
	 CONTROLLER_REFUSED, "500: failed calling webhook"},
	{"token", 401, "", CONTROLLER_FAILED, NULL},
	{"fault", 500, "", CONTROLLER_FAILED, NULL},
};

START_TEST(test_write)
{
	ck_assert(answered(ACT_UNMARK, writes[_i].status, writes[_i].body));
	ck_assert_msg(out.code == writes[_i].want, "%s", writes[_i].name);
	ck_assert_ptr_eq(out.action, &job.action);
	ck_assert_int_eq(out.retry_after_ms, 3000);
	if (writes[_i].why == NULL)
		ck_assert_ptr_null(out.why);
	else
		ck_assert_str_eq(out.why, writes[_i].why);
	ck_assert_str_eq(out.rv, writes[_i].want == CONTROLLER_OK ? "8" : "");
}
END_TEST

/* A longer one is cut after a whole character, and says so. */
START_TEST(test_long_refusal)
{
	char body[2 * API_MESSAGE_BYTES + 100];
	struct buf b;
	size_t n;

	buf_init(&b, body, sizeof(body));
	buf_printf(&b, "{\"kind\":\"Status\",\"message\":\"%.*s", _i, "xxxx");
	while (b.len < 2 * API_MESSAGE_BYTES)
		buf_puts(&b, "\U0001f512");
	buf_puts(&b, "\"}");
	ck_assert(answered(ACT_HOLD, 403, body));
	n = strlen(out.why);
	ck_assert_uint_gt(n, API_MESSAGE_BYTES - 12);
	ck_assert_str_eq(out.why + n - 7, "\U0001f512…");
}
END_TEST

/* With MODE_OBSERVE no write leaves the process, whoever asks for it.  Reads
 * do. */
START_TEST(test_observe)
{
	static const struct rules observes = {.mode = MODE_OBSERVE};
	const struct job_env v = {.rules = &observes,
				  .timing = &timing_default};
	static const enum act acts[] = {ACT_HOLD, ACT_CLEAR, ACT_UNMARK,
					ACT_CLASSIFY, ACT_READ};
	struct action a = {.act = acts[_i], .kind = KIND_NODECLAIM,
			   .name = "c-1", .reason = "quiet",
			   .fence_ms = INT64_MAX};
	struct err e = {0};

	sent_path[0] = '\0';
	job_init(&job, &a);
	ck_assert_int_eq(job_start(&v, &job, 1, NULL, &e),
			 act_writes(a.act) ? -1 : 0);
	ck_assert(act_writes(a.act) == (sent_path[0] == '\0'));
	if (!act_writes(a.act))
		return;
	job_tell(&v, &a, &out);
	ck_assert_int_eq(out.code, CONTROLLER_OK);
	ck_assert_ptr_eq(out.action, &a);
}
END_TEST

START_TEST(test_read)
{
	ck_assert(answered(ACT_READ_CLAIM, 200, CLAIM));
	ck_assert_int_eq(out.code, CONTROLLER_OK);
	ck_assert_uint_eq(found, 1);
	ck_assert(answered(ACT_READ_CLAIM, 200, OTHER));
	ck_assert_int_eq(out.code, CONTROLLER_GONE);
	ck_assert(answered(ACT_READ, 403, ""));
	ck_assert_int_eq(out.code, CONTROLLER_REFUSED);
	ck_assert_ptr_null(out.why);	/* only a write has a reason */
	ck_assert_uint_eq(found, 1);
	ck_assert_uint_eq(found_whole, 1);
}
END_TEST

static bool
too_large(enum act act, enum kind kind, int status)
{
	struct kube_reply r = {.status = status, .retry_after_ms = -1,
			       .body = ""};
	struct err large;

	(void)err_set(&large, ERR_LIMIT, "too large");
	job.action = (struct action){.act = act, .kind = kind, .name = "c-1",
				     .uid = "u-1", .reason = "quiet"};
	return job_answered(&env, &job, &r, &large, &out);
}

/* A claim that cannot be read whole is read by its metadata, once. */
START_TEST(test_read_by_metadata)
{
	enum act act = _i < 2 ? ACT_READ : ACT_READ_CLAIM;

	if (_i % 2 == 0)
		ck_assert(!too_large(act, KIND_NODECLAIM, 200));
	else
		ck_assert(!answered(act, 200, "{}"));
	ck_assert(job.metadata);
	ck_assert(answered(act, 200, CLAIM));
	ck_assert_int_eq(out.code, CONTROLLER_OK);
	ck_assert_uint_eq(found, 1);
	ck_assert_uint_eq(found_whole, 0);
	ck_assert(too_large(act, KIND_NODECLAIM, 500));
	ck_assert_int_eq(out.code, CONTROLLER_FAILED);
	/* The Node is released without it. */
	ck_assert(too_large(act, KIND_NODECLAIM, 200));
	ck_assert_int_eq(out.code, _i < 2 ? CONTROLLER_FAILED
					  : CONTROLLER_GONE);
	ck_assert(answered(act, 200, "{}"));
	ck_assert_int_eq(out.code, _i < 2 ? CONTROLLER_FAILED
					  : CONTROLLER_GONE);
	job_init(&job, &job.action);
	ck_assert(!job.metadata);
}
END_TEST

START_TEST(test_answers_that_are_too_large)
{
	/* Of a Node only the metadata was asked for. */
	ck_assert(too_large(ACT_READ, KIND_NODE, 200));
	ck_assert_int_eq(out.code, CONTROLLER_FAILED);
	/* It is written all the same. */
	ck_assert(too_large(ACT_CLEAR, KIND_NODE, 200));
	ck_assert_int_eq(out.code, CONTROLLER_OK);
	ck_assert_str_eq(out.rv, "");
	ck_assert(too_large(ACT_CLEAR, KIND_NODE, 409));
	ck_assert_int_eq(out.code, CONTROLLER_FAILED);
}
END_TEST

static void
list_begin(enum act act, unsigned page)
{
	job_init(&job, &(struct action){.act = act,
					.kind = act == ACT_LIST_NODEPOOLS
							? KIND_NODEPOOL
						: act == ACT_LIST_TICKETS
							? KIND_TICKET
							: KIND_NODECLAIM,
					.page = page,
					.reason = "release",
					.fence_ms = INT64_MAX});
}

/* Asks for the next page, whose body arrives in two pieces.  Is the list
 * over? */
static bool
page(const char *body)
{
	struct kube_reply r = {.status = 200, .retry_after_ms = -1, .body = ""};
	size_t n = strlen(body);
	struct err e = {0};

	ck_assert_int_eq(job_start(&env, &job, 0, NULL, &e), 0);
	sent.opened(sent.ctx);
	no_memory = starved;
	if (sent.sink(sent.ctx, body, n / 2, &e) == 0)
		(void)sent.sink(sent.ctx, body + n / 2, n - n / 2, &e);
	no_memory = false;
	return job_answered(&env, &job, &r, &e, &out);
}

START_TEST(test_list)
{
	list_begin(ACT_LIST_CLAIMS, 2000);
	ck_assert(!page(LIST("x", CLAIM "," OTHER)));
	ck_assert_ptr_nonnull(strstr(sent_path, "?limit=2000"));
	ck_assert_ptr_null(strstr(sent_path, "continue"));
	ck_assert(page(LIST("", CLAIM ",{}")));
	/* A token is good for the same limit only. */
	ck_assert_ptr_nonnull(strstr(sent_path, "?limit=2000&continue=x"));
	ck_assert_int_eq(out.code, CONTROLLER_OK);
	ck_assert_uint_eq(fresh, 3);
	ck_assert_uint_eq(fresh_nodepools, 0);
	list_begin(ACT_LIST_NODEPOOLS, 2000);
	ck_assert(page(LIST("", CLAIM)));
	ck_assert_int_eq(out.code, CONTROLLER_OK);
	ck_assert_uint_eq(fresh_nodepools, 1);
}
END_TEST

#define TICKETS "/apis/coordination.k8s.io/v1/namespaces/hold-tickets/leases"
#define TICKET                                                                 \
	"{" META("ci", "u-1") ",\"spec\":{\"leaseDurationSeconds\":60}}"

/* The tickets of the namespace that the configuration names, as whole objects,
 * because metadata does not say until when a ticket holds. */
START_TEST(test_list_of_tickets)
{
	list_begin(ACT_LIST_TICKETS, 2000);
	ck_assert(!page(LIST("a/b", TICKET "," TICKET)));
	ck_assert_str_eq(sent_path, TICKETS "?limit=2000");
	ck_assert_str_eq(sent.method, "GET");
	ck_assert_ptr_null(sent.accept);
	ck_assert_ptr_null(sent.body);
	ck_assert(page(LIST("", "{}," TICKET ",{\"metadata\":7}")));
	ck_assert_str_eq(sent_path, TICKETS "?limit=2000&continue=a%2Fb");
	ck_assert_ptr_null(sent.accept);
	ck_assert_int_eq(out.code, CONTROLLER_OK);
	ck_assert_uint_eq(fresh_tickets, 3);
	ck_assert_str_eq(fresh_ticket.name, "ci");
	ck_assert_int_eq(fresh_ticket.lasts_ms, 60000);
	ck_assert_uint_eq(fresh + fresh_nodepools + found, 0);
	/* The others come as metadata. */
	list_begin(ACT_LIST_NODEPOOLS, 2000);
	ck_assert(page(LIST("", CLAIM)));
	ck_assert_ptr_nonnull(strstr(sent.accept, "PartialObjectMetadataList"));
}
END_TEST

/* What a list of tickets is answered is the outcome, and nobody reads on. */
START_TEST(test_no_list_of_tickets)
{
	static const struct {
		int status;
		const char *body;
		enum controller_code want;
	} answers[] = {
		{403, STATUS("Forbidden", "no"), CONTROLLER_REFUSED},
		{404, "404 page not found", CONTROLLER_GONE},
		{410, STATUS("Expired", "too old"), CONTROLLER_REFUSED},
		{429, "", CONTROLLER_BUSY},
		{500, "", CONTROLLER_FAILED},
	};
	struct err none = {0};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct kube_reply r = {.status = answers[i].status,
				       .retry_after_ms = 3000,
				       .body = answers[i].body,
				       .body_bytes = strlen(answers[i].body)};

		list_begin(ACT_LIST_TICKETS, 2000);
		ck_assert_int_eq(job_start(&env, &job, 0, NULL, &none), 0);
		ck_assert(job_answered(&env, &job, &r, &none, &out));
		ck_assert_int_eq(out.code, answers[i].want);
		ck_assert_int_eq(out.retry_after_ms, 3000);
		ck_assert_ptr_null(out.why);
		ck_assert_ptr_null(job.pager.split);
	}
	ck_assert_uint_eq(fresh_tickets, 0);
}
END_TEST

/* The ticket is not taken for one that nobody can read. */
START_TEST(test_a_list_of_tickets_without_memory)
{
	list_begin(ACT_LIST_TICKETS, 2000);
	starved = true;
	ck_assert(page(LIST("", TICKET)));
	ck_assert_int_eq(out.code, CONTROLLER_FAILED);
	ck_assert_uint_eq(fresh_tickets, 0);
}
END_TEST

static const char *const no_lists[] = {
	"", "{\"metadata\":{", "<html>", STATUS("Expired", ""),
	"{\"items\":[{},", LIST("", CLAIM ",,"),
};

/* The claim is not taken for one that nobody can read. */
START_TEST(test_a_list_without_memory)
{
	list_begin(ACT_LIST_CLAIMS, 2000);
	starved = true;
	ck_assert(page(LIST("", CLAIM)));
	ck_assert_int_eq(out.code, CONTROLLER_FAILED);
}
END_TEST

START_TEST(test_no_list)
{
	list_begin(ACT_LIST_CLAIMS, 2000);
	ck_assert(!page(LIST("x", CLAIM)));
	ck_assert(page(no_lists[_i]));
	ck_assert_int_eq(out.code, CONTROLLER_FAILED);
	ck_assert_ptr_null(job.pager.split);
}
END_TEST

/* A page of any size is taken, and nothing of it is kept whole. */
START_TEST(test_list_of_any_size)
{
	struct kube_reply r = {.status = 200, .retry_after_ms = -1, .body = ""};
	const char *begin = "{\"metadata\":{\"resourceVersion\":\"9\"},"
			    "\"items\":[" CLAIM;
	struct err e = {0};

	list_begin(ACT_LIST_CLAIMS, 2000);
	ck_assert_int_eq(job_start(&env, &job, 0, NULL, &e), 0);
	sent.opened(sent.ctx);
	ck_assert_int_eq(sent.sink(sent.ctx, begin, strlen(begin), &e), 0);
	for (unsigned n = 0; n < 2 * ITEM_BYTES_MAX; n += strlen("," CLAIM))
		ck_assert_int_eq(sent.sink(sent.ctx, "," CLAIM,
					   strlen("," CLAIM), &e), 0);
	ck_assert_int_eq(sent.sink(sent.ctx, "]}", 2, &e), 0);
	ck_assert(job_answered(&env, &job, &r, &e, &out));
	ck_assert_int_eq(out.code, CONTROLLER_OK);
	ck_assert_uint_gt(fresh, 2 * ITEM_BYTES_MAX / strlen("," CLAIM));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("daemon/job");
	TCase *tc = tcase_create("job");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, test_write, 0,
			    sizeof(writes) / sizeof(writes[0]));
	tcase_add_loop_test(tc, test_long_refusal, 0, 4);
	tcase_add_loop_test(tc, test_observe, 0, 5);
	tcase_add_test(tc, test_read);
	tcase_add_loop_test(tc, test_read_by_metadata, 0, 4);
	tcase_add_test(tc, test_answers_that_are_too_large);
	tcase_add_test(tc, test_list);
	tcase_add_test(tc, test_list_of_tickets);
	tcase_add_test(tc, test_no_list_of_tickets);
	tcase_add_test(tc, test_a_list_of_tickets_without_memory);
	tcase_add_test(tc, test_a_list_without_memory);
	tcase_add_loop_test(tc, test_no_list, 0,
			    sizeof(no_lists) / sizeof(no_lists[0]));
	tcase_add_test(tc, test_list_of_any_size);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
