/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "cmd.h"
#include "edge/process.h"
#include "options.h"

static const struct command commands[] = {
	{"serve", "hold new machines, release them when the cluster is quiet",
	 cmd_serve},
	{"check", "validate the configuration and print what counts",
	 cmd_check},
	{"certs", "make a CA and a serving certificate, or look at one",
	 cmd_certs},
	{"uninstall", "take all its holds and marks off the cluster",
	 cmd_uninstall},
	{"simulate", "say what it would have held, from Karpenter's log",
	 cmd_simulate},
	{"record", "write down what happens to NodeClaims, for simulate",
	 cmd_record},
	{"version", "print the version", cmd_version},
};
#define COMMANDS_N (sizeof(commands) / sizeof(commands[0]))

static int
print_help(void)
{
	(void)printf("Keeps Karpenter from consolidating a cluster that has "
		     "just scaled up.\n\n"
		     "Usage: %s COMMAND [flags]\n\nCommands:\n",
		     PROGRAM);
	for (size_t i = 0; i < COMMANDS_N; i++)
		(void)printf("    %-10s %s\n", commands[i].name,
			     commands[i].summary);
	(void)printf("\n'%s COMMAND --help' lists a command's flags.\n",
		     PROGRAM);
	return output_code();
}

static int
refuse_command(const char *name)
{
	struct err e;

	if (name == NULL)
		(void)err_set(&e, ERR_INPUT,
			      "expected a command; see '%s --help'",
			      PROGRAM);
	else
		(void)err_set(&e, ERR_INPUT,
			      "unknown %s \"%.60s\"; see '%s --help'",
			      name[0] == '-' ? "flag" : "command", name,
			      PROGRAM);
	return fail_code(&e);
}

/* With one of these closed, the next file or connection would get its number,
 * and what is printed would go into it.  What stands in for it fails as a
 * closed one does.  Returns false if there is no /dev/null. */
static bool
open_standard_files(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
			return false;
	return true;
}

/* Nobody with our user may read keys and tokens from our memory, and no core
 * file has them.  The leak sanitizer has to read it. */
static void
hide_memory(void)
{
#ifndef __SANITIZE_ADDRESS__
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

int
main(int argc, char **argv)
{
	if (!open_standard_files())
		return CMD_FAILED;
	hide_memory();
	process_spare_memory();
	if (argc < 2)
		return refuse_command(NULL);
	for (size_t i = 0; i < COMMANDS_N; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
	    strcmp(argv[1], "-h") == 0)
		return print_help();
	if (strcmp(argv[1], "--version") == 0)
		return cmd_version(1, argv + 1);
	return refuse_command(argv[1]);
}
