/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_UNINSTALL_LEASE_SESSION_H
#define TOOLS_UNINSTALL_LEASE_SESSION_H

#include "edge/clock.h"
#include "edge/kube/session.h"
#include "wire/config/config.h"

/*
 * A lease_session lets a command do work that only the leader may do.  It takes
 * the Lease, and renews it while the command waits for its calls
 * (edge/kube/session.h).  There is only one thread.  Changes of the Lease are
 * reported on stderr.
 */
struct lease_session;

struct lease_session_setup {
	struct kube *kube;
	const char *program; /* prefix of the lines on stderr */
	struct clock *clock;
	/* only `leader` and patch_concurrency are used */
	const struct config *config;
	const struct timing *timing;
	struct output *out; /* the command's output, or NULL if none */
	/* Boot time at which the session ends; INT64_MAX: never. */
	int64_t until_ms;
};

/* Blocks the signals of edge/signals.h until lease_session_free.  It returns
 * NULL on failure, and *e says why.  The setup's pointers are borrowed. */
struct lease_session *lease_session_new(const struct lease_session_setup *s,
					struct err *e);
void lease_session_free(struct lease_session *l);

/* Waits until the Lease is ours.  A running holder takes a free Lease before
 * this session does (patience_ms in core/protocol/lease.h), so the session gets
 * the Lease only if no holder runs.  This is necessary because a running holder
 * would restore the holds that the command removes.  If the Lease does not
 * exist, no holder has ever led there, and the command goes on without a Lease.
 * namespace_name is the namespace of the Lease.  NULL stands for the Lease of
 * an earlier call or, if there was none, for no Lease. */
int lease_session_take(struct lease_session *l, const char *namespace_name,
		       struct err *e);
/* Returns whether the session may write: it has the Lease, or there is no
 * Lease.  If this returns false, call lease_session_take again. */
bool lease_session_holds(const struct lease_session *l);
/* Gives up the Lease at the end, and waits a short time for the reply.  Set
 * `clean` if nothing is held any more: this clears the state in the Lease. */
void lease_session_give_up(struct lease_session *l, bool clean);

/* Returns the session for reads.  Writes are made with lease_session_start. */
struct session *lease_session_calls(struct lease_session *l);
unsigned lease_session_room(const struct lease_session *l);
/* Starts a write.  It fails with ERR_TIMEOUT if the lead has ended.  A write in
 * flight is cut when the lead ends. */
int lease_session_start(struct lease_session *l, struct kube_request *q,
			uint64_t tag, struct err *e);
#endif
