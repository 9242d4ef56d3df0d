/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_CONTROLLER_PARTS_H
#define CORE_CONTROLLER_CONTROLLER_PARTS_H

#include "controller_state.h"

/*
 * The controller over its units, in layers: each file calls those above it in
 * this list, and controller.c, seen.c, pools.c, soft.c and report.c hold the
 * public functions.  Those steady the clock; all others are given moments that
 * are steady.
 */

/* steady.c */
struct now controller_steady(struct controller *s, struct now now);

/* refresh.c */
void controller_queue(struct controller *s, uint32_t id);
void controller_queue_all(struct controller *s);
/* id's facts changed: its machine's timer follows, and it is looked at. */
void controller_refresh(struct controller *s, uint32_t id, int64_t now_ms);
void controller_drop(struct controller *s, uint32_t id, struct now now);
/* All is seen, and nobody has left word since when the scopes are held. */
void controller_guess(struct controller *s, struct now now);

/* pools.c */
void controller_pools_listed(struct controller *s, struct now now);
void controller_pools_turn(struct controller *s, struct now now);

/* advance.c */
void controller_advance(struct controller *s, struct now now);

/* act.c: one action, if there is one that may be done now. */
bool controller_act_on(struct controller *s, uint32_t head, struct now now,
		       struct action *out);
bool controller_start_fresh(struct controller *s, struct now now,
			    int64_t hint_ms, struct action *out);

/* wait.c */
/* Too early in a lead for anything; says how long, where time ends that. */
bool controller_begins(struct controller *s, struct now now, int64_t *wait_ms);
void controller_latency(struct controller *s, struct now now);
int64_t controller_wait(const struct controller *s, struct now now);

#endif
