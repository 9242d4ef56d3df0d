/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"

static const struct command commands[] = {
	{"serve",
	 "hold new machines, and release them when the cluster is quiet",
	 cmd_serve},
	{"check", "validate the configuration and print the one in effect",
	 cmd_check},
	{"certs",
	 "make a CA and a serving certificate, or inspect a certificate",
	 cmd_certs},
	{"version", "print the version", cmd_version},
};

const struct program daemon_program = {
	.name = PROGRAM,
	.about = "Keeps Karpenter from consolidating a cluster that has just "
		 "scaled up.",
	.see = "The commands for people are in holderctl: see 'holderctl --help'.\n",
	.commands = commands,
	.commands_n = sizeof(commands) / sizeof(commands[0]),
};
