/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_SWEEP_PARTS_H
#define CORE_CONTROLLER_SWEEP_PARTS_H

#include "sweep_state.h"

/* What the parts of the sweep ask of each other. */
struct now sweep_steady(struct sweep *s, struct now now);
void sweep_queue(struct sweep *s, uint32_t id);
void sweep_queue_all(struct sweep *s);
void sweep_drop(struct sweep *s, uint32_t id, struct now now);
void sweep_refresh(struct sweep *s, uint32_t id, int64_t now_ms);
void sweep_advance(struct sweep *s, struct now now);
/* All is seen, and nobody has left word since when the scopes are held. */
void sweep_guess(struct sweep *s, struct now now);
/* Too early in a lead for anything; says how long, where time ends that. */
bool sweep_begins(struct sweep *s, struct now now, int64_t *wait_ms);
void sweep_latency(struct sweep *s, struct now now);
int64_t sweep_wait(const struct sweep *s, struct now now);
void sweep_pools_listed(struct sweep *s, struct now now);
void sweep_pools_turn(struct sweep *s, struct now now);

#endif
