/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"

static const struct command commands[] = {
	{"check", "report what is wrong with an installation and its cluster",
	 cmd_check},
	{"uninstall",
	 "remove all holds and marks of the holder from the cluster",
	 cmd_uninstall},
	{"simulate",
	 "calculate from Karpenter's log what the holder would have held",
	 cmd_simulate},
	{"record", "record what happens to NodeClaims, for simulate",
	 cmd_record},
	{"hold",
	 "hold NodePools for a time, while a command runs, or by a query",
	 cmd_hold},
	{"version", "print the version", cmd_version},
};

const struct program tools_program = {
	.name = PROGRAM,
	.about =
		"Checks, simulates and removes karpenter-node-holder, and holds NodePools.",
	.see = "",
	.commands = commands,
	.commands_n = sizeof(commands) / sizeof(commands[0]),
};
