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
 * The write of each object: whether one is under way, and until when the next
 * has to wait.  A read of the object, or of the claim that a Node names, counts
 * as one.
 *
 *     IDLE ── start ─▶ IN_FLIGHT ── a line shows it ─▶ SHOWN
 *
 *     IN_FLIGHT, SHOWN ── the answer ─▶
 *         it is written, its line is to come      EXPECTED
 *         409, no line since                      STALE
 *         it failed, or was refused               BACKING_OFF
 *         otherwise                               IDLE
 *
 *     EXPECTED ── its line, or EXPECT_MS ────────▶ IDLE
 *     STALE ── another version, or a while ──────▶ IDLE
 *     BACKING_OFF ── a while ────────────────────▶ IDLE
 *     any ── the object goes ────────────────────▶ IDLE, with another seq
 *
 * The controller starts a write and brings its answer; the watch brings lines;
 * writes_due brings time.  All moments are boot time.  Not thread-safe.
 */
enum write_state {
	WRITE_IDLE,
	WRITE_IN_FLIGHT,
	WRITE_SHOWN, /* in flight, and a line has shown what it was for */
	WRITE_EXPECTED,
	WRITE_STALE,
	WRITE_BACKING_OFF,
};

struct write {
	enum write_state state;
	enum act act;		 /* the one in flight, or the last */
	uint64_t seq;		 /* of it, so that late replies show */
	char rv[RV_BYTES];	 /* EXPECTED: was written; STALE: is out of
				    date */
	char tried_rv[RV_BYTES]; /* a clear was turned down there */
	bool reread;		 /* get it before deciding */
	unsigned failures;	 /* since it was last written, or content */
	unsigned refusals;	 /* of the same write, one after the other */
	unsigned class_failures;
	int64_t class_boot_ms; /* the class is not written before */
	/* In this period, which ends when the machine is to be cleared: */
	bool was_ours;	 /* seen held */
	bool again;	 /* the hold in flight is not the first */
	uint8_t reholds; /* held again so often */
	bool wants_hold; /* for the hold latency */
	/* A Node: the claim it names was looked for, and is not there, or has
	 * no room in the table; then its own hold, of today's key and of the
	 * default one. */
	bool owner_gone;
	enum hold owner_hold, owner_default;
};

struct writes {
	struct pace *pace;
	struct notes *notes;
	struct write *at;  /* by id */
	struct heap later; /* when to look at it again */
	uint64_t seq;
	uint32_t in_flight, wanting_hold; /* lists count as well */
	int64_t paused_boot_ms;		  /* 429: nobody writes before */
};

/* The pointers are set already.  -1: no memory. */
int writes_init(struct writes *ws, uint32_t ids);
void writes_free(struct writes *ws);

/* Does it all agree?  For assert. */
bool write_check(const struct writes *ws, uint32_t id);

static inline bool
write_is_busy(const struct write *w)
{
	return w->state != WRITE_IDLE;
}

static inline bool
write_is_backing_off(const struct write *w)
{
	return w->state == WRITE_STALE || w->state == WRITE_BACKING_OFF;
}

/* --- what is seen, and time ----------------------------------------------- */

void writes_observe(struct writes *ws, uint32_t id, const struct entry *e);
void writes_drop(struct writes *ws, uint32_t id); /* the object went */
/* Its owner is another one now. */
void writes_owner_changed(struct writes *ws, uint32_t id);
/* One that is to be looked at again; false: none is, by now. */
bool writes_due(struct writes *ws, int64_t boot_ms, uint32_t *id);

/* --- before a write ------------------------------------------------------- */

bool writes_paused(const struct writes *ws, int64_t boot_ms);
/* Is the class not to be written yet?  Then it is due in time. */
bool writes_class_waits(struct writes *ws, uint32_t id, int64_t boot_ms);
/* Nothing is to be done: what failed on the way here is past. */
void writes_content(struct writes *ws, uint32_t id);
void writes_want_hold(struct writes *ws, uint32_t id, bool wants);
void writes_period_ends(struct writes *ws, uint32_t id);
/* A hold or a clear is about to start. */
void writes_hold_or_clear(struct writes *ws, uint32_t id, enum act act);
uint64_t writes_start(struct writes *ws, uint32_t id, enum act act);
uint64_t writes_start_list(struct writes *ws);

/* --- its answer ----------------------------------------------------------- */

/* Of any action, lists too. */
void writes_answered(struct writes *ws, const struct outcome *o,
		     int64_t boot_ms);
/* Is the answer one of the write that is under way? */
bool writes_awaits(const struct writes *ws, const struct action *a);
/* Then this; rv: of the object as the table has it.  true: the object is
 * gone, and is to be dropped. */
bool writes_done(struct writes *ws, const struct action *a,
		 const struct outcome *o, const char *rv, int64_t boot_ms);
/* Of ACT_READ_CLAIM.  full: the table has no room for the claim. */
void writes_owner_done(struct writes *ws, const struct action *a,
		       const struct outcome *o, bool full, bool has_peer,
		       int64_t boot_ms);

#endif
