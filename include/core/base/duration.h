/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_DURATION_H
#define CORE_BASE_DURATION_H

#include <stdint.h>

/* Durations as text.  The functions are pure; any thread may call them. */

/* Parses a Go duration without a sign: "95s", "1h30m", "1.5h", "500ms", "0".
 * The units are h, m, s and ms.  Returns -1, with *ms untouched, if s is not in
 * that form or is over DURATION_MS_MAX (10 years). */
int duration_parse(const char *s, int64_t *ms);

#define DURATION_MS_MAX (3650 * (int64_t)86400000)
#define DURATION_BYTES 40
/* Writes the duration in whole units, the largest unit first.  duration_parse
 * reads the result back: "10m", "1h30m", "0s". */
void duration_format(int64_t ms, char out[DURATION_BYTES]);

#endif
