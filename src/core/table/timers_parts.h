/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TABLE_TIMERS_PARTS_H
#define CORE_TABLE_TIMERS_PARTS_H

#include "core/table/timers.h"

/* What the timers and the scopes ask of each other. */

/* Returns the NodePool's scope, made if need be, or NO_ID if there are too
 * many. */
uint32_t timers_scope_of(struct timers *h, const char *nodepool);
/* Adds delta to the number of the scope's machines that are live, or that are
 * undecided. */
void timers_scope_count(struct timers *h, uint32_t scope, int delta);
void timers_scope_undecided(struct timers *h, uint32_t scope, int delta);
/* With minScaleUp above 1: finds out again which machines of the scope are
 * enough. */
void timers_recount(struct timers *h, uint32_t scope, int64_t now_ms);

#endif
