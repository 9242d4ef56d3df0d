/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#define RUN_TIMEOUT_S 60	/* under sanitizers, on a busy machine */

TCase *
run_case(Suite *s, const char *name)
{
	TCase *c = tcase_create(name);

	tcase_set_timeout(c, RUN_TIMEOUT_S);
	suite_add_tcase(s, c);
	return c;
}

struct dice
dice_new(uint64_t seed)
{
	return (struct dice){.state = seed * 0x9e3779b97f4a7c15u + 1};
}
