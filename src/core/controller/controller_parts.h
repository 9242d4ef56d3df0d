/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_CONTROLLER_PARTS_H
#define CORE_CONTROLLER_CONTROLLER_PARTS_H

#include "controller_state.h"

/*
 * What the files of the controller ask of each other.  They are layers: each
 * file calls only those above it in this list.  controller.c, seen.c,
 * controller_nodepools.c, soft.c and report.c contain the public functions.
 * The public functions steady the clock, so all others are given steady
 * moments.
 */

/* steady.c */
struct now controller_steady(struct controller *s, struct now now);

/* refresh.c */
void controller_queue(struct controller *s, uint32_t id);
void controller_queue_all(struct controller *s);
/* Call this when the facts of the entry have changed.  It sets its machine's
 * timer and queues the machine. */
void controller_refresh(struct controller *s, uint32_t id, int64_t now_ms);
void controller_drop(struct controller *s, uint32_t id, struct now now);
/* Guesses how long the scopes have been held.  Call it when everything is seen
 * and no state of an earlier leader is known. */
void controller_guess(struct controller *s, struct now now);

/* controller_nodepools.c */
void controller_nodepools_listed(struct controller *s, struct now now);
void controller_nodepools_turn(struct controller *s, struct now now);

/* advance.c */
void controller_advance(struct controller *s, struct now now);

/* act.c: each returns true if it found an action that may be done now. */
bool controller_act_on(struct controller *s, uint32_t head, struct now now,
		       struct action *out);
bool controller_start_fresh(struct controller *s, struct now now,
			    int64_t hint_ms, struct action *out);

/* wait.c */
/* Is it too early in a lead for anything?  *wait_ms then says for how long, if
 * time alone ends that. */
bool controller_begins(struct controller *s, struct now now, int64_t *wait_ms);
void controller_latency(struct controller *s, struct now now);
int64_t controller_wait(const struct controller *s, struct now now);

#endif
