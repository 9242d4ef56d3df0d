/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JSON_JSON_SCAN_H
#define WIRE_JSON_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "wire/json/json.h"

/*
 * The pass over the bytes that json_parse makes before cJSON sees them.  It
 * checks the bounds and the bytes, and counts values.  It leaves the grammar to
 * cJSON.  In a text that breaks the grammar, the counts are exact up to the
 * place where cJSON stops, so they are an upper bound on what cJSON allocates.
 * Keeps no state; any thread.
 */
struct json_tally {
	size_t values;
	size_t strings;	/* keys among them */
};

/* Returns 0 with *out filled in, or -1: ERR_INPUT "not JSON: … at byte N", or
 * ERR_LIMIT if the text is beyond the bounds. */
int json_scan(const char *bytes, size_t n, const struct json_bounds *bounds,
	      struct json_tally *out, struct err *e);

static inline bool
json_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

#endif
