/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_JOURNAL_H
#define CORE_CONTROLLER_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "core/base/object.h"
#include "core/rules/decide.h"
#include "core/rules/rules.h"

/*
 * The history for /status (docs/status.md) in two rings: the latest
 * JOURNAL_TURNS turns of scopes and NodePools, and the latest JOURNAL_WRITES
 * results of writes.  A scope or NodePool turns when it becomes held and when
 * its hold ends.  No decision of the controller depends on the rings.
 *
 * All times are server_ms.  The struct owns no memory; a zeroed struct is an
 * empty journal.  Pages of the rings that were never used stay untouched.  Not
 * thread-safe: callers hold the owner's lock.
 */
enum turn_what {
	TURN_HELD,
	TURN_RELEASED,
	TURN_CAPPED, /* released by its cap while it was busy */
	/* A hold by hand was ended early, or a released-at was removed. */
	TURN_RESUMED,
	TURN_WHATS
};

enum turn_cause {
	TURN_BY_SCALE_UP, /* HELD: because a new machine counts */
	TURN_BY_HAND,	  /* HELD: because of a NodePool's hold-until */
	TURN_BY_TICKET,	  /* HELD: because a ticket holds the NodePool */
	TURN_BY_QUIET,	  /* RELEASED: because the quiet time is over */
	TURN_BY_RELEASE,  /* RELEASED: because of a released-at */
	TURN_BY_CAP,	  /* CAPPED: because of the cap */
	TURN_BY_TIME, /* RELEASED: because a NodePool's hold-until is over */
	TURN_BY_TICKET_END, /* RELEASED: because no ticket holds the NodePool */
	TURN_BY_RESUME,	    /* the only cause of TURN_RESUMED */
	TURN_CAUSES
};

struct turn {
	int64_t at_ms;
	enum turn_what what;
	enum turn_cause cause;
	/* Whether this is the turn of a NodePool, by a hold-until, a ticket or
	 * a released-at.  Otherwise it is the turn of a scope. */
	bool nodepool;
	/* The name of the NodePool or the scope.  For a scope, "" is the
	 * cluster, or the machines without a NodePool. */
	char scope[NODEPOOL_BYTES];
	/* For a scope, the machine that restarted the quiet time last, cut to
	 * this size; "" if it is unknown or gone. */
	char machine[JOURNAL_NAME_BYTES];
	/* For a NodePool, the reason that the person or the ticket gave, cut to
	 * this size, or "". */
	char reason[JOURNAL_NAME_BYTES];
	/* How long the scope or NodePool had been held; -1 if it had not been
	 * held, or if that is unknown. */
	int64_t held_ms;
	/* For a NodePool, the end of the hold with TURN_HELD, and the
	 * released-at with TURN_BY_RELEASE.  Otherwise STAMP_NONE. */
	int64_t until_ms;
};
/* Return the names that /status and the text of the journal use.  Static. */
const char *journal_what(enum turn_what w);
const char *journal_cause(enum turn_cause c);

/* The result of a write. */
enum written_how {
	WRITTEN_OK,
	WRITTEN_CONFLICT, /* the object had changed, so it is decided again */
	WRITTEN_REFUSED,  /* retried with growing delays */
	WRITTEN_GONE,	  /* there is no such object any more */
	WRITTEN_FAILED,	  /* no answer, or the API server was busy */
	WRITTEN_OBSERVED, /* MODE_OBSERVE: reported instead of written */
};

struct written {
	int64_t at_ms;
	uint32_t object; /* a hash of the object's uid */
	/* Which write it was: one for which act_writes is true. */
	enum act act : 8;
	enum written_how how : 8;
};

struct journal {
	struct turn turns[JOURNAL_TURNS];
	struct written writes[JOURNAL_WRITES];
	/* Total numbers of turns and writes.  Only the latest are kept. */
	uint64_t turns_n, writes_n;
	uint64_t turns_first; /* turns with a lower number are not kept */
	/* The time from which on all turns are known, or STAMP_NONE.  The owner
	 * sets it. */
	int64_t since_ms;
};

/* Adds a turn and returns it.  The turn belongs to *h.  Before the next call,
 * the caller fills in the members after `cause`, except for `scope`.  The
 * argument `scope` is shorter than NODEPOOL_BYTES. */
struct turn *journal_turn(struct journal *h, int64_t at_ms, enum turn_what what,
			  enum turn_cause cause, const char *scope);
/* Copies one turn per call to *out, the newest first.  *before starts as
 * UINT64_MAX, and each call moves it to the turn that it has copied.  Turns
 * that are added during the iteration are not read.  Returns false after the
 * oldest turn that is kept. */
bool journal_turn_at(const struct journal *h, uint64_t *before,
		     struct turn *out);
/* Finds the last turn of this scope or NodePool among the turns from the number
 * `from` on.  Returns its number + 1, or 0 if there is none. */
uint64_t journal_last(const struct journal *h, uint64_t from, const char *scope,
		      bool nodepool, struct turn *out);

/* Adds the result of a write on the object with this uid. */
void journal_write(struct journal *h, int64_t at_ms, const char *uid,
		   enum act act, enum written_how how);
/* Finds the latest write on this object.  Returns false if none is kept. */
bool journal_written(const struct journal *h, const char *uid,
		     struct written *out);

/* --- for the next leader (journal_text.c) --------------------------------- */

/* The leader that writes the text, or that reads it. */
struct journal_lead {
	const struct rules *rules;
	int32_t term;	  /* the Lease's leaseTransitions */
	int64_t since_ms; /* the time from which on all turns are known */
	bool cut; /* older turns are missing, because the text had no room */
	/* Set when a text is read: its writer led directly before us, so no
	 * turns are missing in between.  since_ms and cut are then those of the
	 * text. */
	bool whole;
};

/* Writes turns as text into b, which has to be empty.  A turn is written if it
 * is younger than JOURNAL_MS, or if it is a hold by hand that is still in
 * force.  At most the latest JOURNAL_KEPT of these are written, and no more
 * than fit. */
void journal_text_write(const struct journal *h, const struct journal_lead *l,
			int64_t now_ms, struct buf *b);
/* Takes over the turns of a text that the leader before us wrote.  They replace
 * the turns from the number `own` on, which this lead has added, and those of
 * our earlier turns that are no older than the text's oldest turn.  A line that
 * cannot be read is left out.  If the text is no journal, or is of another mode
 * or another kind of scope, the function changes nothing and returns -1. */
int journal_text_read(struct journal *h, uint64_t own, const char *text,
		      struct journal_lead *l, int64_t now_ms);

/* Call this when the API server's clock has jumped by by_ms.  It shifts the
 * times of all turns and writes. */
void journal_shift(struct journal *h, int64_t by_ms);

#endif
