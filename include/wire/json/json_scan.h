/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JSON_JSON_SCAN_H
#define WIRE_JSON_JSON_SCAN_H

#include <stddef.h>

#include "core/base/err.h"
#include "wire/json/json.h"

/*
 * json_scan is the pass over the bytes that json_parse and json_pick make
 * before a tree is built.  It checks the bounds, the bytes and the grammar,
 * copies what is kept, and counts the kept values, so that the memory of the
 * tree can be allocated in one piece.  It keeps no state; any thread may call
 * it.
 */
struct json_tally {
	size_t values; /* how many values were kept */
	size_t bytes;  /* how many bytes were written to `out` */
	/* Where the scan ended: behind the value, or at the byte that is to
	 * blame. */
	size_t used;
	enum json_end end;
};

/* Writes to `out` what `keep` names, or everything if `keep` is NULL.  It
 * writes at most n bytes and bounds->cut_depth more, and at most
 * bounds->kept_bytes_max.  If `alone` is set, nothing may follow the value.
 * Returns 0, or -1: ERR_INPUT "not JSON: … at byte N", or ERR_LIMIT if the text
 * is beyond the bounds.  It sets *kept even on failure. */
int json_scan(const char *bytes, size_t n, const struct json_bounds *bounds,
	      const struct json_keep *keep, bool alone, char *out,
	      struct json_tally *kept, struct err *e);

#endif
