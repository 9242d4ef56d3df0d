/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_EVENT_SERIES_H
#define CORE_PROTOCOL_EVENT_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/pace.h"
#include "core/base/stamp.h"

/*
 * Which Kubernetes Events to write on NodePools, and when, by the rules of
 * client-go (tools/events/event_broadcaster.go).  The first Event of a kind is
 * created.  An equal one within 6 min makes a series of it.  Further ones are
 * counted here, and written every 30 min and once 6 min after the last.  An
 * Event that cannot be written is tried 12 times and then lost; nobody waits
 * for it.
 *
 * Two Events are equal if they have the same NodePool, reason, action and note.
 * (client-go leaves the note out.  But Kubernetes allows no change of a note
 * after the creation, and a second hold should not be reported in the words of
 * the first.)
 *
 * A step machine (docs/architecture.md#step-machines): event_series_next says
 * what to do or for how long to wait, and event_series_done is told what came of
 * it.  One step is under way at a time; meanwhile event_series_next says WAIT.
 * One thread, or under the owner's lock.  No allocation; about 90 KB.
 */
#define EVENT_SERIES_MAX 64		/* kinds known at once, written or
					   waiting */
#define EVENT_SERIES_NOTE_BYTES 1025	/* Kubernetes: 1024 bytes */
#define EVENT_SERIES_ACTION_BYTES 129	/* Kubernetes: 128 bytes */
#define EVENT_SERIES_SERIES_MS 360000
#define EVENT_SERIES_REFRESH_MS 1800000
#define EVENT_SERIES_TRIES 12
#define EVENT_SERIES_RETRY_MS 10000	/* and up to a quarter more */

enum event_reason {
	EVENT_SERIES_HOLD_STARTED,
	EVENT_SERIES_HOLD_EXTENDED,
	EVENT_SERIES_HOLD_RELEASED,
	EVENT_SERIES_HOLD_CAPPED,
	EVENT_SERIES_MANUAL_HOLD,
	EVENT_SERIES_INVALID_ANNOTATION,	/* a Warning, as is the next
						   one */
	EVENT_SERIES_RELEASE_BLOCKED,
	EVENT_SERIES_REASON_COUNT,
};

struct event_series_what {
	enum event_reason reason;
	const char *nodepool, *nodepool_uid;
	const char *action;	/* NULL: the reason's usual one */
	const char *note;	/* if too long, cut at a whole character */
};

struct event_series_event {
	enum event_reason reason;
	char nodepool[NODEPOOL_BYTES], nodepool_uid[UID_BYTES];
	char action[EVENT_SERIES_ACTION_BYTES], note[EVENT_SERIES_NOTE_BYTES];
	int64_t first_us;	/* server time; no other Event has the same */
	int64_t last_us;
	unsigned count;		/* 2 or more: a series */
};

enum event_series_step {
	EVENT_SERIES_WAIT,
	EVENT_SERIES_CREATE,	/* create *event, with its series if it is
				   one */
	EVENT_SERIES_PATCH,	/* write the series of *event */
};

struct event_series_todo {
	enum event_series_step step;
	int64_t wait_ms;	/* WAIT; INT64_MAX: until another call */
	const struct event_series_event *event;	/* valid until
						   event_series_done */
};

enum event_series_code {
	EVENT_SERIES_WRITTEN,
	EVENT_SERIES_GONE,	/* 404 */
	EVENT_SERIES_EXISTS,	/* 409 */
	EVENT_SERIES_REFUSED,	/* any other 4xx: never tried again */
	EVENT_SERIES_FAILED,	/* no answer, 429 or 5xx: tried again */
};

struct event_series_outcome {
	enum event_series_code code;
	int64_t retry_after_ms;	/* FAILED: the answer's; -1: none */
};

struct event_series_entry {
	struct event_series_event event;
	bool used;
	bool pending;		/* to be written, at not_before_ms or later */
	bool exists;		/* the server has it */
	bool ended;		/* takes no more; dropped once it is written */
	unsigned written;	/* the count that the API server has */
	unsigned tries;
	uint64_t order;
	int64_t last_ms, wrote_ms, not_before_ms;	/* boot_ms */
};

struct event_series {
	struct pace pace;
	struct event_series_entry entries[EVENT_SERIES_MAX];
	struct event_series_entry *under_way;	/* NULL: none */
	enum event_series_step step;		/* of the one under way */
	struct event_series_event sent;		/* the Event as it was sent */
	uint64_t order;
	int64_t stamp_us;
	uint64_t dropped;	/* no room */
	uint64_t lost;		/* refused, or tried 12 times */
};

void event_series_init(struct event_series *t, uint64_t seed);
void event_series_say(struct event_series *t,
		      const struct event_series_what *what, struct now now);
struct event_series_todo event_series_next(struct event_series *t,
					   struct now now);
void event_series_done(struct event_series *t,
		       const struct event_series_outcome *o, struct now now);

const char *event_reason_name(enum event_reason r);	/* "HoldStarted" */
const char *event_reason_type(enum event_reason r);	/* "Normal" */

#endif
