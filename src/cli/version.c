/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "program.h"

int
cmd_version(int argc, char **argv, const struct timing *t)
{
	struct flags f = {.argc = argc, .argv = argv};
	struct err e;
	int rc = flags_next(&f, &e);

	(void)t;
	if (rc > 0 && strcmp(f.name, "help") != 0)
		rc = flags_unknown(&f, &e);
	if (rc < 0)
		return say_failure(&e);
	if (rc > 0)
		(void)printf("Usage: %s version\n\nPrints the version.\n",
			     say_program());
	else
		(void)printf("%s " HOLDER_VERSION "\n", say_program());
	return say_flushed();
}
