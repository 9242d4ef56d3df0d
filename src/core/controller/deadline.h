/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_DEADLINE_H
#define CORE_CONTROLLER_DEADLINE_H

#include <stdint.h>

#include "core/base/stamp.h"
#include "core/rules/admit.h"
#include "core/table/nodepools.h"

/* Special values of the server time from which a machine counts for its scope.
 * STAMP_NONE means never. */
#define COUNTS_ALWAYS (STAMP_NONE + 1)
#define COUNTS_LATER INT64_MAX /* not before something else is seen */

/* Returns the deadline of a machine that was created and was last active at
 * these moments.  All are server time. */
int64_t deadline_ms(const struct rules *rules, int64_t created_ms,
		    int64_t active_ms, const struct nodepool_terms *terms);

#endif
