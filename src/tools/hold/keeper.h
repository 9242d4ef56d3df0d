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
 * Writes one ticket, renews it each third of its duration, and deletes it, all
 * on one thread, while a session waits (edge/kube/session.h).  Whoever waits
 * lets it work: session_turn, session_sleep, keeper_wait and keeper_end.
 *
 * The state is what is known of the Lease:
 *
 *	         404              201
 *	UNKNOWN -----> ABSENT ----------> WRITTEN -+
 *	  |  ^ \         ^ ^                ^  ^   | renewed
 *	  |  |  \ ours   | | deleted, 404   |  +---+
 *	  |  |   +------ | +------- THERE --+
 *	  |  +-----------+- 409 -------+   replaced
 *	  v
 *	TAKEN: somebody else has a ticket of this name that is in force
 *	LEFT: it was to be deleted, but somebody else has written it since
 *
 * Every write carries the resourceVersion that was read.  A Lease of this name
 * is ours if its holder is; it is taken over also if it is not in force any
 * more.  Two runs of the same name and holder renew the same Lease.  Each of
 * them notices times that it has not written, and does not delete it unless it
 * has then been the only one to renew it for a whole duration.
 *
 * Each write has the time of the API server's clock.  Before the first write
 * the Lease is read, so that this clock is known.  Its Date has whole seconds,
 * so that two runs could write the same time.  Some random digits of each time
 * tell which run has written it.
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
	KEEPER_REST, /* write nothing; what is there ends by itself */
	KEEPER_KEEP,
	KEEPER_DROP,
};

#define KEEPER_TRIED 16

struct keeper_setup {
	struct kube *kube;
	struct clock *clock;
	const struct timing *timing;
	/* What to write; renewed_us does not count.  Borrowed. */
	const struct ticket_draft *draft;
};

struct keeper {
	struct keeper_setup s;
	struct ticket_draft draft; /* of the write that was made last */
	struct session calls;
	struct pace pace;
	enum keeper_state state;
	enum keeper_wish wish;
	/* What the call in flight does: a state to which it leads, or
	 * KEEPER_UNKNOWN for a read. */
	enum keeper_state call;
	bool calling;
	char uid[UID_BYTES], rv[RV_BYTES];
	bool mine;   /* this run has written the object with this uid */
	bool shared; /* another run may renew it, too */
	/* How many writes in a row have found what the one before has left. */
	unsigned alone;
	/* The renewTimes of the last writes, done or not. */
	int64_t tried[KEEPER_TRIED];
	unsigned tried_n;
	/* When the write in flight, or else the last one, was sent (boot_ms),
	 * and when the last one that was done has to be renewed. */
	int64_t sent_ms, renew_ms;
	int64_t until_ms; /* until when it holds (server_ms), or STAMP_NONE */
	unsigned failures, conflicts;
	int64_t retry_ms; /* boot_ms */
	struct err why;	  /* of the last failure */
	bool refused;	  /* the API server will hardly accept the next try */
	/* Whether failures are told from now on that waiting cannot mend.
	 * Before that, keeper_wait returns them. */
	bool begun;
	bool troubled, over_told;
	char path[300 + 2 * NAME_BYTES], body[TICKET_BODY_BYTES];
};

/* Opens the session and makes no call yet.  The session has room for one more
 * call of the caller's.  It blocks SIGINT, SIGTERM and SIGHUP until
 * keeper_close, which is to be called even after a failure. */
int keeper_open(struct keeper *k, const struct keeper_setup *s, struct err *e);
void keeper_close(struct keeper *k);

/* Says what is wanted from now on.  The first wish is KEEPER_REST. */
void keeper_want(struct keeper *k, enum keeper_wish wish);

/* Waits until the ticket is written, but only until until_ms (boot_ms).
 * Returns -1 with *e set if it is not written, also after a refusal that
 * waiting will not mend.  The keeper goes on trying, unless the state is
 * KEEPER_TAKEN. */
int keeper_wait(struct keeper *k, int64_t until_ms, struct err *e);

/* Returns for how many milliseconds the keeper needs no turn of the session: 0
 * while a call is in flight, and at most a second. */
int64_t keeper_idle_ms(const struct keeper *k);

/* Prints a line about the ticket on stderr. */
void keeper_tell(const struct keeper *k, const char *what, const char *more);

/* Deletes the ticket.  It waits for HOLD_END_MS at most, or until a signal is
 * pending, and says on stderr if the ticket is still there. */
void keeper_end(struct keeper *k);

#endif
