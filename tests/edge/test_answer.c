/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/kube/answer.h"

#include <check.h>
#include <string.h>

#include "suite.h"

#define STATUS(REASON, MESSAGE)                                                \
	"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","   \
	"\"reason\":\"" REASON "\",\"message\":\"" MESSAGE "\"}"

static const struct {
	const char *name;
	int status;
	const char *body;
	enum answer_class want;
} answers[] = {
	{"read", 200, "{}", ANSWER_OK},
	{"created", 201, "{}", ANSWER_OK},
	{"accepted, so not done", 202, "{}", ANSWER_FAILED},
	{"moved", 302, "", ANSWER_FAILED},
	{"bad request", 400, "", ANSWER_REFUSED},
	{"token", 401, STATUS("Unauthorized", "Unauthorized"), ANSWER_FAILED},
	{"RBAC", 403, STATUS("Forbidden", "no"), ANSWER_REFUSED},
	{"no such object", 404, STATUS("NotFound", "gone"), ANSWER_GONE},
	{"no such resource", 404, "404 page not found\n", ANSWER_UNSERVED},
	{"a proxy's 404", 404, "<html>404</html>", ANSWER_FAILED},
	{"a proxy's empty 404", 404, "", ANSWER_FAILED},
	{"timeout", 408, "", ANSWER_FAILED},
	{"version", 409, STATUS("Conflict", "modified"), ANSWER_CONFLICT},
	{"exists", 409, STATUS("AlreadyExists", "it is"), ANSWER_EXISTS},
	{"conflict without words", 409, "", ANSWER_CONFLICT},
	{"expired", 410, STATUS("Expired", "too old"), ANSWER_EXPIRED},
	{"too large", 413, "", ANSWER_REFUSED},
	{"invalid", 422, STATUS("Invalid", "test failed"), ANSWER_INVALID},
	{"too many", 429, "", ANSWER_BUSY},
	{"unknown 4xx", 499, "", ANSWER_REFUSED},
	{"fault", 500, STATUS("InternalError", "etcd"), ANSWER_FAILED},
	{"webhook", 500,
	 STATUS("InternalError", "Internal error occurred: failed calling "
				 "webhook \\\"a.b\\\": EOF"),
	 ANSWER_BLOCKED},
	{"those words of a proxy", 500, "failed calling webhook",
	 ANSWER_FAILED},
	{"unavailable", 503, "", ANSWER_BUSY},
	{"gateway timeout", 504, "", ANSWER_FAILED},
	{"no answer", 0, NULL, ANSWER_FAILED},
};

START_TEST(test_class)
{
	struct kube_reply r = {.status = answers[_i].status,
			       .body = answers[_i].body};

	r.body_bytes = r.body == NULL ? 0 : strlen(r.body);
	ck_assert_msg(answer_class(&r) == answers[_i].want, "%s",
		      answers[_i].name);
	ck_assert(answer_unserved(&r) ==
		  (answers[_i].want == ANSWER_UNSERVED));
}
END_TEST

START_TEST(test_text)
{
	struct kube_reply r = {.status = 403,
			       .body = STATUS("Forbidden", "you may not")};
	char text[ANSWER_TEXT];

	r.body_bytes = strlen(r.body);
	ck_assert_str_eq(answer_text(&r, text), "you may not");
	r.body_bytes = 3;
	ck_assert_str_eq(answer_text(&r, text), "HTTP 403");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/answer");
	TCase *tc = tcase_create("answer");

	tcase_add_loop_test(tc, test_class, 0,
			    sizeof(answers) / sizeof(answers[0]));
	tcase_add_test(tc, test_text);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
