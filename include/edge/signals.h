/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_SIGNALS_H
#define EDGE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The signals that ask a command to end: SIGTERM, SIGINT, SIGHUP, SIGQUIT,
 * SIGUSR1 and SIGUSR2.  Each of the last four is not one of them if the process
 * ignores it, as it ignores SIGHUP under nohup.  While these signals are
 * blocked, they wait until the command takes one:
 *
 *	signals_block -> signals_take, again and again -> signals_restore
 *
 * When signals_take gets the first signal, it calls signals_restore.  From then
 * on the signals are not blocked, so a second signal ends the process at once.
 * Only the main thread calls the functions that are not marked "any thread".
 * Threads that the main thread starts while the signals are blocked have them
 * blocked, too.
 */
struct signals {
	sigset_t before; /* the signal mask before signals_block */
	int taken;	 /* the first signal that came, or 0 if none */
};

/* Any thread: makes *set the set of these signals, or names one of them. */
void signals_fill(sigset_t *set);
const char *signals_name(int number);

/* Blocks these signals.  It also ignores SIGPIPE, because the reader of our
 * output or of a connection may go away. */
void signals_block(struct signals *s);
/* Returns the first signal, or 0 if none comes within `ms` milliseconds. */
int signals_take(struct signals *s, int64_t ms);
/* Restores the mask that signals_block has replaced, so that from now on these
 * signals end the process at once.  Calling it twice is harmless. */
void signals_restore(struct signals *s);

/* Any thread: returns whether one of these signals is blocked and waits to be
 * taken. */
bool signals_pending(void);

#endif
