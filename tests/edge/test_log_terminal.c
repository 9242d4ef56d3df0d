/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <pty.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/limits.h"
#include "edge/log.h"
#include "suite.h"

/* The log opens its stderr once in a process, so this test has a process of its
 * own even where tests do not fork. */

#define LINE_BYTES 60

/* A terminal whose user has stopped it looks writable to poll(2), and a write
 * to it blocks all the same.  If this test blocks, it runs into Check's
 * timeout. */
START_TEST(stopped_terminal)
{
	int saved = dup(STDERR_FILENO), master, slave;

	ck_assert_int_eq(openpty(&master, &slave, NULL, NULL, NULL), 0);
	dup2(slave, STDERR_FILENO);
	close(slave);
	for (unsigned i = 0; i < 2 * LOG_WAITING_BYTES_MAX / LINE_BYTES; i++)
		LOG(LOG_INFO, "a line of some length", LI("i", i));
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(master);
	ck_assert_uint_gt(log_dropped(), 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/log_terminal");
	TCase *c = tcase_create("stopped");

	tcase_add_test(c, stopped_terminal);
	suite_add_tcase(s, c);
	return suite_run(s);
}
