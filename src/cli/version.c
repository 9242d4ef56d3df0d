/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "options.h"

int
cmd_version(int argc, char **argv)
{
	struct flags f = {.argc = argc, .argv = argv};
	struct err e;
	int rc = flags_next(&f, &e);

	if (rc > 0 && strcmp(f.name, "help") != 0)
		rc = flags_unknown(&f, &e);
	if (rc < 0)
		return fail_code(&e);
	if (rc > 0)
		(void)printf("Usage: %s version\n\nPrints the version.\n",
			     PROGRAM);
	else
		(void)puts("karpenter-node-holder " HOLDER_VERSION);
	return output_code();
}
