/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_UNINSTALL_CLEANUP_CALL_H
#define TOOLS_UNINSTALL_CLEANUP_CALL_H

#include "core/protocol/cleanup.h"
#include "edge/clock.h"
#include "lease_session.h"

/*
 * Carries out the steps of core/protocol/cleanup that concern Nodes and
 * NodeClaims, as calls through a lease_session.  Each function reports the
 * outcome to core/protocol/cleanup.  All functions are called on the command's
 * only thread.  The pointers are borrowed.
 */
struct cleanup_call {
	struct lease_session *session;
	const struct clock *clock;
	struct cleanup *cleanup;
	struct output *out;	     /* the output that the session uses, too */
	const struct hold_key *hold; /* the configuration's hold */
	bool dry_run; /* Print the writes instead of making them. */
	enum kind listing;
	unsigned under_way; /* writes in flight */
};

/* Performs a CLEANUP_LIST.  It returns -1 on failure, and *e says why.
 * core/protocol/cleanup learns of the failure too. */
int cleanup_call_list(struct cleanup_call *c, enum kind kind, struct err *e);
/* Performs a CLEANUP_WRITE.  It waits until a request can be started and stdout
 * has room for the line that a completed write prints, and starts the write.
 * It returns -1 if the time is up or a signal came. */
int cleanup_call_write(struct cleanup_call *c, const struct cleanup_write *w,
		       struct err *e);
/* Performs a CLEANUP_WAIT: it waits for the next reply if a write is in flight,
 * else for wait_ms.  It returns -1 if the time is up or a signal came. */
int cleanup_call_wait(struct cleanup_call *c, int64_t wait_ms, struct err *e);

#endif
