/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_CONTROLLER_PARTS_H
#define CORE_CONTROLLER_CONTROLLER_PARTS_H

#include "controller_state.h"

/* What the parts of the controller ask of each other. */
struct now controller_steady(struct controller *s, struct now now);
void controller_queue(struct controller *s, uint32_t id);
void controller_queue_all(struct controller *s);
void controller_drop(struct controller *s, uint32_t id, struct now now);
void controller_refresh(struct controller *s, uint32_t id, int64_t now_ms);
void controller_advance(struct controller *s, struct now now);
/* All is seen, and nobody has left word since when the scopes are held. */
void controller_guess(struct controller *s, struct now now);
/* Too early in a lead for anything; says how long, where time ends that. */
bool controller_begins(struct controller *s, struct now now, int64_t *wait_ms);
void controller_latency(struct controller *s, struct now now);
int64_t controller_wait(const struct controller *s, struct now now);
void controller_pools_listed(struct controller *s, struct now now);
void controller_pools_turn(struct controller *s, struct now now);

#endif
