/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TABLE_TIMERS_PARTS_H
#define CORE_TABLE_TIMERS_PARTS_H

#include "core/table/timers.h"

/* The calls between timers.c, which keeps the timers, and scopes.c, which keeps
 * the scopes.  Not for other files. */

/* Returns the NodePool's scope, and makes it if there is none yet.  Returns
 * NO_ID if there are too many. */
uint32_t timers_scope_of(struct timers *h, const char *nodepool);
/* Add delta to the number of the scope's machines that are live, or that are
 * undecided. */
void timers_scope_count(struct timers *h, uint32_t scope, int delta);
void timers_scope_undecided(struct timers *h, uint32_t scope, int delta);
/* Finds out again which machines of the scope are `enough`.  Needed only with
 * minScaleUp above 1. */
void timers_recount(struct timers *h, uint32_t scope, int64_t now_ms);

#endif
