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
	lease_identity("", first);
	ck_assert_int_eq(strncmp(first, "pod-a", 5), 0);
	check_tail(first + 5, "");
	lease_identity("_uninstall", second);
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
		lease_identity("", id);
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
	lease_identity("_uninstall", id);
	ck_assert_uint_eq(strlen(id), LEASE_HOLDER_BYTES - 1);
	check_tail(strchr(id, '_'), "_uninstall");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/lease_call");
	TCase *tc = tcase_create("identity");

	tcase_add_test(tc, test_identity_names_the_pod);
	tcase_add_test(tc, test_identity_names_the_host);
	tcase_add_test(tc, test_identity_of_a_long_name);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
