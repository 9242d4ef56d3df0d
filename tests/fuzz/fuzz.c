/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

void
promise_broken(const char *file, int line, const char *promise)
{
	(void)fprintf(stderr, "%s:%d: broken: %s\n", file, line, promise);
	abort();
}
