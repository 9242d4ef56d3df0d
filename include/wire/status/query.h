/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_STATUS_QUERY_H
#define WIRE_STATUS_QUERY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "wire/status/status.h"

/*
 * Reads the parameters of a request for /status, and the format that it asks
 * for.  The functions keep no state; any thread may call them.
 */

/* A parameter that the path accepts. */
struct query_param {
	const char *key;
	char *out; /* where its decoded value goes; the caller's memory */
	size_t cap;
	bool found;
};

/* Reads a query such as "a=1&b=2", without its '?', into the n parameters.  %XX
 * is decoded, and '+' stands for itself.  The parameter `timeout`, which
 * kubectl may add, is ignored.  Returns -1, with a sentence in *e that says
 * what was expected, if the query has an unknown parameter, a parameter twice
 * or a parameter without a value.  It does the same if a value is too long or
 * has a bad %XX. */
int query_read(const char *query, struct query_param *params, size_t n,
	       struct err *e);

/* Returns the format that the Accept field asks for (RFC 9110 §12.5.1): the one
 * with the highest weight.  Of several formats with the same weight, the format
 * that the field names most exactly is returned.  Returns text if the field
 * names none of the three formats, or if accept is NULL. */
enum status_format query_accept(const char *accept);
/* Sets *f to the format of this name: "text", "json" or "html".  Returns -1,
 * with a sentence in *e, for any other name. */
int query_format(const char *name, enum status_format *f, struct err *e);

#endif
