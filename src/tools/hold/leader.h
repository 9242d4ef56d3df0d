/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_HOLD_LEADER_H
#define TOOLS_HOLD_LEADER_H

#include "edge/clock.h"
#include "edge/kube/session.h"

/* Asks the leading replica whether a ticket holds.  The holder's Lease names
 * the replica's Pod, and the API server's proxy forwards the request for
 * /status to that Pod (docs/plugin.md#where-it-asks). */
struct leader_question {
	struct session *calls; /* must have room for one more call */
	const struct clock *clock;
	const char *namespace_name, *lease; /* of the holder's Lease */
	const char *ticket_namespace, *ticket;
	int64_t renewed_ms; /* the renewTime that was written */
};

/* What the leader reports about the ticket. */
struct leader_answer {
	int64_t until_ms; /* when the hold of the ticket ends (server_ms) */
	uint64_t nodepools;
	/* Which parts of the ticket do not count, and why, or "". */
	char problem[160];
};

/* Asks again and again until the leader reports that the ticket holds, or until
 * until_ms (boot time).  Returns 0 if the ticket holds.  Returns -1 with *e set
 * if it does not hold, if there is no answer, or with ERR_CANCELLED if a signal
 * has come.  It returns at once if waiting cannot help. */
int leader_await(const struct leader_question *q, int64_t until_ms,
		 struct leader_answer *out, struct err *e);

#endif
