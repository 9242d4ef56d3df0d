/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "edge/refuse.h"

/*
 * The product, of whose main thread one call fails: REFUSED="memory 3 FILE" is
 * the third one for memory.  At the end the FILE is made if there was such a
 * call.
 */
static char seen[256];

static void
tell(void)
{
	if (refuse_end())
		(void)close(open(seen, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

__attribute__((constructor)) static void
begin(void)
{
	const char *s = getenv("REFUSED");
	char kind[16];
	unsigned nth;

	if (s == NULL || sscanf(s, "%15s %u %255s", kind, &nth, seen) != 3)
		return;
	for (int k = 0; k < REFUSE_KINDS; k++) {
		if (strcmp(kind, refuse_names[k]) != 0)
			continue;
		(void)atexit(tell);
		refuse_begin((enum refuse)k, nth);
	}
}
