/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNINSTALL_CLEANUP_CALL_H
#define UNINSTALL_CLEANUP_CALL_H

#include "core/protocol/cleanup.h"
#include "edge/clock.h"
#include "lease_session.h"

/*
 * The steps of core/protocol/cleanup that concern Nodes and NodeClaims, as
 * calls through a lease_session.  Each function tells the machine what came of
 * it.  All of it belongs to the one thread of the command; the pointers are
 * borrowed.
 */
struct cleanup_call {
	struct lease_session *lead;
	const struct clock *clock;
	struct cleanup *cleanup;
	const struct hold_key *hold;	/* today's */
	bool dry_run;		/* writes are said, and not made */
	enum kind listing;
	unsigned under_way;	/* writes */
};

/* A LIST.  -1, with the reason, where it cannot be had; the machine is told of
 * that as well. */
int cleanup_call_list(struct cleanup_call *c, enum kind kind, struct err *e);
/* A WRITE: starts it, once there is room.  Each that is done is said in a line
 * on stdout.  -1: the time is over. */
int cleanup_call_write(struct cleanup_call *c, const struct cleanup_write *w,
		       struct err *e);
/* A WAIT: for the next answer where a write is under way, else for so long.
 * -1: the time is over. */
int cleanup_call_wait(struct cleanup_call *c, int64_t wait_ms, struct err *e);

#endif
