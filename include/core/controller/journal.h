/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_JOURNAL_H
#define CORE_CONTROLLER_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/object.h"
#include "core/rules/decide.h"

/*
 * What has happened, for /status (docs/status.md): two rings, one of the latest
 * JOURNAL_TURNS turns of scopes and NodePools, and one of the latest
 * JOURNAL_WRITES answers to writes.  The controller writes them and never reads
 * them, so that no decision depends on them.
 *
 * All times are server_ms.  The struct owns no memory; a zeroed struct is an
 * empty journal.  Pages of the rings that were never used stay untouched.  Not
 * thread-safe: callers hold the owner's lock.
 */
enum turn_what {
	TURN_HELD,
	TURN_RELEASED,
	TURN_CAPPED,	/* released by its cap while it was busy */
};

enum turn_cause {
	TURN_BY_SCALE_UP,	/* HELD: a machine came */
	TURN_BY_HAND,		/* HELD: a NodePool's hold-until */
	TURN_BY_QUIET,		/* RELEASED: its quiet time is over */
	TURN_BY_RELEASE,	/* RELEASED: a released-at */
	TURN_BY_CAP,		/* CAPPED */
};

struct turn {
	int64_t at_ms;
	enum turn_what what;
	enum turn_cause cause;
	char scope[NODEPOOL_BYTES];	/* BY_HAND: the NodePool; otherwise ""
					   is the cluster, or machines without a
					   NodePool */
	char machine[JOURNAL_NAME_BYTES];	/* the machine that restarted
						   the quiet time last, cut;
						   "": unknown, or gone */
	int64_t held_ms;	/* RELEASED, CAPPED: for how long it was held;
				   otherwise -1 */
	int64_t until_ms;	/* HELD BY_HAND: its hold-until; otherwise
				   STAMP_NONE */
};

/* How a write was answered. */
enum written_how {
	WRITTEN_OK,
	WRITTEN_CONFLICT,	/* the object had changed: decided anew */
	WRITTEN_REFUSED,	/* tried again, later and later */
	WRITTEN_GONE,		/* there is no such object any more */
	WRITTEN_FAILED,		/* no answer, or the API server was busy */
	WRITTEN_OBSERVED,	/* MODE_OBSERVE: it was told and not made */
};

struct written {
	int64_t at_ms;
	uint32_t object;	/* a hash of its uid */
	enum act act : 8;	/* a write */
	enum written_how how : 8;
};

struct journal {
	struct turn turns[JOURNAL_TURNS];
	struct written writes[JOURNAL_WRITES];
	uint64_t turns_n, writes_n;	/* ever; those that fit are kept */
};

/* Adds a turn and returns it.  It belongs to *h.  The caller fills in the
 * members after `cause`, which are "", -1 and STAMP_NONE, before the next call.
 * scope is shorter than NODEPOOL_BYTES. */
struct turn *journal_turn(struct journal *h, int64_t at_ms, enum turn_what what,
			  enum turn_cause cause, const char *scope);
/* Reads the turns, the newest first.  *before starts as UINT64_MAX and is moved
 * by each call, so turns that are added meanwhile neither come twice nor push
 * one out.  Returns false after the oldest that is kept. */
bool journal_turn_at(const struct journal *h, uint64_t *before,
		     struct turn *out);

/* Notes the answer to a write on the object with this uid. */
void journal_write(struct journal *h, int64_t at_ms, const char *uid,
		   enum act act, enum written_how how);
/* Finds the latest write on it.  Returns false if none is kept. */
bool journal_written(const struct journal *h, const char *uid,
		     struct written *out);

/* Call this when the API server's clock was set by by_ms. */
void journal_shift(struct journal *h, int64_t by_ms);

#endif
