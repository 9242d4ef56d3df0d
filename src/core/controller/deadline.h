/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_DEADLINE_H
#define CORE_CONTROLLER_DEADLINE_H

#include <stdint.h>

#include "core/base/stamp.h"
#include "core/rules/admit.h"
#include "core/table/nodepools.h"

/* From when a machine counts for its scope; STAMP_NONE: never. */
#define COUNTS_ALWAYS (STAMP_NONE + 1)
#define COUNTS_LATER INT64_MAX /* when something is seen */

/* The deadline of a machine that was created and was active last at these
 * moments. */
int64_t deadline_ms(const struct rules *rules, int64_t created_ms,
		    int64_t active_ms, const struct nodepool_terms *terms);

#endif
