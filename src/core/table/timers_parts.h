/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TABLE_TIMERS_PARTS_H
#define CORE_TABLE_TIMERS_PARTS_H

#include "core/table/timers.h"

/* What timers and scopes ask of each other. */

/* The pool's scope, made if need be; NO_ID when there are too many. */
uint32_t timers_scope_of(struct timers *h, const char *pool);
/* One more that is live, or undecided, or one less. */
void timers_scope_count(struct timers *h, uint32_t scope, int delta);
void timers_scope_undecided(struct timers *h, uint32_t scope, int delta);
/* With minScaleUp: who of the scope has come to be enough? */
void timers_recount(struct timers *h, uint32_t scope, int64_t now_ms);

#endif
