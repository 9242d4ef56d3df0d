/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_LEASE_H
#define CORE_PROTOCOL_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/pace.h"
#include "core/base/stamp.h"

/*
 * Leader election by a Lease as client-go does it (tools/leaderelection), and
 * the soft state and the history that the leader keeps in annotations beside
 * the record.
 *
 * A step machine (docs/architecture.md#step-machines): lease_next says what to
 * do or for how long to wait, and lease_done is told what came of it.  At most
 * one request is under way: until lease_done, lease_next says WAIT.  All timing
 * is by boot_ms, and server_ms is only written into the Lease.
 *
 * It is stricter than client-go in three points.  A renewal counts from when it
 * was sent.  The leader ends by itself before its Lease can expire.  A Lease
 * that is deleted under another leader is not made anew before that leader's
 * time is over.
 *
 * Not thread-safe.  It owns no memory, but takes 170 KiB: do not put it on the
 * stack.
 */
#define LEASE_HOLDER_BYTES NAME_BYTES
/* annotations may take 256 KiB per object */
#define LEASE_STATE_BYTES (64u << 10)
#define LEASE_HISTORY_BYTES (16u << 10)
/* our writes end this long before the Lease can expire, because clocks
 * differ in rate and a cancelled request takes time to stop */
#define LEASE_MARGIN_MS 500
/* how many notes wait to be fetched; the oldest is dropped for another one */
#define LEASE_NOTES 8
#define LEASE_NEVER INT64_MIN /* lease_fence_ms: this process has never led */
/* The times are leaseDuration, renewDeadline and retryPeriod under
 * leaderElection in the configuration.  retry_ms is shorter than
 * renew_deadline_ms, which is shorter than duration_ms. */
struct lease_config {
	bool enabled;  /* false: leads from the start, and only keeps the
			   state */
	bool observes; /* MODE_OBSERVE: the state is kept in an annotation of
			   its own */
	char identity[LEASE_HOLDER_BYTES]; /* unlike that of any other
						   process */
	int64_t duration_ms, renew_deadline_ms, retry_ms;
	int64_t patience_ms; /* 0: a replica.  Otherwise a command, which
				   lets replicas go first: it takes the Lease
				   only when it has been free for so long, and
				   makes none where there is none */
};
/* The patience of a command, in a replica's retry_ms: each replica that runs
 * tries more than once in this time. */
#define LEASE_PATIENCE_RETRIES 4

/* A Lease (coordination.k8s.io/v1) as it is read and written. */
struct lease_record {
	bool present;			 /* false: there is no such Lease */
	char holder[LEASE_HOLDER_BYTES]; /* "" if nobody */
	bool holder_cut; /* the name in the Lease is longer than fits, so
				   the holder is not this process */
	int32_t duration_s, transitions;
	int64_t acquire_us, renew_us; /* microseconds since 1970; STAMP_NONE:
					   missing */
	char rv[RV_BYTES];	      /* metadata.resourceVersion */
	bool observes;		      /* the state is that of a leader that
				   observes */
	bool state_bad;		      /* the state is there, but too long or no
				   string */
	bool state_other; /* the state of the other mode is there.  The
				   next write removes it: it would say what was
				   held then, and not since */
	/* "" if there is none that can be read */
	char state[LEASE_STATE_BYTES], history[LEASE_HISTORY_BYTES];
};
/* Copies *from; NULL: a record that is not present.  Of state and history it
 * touches only the bytes that are in use. */
void lease_record_copy(struct lease_record *to,
		       const struct lease_record *from);

enum lease_step {
	LEASE_WAIT,
	LEASE_GET,
	LEASE_CREATE, /* create `record`; answer a 409 with CONFLICT */
	LEASE_UPDATE, /* update the spec if with_spec, and state and history if
			   with_state, at record->rv */
	LEASE_END,    /* after lease_stop: nothing is left to do */
	LEASE_NONE,   /* with patience_ms: there is no Lease, so nobody leads.
			   The caller goes on without one, and does not ask
			   again */
};

struct lease_todo {
	enum lease_step step;
	int64_t wait_ms;    /* WAIT: for how long; INT64_MAX: until another
			       function is called */
	int64_t timeout_ms; /* how long the request may take; after that it is
			       FAILED */
	const struct lease_record *record; /* CREATE, UPDATE: belongs to
						   the struct lease, and the
						   next call may change it */
	bool with_spec;			   /* UPDATE: whether to write the
					      spec */
	bool with_state;		   /* UPDATE: whether to write state and
					      history */
};

enum lease_code {
	LEASE_OK,
	LEASE_NOT_FOUND, /* 404 */
	LEASE_CONFLICT,	 /* 409 */
	LEASE_BUSY,	 /* 429 or 503: the request was not carried out */
	LEASE_FAILED,	 /* no readable answer: a write may have been carried
			   out */
};

struct lease_outcome {
	enum lease_code code;
	const struct lease_record *record; /* OK: the object in the answer,
						   also in that to a write */
	int64_t retry_after_ms;		   /* BUSY: the answer's Retry-After;
					      -1: it has none */
};

/* What the log should say. */
struct lease_note {
	enum lease_note_type {
		LEASE_NOTE_LEADS,     /* we lead; name: our identity */
		LEASE_NOTE_LEADER,    /* another process, `name`, is newly
					   seen as the holder */
		LEASE_NOTE_LATE,      /* the lead is lost, because the Lease
					   was not renewed in time */
		LEASE_NOTE_TAKEN,     /* the lead is lost, because `name` has
					   the Lease, or "" if nobody has */
		LEASE_NOTE_RELEASED,  /* the Lease was given up after
					   lease_stop */
		LEASE_NOTE_BAD_STATE, /* the state cannot be read, and counts
					   as absent */
		LEASE_NOTE_FREE,      /* nobody leads, and patience_ms
					   begins */
	} type;
	char name[LEASE_HOLDER_BYTES]; /* "" unless the type says otherwise */
};

/*
 *	FOLLOWS ── a write with our name is done ──▶ LEADS
 *	LEADS ── not renewed in time, or taken ────▶ FOLLOWS
 *	FOLLOWS, LEADS ── lease_stop ──────────────▶ STOPS
 *
 * lease_done makes the first transition, and lease_next or lease_done the
 * second.  Without leader election a Lease begins in LEADS, and stays there
 * until lease_stop.  In LEADS the time may be over already: lease_leads.
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
	bool releasing; /* STOPS: the write under way gives the Lease up */
	bool fresh;	/* `seen` is what the last answer showed */
	bool read;	/* the state is known, so want.state may be written */
	enum lease_step busy; /* the step under way; LEASE_WAIT: none */
	enum lease_step plan; /* the step to go on with; LEASE_WAIT: a new
				   attempt */
	/* Requests of this attempt; failures in a row; the ring of notes. */
	unsigned steps, failures, notes_first, notes_n;
	/* The next attempt begins at not_before_ms.  The last one began at
	 * attempt_ms, and its last request was given out at call_ms. */
	int64_t not_before_ms, attempt_ms, call_ms;
	int64_t sent_ms;  /* when the last write known to be done was
				   sent, or LEASE_NEVER if there was none */
	int64_t seen_ms;  /* when the record was last seen to change */
	bool renewed;	  /* the holder that the Lease had before made that
			     change */
	int64_t free_ms;  /* patience_ms counts from here; 0: the Lease
				   was not seen free since a replica held it */
	int64_t state_us; /* lease_state_ms, in microseconds */
	struct lease_record seen, want;	   /* what the server has, as far as we
					   know; what we write */
	char reported[LEASE_HOLDER_BYTES]; /* the holder that was last
					      reported */
	struct lease_note notes[LEASE_NOTES];
};

/* c is copied.  seed: of all jitter. */
void lease_init(struct lease *l, const struct lease_config *c, uint64_t seed);
/* Returns whether the state is consistent.  For assert. */
bool lease_check(const struct lease *l);
struct lease_todo lease_next(struct lease *l, struct now now);
void lease_done(struct lease *l, const struct lease_outcome *o, struct now now);

/* Returns whether this process leads at boot_ms and may write.  After the last
 * renewal this depends on the time alone, so it becomes false even if nobody
 * calls lease_next. */
bool lease_leads(const struct lease *l, int64_t boot_ms);
/* Returns the boot time by which every write of ours has to be over.
 * LEASE_NEVER: this process has never led.  INT64_MAX: the election is not
 * enabled. */
int64_t lease_fence_ms(const struct lease *l);

/* Returns who holds the Lease as far as the last answer showed, and in
 * *since_us since when (microseconds since 1970; STAMP_NONE: unknown).  "":
 * nobody, or the holder's time is over; this process has lost the lead while
 * the Lease still names it.  It belongs to *l and is valid until the next call.
 */
const char *lease_holder(const struct lease *l, int64_t boot_ms,
			 int64_t *since_us);
/* Does the Lease name an earlier process of this pod?  Its identity begins with
 * the same name, up to the last "_", and it has not renewed the Lease since we
 * see it: it has ended, and nobody leads until the Lease has run out. */
bool lease_is_orphan(const struct lease *l);

/* Returns the state that was read when we came to lead, or set since.  "":
 * there is none.  NULL: it is not known.  It belongs to *l and is valid until
 * the next call. */
const char *lease_state(const struct lease *l);
/* Copies the state, which is UTF-8; the next write takes it along.  Returns -1,
 * with *l unchanged, if it is too long, if the state that the Lease has is not
 * known, or after lease_stop. */
int lease_state_set(struct lease *l, const char *text);
/* The same for the history. */
const char *lease_history(const struct lease *l);
int lease_history_set(struct lease *l, const char *text);
/* Returns the Lease's leaseTransitions, of this lead. */
int32_t lease_term(const struct lease *l);
/* Returns the server time until which the writer of that state led at least: it
 * is the renewTime of the record that the state was read from.  STAMP_NONE: it
 * is not known. */
int64_t lease_state_ms(const struct lease *l);
/* Begins to give the Lease up.  Call it when all other work of the leader has
 * ended, and go on with lease_next and lease_done until LEASE_END. */
void lease_stop(struct lease *l);
/* Takes out the oldest note.  Returns false if there is none. */
bool lease_note(struct lease *l, struct lease_note *out);

#endif
