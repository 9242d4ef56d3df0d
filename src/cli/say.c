/* SPDX-License-Identifier: Apache-2.0 */
#include "say.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *name;

void
say_as(const char *program)
{
	name = program;
}

const char *
say_program(void)
{
	return name;
}

int
say_failure(const struct err *e)
{
	(void)fprintf(stderr, "%s: %s\n", name, e->text);
	return e->code == ERR_INPUT || e->code == ERR_LIMIT ? CMD_USAGE
							    : CMD_FAILED;
}

void
say_warning(const char *sentence)
{
	(void)fprintf(stderr, "%s: warning: %s\n", name, sentence);
}

int
say_flushed(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return CMD_OK;
	(void)fprintf(stderr, "%s: stdout: %s\n", name, strerror(errno));
	return CMD_FAILED;
}
