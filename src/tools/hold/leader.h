/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_HOLD_LEADER_H
#define TOOLS_HOLD_LEADER_H

#include "edge/clock.h"
#include "edge/kube/session.h"

/* Asks the leading replica whether a ticket holds.  The Lease names the
 * replica's Pod, and the API server's proxy asks that Pod for its /status
 * (docs/plugin.md#where-it-asks). */
struct leader_question {
	struct session *calls; /* with room for a call */
	const struct clock *clock;
	const char *namespace_name, *lease; /* of the holder */
	const char *ticket_namespace, *ticket;
};

/* What an answer says of the ticket. */
struct leader_answer {
	int64_t until_ms; /* server_ms */
	uint64_t nodepools;
	char problem[160]; /* what of it does not count, or "" */
};

/* Asks until the leader lists the ticket as one that holds, or until until_ms
 * (boot_ms).  Returns -1 with *e set if it does not hold, or if nobody can say
 * that.  It returns at once if waiting cannot help.  ERR_CANCELLED: a signal
 * has come. */
int leader_await(const struct leader_question *q, int64_t until_ms,
		 struct leader_answer *out, struct err *e);

#endif
