/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_UNINSTALL_LEASE_SESSION_H
#define TOOLS_UNINSTALL_LEASE_SESSION_H

#include "edge/clock.h"
#include "edge/kube/session.h"
#include "wire/config/config.h"

/*
 * A lease_session lets a command do work that is otherwise the leader's.  On
 * one thread it takes the Lease and keeps it while the command makes its calls
 * (edge/kube/session.h).  Every function that waits renews the Lease meanwhile.
 * What happens to the Lease is told on stderr.
 */
struct lease_session;

struct lease_session_setup {
	struct kube *kube;
	const char *program; /* the name that stands before what is printed on
				stderr */
	struct clock *clock;
	const struct config *config; /* for leader and patch_concurrency */
	const struct timing *timing;
	struct output *out; /* the command's output, or NULL if none */
	int64_t until_ms;   /* boot time at which it ends; INT64_MAX: never */
};

/* Blocks the three signals until lease_session_free.  It returns NULL on
 * failure, and *e says why.  The setup's pointers are borrowed. */
struct lease_session *lease_session_new(const struct lease_session_setup *s,
					struct err *e);
void lease_session_free(struct lease_session *l);

/* Waits until the Lease is ours.  Holders that run take the Lease before us
 * (patience_ms in core/protocol/lease.h), so we get it only when no holder
 * runs.  This matters because a running holder would restore the holds that we
 * remove.  If there is no Lease, no holder has ever led there, and the command
 * goes on without one. */
int lease_session_take(struct lease_session *l, const char *namespace_name,
		       struct err *e);
/* Returns whether the session has the Lease and may write.  If it has not, call
 * lease_session_take again. */
bool lease_session_holds(const struct lease_session *l);
/* Gives the Lease up at the end, and waits a short time for the reply.  `clean`
 * means that nothing is held any more, so the state stored in the Lease is
 * cleared. */
void lease_session_give_up(struct lease_session *l, bool clean);

/* Returns the session for all calls but writes, which lease_session_start
 * makes. */
struct session *lease_session_calls(struct lease_session *l);
unsigned lease_session_room(const struct lease_session *l);
/* Starts a write.  It fails with ERR_TIMEOUT if the lead is over, and the write
 * is cut when the lead ends. */
int lease_session_start(struct lease_session *l, struct kube_request *q,
			uint64_t tag, struct err *e);
#endif
