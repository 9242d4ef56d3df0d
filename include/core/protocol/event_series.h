/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_EVENT_SERIES_H
#define CORE_PROTOCOL_EVENT_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/pace.h"
#include "core/base/stamp.h"

/*
 * Which Kubernetes Events we write on NodePools, by the rules of client-go
 * (tools/events/event_broadcaster.go): the first of a kind is created; a
 * second equal one within 6 min makes a series of it; further ones are counted
 * here, written every 30 min and once 6 min after the last.  What cannot be
 * written is tried 12 times and then lost; nobody waits for it.
 *
 * Equal is what has the same pool, reason, action and note.  (client-go leaves
 * the note out; but no note may be changed after the creation, and a second
 * hold is not to be told in the words of the first.)
 *
 * One thread, or under its owner's lock; no allocation; about 90 KB.
 */
#define TELL_MAX 64		/* kinds known at once, written or waiting */
#define TELL_NOTE_BYTES 1025	/* Kubernetes: 1024 bytes */
#define TELL_ACTION_BYTES 129	/* Kubernetes: 128 bytes */
#define TELL_SERIES_MS 360000
#define TELL_REFRESH_MS 1800000
#define TELL_TRIES 12
#define TELL_RETRY_MS 10000	/* and up to a quarter more */

enum tell_reason {
	TELL_HOLD_STARTED,
	TELL_HOLD_EXTENDED,
	TELL_HOLD_RELEASED,
	TELL_HOLD_CAPPED,
	TELL_MANUAL_HOLD,
	TELL_INVALID_ANNOTATION,	/* a Warning, as is the next */
	TELL_RELEASE_BLOCKED,
	TELL_REASON_COUNT,
};

struct tell_what {
	enum tell_reason reason;
	const char *pool, *pool_uid;
	const char *action;	/* NULL: the reason's usual one */
	const char *note;	/* cut at a whole character where it is long */
};

struct tell_event {
	enum tell_reason reason;
	char pool[POOL_BYTES], pool_uid[UID_BYTES];
	char action[TELL_ACTION_BYTES], note[TELL_NOTE_BYTES];
	int64_t first_us;	/* server time; no other has the same */
	int64_t last_us;
	unsigned count;		/* at least 2: a series */
};

enum tell_step {
	TELL_WAIT,	/* wait_ms; INT64_MAX: until more is said or done */
	TELL_CREATE,	/* *event, with its series if it is one */
	TELL_PATCH,	/* the series of *event */
};

struct tell_todo {
	enum tell_step step;
	int64_t wait_ms;
	const struct tell_event *event;	/* stands until tell_done */
};

enum tell_outcome {
	TELL_WRITTEN,
	TELL_GONE,	/* 404 */
	TELL_EXISTS,	/* 409 */
	TELL_REFUSED,	/* any other 4xx: never tried again */
	TELL_FAILED,	/* no answer, 429, 5xx */
};

struct tell_entry {
	struct tell_event event;
	bool used;
	bool pending;		/* to be written, from not_before_ms on */
	bool exists;		/* the server has it */
	bool ended;		/* takes no more; goes when it is written */
	unsigned written;	/* the count that the server has */
	unsigned tries;
	uint64_t order;
	int64_t last_ms, wrote_ms, not_before_ms;	/* boot_ms */
};

struct tell {
	struct pace pace;
	struct tell_entry entries[TELL_MAX];
	struct tell_entry *under_way;	/* NULL: none */
	enum tell_step step;		/* of the one under way */
	struct tell_event sent;		/* as it was when it was sent */
	uint64_t order;
	int64_t stamp_us;
	uint64_t dropped;	/* no room */
	uint64_t lost;		/* refused, or tried often enough */
};

void tell_init(struct tell *t, uint64_t seed);
void tell_say(struct tell *t, const struct tell_what *what, struct now now);

/* At most one is under way: a wait without end until tell_done. */
struct tell_todo tell_next(struct tell *t, struct now now);

/* retry_after_ms: of a FAILED; -1: none. */
void tell_done(struct tell *t, enum tell_outcome outcome,
	       int64_t retry_after_ms, struct now now);

const char *tell_reason_name(enum tell_reason r);	/* "HoldStarted" */
const char *tell_reason_type(enum tell_reason r);	/* "Normal" */

#endif
