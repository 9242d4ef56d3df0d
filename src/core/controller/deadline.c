/* SPDX-License-Identifier: Apache-2.0 */
#include "deadline.h"

/* The cap limits each deadline, so that one machine alone never fills the cap's
 * bucket. */
int64_t
deadline_ms(const struct rules *rules, int64_t created_ms, int64_t active_ms,
	    const struct nodepool_terms *t)
{
	int64_t max_ms = rules->cap.max_ms;
	int64_t ms = active_ms + t->hold_ms;

	if (max_ms > 0 && ms > created_ms + max_ms)
		ms = created_ms + max_ms;
	return ms;
}
