/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_DEADLINE_H
#define CORE_CONTROLLER_DEADLINE_H

#include <stdint.h>

#include "core/base/stamp.h"
#include "core/rules/rules.h"
#include "core/table/nodepools.h"

/* counts_ms is the server time from which a machine counts for its scope.
 * Three of its values are not times: COUNTS_ALWAYS (the machine counts
 * already), COUNTS_LATER, and STAMP_NONE (the machine does not count). */
#define COUNTS_ALWAYS (STAMP_NONE + 1)
/* It is not known yet whether the machine counts.  It becomes known once all
 * NodeClaims are listed and, if minScaleUp is a percentage, once all machines
 * are known. */
#define COUNTS_LATER INT64_MAX

/* Returns a machine's deadline, the server time at which its own quiet time
 * ends.  active_ms is when the machine became ready, or when it is assumed to
 * become ready.  The configuration or the NodePool may cap the result. */
int64_t deadline_ms(const struct rules *rules, int64_t created_ms,
		    int64_t active_ms, const struct nodepool_terms *terms);

#endif
