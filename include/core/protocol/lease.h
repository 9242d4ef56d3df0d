/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_LEASE_H
#define CORE_PROTOCOL_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/object.h"
#include "core/base/pace.h"
#include "core/base/stamp.h"

/*
 * Elects a leader with a Lease, as client-go does (tools/leaderelection).  It
 * also keeps the leader's soft state and history, in annotations of the Lease.
 *
 * This is a step machine (docs/architecture.md#step-machines): lease_next
 * returns the next step or the time to wait, and lease_done receives the step's
 * outcome.  At most one request is under way: until lease_done, lease_next
 * returns WAIT.  All timing is by boot_ms, and server_ms is only written into
 * the Lease.
 *
 * The election is stricter than client-go's in three points.  A renewal counts
 * from when it was sent.  The leader ends its lead by itself before its Lease
 * can expire.  If the Lease of a leader is deleted, a replica that saw this
 * leader renew the Lease creates it again only when the leader's time is over;
 * any other replica creates it at once.
 *
 * Two replicas never lead at the same time if their leaseDurations are at most
 * LEASE_MS_MAX and nobody deletes the Lease.  If somebody deletes it, a replica
 * that creates it without having seen the leader renew the deleted Lease leads
 * beside that leader until the leader's next renewal, which then fails.
 *
 * Without election, a replica leads when its first request has a reply.
 *
 * Not thread-safe.  A struct lease owns no memory, but takes 170 KiB: do not
 * put it on the stack.
 */
#define LEASE_HOLDER_BYTES NAME_BYTES
/* Sizes of the state and of the history, each of which is an annotation of the
 * Lease.  Together they stay well below the 256 KiB of annotations that
 * Kubernetes allows for an object. */
#define LEASE_STATE_BYTES (64u << 10)
#define LEASE_HISTORY_BYTES (16u << 10)
/* All writes end this long before the Lease can expire, because clocks differ
 * in rate, and a cancelled request takes time to stop. */
#define LEASE_MARGIN_MS 500
/* Maximum number of unread notes.  A further note replaces the oldest. */
#define LEASE_NOTES 8
#define LEASE_NEVER INT64_MIN /* this process has never led */
/* The times are leaseDuration, renewDeadline and retryPeriod under
 * leaderElection in the configuration.  retry_ms is shorter than
 * renew_deadline_ms, which is shorter than duration_ms. */
struct lease_config {
	/* Without election, the process leads by itself and uses the Lease for
	 * its state and the hold only. */
	bool enabled;
	/* The mode is MODE_OBSERVE, whose state has an annotation of its
	 * own. */
	bool observes;
	char identity[LEASE_HOLDER_BYTES]; /* unique to this process */
	/* The configured hold.  A replica that leads writes it into a Lease
	 * that has none.  The key is "" for a command. */
	struct hold_key hold;
	int64_t duration_ms, renew_deadline_ms, retry_ms;
	/* 0 for a replica.  A command lets replicas go first: it acquires the
	 * Lease only when the Lease has been free for this long.  It never
	 * creates a Lease. */
	int64_t patience_ms;
};
/* The patience of a command as a multiple of a replica's retry_ms.  In that
 * time, every running replica tries more than once to acquire the Lease. */
#define LEASE_PATIENCE_RETRIES 4

/* A Lease (coordination.k8s.io/v1) as it is read and written. */
struct lease_record {
	bool present;			 /* whether the Lease exists */
	char holder[LEASE_HOLDER_BYTES]; /* holderIdentity, or "" */
	/* holderIdentity was truncated, so it does not name this process. */
	bool holder_cut;
	int32_t duration_s, transitions;
	/* Microseconds since 1970, or STAMP_NONE. */
	int64_t acquire_us, renew_us;
	char rv[RV_BYTES]; /* metadata.resourceVersion */
	/* The hold of all replicas.  Its key is "" if there is none, or if it
	 * is unreadable. */
	struct hold_key hold;
	bool observes;	/* the state was written with MODE_OBSERVE */
	bool state_bad; /* the state is too long, or no string */
	/* The Lease also has the state annotation of the other mode.  The next
	 * write removes that annotation, because it becomes out of date. */
	bool state_other;
	/* Each is "" if it is missing or unreadable. */
	char state[LEASE_STATE_BYTES], history[LEASE_HISTORY_BYTES];
};
/* Copies *from.  NULL stands for a Lease that does not exist.  It copies only
 * those bytes of state and history that are in use. */
void lease_record_copy(struct lease_record *to,
		       const struct lease_record *from);

enum lease_step {
	LEASE_WAIT,
	LEASE_GET,
	LEASE_CREATE, /* create `record` */
	/* Update the spec if with_spec is set, and state and history if
	 * with_state is set.  The precondition is record->rv. */
	LEASE_UPDATE,
	LEASE_END, /* lease_stop is complete */
	/* With patience_ms: the Lease does not exist, so nobody leads.  The
	 * command continues without it and does not call lease_next again. */
	LEASE_NONE,
};

struct lease_todo {
	enum lease_step step;
	/* WAIT: the longest time to wait, or INT64_MAX to wait for another call
	 * of a lease function. */
	int64_t wait_ms;
	/* Timeout of the request.  If it expires, report LEASE_FAILED. */
	int64_t timeout_ms;
	/* CREATE, UPDATE: owned by the struct lease, valid until the next
	 * call. */
	const struct lease_record *record;
	bool with_spec;	 /* UPDATE: write the spec */
	bool with_state; /* UPDATE: write state and history */
};

enum lease_code {
	LEASE_OK,
	LEASE_NOT_FOUND, /* 404 */
	LEASE_CONFLICT,	 /* 409 */
	LEASE_BUSY,	 /* 429 or 503: nothing was written */
	LEASE_FAILED,	 /* no readable reply; a write may have happened */
};

struct lease_outcome {
	enum lease_code code;
	bool refused; /* FAILED: there was a reply, such as 403 */
	const struct lease_record *record; /* OK: the object in the reply */
	int64_t retry_after_ms;		   /* BUSY: the Retry-After, or -1 */
};

/* Something to log. */
struct lease_note {
	enum lease_note_type {
		LEASE_NOTE_LEADS,  /* we lead; `name` is our identity */
		LEASE_NOTE_LEADER, /* `name` has begun to lead */
		LEASE_NOTE_LATE,   /* we lost the lead: not renewed in time */
		/* We lost the lead to `name`, or to nobody if it is "". */
		LEASE_NOTE_TAKEN,
		LEASE_NOTE_RELEASED,  /* we released the Lease at the stop */
		LEASE_NOTE_BAD_STATE, /* the state is unreadable and ignored */
		LEASE_NOTE_FREE,      /* nobody leads; patience_ms begins */
		LEASE_NOTE_WAITS,     /* lease_waits began, for `name` */
		LEASE_NOTE_HOLD,      /* lease_hold is now another than ours */
	} type;
	char name[LEASE_HOLDER_BYTES]; /* "" unless the type says otherwise */
};

/*
 *	FOLLOWS ── a write with our name is done ──▶ LEADS
 *	LEADS ── not renewed in time, or taken ────▶ FOLLOWS
 *	FOLLOWS, LEADS ── lease_stop ──────────────▶ STOPS
 *
 * lease_done makes the first transition, and lease_next or lease_done the
 * second.  Without leader election a struct lease begins in LEADS, and stays
 * there until lease_stop.  The role may still be LEADS when the leader's time
 * is over; lease_leads checks the time.
 */
enum lease_role {
	LEASE_FOLLOWS,
	LEASE_LEADS,
	LEASE_STOPS,
};

/* The members are private. */
struct lease {
	struct lease_config config;
	struct pace pace;
	enum lease_role role;
	bool releasing; /* STOPS: the write in flight releases the Lease */
	bool fresh;	/* `seen` is what the latest reply showed */
	/* The Lease's state is known, so want.state may replace it. */
	bool read;
	enum lease_step busy; /* the step in flight, or LEASE_WAIT */
	enum lease_step plan; /* the next step; LEASE_WAIT between attempts */
	unsigned steps;	      /* requests in this attempt */
	unsigned failures;    /* failures in a row, for the backoff */
	unsigned notes_first, notes_n; /* the ring of notes */
	/* The next attempt begins at not_before_ms.  The last attempt began at
	 * attempt_ms, and the last request of that attempt at call_ms. */
	int64_t not_before_ms, attempt_ms, call_ms;
	/* When the last write that is known to have succeeded was sent, or
	 * LEASE_NEVER. */
	int64_t sent_ms;
	int64_t seen_ms; /* when the record was last seen to change */
	bool renewed;	 /* that change was a renewal by the same holder */
	/* The Lease was deleted since.  Then seen_ms is when we noticed. */
	bool gone;
	bool heard; /* there was a reply, other than BUSY */
	bool told;  /* LEASE_NOTE_WAITS was put for the holder in `reported` */
	/* When patience_ms began, or 0 if it has not begun or if another
	 * process has taken the Lease since. */
	int64_t free_ms;
	int64_t state_us;	  /* lease_state_ms, in microseconds */
	struct hold_key hold;	  /* the Lease's, or a key of "" */
	struct lease_record seen; /* the server's record, as last seen */
	struct lease_record want; /* the record to write */
	char reported[LEASE_HOLDER_BYTES]; /* the last holder reported */
	struct lease_note notes[LEASE_NOTES];
};

/* *c is copied.  `seed` is the seed of all jitter. */
void lease_init(struct lease *l, const struct lease_config *c, uint64_t seed);
struct lease_todo lease_next(struct lease *l, struct now now);
void lease_done(struct lease *l, const struct lease_outcome *o, struct now now);

/* Returns whether this process leads at boot_ms and may write.  Without a
 * further renewal the result depends on the time alone, so it becomes false
 * even if nobody calls lease_next. */
bool lease_leads(const struct lease *l, int64_t boot_ms);
/* Returns the boot time by which all our writes must have ended: LEASE_NEVER if
 * this process has never led, INT64_MAX without election. */
int64_t lease_fence_ms(const struct lease *l);

/* Returns the leader's identity as last seen.  *since_us is when it began to
 * lead, in microseconds since 1970, or STAMP_NONE.  Returns "" if nobody leads,
 * if the leader's time is over, if lease_waits, or if this process has lost the
 * lead but the Lease still names it.  The text belongs to *l and is valid until
 * the next call. */
const char *lease_holder(const struct lease *l, int64_t boot_ms,
			 int64_t *since_us);
struct lease_wait {
	/* Belongs to the struct lease and is valid until the next call. */
	const char *holder;
	/* Deleting the Lease ends the wait, because this process has never seen
	 * the holder renew it. */
	bool deletion_helps;
	int64_t end_ms; /* boot time */
};
/* Returns whether this process waits for a holder that shows no sign of life:
 * the holder has not renewed the Lease for our renewDeadline, or the Lease was
 * deleted.  If so, sets *out. */
bool lease_waits(const struct lease *l, int64_t boot_ms,
		 struct lease_wait *out);
/* Returns whether the Lease names an earlier process of this pod: one whose
 * identity has the same part before the last "_", and which has not renewed the
 * Lease since we first saw it.  That process has ended, so nobody leads until
 * the Lease expires. */
bool lease_is_orphan(const struct lease *l);

/* Returns the hold that counts for this replica: the Lease's, as far as the
 * replica has seen one, and otherwise the configured one.  A leader keeps its
 * hold, and restores it in the Lease.  It belongs to *l and is valid until the
 * next call. */
const struct hold_key *lease_hold(const struct lease *l);
/* Returns the state that was read when we became the leader, or that was set
 * since: "" if there is none, NULL if it is unknown.  It belongs to *l and is
 * valid until the next call. */
const char *lease_state(const struct lease *l);
/* Sets the state, a UTF-8 text that is copied.  The next write includes it.
 * Returns -1, with *l unchanged, if the text is too long, if the Lease's
 * present state is unknown, or after lease_stop. */
int lease_state_set(struct lease *l, const char *text);
/* lease_history and lease_history_set do the same for the history. */
const char *lease_history(const struct lease *l);
int lease_history_set(struct lease *l, const char *text);
/* Makes a command's next write remove state, history and hold: nothing is held
 * any more. */
void lease_clear(struct lease *l);
/* Returns the leaseTransitions that this lead has set. */
int32_t lease_term(const struct lease *l);
/* Returns the renewTime of the record that the state was read from, or
 * STAMP_NONE.  The writer of the state led at least until then. */
int64_t lease_state_ms(const struct lease *l);
/* Begins to release the Lease.  Call it when all other work of the leader has
 * ended.  Then call lease_next and lease_done until the step LEASE_END. */
void lease_stop(struct lease *l);
/* Removes the oldest note and copies it to *out.  Returns false if there is
 * none. */
bool lease_note(struct lease *l, struct lease_note *out);

#endif
