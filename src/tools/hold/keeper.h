/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_HOLD_KEEPER_H
#define TOOLS_HOLD_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/pace.h"
#include "edge/clock.h"
#include "edge/kube/session.h"
#include "wire/api/lease.h"
#include "wire/api/ticket.h"

/*
 * Writes one ticket, renews it after each third of its duration, and deletes
 * it.  The keeper has no thread of its own: it works whenever the caller waits
 * in session_turn, session_sleep (edge/kube/session.h), keeper_wait or
 * keeper_end.
 *
 * A ticket is a Lease.  The state says what the keeper knows of that Lease:
 *
 *	         404              201
 *	UNKNOWN -----> ABSENT ----------> WRITTEN -+
 *	  |  ^ \         ^ ^                ^  ^   | renewed
 *	  |  |  \ ours   | | deleted, 404   |  +---+
 *	  |  |   +------ | +------- THERE --+
 *	  |  +-----------+- 409 -------+   replaced
 *	  v
 *	TAKEN: somebody else has a ticket of this name that is in force
 *	LEFT: the Lease was to be deleted, but somebody else has written it
 *	since
 *
 * Every write carries the resourceVersion that was read.  A Lease of this name
 * is ours if it names our holder.  The keeper also takes over a Lease that is
 * not ours but is no longer in force.  Two runs with the same name and holder
 * renew the same Lease.  Each run notices a renewTime that it has not written
 * itself.  It then does not delete the Lease, unless it was afterwards the only
 * run that renewed the Lease for a whole duration.
 *
 * Each write has a renewTime by the API server's clock.  The keeper reads the
 * Lease before the first write, so that it knows this clock.  The clock has
 * whole seconds, so two runs could write the same time.  Random microseconds in
 * each renewTime therefore show which run has written it.
 */
enum keeper_state {
	KEEPER_UNKNOWN,
	KEEPER_ABSENT,
	KEEPER_THERE,
	KEEPER_WRITTEN,
	KEEPER_TAKEN,
	KEEPER_LEFT,
};

enum keeper_wish {
	KEEPER_REST, /* write nothing: an existing ticket ends by itself */
	KEEPER_KEEP,
	KEEPER_DROP,
};

#define KEEPER_TRIED 16

struct keeper_setup {
	struct kube *kube;
	struct clock *clock;
	const struct timing *timing;
	/* The ticket to write.  Its renewed_us is ignored.  Borrowed. */
	const struct ticket_draft *draft;
};

struct keeper {
	struct keeper_setup s;
	struct ticket_draft draft; /* the ticket as the last write sent it */
	struct session calls;
	struct pace pace;
	enum keeper_state state;
	enum keeper_wish wish;
	/* The kind of the call in flight: KEEPER_UNKNOWN for a read,
	 * KEEPER_ABSENT for a deletion, KEEPER_WRITTEN for any other write. */
	enum keeper_state call;
	bool calling;
	char uid[UID_BYTES], rv[RV_BYTES];
	bool mine; /* this run has written the object with this uid */
	/* Boot time until which we assume that another run renews the ticket,
	 * too.  The last renewal by another run that we have read ends then. */
	int64_t shared_ms;
	/* A ring of the renewTimes that the last writes sent, even if these
	 * writes have failed. */
	int64_t tried[KEEPER_TRIED];
	unsigned tried_n;
	/* Boot times.  sent_ms: when the latest write was sent, or 0 if there
	 * was none.  renew_ms: when the written ticket has to be renewed. */
	int64_t sent_ms, renew_ms;
	/* When the written ticket ends (server_ms), or STAMP_NONE if none is
	 * written. */
	int64_t until_ms;
	unsigned failures, conflicts;
	int64_t retry_ms; /* boot time of the next try after a failure */
	struct err why;	  /* why the last call failed */
	/* Whether the last failure was a refusal, which will hardly change at
	 * another try. */
	bool refused;
	/* The caller sets this when it will not call keeper_wait any more.
	 * From then on refusals are printed on stderr.  Before, keeper_wait
	 * returns them. */
	bool begun;
	bool troubled, over_told;
	char path[300 + 2 * NAME_BYTES], body[TICKET_BODY_BYTES];
};

/* Opens the session and makes no call yet.  Beside the keeper's calls, the
 * session has room for one call of the caller.  keeper_open blocks the
 * signals of edge/signals.h until keeper_close.  Call keeper_close even after a
 * failure. */
int keeper_open(struct keeper *k, const struct keeper_setup *s, struct err *e);
void keeper_close(struct keeper *k);

/* Sets what the keeper does from now on.  It begins with KEEPER_REST. */
void keeper_want(struct keeper *k, enum keeper_wish wish);

/* Waits until the ticket is written, but no longer than until until_ms (boot
 * time), and not after a refusal by the API server.  Returns -1 with *e set if
 * the ticket is not written.  The keeper goes on trying afterwards, unless the
 * state is KEEPER_TAKEN. */
int keeper_wait(struct keeper *k, int64_t until_ms, struct err *e);

/* Returns whether a write has succeeded, or may have succeeded although its
 * answer is missing. */
bool keeper_may_be_written(const struct keeper *k);

/* Returns for how many milliseconds the caller need not call session_turn for
 * the keeper: 0 while a call is in flight, otherwise at most 1000. */
int64_t keeper_idle_ms(const struct keeper *k);

/* Prints a line about the ticket on stderr. */
void keeper_tell(const struct keeper *k, const char *what, const char *more);

/* Deletes the ticket.  It waits until the ticket is deleted, HOLD_END_MS are
 * over, or a signal is pending.  If the ticket is not deleted, it says so on
 * stderr. */
void keeper_end(struct keeper *k);

#endif
