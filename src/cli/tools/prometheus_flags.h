/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOOLS_PROMETHEUS_FLAGS_H
#define CLI_TOOLS_PROMETHEUS_FLAGS_H

#include <stdbool.h>

#include "tools/prometheus/prometheus.h"

/* The flags of `simulate` for a query to Prometheus.  In a zeroed struct no
 * flag is given.  The strings belong to argv. */
struct prometheus_flags {
	const char *url, *match, *ca_file, *token_file, *header, *from, *to,
		*step;
};

/* Stores the value of a flag.  Returns false if `name` is none of these
 * flags. */
bool prometheus_flags_take(struct prometheus_flags *f, const char *name,
			   const char *value);
void prometheus_flags_help(void); /* Prints the help of these flags. */
/* Sets all members of *out except `timing`.  Returns 1 on success, 0 if no flag
 * asks for a query, and -1 with *e set on failure. */
int prometheus_flags_end(const struct prometheus_flags *f, int64_t now_ms,
			 struct prometheus_setup *out, struct err *e);

#endif
