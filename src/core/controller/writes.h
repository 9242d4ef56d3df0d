/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_WRITES_H
#define CORE_CONTROLLER_WRITES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/limits.h"
#include "core/base/pace.h"
#include "core/controller/notes.h"
#include "core/controller/controller.h"
#include "core/table/machines.h"

/*
 * Keeps for each object whether a write is under way, and until when the next
 * write has to wait.  A read of the object, or of the claim that a Node names,
 * counts as a write.
 *
 *     IDLE ── writes_start ───────────────────────▶ IN_FLIGHT
 *     IN_FLIGHT ── a watch line shows the effect ─▶ SHOWN
 *
 *     IN_FLIGHT, SHOWN ── the answer comes:
 *         written, the watch line is still to come  EXPECTED
 *         409, and no watch line has come since     STALE
 *         the write failed, or was refused          BACKING_OFF
 *         otherwise                                 IDLE
 *
 *     EXPECTED ── the watch line, or EXPECT_MS ───▶ IDLE
 *     STALE ── another version, or a while ───────▶ IDLE
 *     BACKING_OFF ── a while ─────────────────────▶ IDLE
 *     any ── the object is gone ──────────────────▶ IDLE
 *
 * When the object is gone, a late answer to its write is ignored.
 *
 * The controller starts a write and passes on its answer.  It calls
 * writes_observe for watch lines, and writes_due when time has passed.  All
 * times are boot time.  Not thread-safe.
 */
enum write_state {
	WRITE_IDLE,
	WRITE_IN_FLIGHT,
	WRITE_SHOWN, /* In flight, and a watch line has shown the effect. */
	WRITE_EXPECTED,
	WRITE_STALE,
	WRITE_BACKING_OFF,
};

/* The state that every object has. */
struct write {
	/* Place of its struct pending in writes.pending, plus 1; 0 if it has
	 * none, which is so for most objects. */
	uint32_t pending : 20;
	/* was_ours and reholds last for one period, which ends when the machine
	 * is to be cleared. */
	bool was_ours : 1; /* The object was seen with our hold. */
	/* How often the object was held again, up to REHOLDS_MAX. */
	uint32_t reholds : 2;
	/* The object still has to be held (writes_want_hold). */
	bool wants_hold : 1;
	/* For a Node only.  owner_gone: the claim that the Node names was read,
	 * and it does not exist or has no room in the table.  owner_kept: that
	 * claim has a hold like ours of its own. */
	bool owner_gone : 1, owner_kept : 1;
};

/* The state of an object that is not idle, or whose writes have failed. */
struct pending {
	/* The object's id.  In a free place: the next free place + 1. */
	uint32_t id;
	enum write_state state : 3;
	enum act act : 4; /* the action in flight, or the last one */
	bool reread : 1;  /* The object has to be read before it is decided. */
	/* The hold in flight is not the first in this period. */
	bool again : 1;
	/* Sequence number of the action in `act`.  A reply with another number
	 * belongs to an earlier action. */
	uint64_t seq;
	/* The packed_version_key of the version that was written (EXPECTED), or
	 * of the version that is out of date (STALE). */
	uint64_t rv;
	/* The packed_version_key of the version at which a clear failed its
	 * test, or 0. */
	uint64_t tried_rv;
	/* Number of failures since the last success, or since nothing had to be
	 * done. */
	unsigned failures;
	unsigned refusals; /* number of refusals of the same write in a row */
	unsigned class_failures;
	/* Earliest time of the next write of the class. */
	int64_t class_boot_ms;
};

struct writes {
	struct pace *pace;
	struct notes *notes;
	struct write *at; /* indexed by id */
	/* There is room for all objects, but pages that were never used stay
	 * untouched. */
	struct pending *pending;
	/* Places from `top` on were never used.  `free` is the first free
	 * place, plus 1, or 0. */
	uint32_t top, free;
	/* Places in `pending`, by the time at which the object is decided
	 * again. */
	struct heap later;
	uint64_t seq;
	/* in_flight is the number of actions in flight, including lists.
	 * wanting_hold is the number of objects with wants_hold. */
	uint32_t in_flight, wanting_hold;
	/* After a 429 or 503: nothing is written before this time. */
	int64_t paused_boot_ms;
};

/* Initializes *ws.  The caller has set the pointers pace and notes, and has
 * zeroed the rest.  Ids are below `ids`, which is at most 2 * MACHINES_MAX.
 * Returns -1 if there is no memory; call writes_free in either case. */
int writes_init(struct writes *ws, uint32_t ids);
void writes_free(struct writes *ws);

/* Returns whether the write's state is consistent.  For assert. */
bool write_check(const struct writes *ws, uint32_t id);

enum write_state writes_state(const struct writes *ws, uint32_t id);

static inline bool
writes_busy(const struct writes *ws, uint32_t id)
{
	return writes_state(ws, id) != WRITE_IDLE;
}

static inline bool
writes_backing_off(const struct writes *ws, uint32_t id)
{
	enum write_state state = writes_state(ws, id);

	return state == WRITE_STALE || state == WRITE_BACKING_OFF;
}

/* Returns whether the object has to be read before anything is decided. */
bool writes_must_read(const struct writes *ws, uint32_t id);

/* --- what is seen, and time ----------------------------------------------- */

/* Call this after a watch line has changed entry *e, whose id is `id`.  rv is
 * the object's resourceVersion now. */
void writes_observe(struct writes *ws, uint32_t id, const struct entry *e,
		    const char *rv);
/* Call this when the object is gone.  A late answer is then ignored. */
void writes_drop(struct writes *ws, uint32_t id);
/* Call this when the Node's ownerReference has changed. */
void writes_owner_changed(struct writes *ws, uint32_t id);
/* Call this when the claim that the Node names was read.  `kept` says whether
 * it is not in the table and has a hold like ours that may be a person's. */
void writes_owner_found(struct writes *ws, uint32_t id, bool kept);
/* Finds an object whose wait is over, so that it has to be decided again.
 * Returns false if there is none. */
bool writes_due(struct writes *ws, int64_t boot_ms, uint32_t *id);

/* --- before a write ------------------------------------------------------- */

/* Returns whether the API server has asked all writes to wait. */
bool writes_paused(const struct writes *ws, int64_t boot_ms);
/* Returns whether the class has to wait before it is written.  If it has to,
 * writes_due returns the object when the wait is over. */
bool writes_class_waits(struct writes *ws, uint32_t id, int64_t boot_ms);
/* Call this when nothing has to be done for the object.  Earlier failures no
 * longer count. */
void writes_content(struct writes *ws, uint32_t id);
/* Records whether the object still has to be held.  controller_latency observes
 * hold_latency_seconds when no object is left that still has to be held. */
void writes_want_hold(struct writes *ws, uint32_t id, bool wants);
/* Call this when the machine is to be cleared, which ends its period. */
void writes_period_ends(struct writes *ws, uint32_t id);
/* Call this before writes_start for ACT_HOLD or ACT_CLEAR. */
void writes_hold_or_clear(struct writes *ws, uint32_t id, enum act act);
/* writes_start starts a write of an idle object, and writes_start_list a list.
 * Both return the sequence number that goes into the action (`seq`). */
uint64_t writes_start(struct writes *ws, uint32_t id, enum act act);
uint64_t writes_start_list(struct writes *ws);

/* --- the answer to a write ------------------------------------------------ */

/* Call this first with the answer to any action, including a list. */
void writes_answered(struct writes *ws, const struct controller_outcome *o,
		     int64_t boot_ms);
/* Returns whether the action is the object's write in flight.  It is not if the
 * object has gone since the action began.  In that case the caller ignores the
 * answer. */
bool writes_awaits(const struct writes *ws, const struct action *a);
/* Takes the answer to the write in flight.  rv is the object's resourceVersion
 * in the table.  Returns true if the object is gone and the caller has to drop
 * it. */
bool writes_done(struct writes *ws, const struct action *a,
		 const struct controller_outcome *o, const char *rv,
		 int64_t boot_ms);
/* Call this instead of writes_done for ACT_READ_CLAIM.  `full` says whether the
 * table has no room for the claim, and has_peer whether the Node is matched
 * with its claim now. */
void writes_owner_done(struct writes *ws, const struct action *a,
		       const struct controller_outcome *o, bool full,
		       bool has_peer, int64_t boot_ms);

#endif
