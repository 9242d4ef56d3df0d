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
 * the soft state that the leader keeps in an annotation beside the record.
 *
 * A step machine (docs/architecture.md#step-machines): lease_next says what to
 * do or for how long to wait, and lease_done is told what came of it.  One step
 * is under way at a time; meanwhile lease_next says WAIT.  boot_ms is for all
 * timing, server_ms only for what is written.
 *
 * It is stricter than client-go in three points.  A renewal counts from when it
 * was sent.  The leader ends by itself before its Lease can expire.  A Lease
 * that is deleted under another leader is not made anew before that leader's
 * time is over.
 *
 * Not thread-safe.  130 KiB: make it static, or part of what lives for the
 * whole run.
 */
#define LEASE_HOLDER_BYTES NAME_BYTES
#define LEASE_STATE_BYTES (64u << 10)	/* annotations may take 256 KiB per
					   object */
#define LEASE_MARGIN_MS 500	/* from the last moment for a write of ours to
				   expiry: clocks differ in rate, and a cancel
				   takes time */
#define LEASE_NOTES 8
#define LEASE_NEVER INT64_MIN
struct lease_config {
	bool enabled;	/* false: leads from the start, and only keeps the
			   state */
	char identity[LEASE_HOLDER_BYTES];	/* unlike that of any other
						   process */
	int64_t duration_ms, renew_deadline_ms, retry_ms;
	int64_t patience_ms;	/* 0: a replica.  Otherwise a command, which lets
				   replicas go first: it takes the Lease only
				   when it has been free for so long, and makes
				   none where there is none */
};
/* The patience of a command, in a replica's retry_ms: each replica that runs
 * tries more than once in this time. */
#define LEASE_PATIENCE_RETRIES 4

struct lease_record {
	bool present;
	char holder[LEASE_HOLDER_BYTES];	/* "": nobody */
	bool holder_cut;	/* it was longer than that, so it is never us */
	int32_t duration_s, transitions;
	int64_t acquire_us, renew_us;	/* since 1970; STAMP_NONE */
	char rv[RV_BYTES];
	bool state_bad;		/* the state is there, but too long or no
				   string */
	char state[LEASE_STATE_BYTES];	/* "": there is none that can be read */
};
/* Copies *from; NULL: a record that is not present.  Of the state it touches
 * only the bytes that are in use. */
void lease_record_copy(struct lease_record *to,
		       const struct lease_record *from);

enum lease_step {
	LEASE_WAIT,
	LEASE_GET,
	LEASE_CREATE,	/* create record; 409 is CONFLICT */
	LEASE_UPDATE,	/* update the parts that with_… name, at record's rv */
	LEASE_END,	/* after lease_stop: nothing is left to do */
	LEASE_NONE,	/* with patience_ms: there is no Lease, so nobody leads.
			   The caller goes on without one, and does not ask
			   again */
};

struct lease_todo {
	enum lease_step step;
	int64_t wait_ms;	/* WAIT; INT64_MAX: until another call */
	int64_t timeout_ms;	/* the request's; after that it is FAILED */
	const struct lease_record *record;	/* CREATE, UPDATE: ours; valid
						   until the next call */
	bool with_spec, with_state;	/* UPDATE */
};

enum lease_code {
	LEASE_OK,	/* record is what the answer contains, also after a
			   write */
	LEASE_NOT_FOUND,
	LEASE_CONFLICT,
	LEASE_BUSY,	/* 429 or 503: it was not done */
	LEASE_FAILED,	/* no readable answer: it may have been done */
};

struct lease_outcome {
	enum lease_code code;
	const struct lease_record *record;	/* OK */
	int64_t retry_after_ms;	/* BUSY: the answer's; -1: none */
};

struct lease_note {	/* for the log */
	enum lease_note_type {
		LEASE_NOTE_LEADS,	/* we lead */
		LEASE_NOTE_LEADER,	/* another leads: name; newly seen */
		LEASE_NOTE_LATE,	/* lead lost: not renewed in time */
		LEASE_NOTE_TAKEN,	/* lead lost: name has it, "" if
					   nobody */
		LEASE_NOTE_RELEASED,	/* lead given up at the end */
		LEASE_NOTE_BAD_STATE,	/* the state cannot be read, and counts
					   as absent */
		LEASE_NOTE_FREE,	/* patience_ms begins: nobody leads */
	} type;
	char name[LEASE_HOLDER_BYTES];
};
struct lease {
	struct lease_config config;
	struct pace pace;
	bool leading, stopping, releasing;
	bool fresh;	/* `seen` is what the last answer showed */
	bool read;	/* the state is known, so want.state may be written */
	enum lease_step busy;	/* the step under way; LEASE_WAIT: none */
	enum lease_step plan;	/* the step to go on with; LEASE_WAIT: a new
				   attempt */
	unsigned steps, failures, notes_first, notes_n;
	int64_t not_before_ms, attempt_ms, call_ms;
	int64_t sent_ms;	/* when the last write known to be done was
				   sent */
	int64_t seen_ms;	/* when the record was last seen to change */
	int64_t free_ms;	/* patience_ms counts from here; 0: the Lease was
				   not seen free since a replica held it */
	int64_t state_us;	/* lease_state_ms */
	struct lease_record seen, want;
	char reported[LEASE_HOLDER_BYTES];
	struct lease_note notes[LEASE_NOTES];
};
void lease_init(struct lease *l, const struct lease_config *c, uint64_t seed);
struct lease_todo lease_next(struct lease *l, struct now now);
void lease_done(struct lease *l, const struct lease_outcome *o, struct now now);

/* May we write now?  The answer becomes false in time even if nobody calls
 * lease_next. */
bool lease_leads(const struct lease *l, int64_t boot_ms);
/* From that boot time on no write of ours may be under way.  LEASE_NEVER: we
 * never led; INT64_MAX: election is not enabled. */
int64_t lease_fence_ms(const struct lease *l);

/* The state that was read when we came to lead, or set since.  "": none; NULL:
 * not known.  lease_state_set takes UTF-8, which goes with the next write; -1:
 * it is too long, or not ours to write. */
const char *lease_state(const struct lease *l);
int lease_state_set(struct lease *l, const char *text);
/* The writer of that state led at least until this moment: the renewTime of the
 * record that it was read from, server time.  STAMP_NONE: not known. */
int64_t lease_state_ms(const struct lease *l);
/* Gives the Lease up.  All work has to have ended.  Go on with lease_next until
 * LEASE_END. */
void lease_stop(struct lease *l);
bool lease_note(struct lease *l, struct lease_note *out); /* the oldest note;
							     false: none */
#endif
