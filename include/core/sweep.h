/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SWEEP_H
#define CORE_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/counters.h"
#include "core/decide.h"
#include "core/object.h"
#include "core/policy.h"
#include "core/stamp.h"

/*
 * Machines, holds and pace composed into actions: sweep_next says what to do,
 * sweep_done is told what came of it.  What the cluster holds comes in by
 * sweep_track and its kin.  Never reads a clock, never blocks, allocates at
 * birth only.  Not thread-safe: cmd/shared has the one lock.
 */
struct sweep;

/* machines_max: of each kind.  NULL: no memory. */
struct sweep *sweep_new(const struct rules *rules, uint32_t machines_max,
			uint64_t seed, struct counters *counters);
void sweep_free(struct sweep *s);

/* --- what the watchers see ------------------------------------------------- */

/* A list begins; its items follow by sweep_track; listed: it is complete, and
 * what it did not show is gone.  served = false: the API server has no such
 * resource (an empty list at start, later the last state stands). */
void sweep_listing(struct sweep *s, enum kind kind);
void sweep_listed(struct sweep *s, enum kind kind, bool served,
		  struct now now);
/* The watch behind the list is open and heard, or is not. */
void sweep_watch(struct sweep *s, enum kind kind, bool up);

void sweep_track(struct sweep *s, const struct object *o, struct now now);
void sweep_forget(struct sweep *s, const struct object *o, struct now now);

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
	bool mark_exact;	/* wire/patch: struct patch_clear */
	int64_t mark_ms;	/* ACT_HOLD: what to write */
	bool has_held_key;
	struct hold_key hold;
	const char *reason;	/* for the log: "scale-up", "quiet", … */
	uint64_t forgotten;	/* by then: sweep_found */
};

enum outcome_code {
	OUTCOME_OK,
	OUTCOME_CONFLICT,	/* 409 */
	OUTCOME_INVALID,	/* 422: a test failed */
	OUTCOME_GONE,		/* 404 */
	OUTCOME_BUSY,		/* 429, 503: retry_after_ms, -1 none */
	OUTCOME_FAILED,		/* anything else, or no answer */
};

struct outcome {
	enum outcome_code code;
	char rv[RV_BYTES];	/* OK of a patch: of the object written */
	int64_t retry_after_ms;
};

/* The next action: true.  Else *wait_ms says when to ask again at the latest
 * (INT64_MAX: only when something is seen).  hint_ms: server time of the
 * latest real creation admitted; STAMP_NONE none. */
bool sweep_next(struct sweep *s, struct now now, int64_t hint_ms,
		struct action *out, int64_t *wait_ms);
void sweep_done(struct sweep *s, const struct action *a,
		const struct outcome *o, struct now now);

/* Before sweep_done: the object of a READ; an item of LIST_CLAIMS. */
void sweep_found(struct sweep *s, const struct action *a,
		 const struct object *o, struct now now);
void sweep_fresh(struct sweep *s, const struct object *claim);

/* --- what is to be told --- */
enum note_type {	/* and what `a` is */
	NOTE_SCOPE_HELD,	/* quiet_ms */
	NOTE_SCOPE_QUIET,	/* how long it was held, ms */
	NOTE_TABLE_FULL,	/* name: the object left unheld */
	NOTE_STOPPED,		/* a release waits: a: claims not known yet */
};

struct note {
	enum note_type type;
	char name[NAME_BYTES];	/* scope or object */
	int64_t a;
};
bool sweep_note(struct sweep *s, struct note *out);	/* the oldest; or none */

struct sweep_report {
	uint32_t objects[KIND_COUNT];
	uint32_t held[KIND_COUNT];	/* with hold and mark of ours */
	uint32_t timers;
	bool up[KIND_COUNT];	/* the watch is open */
};
void sweep_report(const struct sweep *s, struct sweep_report *out);

struct scope_report {
	char name[POOL_BYTES];
	bool held;
	int64_t quiet_ms;	/* STAMP_NONE: no machine counts in it */
};
/* The i-th scope in use; false at the end. */
bool sweep_scope(const struct sweep *s, uint32_t *i, struct scope_report *out);

#endif
