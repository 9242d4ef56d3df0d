/* SPDX-License-Identifier: Apache-2.0 */

/*
 * karpenter-node-holder or holderctl with shorter waits than the product.  What
 * they wait for by choice takes them tenths of a second.  They wait for others
 * as patiently as the product does, because a busy machine would otherwise look
 * like a broken peer.  Where HURRY is set, these deadlines are tenths of a
 * second, too, and where PATIENT is set, clients have minutes.  The program has the same objects as the product; only the table
 * of times differs.
 */
#include <stdlib.h>

#ifdef TOOLS
#include "cli/tools/cmd.h"
#define THE_PROGRAM tools_program
#else
#include "cli/daemon/cmd.h"
#define THE_PROGRAM daemon_program
#endif

/* The API client's deadlines take this factor under the thread sanitizer, on a
 * busy machine. */
#ifdef __SANITIZE_THREAD__
#define SLOW 3
#else
#define SLOW 1
#endif

static const struct timing hurried = {
	.head_ms = 500,
	.body_ms = 500,
	.reply_ms = 500,
	.idle_ms = 3000,
	.connect_ms = 800 * SLOW,
	.call_ms = 1000 * SLOW,
	.list_ms = 1200 * SLOW,
	.whole_ms = 10000 * SLOW,
	.silent_ms = 2000 * SLOW,
	.query_ms = 1000 * SLOW,
	.token_ms = 300,
	.cert_ms = 50,
	.quiet_ms = 1000,
	.listed_ms = 3000,
	.settle_ms = 300,
	.soft_ms = 300,
	.heart_ms = 5000,
};

static struct timing
patient(void)
{
	struct timing t = timing_default;

	if (getenv("PATIENT") != NULL)
		t.head_ms = t.body_ms = t.reply_ms = 120000;
	t.token_ms = hurried.token_ms;
	t.cert_ms = hurried.cert_ms;
	t.quiet_ms = hurried.quiet_ms;
	t.listed_ms = hurried.listed_ms;
	t.settle_ms = hurried.settle_ms;
	t.soft_ms = hurried.soft_ms;
	return t;
}

int
main(int argc, char **argv)
{
	const struct timing fast =
		getenv("HURRY") != NULL ? hurried : patient();

	return program_main(&THE_PROGRAM, argc, argv, &fast);
}
