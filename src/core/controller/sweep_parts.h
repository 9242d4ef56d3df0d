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
void sweep_want_hold(struct sweep *s, uint32_t id, bool wants);
void sweep_classify(struct sweep *s, uint32_t id, const struct object *o,
		    struct now now);
/* A claim that is being deleted, or is gone. */
void sweep_deleted(struct sweep *s, uint32_t id, int64_t deleted_ms,
		   bool gone, struct now now);
/* Claims that have come to count: who is a substitute? */
void sweep_judge(struct sweep *s, struct entry *claim, int64_t now_ms);
void sweep_judge_all(struct sweep *s, int64_t now_ms);
/* A boot has failed; a claim that was launched is the next try of one. */
void sweep_retry(struct sweep *s, const struct entry *claim,
		 int64_t deleted_ms, int64_t now_ms);
void sweep_retried(struct sweep *s, struct entry *claim, int64_t now_ms);
void sweep_retries_refresh(struct sweep *s, int64_t now_ms);
/* After a list: which of them replaced another, perhaps? */
void sweep_retries_judge(struct sweep *s, int64_t now_ms);
void sweep_retry_due(struct sweep *s, uint32_t id, int64_t now_ms);
void sweep_retries_forget(struct sweep *s);
void sweep_retries_shift(struct sweep *s, int64_t by_ms);
/* From when the claim counts for its scope; STAMP_NONE: never. */
int64_t sweep_counts_ms(const struct sweep *s, const struct entry *claim);
/* Its own deadline, if it was active last at active_ms. */
int64_t sweep_deadline_ms(const struct sweep *s, int64_t created_ms,
			  int64_t active_ms,
			  const struct nodepool_terms *terms);
bool sweep_replaces(const struct sweep *s, const struct entry *claim);
int64_t sweep_undecided_ms(const struct sweep *s, const struct entry *claim);
void sweep_pools_listed(struct sweep *s, struct now now);
void sweep_pools_turn(struct sweep *s, struct now now);

/* Does the table show what the action was to bring about? */
static inline bool
sweep_shown(const struct entry *e, enum act act)
{
	if (act == ACT_HOLD)
		return entry_tenure(e) == TENURE_OURS;
	if (act == ACT_CLASSIFY)
		return e->classed;
	return (act == ACT_CLEAR || act == ACT_UNMARK) &&
	       e->mark == MARK_ABSENT;
}

#endif
