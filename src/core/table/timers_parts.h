/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TABLE_TIMERS_PARTS_H
#define CORE_TABLE_TIMERS_PARTS_H

#include "core/table/timers.h"

/* The functions of timers_scopes.c and timers_places.c that timers.c calls.
 * These two files do not call timers.c.  No other file includes this header. */

/* timers_places.c.  timers_place_make returns the timer of this id, and makes
 * an unused one if there is none.  timers_place_drop removes the timer, also
 * from timers.due. */
struct timer *timers_place_make(struct timers *ts, uint32_t id);
void timers_place_drop(struct timers *ts, uint32_t id);

/* timers_scopes.c.  timers_scopes_init prepares the index of scopes by their
 * names.  It returns -1 if there is no memory. */
int timers_scopes_init(struct timers *ts);
/* Returns the NodePool's scope, and makes it if there is none yet.  Returns
 * NO_ID if there are too many scopes. */
uint32_t timers_scope_of(struct timers *ts, const char *nodepool);
/* timers_scope_count adds delta to the number of the scope's live machines, and
 * timers_scope_coming to that of its coming machines. */
void timers_scope_count(struct timers *ts, uint32_t scope, int delta);
void timers_scope_coming(struct timers *ts, uint32_t scope, int delta);
/* Records that a machine that kept the scope busy has failed to boot. */
void timers_scope_again(struct timers *ts, uint32_t scope, int64_t now_ms);
/* Records that the scope's quiet time may have moved, so that timers_moved
 * returns the scope. */
void timers_scope_moved(struct timers *ts, uint32_t scope);
/* Marks each scope whose cap has changed by time alone, up to boot_ms. */
void timers_scopes_due(struct timers *ts, int64_t boot_ms);
/* Returns the next of the marked scopes that turns, or NO_ID. */
uint32_t timers_scopes_turned(struct timers *ts, struct now now);

#endif
