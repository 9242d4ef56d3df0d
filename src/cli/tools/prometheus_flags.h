/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOOLS_PROMETHEUS_FLAGS_H
#define CLI_TOOLS_PROMETHEUS_FLAGS_H

#include <stdbool.h>

#include "tools/prometheus/prometheus.h"

/* The flags of `simulate` for a query to Prometheus.  A zeroed struct has no
 * flags.  The strings belong to argv. */
struct prometheus_flags {
	const char *url, *match, *ca_file, *token_file, *from, *to, *step;
};

/* Takes a flag.  Returns false if it is none of these flags. */
bool prometheus_flags_take(struct prometheus_flags *f, const char *name,
			   const char *value);
void prometheus_flags_help(void); /* prints them */
/* Sets all of *out but its timing.  Returns 1, or 0 if the flags ask for no
 * query, or -1 with *e set. */
int prometheus_flags_end(const struct prometheus_flags *f, int64_t now_ms,
			 struct prometheus_setup *out, struct err *e);

#endif
