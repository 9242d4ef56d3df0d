/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_EXEC_CHILD_H
#define EDGE_EXEC_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/err.h"

/*
 * Runs a command of the user, as env(1) and nice(1) do: in our process group,
 * with our environment, working directory and standard files.  Only edge/exec
 * starts processes.
 *
 *	child_prepare -> child_start -> child_wait, again and again
 *
 * The command gets the signal mask, the signals that are ignored and the
 * descriptors that this process had at child_prepare, but not what this process
 * has opened or changed since then.  Only the main thread calls these
 * functions.
 */
#define CHILD_DESCRIPTORS 1024

struct child {
	sigset_t mask;	 /* the signal mask at child_prepare */
	bool pipe_kills; /* whether SIGPIPE was not ignored at child_prepare */
	/* Which descriptors were open at child_prepare, a bit for each. */
	uint64_t inherited[CHILD_DESCRIPTORS / 64];
	pid_t pid;  /* 0 before child_start */
	int status; /* as waitpid(2) returns it, once the command has ended */
	bool ended;
};

/* Call this before anything is opened and before any signal is blocked.  It
 * blocks SIGCHLD. */
void child_prepare(struct child *c);

/* Starts the command.  argv ends with NULL, and argv[0] is searched for on the
 * PATH.  The caller has blocked the signals of edge/signals.h.  Returns 0 on
 * success.  On failure it sets *e and returns the exit code that a shell would
 * return: 127 if there is no such program, and otherwise 126. */
int child_start(struct child *c, char *const *argv, struct err *e);

/* Waits for `ms` milliseconds at most.  Returns whether the command has ended.
 * Passes the signals of edge/signals.h on to the command, unless a terminal has
 * sent the signal to the whole process group, so that the command got it
 * already. */
bool child_wait(struct child *c, int64_t ms);

/* Returns the exit code of the command that has ended or, if a signal has ended
 * it, 128 plus the signal's number. */
int child_code(const struct child *c);

#endif
