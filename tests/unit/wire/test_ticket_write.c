/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "core/base/stamp.h"
#include "suite.h"
#include "wire/api/ticket.h"
#include "wire/json/json.h"

/* What writers of tickets send: word by word, and as the holder reads it. */

static char body[TICKET_BODY_BYTES];
static struct buf b;
static struct ticket_draft draft;

static void
setup(void)
{
	buf_init(&b, body, sizeof(body));
	draft = (struct ticket_draft){
		.namespace_name = "tickets",
		.name = "ci",
		.holder = "me@host",
		.nodepools = "web,batch-*",
		.reason = "it's \"9\"",
		.renewed_us = INT64_C(1767323045678009),
		.lasts_ms = 60000,
	};
}

#define SPEC                                                                   \
	"\"spec\":{\"renewTime\":\"2026-01-02T03:04:05.678009Z\","             \
	"\"leaseDurationSeconds\":60"

START_TEST(test_bodies)
{
	ticket_create(&b, &draft);
	ck_assert_str_eq(
		body,
		"{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
		"\"metadata\":{\"namespace\":\"tickets\",\"name\":\"ci\","
		"\"annotations\":{\"karpenter-node-holder.io/nodepools\":"
		"\"web,batch-*\",\"karpenter-node-holder.io/reason\":"
		"\"it's \\\"9\\\"\"}}," SPEC
		",\"holderIdentity\":\"me@host\"}}");
	setup();
	ticket_renew(&b, &draft, "47");
	ck_assert_str_eq(body, "{\"metadata\":{\"resourceVersion\":\"47\"}," SPEC
			       "}}");
	setup();
	ticket_replace(&b, &draft, "47");
	ck_assert_str_eq(
		body,
		"{\"metadata\":{\"resourceVersion\":\"47\",\"annotations\":{"
		"\"karpenter-node-holder.io/nodepools\":\"web,batch-*\","
		"\"karpenter-node-holder.io/reason\":\"it's \\\"9\\\"\"}}," SPEC
		",\"holderIdentity\":\"me@host\"}}");
	setup();
	ticket_delete(&b, "u-1", "47");
	ck_assert_str_eq(body,
			 "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\","
			 "\"preconditions\":{\"uid\":\"u-1\","
			 "\"resourceVersion\":\"47\"}}");
}
END_TEST

/* A ticket for all NodePools has no annotation, and what stood there goes. */
START_TEST(test_without_annotations)
{
	draft.nodepools = draft.reason = "";
	ticket_create(&b, &draft);
	ck_assert_ptr_nonnull(strstr(body, "\"annotations\":{}"));
	setup();
	draft.nodepools = draft.reason = "";
	ticket_replace(&b, &draft, "47");
	ck_assert_ptr_nonnull(
		strstr(body, "{\"karpenter-node-holder.io/nodepools\":null,"
			     "\"karpenter-node-holder.io/reason\":null}"));
}
END_TEST

/* What is written is what the holder reads, as the API server completes it. */
START_TEST(test_read_back)
{
	static char text[TICKET_BODY_BYTES + 100];
	struct ticket t;
	struct err e = {0};
	char *meta;

	ticket_create(&b, &draft);
	ck_assert(!b.full);
	meta = strstr(body, "\"metadata\":{") + strlen("\"metadata\":{");
	(void)snprintf(text, sizeof(text),
		       "%.*s\"uid\":\"u-1\",\"resourceVersion\":\"1\",%s",
		       (int)(meta - body), body, meta);
	ck_assert_int_eq(ticket_decode(text, strlen(text), &t, &e), 0);
	ck_assert_str_eq(t.name, "ci");
	ck_assert_str_eq(t.holder, "me@host");
	ck_assert_str_eq(t.reason, "it's \"9\"");
	ck_assert_int_eq(t.renewed_ms, draft.renewed_us / 1000);
	ck_assert_int_eq(t.lasts_ms, 60000);
	ck_assert(ticket_names(&t, "batch-1") && !ticket_names(&t, "b"));
}
END_TEST

static void
fill(char *text, size_t bytes)
{
	memset(text, '\x01', bytes - 1);
	text[bytes - 1] = '\0';
}

/* The body has room for the longest texts, each byte escaped. */
START_TEST(test_the_longest)
{
	static char name[NAME_BYTES], holder[TICKET_HOLDER_BYTES],
		nodepools[TICKET_PATTERNS_BYTES], reason[REASON_BYTES],
		rv[RV_BYTES], uid[UID_BYTES];
	struct err e = {0};

	fill(name, sizeof(name));
	fill(holder, sizeof(holder));
	fill(nodepools, sizeof(nodepools));
	fill(reason, sizeof(reason));
	fill(rv, sizeof(rv));
	fill(uid, sizeof(uid));
	draft.name = draft.namespace_name = name;
	draft.holder = holder;
	draft.nodepools = nodepools;
	draft.reason = reason;
	draft.lasts_ms = TICKET_MAX_MS;
	for (int i = 0; i < 4; i++) {
		buf_init(&b, body, sizeof(body));
		if (i == 0)
			ticket_create(&b, &draft);
		else if (i == 1)
			ticket_renew(&b, &draft, rv);
		else if (i == 2)
			ticket_replace(&b, &draft, rv);
		else
			ticket_delete(&b, uid, rv);
		ck_assert_msg(!b.full, "%d", i);
		json_free(json_parse(body, b.len, &json_bounds_default, &e));
		ck_assert_msg(e.code == ERR_NONE, "%s", e.text);
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/api: tickets, written");
	TCase *tc = tcase_create("writing");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, test_bodies);
	tcase_add_test(tc, test_without_annotations);
	tcase_add_test(tc, test_read_back);
	tcase_add_test(tc, test_the_longest);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
