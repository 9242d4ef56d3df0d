/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_SWEEP_H
#define CORE_CONTROLLER_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/counters.h"
#include "core/base/nodepool.h"
#include "core/base/object.h"
#include "core/base/stamp.h"
#include "core/controller/sweep_tell.h"
#include "core/rules/admit.h"
#include "core/rules/decide.h"

/*
 * Machines, holds and pace composed into actions: sweep_next says what to do,
 * sweep_done is told what came of it.  What the cluster holds comes in by
 * sweep_track and its kin.  Allocates at birth only; not thread-safe.
 */
struct sweep;

/* machines_max: of each kind.  NULL: no memory. */
struct sweep *sweep_new(const struct rules *rules, uint32_t machines_max,
			uint64_t seed, struct counters *counters);
void sweep_free(struct sweep *s);

/* Who does not lead knows and does nothing; a lead begins with an empty table.
 * At birth: leads. */
void sweep_lead(struct sweep *s, bool leads, struct now now);

/* The soft state for the next leader (docs/rules.md#what-outlives-a-leader):
 * written where it has changed since (true), or always: anew.  restore: NULL or
 * "" is none, then marks tell; renewed_ms: server time up to which its writer
 * surely led, STAMP_NONE unknown. */
bool sweep_soft(struct sweep *s, struct buf *b, bool always, struct now now);
void sweep_restore(struct sweep *s, const char *text, int64_t renewed_ms,
		   struct now now);

/* --- what the watchers see ------------------------------------------------- */

/* A list begins; its items follow by sweep_track; listed: it is complete, what
 * it did not show is gone.  served = false: there is no such resource (an
 * empty list at start, later the last state stands). */
void sweep_listing(struct sweep *s, enum kind kind);
void sweep_listed(struct sweep *s, enum kind kind, bool served,
		  struct now now);
/* The watch behind the list is open and heard, or is not. */
void sweep_watch(struct sweep *s, enum kind kind, bool up);

void sweep_track(struct sweep *s, const struct object *o, struct now now);
void sweep_forget(struct sweep *s, const struct object *o, struct now now);
void sweep_pool(struct sweep *s, const struct nodepool *p, struct now now);
void sweep_pool_gone(struct sweep *s, const char *name, struct now now);
/* Karpenter says that this claim replaces another; at any time. */
void sweep_sign(struct sweep *s, const char *claim_uid, const char *reason,
		struct now now);

bool sweep_wants_list(struct sweep *s, enum kind kind);	/* once a wish */
/* --- what is to be done --- */
struct action {
	enum act act;
	enum kind kind;
	uint32_t id;		/* opaque, with seq */
	uint64_t seq;
	char name[NAME_BYTES];	/* whom to GET or PATCH */
	char uid[UID_BYTES];
	char rv[RV_BYTES];
	char pool[POOL_BYTES];
	bool mark_exact;	/* wire/api/patch: struct patch_clear */
	int64_t mark_ms;	/* ACT_HOLD: what to write */
	bool has_held_key;
	struct hold_key hold;
	const char *reason;	/* for the log: "scale-up", "quiet", … */
	char replaces[CLASS_BYTES];	/* ACT_CLASSIFY: what to write */
	uint64_t forgotten;	/* by then: sweep_found */
	int64_t fence_ms;	/* boot time: given up by then, done or not */
};

enum outcome_code {
	OUTCOME_OK,
	OUTCOME_CONFLICT,	/* 409 */
	OUTCOME_INVALID,	/* 422: a test failed, or the object would be
				   invalid */
	OUTCOME_REFUSED,	/* any other 4xx, or an admission webhook of
				   somebody's that fails: asking again soon is
				   of no use */
	OUTCOME_GONE,		/* 404 */
	OUTCOME_BUSY,		/* 429, 503: retry_after_ms, -1 none */
	OUTCOME_FAILED,		/* anything else, or no answer */
};

struct outcome {
	enum outcome_code code;
	char rv[RV_BYTES];	/* OK of a patch: of the object written */
	int64_t retry_after_ms;
	const char *why;	/* REFUSED, INVALID: in words, for the log; good
				   until sweep_done returns.  NULL: none */
};

/* The next action: true.  Else *wait_ms: when to ask again at the latest
 * (INT64_MAX: when something is seen).  hint_ms: server time of the latest
 * creation admitted; STAMP_NONE none. */
bool sweep_next(struct sweep *s, struct now now, int64_t hint_ms,
		struct action *out, int64_t *wait_ms);
void sweep_done(struct sweep *s, const struct action *a,
		const struct outcome *o, struct now now);

/* Before sweep_done: the object of a READ; an item of LIST_CLAIMS; one of
 * LIST_POOLS. */
void sweep_found(struct sweep *s, const struct action *a,
		 const struct object *o, struct now now);
void sweep_fresh(struct sweep *s, const struct object *claim);
void sweep_fresh_pool(struct sweep *s, const struct nodepool *p);

#endif
