/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "wire/api/registration.h"

static const struct {
	const char *name, *json;
	int rc;
	bool ours, others;
} cases[] = {
	{"ours",
	 "{\"metadata\":{\"name\":\"n\"},\"webhooks\":[{\"name\":"
	 "\"hold.karpenter-node-holder.io\"}]}",
	 0, true, false},
	{"ours among others",
	 "{\"metadata\":{\"name\":\"n\"},\"webhooks\":[{\"name\":\"a.b.c\"},"
	 "{\"name\":\"hold.karpenter-node-holder.io\"}]}",
	 0, true, true},
	{"its name alone says nothing",
	 "{\"metadata\":{\"name\":\"karpenter-node-holder\"},\"webhooks\":"
	 "[{\"name\":\"Hold.karpenter-node-holder.io\"},{}]}",
	 0, false, true},
	{"none", "{\"metadata\":{\"name\":\"n\"}}", 0, false, false},
	{"null", "{\"metadata\":{\"name\":\"n\"},\"webhooks\":null}", 0, false,
	 false},
	{"no name", "{\"metadata\":{},\"webhooks\":[]}", -1, false, false},
	{"no JSON", "{\"metadata\":", -1, false, false},
	{"no object", "[]", -1, false, false},
};

START_TEST(test_registration)
{
	struct registration r = {"was", true, true};
	const char *json = cases[_i].json;
	struct err e = {0};

	ck_assert_msg(registration_decode(json, strlen(json), &r, &e) ==
			      cases[_i].rc,
		      "%s", cases[_i].name);
	if (cases[_i].rc != 0) {
		ck_assert_str_eq(r.name, "was");
		ck_assert(e.text[0] != '\0');
		return;
	}
	ck_assert_msg(r.ours == cases[_i].ours && r.others == cases[_i].others,
		      "%s", cases[_i].name);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/registration");
	TCase *tc = tcase_create("registration");

	tcase_add_loop_test(tc, test_registration, 0,
			    sizeof(cases) / sizeof(cases[0]));
	suite_add_tcase(s, tc);
	return suite_run(s);
}
