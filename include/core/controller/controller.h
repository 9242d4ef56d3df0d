/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_CONTROLLER_H
#define CORE_CONTROLLER_CONTROLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/counters.h"
#include "core/base/nodepool.h"
#include "core/base/object.h"
#include "core/base/stamp.h"
#include "core/controller/notes.h"
#include "core/rules/admit.h"
#include "core/rules/decide.h"

/*
 * Machines, holds and pace composed into actions: controller_next says what to
 * do, controller_done is told what came of it.  What the cluster holds comes in
 * by controller_track and its kin.  Allocates at birth only; not thread-safe.
 */
struct controller;

/* machines_max: of each kind.  NULL: no memory. */
struct controller *controller_new(const struct rules *rules,
				  uint32_t machines_max, uint64_t seed,
				  struct counters *counters);
void controller_free(struct controller *s);

/* Who does not lead knows and does nothing; a lead begins with an empty table.
 * At birth: leads. */
void controller_lead(struct controller *s, bool leads, struct now now);

/* The soft state for the next leader (docs/rules.md#what-outlives-a-leader):
 * written where it has
 * changed since (true), or always: anew.  restore: NULL or "" is none, then
 * marks tell; renewed_ms: server time up to which its writer surely led,
 * STAMP_NONE unknown. */
bool controller_soft(struct controller *s, struct buf *b, bool always,
		     struct now now);
void controller_restore(struct controller *s, const char *text,
			int64_t renewed_ms, struct now now);

/* --- what the watchers see ------------------------------------------------ */

/* A list begins; its items follow by controller_track; listed: it is complete,
 * what it did not show is gone.  served = false: there is no such resource (an
 * empty list at start, later the last state stands). */
void controller_listing(struct controller *s, enum kind kind);
void controller_listed(struct controller *s, enum kind kind, bool served,
		       struct now now);
/* The watch behind the list is open and heard, or is not. */
void controller_watch(struct controller *s, enum kind kind, bool up);

void controller_track(struct controller *s, const struct object *o,
		      struct now now);
void controller_forget(struct controller *s, const struct object *o,
		       struct now now);
void controller_pool(struct controller *s, const struct nodepool *p,
		     struct now now);
void controller_pool_gone(struct controller *s, const char *name,
			  struct now now);
/* Karpenter says that this claim replaces another; at any time. */
void controller_sign(struct controller *s, const char *claim_uid,
		     const char *reason, struct now now);

bool controller_wants_list(struct controller *s,
			   enum kind kind); /* once a wish */
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
	uint64_t forgotten;		/* by then: controller_found */
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
	const char *why; /* REFUSED, INVALID: in words, for the log; good
			    until controller_done returns.  NULL: none */
};

/* The next action: true.  Else *wait_ms: when to ask again at the latest
 * (INT64_MAX: when something is seen).  hint_ms: server time of the latest
 * creation admitted; STAMP_NONE none. */
bool controller_next(struct controller *s, struct now now, int64_t hint_ms,
		     struct action *out, int64_t *wait_ms);
void controller_done(struct controller *s, const struct action *a,
		     const struct outcome *o, struct now now);

/* Before controller_done: the object of a READ; an item of LIST_CLAIMS; one of
 * LIST_POOLS. */
void controller_found(struct controller *s, const struct action *a,
		      const struct object *o, struct now now);
void controller_fresh(struct controller *s, const struct object *claim);
void controller_fresh_pool(struct controller *s, const struct nodepool *p);

/* --- what is told ------------------------------------------------------------
 */

bool controller_note(struct controller *s,
		     struct note *out); /* the oldest; or none */

/* For the metrics. */
struct controller_report {
	uint32_t objects[KIND_COUNT], timers, held[KIND_COUNT];
	bool up[VIEW_COUNT]; /* the watch is open */
	bool blocked;	     /* holds that nobody can take away, for more
				than a minute */
};
void controller_report(const struct controller *s,
		       struct controller_report *out);
struct scope_report {
	char name[POOL_BYTES];
	bool held;
	int64_t quiet_ms; /* STAMP_NONE: no machine counts in it */
};
/* The i-th scope in use; false at the end. */
bool controller_scope(const struct controller *s, uint32_t *i,
		      struct scope_report *out);

struct nodepool_report {
	char name[POOL_BYTES], uid[UID_BYTES];
	bool out;     /* excluded or disabled */
	bool by_hand; /* held by its hold-until */
};
/* The i-th NodePool seen; false at the end. */
bool controller_pool_at(const struct controller *s, uint32_t *i,
			struct nodepool_report *out);

#endif
