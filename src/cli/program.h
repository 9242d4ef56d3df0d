/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

#include <stddef.h>

#include "edge/timing.h"

/*
 * What karpenter-node-holder (cli/daemon) and holderctl (cli/tools) have in
 * common: a table of commands.  `run` executes a command and returns the exit
 * code (say.h).  argv[0] is the name of the command, and *t has the deadlines,
 * which are shorter in tests.  Every failure prints one line on stderr.
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
