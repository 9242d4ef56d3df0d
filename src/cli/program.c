/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "edge/process.h"
#include "say.h"

static const struct program *program;

static int
print_help(void)
{
	(void)printf("%s\n\nUsage: %s COMMAND [flags]\n\nCommands:\n",
		     program->about, program->name);
	for (size_t i = 0; i < program->commands_n; i++)
		(void)printf("    %-10s %s\n", program->commands[i].name,
			     program->commands[i].summary);
	(void)printf("\n'%s COMMAND --help' lists a command's flags.\n%s",
		     program->name, program->see);
	return say_flushed();
}

/* Commands that only one of the two programs has.  An error message names the
 * right program if a command is given to the wrong one. */
static const struct {
	const char *command, *program;
} owners[] = {
	{"serve", "karpenter-node-holder"},
	{"certs", "karpenter-node-holder"},
	{"uninstall", "holderctl"},
	{"simulate", "holderctl"},
	{"record", "holderctl"},
	{"hold", "holderctl"},
};

static const char *
find_owner(const char *command)
{
	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++)
		if (strcmp(command, owners[i].command) == 0)
			return owners[i].program;
	return NULL;
}

static int
refuse_command(const char *name)
{
	const char *owner = name == NULL ? NULL : find_owner(name);
	struct err e;

	if (name == NULL)
		(void)err_set(&e, ERR_INPUT,
			      "expected a command; see '%s --help'",
			      program->name);
	else if (owner != NULL)
		(void)err_set(&e, ERR_INPUT,
			      "%s is a command of %s; see '%s %s --help'", name,
			      owner, owner, name);
	else
		(void)err_set(&e, ERR_INPUT,
			      "unknown %s \"%.60s\"; see '%s --help'",
			      name[0] == '-' ? "flag" : "command", name,
			      program->name);
	return say_failure(&e);
}

/* Opens /dev/null for each standard descriptor that is closed.  Otherwise the
 * next file or connection would get the number of the closed descriptor, and
 * output for stdout or stderr would go there.  /dev/null is opened for the
 * wrong direction, so that each use fails as with a closed descriptor.  Returns
 * false if there is no /dev/null. */
static bool
open_standard_files(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
			return false;
	return true;
}

/* Prevents core files, and prevents other processes of the same user from
 * reading keys and tokens in our memory.  Builds with AddressSanitizer leave
 * this out, because its leak checker has to read the memory. */
static void
hide_memory(void)
{
#ifndef __SANITIZE_ADDRESS__
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

int
program_main(const struct program *p, int argc, char **argv,
	     const struct timing *t)
{
	program = p;
	say_as(p->name);
	if (!open_standard_files())
		return CMD_FAILED;
	hide_memory();
	process_spare_memory();
	if (argc < 2)
		return refuse_command(NULL);
	for (size_t i = 0; i < p->commands_n; i++)
		if (strcmp(argv[1], p->commands[i].name) == 0)
			return p->commands[i].run(argc - 1, argv + 1, t);
	if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
	    strcmp(argv[1], "-h") == 0)
		return print_help();
	if (strcmp(argv[1], "--version") == 0)
		return cmd_version(1, argv + 1, t);
	return refuse_command(argv[1]);
}
