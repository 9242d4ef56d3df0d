/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_UNINSTALL_CLEANUP_CALL_H
#define TOOLS_UNINSTALL_CLEANUP_CALL_H

#include "core/protocol/cleanup.h"
#include "edge/clock.h"
#include "lease_session.h"

/*
 * Carries out the steps of core/protocol/cleanup that concern Nodes and
 * NodeClaims by calls through a lease_session, and reports each outcome to
 * core/protocol/cleanup.  The command has one thread, which calls all
 * functions.  The pointers are borrowed.
 */
struct cleanup_call {
	struct lease_session *session;
	const struct clock *clock;
	struct cleanup *cleanup;
	struct output *out; /* the same output as the session's */
	bool dry_run;	    /* Print the writes instead of making them. */
	enum kind listing;
	unsigned under_way; /* writes in flight */
};

/* Performs a CLEANUP_LIST.  Returns -1 with *e set on failure, which is also
 * reported to core/protocol/cleanup. */
int cleanup_call_list(struct cleanup_call *c, enum kind kind, struct err *e);
/* Performs a CLEANUP_WRITE.  It waits until a request can be started and stdout
 * has room for the line that the completed write will print.  It then starts
 * the write.  Returns -1 if the time is up or a signal has come. */
int cleanup_call_write(struct cleanup_call *c, const struct cleanup_write *w,
		       struct err *e);
/* Performs a CLEANUP_WAIT: waits for the next reply if a write is in flight,
 * else for wait_ms.  Returns -1 if the time is up or a signal has come. */
int cleanup_call_wait(struct cleanup_call *c, int64_t wait_ms, struct err *e);

#endif
