/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JSON_JSON_SCAN_H
#define WIRE_JSON_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "wire/json/json.h"

/*
 * The pass over the bytes that json_parse makes before cJSON sees them.  It
 * checks bounds and bytes, but not the grammar, which is cJSON's.  The counts
 * are exact up to the first fault in the grammar, where cJSON stops.  No state;
 * any thread.
 */
struct json_tally {
	size_t values;
	size_t strings;	/* keys among them */
};

/* ERR_INPUT "not JSON: … at byte N", ERR_LIMIT. */
int json_scan(const char *bytes, size_t n, const struct json_bounds *bounds,
	      struct json_tally *out, struct err *e);

static inline bool
json_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

#endif
