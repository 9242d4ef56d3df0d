/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

#include <stddef.h>

#include "edge/timing.h"

/*
 * karpenter-node-holder (cli/daemon) and holderctl (cli/tools) each have a
 * table of commands.  `run` executes a command and returns the exit code
 * (say.h).  argv[0] is the name of the command.  *t contains the deadlines,
 * which are shorter in tests.  A command that fails prints one line on stderr.
 */
struct command {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv, const struct timing *t);
};

struct program {
	const char *name;
	const char *about; /* One sentence, the first line of --help. */
	/* Last line of --help.  It names another program to look at, or is
	 * empty. */
	const char *see;
	const struct command *commands;
	size_t commands_n;
};

/* Runs the command that argv[1] names and returns the exit code. */
int program_main(const struct program *p, int argc, char **argv,
		 const struct timing *t);

/* Both programs have this command. */
int cmd_version(int argc, char **argv, const struct timing *t);

#endif
