/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/kube/lease_call.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

/* After the name: an underscore, 16 digits, the suffix. */
static void
check_tail(const char *tail, const char *suffix)
{
	ck_assert_int_eq(tail[0], '_');
	ck_assert_uint_eq(strspn(tail + 1, "0123456789abcdef"), 16);
	ck_assert_str_eq(tail + 17, suffix);
}

START_TEST(test_identity_names_the_pod)
{
	char first[LEASE_HOLDER_BYTES], second[LEASE_HOLDER_BYTES];

	ck_assert(setenv("POD_NAME", "pod-a", 1) == 0);
	lease_call_identity("", first);
	ck_assert_int_eq(strncmp(first, "pod-a", 5), 0);
	check_tail(first + 5, "");
	lease_call_identity("_uninstall", second);
	check_tail(second + 5, "_uninstall");
	ck_assert_int_ne(strncmp(first, second, 22), 0);
}
END_TEST

START_TEST(test_identity_names_the_host)
{
	char host[65] = "", id[LEASE_HOLDER_BYTES];

	ck_assert(gethostname(host, sizeof(host) - 1) == 0);
	for (int i = 0; i < 2; i++) {
		ck_assert(i ? setenv("POD_NAME", "", 1) == 0
			    : unsetenv("POD_NAME") == 0);
		lease_call_identity("", id);
		ck_assert_int_eq(strncmp(id, host, strlen(host)), 0);
		check_tail(id + strlen(host), "");
	}
}
END_TEST

/* What makes it unlike any other is never cut. */
START_TEST(test_identity_of_a_long_name)
{
	char name[LEASE_HOLDER_BYTES * 2], id[LEASE_HOLDER_BYTES];

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	ck_assert(setenv("POD_NAME", name, 1) == 0);
	lease_call_identity("_uninstall", id);
	ck_assert_uint_eq(strlen(id), LEASE_HOLDER_BYTES - 1);
	check_tail(strchr(id, '_'), "_uninstall");
}
END_TEST

#define STATUS(reason)                                                         \
	"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"message\":\"no\","        \
	"\"reason\":\"" reason "\"}"
#define LEASE                                                                  \
	"{\"kind\":\"Lease\",\"metadata\":{\"name\":\"x\",\"uid\":\"u\","      \
	"\"resourceVersion\":\"7\"},\"spec\":{\"holderIdentity\":\"me\"}}"

static const struct {
	const char *name, *body;
	int status;
	enum err_code no_answer;
	enum lease_code code;
	int64_t retry_after_ms;
	const char *why;
} answers[] = {
	{"the Lease", LEASE, 200, ERR_NONE, LEASE_OK, -1, ""},
	{"made", LEASE, 201, ERR_NONE, LEASE_OK, -1, ""},
	{"none", STATUS("NotFound"), 404, ERR_NONE, LEASE_NOT_FOUND, -1, ""},
	{"made by another", STATUS("AlreadyExists"), 409, ERR_NONE,
	 LEASE_CONFLICT, -1, ""},
	{"written by another", STATUS("Conflict"), 409, ERR_NONE,
	 LEASE_CONFLICT, -1, ""},
	{"busy", STATUS("TooManyRequests"), 429, ERR_NONE, LEASE_BUSY, 3000,
	 ""},
	{"refused", STATUS("Forbidden"), 403, ERR_NONE, LEASE_FAILED, -1, "no"},
	{"no Lease", "{}", 200, ERR_NONE, LEASE_FAILED, -1, "Lease"},
	{"no answer", "", 0, ERR_TIMEOUT, LEASE_FAILED, -1, "silent"},
};

START_TEST(test_answered)
{
	static struct lease_record record;
	struct kube_reply r = {.status = answers[_i].status,
			       .retry_after_ms = 3000,
			       .body = answers[_i].body,
			       .body_bytes = strlen(answers[_i].body)};
	struct err none = {answers[_i].no_answer, "silent"}, why = {0};
	struct lease_outcome o;

	if (answers[_i].no_answer == ERR_NONE)
		none.text[0] = '\0';
	lease_call_answered(&r, &none, false, &record, &o, &why);
	ck_assert_msg(o.code == answers[_i].code, "%s: %d %s",
		      answers[_i].name, o.code, why.text);
	ck_assert_int_eq(o.retry_after_ms, answers[_i].retry_after_ms);
	ck_assert_ptr_eq(o.record, o.code == LEASE_OK ? &record : NULL);
	ck_assert_int_eq(why.code == ERR_NONE, o.code != LEASE_FAILED);
	ck_assert_ptr_nonnull(strstr(why.text, answers[_i].why));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/lease_call");
	TCase *tc = tcase_create("identity"), *a = tcase_create("answers");

	tcase_add_test(tc, test_identity_names_the_pod);
	tcase_add_test(tc, test_identity_names_the_host);
	tcase_add_test(tc, test_identity_of_a_long_name);
	suite_add_tcase(s, tc);
	tcase_add_loop_test(a, test_answered, 0,
			    sizeof(answers) / sizeof(answers[0]));
	suite_add_tcase(s, a);
	return suite_run(s);
}
