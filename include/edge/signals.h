/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_SIGNALS_H
#define EDGE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The signals that ask a command to end: SIGTERM, SIGINT and, unless it is
 * ignored as under nohup, SIGHUP.  While they are blocked they wait until the
 * command looks:
 *
 *	signals_block -> signals_take gets the first one -> signals_restore
 *
 * After the first signal has been taken they are no longer blocked, so a second
 * one ends the process at once.  All functions are for the main thread, and
 * threads that it starts in between have the signals blocked.
 */
struct signals {
	sigset_t before; /* the signal mask before signals_block */
	int taken;	 /* the first signal that came, or 0 if none */
};

/* Makes *set the set of these signals.  Any thread. */
void signals_fill(sigset_t *set);

/* Blocks these signals.  It also ignores SIGPIPE, because the reader of our
 * output or of a connection may go away. */
void signals_block(struct signals *s);
/* Returns the first signal, or 0 if none comes within `ms` milliseconds. */
int signals_take(struct signals *s, int64_t ms);
/* From now on these signals end the process at once.  Calling it twice is
 * harmless. */
void signals_restore(struct signals *s);

/* Returns whether one of these signals is blocked and waits to be taken.  Any
 * thread. */
bool signals_pending(void);

#endif
