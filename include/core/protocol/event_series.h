/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_EVENT_SERIES_H
#define CORE_PROTOCOL_EVENT_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/pace.h"
#include "core/base/stamp.h"

/*
 * Decides which Kubernetes Events to write on NodePools, and when, by the rules
 * of client-go (tools/events/event_broadcaster.go).  The first of several equal
 * Events is created.  An equal Event within 6 min turns the first Event into a
 * series.  Later equal Events are only counted here.  The count is written
 * every 30 min, and once more 6 min after the last equal Event.  An Event that
 * cannot be written is tried 12 times and then lost.  The rest of the program
 * does not depend on Events.
 *
 * A token bucket limits all writes (EVENTS_PER_S, EVENTS_BURST).  While an
 * Event waits for its first write, an Event of the same subject with another
 * note replaces it.  The subject is the NodePool, the reason and the action.
 *
 * Two Events are equal if they have the same NodePool, reason, action and note.
 * (client-go does not compare the note.  We compare it, because Kubernetes does
 * not let a note change after the creation, and a second hold should not be
 * reported with the note of the first.)
 *
 * This is a step machine (docs/architecture.md#step-machines):
 * event_series_next returns the next step or the time to wait, and
 * event_series_done receives the step's outcome.  At most one step is under
 * way: until event_series_done, event_series_next returns WAIT.
 *
 * Not thread-safe: one thread calls it, or all callers hold the owner's lock.
 * A struct event_series owns no memory, but takes about 90 KB: do not put it on
 * the stack.
 */
/* Maximum number of different Events that are kept, including those that are
 * not written yet. */
#define EVENT_SERIES_MAX 64
#define EVENT_SERIES_NOTE_BYTES 1025  /* Kubernetes allows 1024 bytes */
#define EVENT_SERIES_ACTION_BYTES 129 /* Kubernetes allows 128 bytes */
/* client-go's finishTime: how long after the last equal Event a series ends. */
#define EVENT_SERIES_FINISH_MS 360000
/* client-go's refreshTime: how often the count of a series is written. */
#define EVENT_SERIES_REFRESH_MS 1800000
#define EVENT_SERIES_TRIES 12 /* client-go's maxTriesPerEvent */
/* client-go's sleepDuration: the wait between two tries.  Up to a quarter of it
 * is added as jitter. */
#define EVENT_SERIES_RETRY_MS 10000

enum event_reason {
	EVENT_HOLD_STARTED,
	EVENT_HOLD_EXTENDED,
	EVENT_HOLD_RELEASED,
	EVENT_HOLD_CAPPED,
	EVENT_MANUAL_HOLD,
	/* The next two are of type Warning, all others are Normal. */
	EVENT_RELEASE_BLOCKED,
	EVENT_INVALID_ANNOTATION,
	/* With MODE_OBSERVE, the following reasons replace those up to
	 * EVENT_RELEASE_BLOCKED, in the same order.  All are of type Normal,
	 * because nothing was written. */
	EVENT_OBSERVED_HOLD_STARTED,
	EVENT_OBSERVED_HOLD_EXTENDED,
	EVENT_OBSERVED_HOLD_RELEASED,
	EVENT_OBSERVED_HOLD_CAPPED,
	EVENT_OBSERVED_MANUAL_HOLD,
	EVENT_OBSERVED_RELEASE_BLOCKED,
	EVENT_REASON_COUNT,
};

/* An Event as the caller reports it. */
struct event_series_what {
	enum event_reason reason;
	const char *nodepool, *nodepool_uid;
	const char *action; /* NULL for the reason's usual action */
	/* A note that is too long is cut after a whole character. */
	const char *note;
};

/* An Event as it is written. */
struct event_series_event {
	enum event_reason reason;
	char nodepool[NODEPOOL_BYTES], nodepool_uid[UID_BYTES];
	char action[EVENT_SERIES_ACTION_BYTES], note[EVENT_SERIES_NOTE_BYTES];
	/* When the Event occurred first and last, in microseconds of server
	 * time.  first_us is unique, because it is part of the Event's name. */
	int64_t first_us;
	int64_t last_us;
	/* How often the Event occurred.  From 2 on, the Event is a series. */
	unsigned count;
};

enum event_series_step {
	EVENT_SERIES_WAIT,
	/* Create *event, including its series if it has one. */
	EVENT_SERIES_CREATE,
	EVENT_SERIES_PATCH, /* write the series of *event */
};

struct event_series_todo {
	enum event_series_step step;
	/* WAIT: the longest time to wait, or INT64_MAX to wait for another call
	 * of an event_series function. */
	int64_t wait_ms;
	/* CREATE, PATCH: valid until event_series_done. */
	const struct event_series_event *event;
};

enum event_series_code {
	EVENT_SERIES_WRITTEN,
	EVENT_SERIES_GONE,    /* 404 */
	EVENT_SERIES_EXISTS,  /* 409 */
	EVENT_SERIES_REFUSED, /* any other 4xx: never tried again */
	EVENT_SERIES_FAILED,  /* no answer, 429 or 5xx: tried again */
};

struct event_series_outcome {
	enum event_series_code code;
	int64_t retry_after_ms; /* FAILED: the Retry-After, or -1 */
};

/*
 * The state of one Event, and of the series that it becomes.
 *
 *	         say               written, or lost              the end
 *	FREE ───────────▶ PENDING ──────────────────▶ COUNTING ──────────▶ FREE
 *	                     ▲                           │ ▲ │
 *	                     └───────────────────────────┘ └─┘ say
 *	                     the count is to be written
 *
 * The count is written when the Event occurs a second time, then every 30 min,
 * and at the end of the series.  The count is not written if the API server
 * already has it.  The series ends when no equal Event has occurred for 6 min.
 * `ended` is then set, and a later equal Event begins another entry.  If
 * `exists` is false the Event is created, otherwise it is patched.
 */
enum event_series_state {
	EVENT_SERIES_FREE,
	EVENT_SERIES_PENDING, /* to be written, at not_before_ms or later */
	EVENT_SERIES_COUNTING,
};

struct event_series_entry {
	struct event_series_event event;
	enum event_series_state state;
	bool exists; /* Whether the API server has the Event. */
	/* Whether the series has ended, so the entry takes no more repetitions.
	 * The entry is freed once its count is written. */
	bool ended;
	unsigned written; /* the count that the API server has */
	unsigned tries;	  /* tries of the pending write */
	uint64_t order;	  /* sequence number of the entry, by creation */
	/* Boot times.  last_ms is when the Event last occurred, wrote_ms when
	 * it was last written or given up, and not_before_ms when the next try
	 * is due. */
	int64_t last_ms, wrote_ms, not_before_ms;
};

/* The members are private, except for the two counts at the end. */
struct event_series {
	struct pace pace;
	struct event_series_entry entries[EVENT_SERIES_MAX];
	/* The entry whose write is in flight, or NULL.  `step` is the step of
	 * that write. */
	struct event_series_entry *under_way;
	enum event_series_step step;
	struct event_series_event sent; /* the Event as it was sent */
	uint64_t order;	  /* the sequence number of the next Event */
	int64_t stamp_us; /* the first_us that was last given out */
	int64_t full_ms;  /* boot time at which the token bucket is full */
	/* Number of Events that were dropped because a newer one replaced them,
	 * because there was no room, or because the name or uid of their
	 * NodePool was too long. */
	uint64_t dropped;
	/* Number of writes that were refused, or failed 12 times. */
	uint64_t lost;
};

/* `seed` is the seed of all jitter. */
void event_series_init(struct event_series *s, uint64_t seed);
/* Records an Event, and copies what `what` points to.  If there is no room, the
 * oldest entry that is not waiting to be written is dropped, or else the oldest
 * entry.  An Event whose NodePool has an overlong name or uid is dropped. */
void event_series_say(struct event_series *s,
		      const struct event_series_what *what, struct now now);
struct event_series_todo event_series_next(struct event_series *s,
					   struct now now);
void event_series_done(struct event_series *s,
		       const struct event_series_outcome *o, struct now now);

/* Return the Event's reason, such as "HoldStarted", and its type, "Normal" or
 * "Warning".  Static. */
const char *event_series_reason_name(enum event_reason r);
const char *event_series_reason_type(enum event_reason r);
/* Returns the reason that replaces r with MODE_OBSERVE and says what would have
 * been done.  Returns r itself if r is used in both modes. */
enum event_reason event_series_reason_observed(enum event_reason r);

#endif
