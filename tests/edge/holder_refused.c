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
 *
 * REFUSED="memory 3 FILE 0 8 others": of each place that calls, in part 0 of 8,
 * the third call fails; of the other threads, or of "main".  The FILE then has
 * the number of calls that have failed.
 */
static char seen[256];

static void
tell_places(void)
{
	FILE *f = fopen(seen, "we");

	if (f == NULL)
		return;
	(void)fprintf(f, "%u\n", refuse_places_failed());
	(void)fclose(f);
}

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
	struct refuse_places p = {0};
	char kind[16], who[16] = "";
	int n;

	if (s == NULL)
		return;
	n = sscanf(s, "%15s %u %255s %u %u %15s", kind, &p.nth, seen, &p.part,
		   &p.parts, who);
	while (n >= 3 && p.kind < REFUSE_KINDS &&
	       strcmp(kind, refuse_names[p.kind]) != 0)
		p.kind++;
	if (n < 3 || p.kind == REFUSE_KINDS)
		return;
	if (n == 3) {
		(void)atexit(tell);
		refuse_begin(p.kind, p.nth);
		return;
	}
	p.others = strcmp(who, "others") == 0;
	(void)atexit(tell_places);
	refuse_places(&p);
}
