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
 * lease_next says what to do, lease_done is told what came of it; one call at
 * a time.  boot_ms for all timing, server_ms only for what is written.
 * Stricter than client-go: a renewal counts from when it was sent, the leader
 * ends by itself before its Lease can expire, and a Lease that is deleted under
 * another leader is not made anew before that one's time is over.
 * Not thread-safe.  130 KiB: static, or part of what lives for the whole run.
 */
#define LEASE_HOLDER_BYTES NAME_BYTES
#define LEASE_STATE_BYTES (64u << 10)	/* annotations: 256 KiB an object */
#define LEASE_MARGIN_MS 500	/* last moment for a write of ours to expiry:
				   clocks differ in rate, a cancel takes time */
#define LEASE_NOTES 8
#define LEASE_NEVER INT64_MIN
struct lease_config {
	bool enabled;	/* false: leads from the start; keeps state only */
	char identity[LEASE_HOLDER_BYTES];	/* of this process alone */
	int64_t duration_ms, renew_deadline_ms, retry_ms;
};

struct lease_record {
	bool present;
	char holder[LEASE_HOLDER_BYTES];	/* "": nobody */
	bool holder_cut;	/* longer than that: never us */
	int32_t duration_s, transitions;
	int64_t acquire_us, renew_us;	/* since 1970; STAMP_NONE */
	char rv[RV_BYTES];
	bool state_bad;		/* there, but too long or no string */
	char state[LEASE_STATE_BYTES];	/* "": none that can be read */
};
/* from NULL: nothing is present.  Touches of the state what is there. */
void lease_record_copy(struct lease_record *to, const struct lease_record *from);

enum lease_step {
	LEASE_WAIT,	/* wait_ms; INT64_MAX: until something is called */
	LEASE_GET,
	LEASE_CREATE,	/* record; 409: CONFLICT */
	LEASE_UPDATE,	/* record at its rv, as far as with_… says */
	LEASE_DONE,	/* after lease_stop: nothing more to do */
};

struct lease_todo {
	enum lease_step step;
	int64_t wait_ms, timeout_ms;	/* of the request: then FAILED */
	const struct lease_record *record;	/* ours, until the next call */
	bool with_spec, with_state;
};

enum lease_code {
	LEASE_OK,	/* record: what the answer holds, also of a write */
	LEASE_NOT_FOUND,
	LEASE_CONFLICT,
	LEASE_BUSY,	/* 429, 503: not done */
	LEASE_FAILED,	/* no answer, or none to be read: may be done */
};

struct lease_outcome {
	enum lease_code code;
	const struct lease_record *record;	/* OK */
	int64_t retry_after_ms;			/* BUSY; else 0 */
};

struct lease_note {	/* for the log */
	enum lease_note_type {
		LEASE_NOTE_LEADS,	/* we do */
		LEASE_NOTE_LEADER,	/* name: another, newly seen */
		LEASE_NOTE_LATE,	/* lost: not renewed in time */
		LEASE_NOTE_TAKEN,	/* lost: name has it, "" nobody */
		LEASE_NOTE_RELEASED,	/* given up at the end */
		LEASE_NOTE_BAD_STATE,	/* cannot be read, counts as absent */
	} type;
	char name[LEASE_HOLDER_BYTES];
};
struct lease {
	struct lease_config config;
	struct pace pace;
	bool leading, stopping, releasing;
	bool fresh;	/* `seen` is what the last answer showed */
	bool read;	/* the state is known: want.state may be written */
	enum lease_step busy;	/* under way; LEASE_WAIT: nothing */
	enum lease_step plan;	/* what goes on; LEASE_WAIT: a new attempt */
	unsigned steps, failures, notes_first, notes_n;
	int64_t not_before_ms, attempt_ms, call_ms;
	int64_t sent_ms;	/* of the last write known to be done */
	int64_t seen_ms;	/* of the record's last change */
	int64_t state_us;	/* lease_state_ms */
	struct lease_record seen, want;
	char reported[LEASE_HOLDER_BYTES];
	struct lease_note notes[LEASE_NOTES];
};
void lease_init(struct lease *l, const struct lease_config *c, uint64_t seed);
struct lease_todo lease_next(struct lease *l, struct now now);
void lease_done(struct lease *l, const struct lease_outcome *o, struct now now);

/* May we write now?  False in time also where nobody calls lease_next. */
bool lease_leads(const struct lease *l, int64_t boot_ms);
/* No write of ours may be under way from then on.  LEASE_NEVER: we never led;
 * INT64_MAX: not enabled. */
int64_t lease_fence_ms(const struct lease *l);

/* What was read when we came to lead, or set since; "": none; NULL: not known.
 * Set (UTF-8): goes with the next write; -1: too long, or not ours to write. */
const char *lease_state(const struct lease *l);
int lease_state_set(struct lease *l, const char *text);
/* Up to when who wrote that state led, at least: the renewTime of the record that
 * it was read from, server time; STAMP_NONE: not known. */
int64_t lease_state_ms(const struct lease *l);
/* All work has ended: give it up.  Go on with lease_next until LEASE_DONE. */
void lease_stop(struct lease *l);
bool lease_note(struct lease *l, struct lease_note *out); /* oldest; or none */
#endif
