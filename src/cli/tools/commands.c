/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"

static const struct command commands[] = {
	{"check", "say what is wrong with an installation and its cluster",
	 cmd_check},
	{"uninstall", "take all holds and marks of the holder off the cluster",
	 cmd_uninstall},
	{"simulate",
	 "say what the holder would have held, from Karpenter's log",
	 cmd_simulate},
	{"record", "write down what happens to NodeClaims, for simulate",
	 cmd_record},
	{"hold",
	 "hold NodePools for a time, while a command runs, or by a query",
	 cmd_hold},
	{"version", "print the version", cmd_version},
};

const struct program tools_program = {
	.name = PROGRAM,
	.about =
		"Looks after karpenter-node-holder, and says what it would do.",
	.see = "",
	.commands = commands,
	.commands_n = sizeof(commands) / sizeof(commands[0]),
};
