/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/protocol/event_series.h"

#define EVENT_MS 3600000	/* how long an API server keeps an Event */
#define QUOTA_MS 200000		/* how long it has no room for one; more than
				   EVENT_SERIES_TRIES take */
#define REFUSED_MS 60000	/* what was refused is not tried before that */
#define STEPS_MAX 100000	/* of one call; more is a busy loop */

/* What was said, over all Events that say it. */
struct said {
	struct event_series_event event;
	unsigned n, counted;
	bool excused;		/* a write of it was refused or given up */
};

/* An Event of the API server. */
struct stored {
	int64_t first_us;	/* its name */
	struct said *said;
	unsigned count;
	unsigned known;		/* the count that was answered */
	int64_t written_at;
};

struct recorder {
	struct dice dice;
	struct event_series series;
	int64_t at;		/* virtual time, up to which all is done */
	int64_t wake_at;	/* event_series_next's word */
	bool under_way;
	int64_t answer_at;
	struct event_series_outcome outcome;
	int64_t from, writes;	/* how many writes were sent since then */
	int64_t quota_until;
	int64_t refused_us, refused_at;	/* the last one refused … */
	unsigned refused_count;		/* … with this count */
	struct said **said;
	unsigned said_n;
	struct stored *stored;
	unsigned stored_n;
};

struct recorder *
recorder_new(uint64_t seed, int64_t now)
{
	struct recorder *r = calloc(1, sizeof(*r));

	if (r == NULL)
		abort();
	r->at = r->from = now;
	r->wake_at = INT64_MAX;
	r->dice.state = (seed + 1) * 0x9e3779b97f4a7c15u | 1;
	event_series_init(&r->series, seed);
	return r;
}

void
recorder_free(struct recorder *r)
{
	if (r == NULL)
		return;
	for (unsigned i = 0; i < r->said_n; i++)
		free(r->said[i]);
	free(r->said);
	free(r->stored);
	free(r);
}

static struct now
now_of(const struct holder *h)
{
	return holder_now_at(h, h->recorder->at);
}

/* --- the API server ------------------------------------------------------- */

static struct said *
said_of(struct recorder *r, const struct event_series_event *v)
{
	for (unsigned i = r->said_n; i-- > 0;) {
		const struct event_series_event *e = &r->said[i]->event;

		if (e->reason == v->reason &&
		    strcmp(e->nodepool, v->nodepool) == 0 &&
		    strcmp(e->nodepool_uid, v->nodepool_uid) == 0 &&
		    strcmp(e->note, v->note) == 0)
			return r->said[i];
	}
	return NULL;
}

static struct stored *
stored_of(struct recorder *r, int64_t first_us)
{
	for (unsigned i = r->stored_n; i-- > 0;)
		if (r->stored[i].first_us == first_us)
			return &r->stored[i];
	return NULL;
}

/* Makes room for one more, and for a few more now and then. */
static void *
grown(void *at, unsigned n, size_t size)
{
	if (n % 64 == 0)
		at = realloc(at, (n + 64) * size);
	if (at == NULL)
		abort();
	return at;
}

static struct said *
said_new(struct recorder *r, const struct event_series_event *v)
{
	struct said *s = calloc(1, sizeof(*s));

	if (s == NULL)
		abort();
	s->event = *v;
	r->said = grown(r->said, r->said_n, sizeof(*r->said));
	return r->said[r->said_n++] = s;
}

static struct stored *
store(struct recorder *r, int64_t first_us, struct said *said)
{
	r->stored = grown(r->stored, r->stored_n, sizeof(*r->stored));
	r->stored[r->stored_n] = (struct stored){.first_us = first_us,
						 .said = said};
	return &r->stored[r->stored_n++];
}

static enum event_series_code
serve(struct holder *h, const struct event_series_todo *todo)
{
	const struct event_series_event *v = todo->event;
	struct recorder *r = h->recorder;
	struct said *said = said_of(r, v);
	struct stored *e = stored_of(r, v->first_us);
	bool there = e != NULL && r->at - e->written_at < EVENT_MS;

	if (said == NULL) {
		broken(h->w, "I14: holder %d writes what it did not say: %s",
		       h->number, v->note);
		return EVENT_SERIES_REFUSED;
	}
	if (e != NULL && e->said != said)
		broken(h->w, "I14: holder %d gives two Events one name: %s",
		       h->number, v->note);
	if (todo->step == EVENT_SERIES_PATCH && !there)
		return EVENT_SERIES_GONE;
	if (todo->step == EVENT_SERIES_CREATE && there)
		return EVENT_SERIES_EXISTS;
	if (e == NULL)
		e = store(r, v->first_us, said);
	if (v->count < e->count)
		broken(h->w, "I14: holder %d counts %u after %u: %s",
		       h->number, v->count, e->count, v->note);
	said->counted += v->count - e->count;
	e->count = v->count;
	e->written_at = r->at;
	if (said->counted > said->n)
		broken(h->w, "I14: holder %d counts %u of %u: %s", h->number,
		       said->counted, said->n, v->note);
	return EVENT_SERIES_WRITTEN;
}

/* Is it written soon after it was refused, and not because it ends? */
static bool
was_refused(const struct holder *h, const struct event_series_event *v)
{
	const struct recorder *r = h->recorder;
	int64_t said_ms = now_of(h).server_ms - v->last_us / 1000;

	return r->refused_us == v->first_us && r->refused_count == v->count &&
	       r->at < r->refused_at + REFUSED_MS &&
	       said_ms < EVENT_SERIES_FINISH_MS - REFUSED_MS;
}

/* Nothing is written a second time that is known to be written. */
static void
check_write(struct holder *h, const struct event_series_event *v)
{
	const struct stored *e = stored_of(h->recorder, v->first_us);

	if ((e != NULL && e->known == v->count) || was_refused(h, v))
		broken(h->w, "I14: holder %d writes %u once more: %s",
		       h->number, v->count, v->note);
	if (++h->recorder->writes >
	    64 + (h->recorder->at - h->recorder->from) / 1000)
		broken(h->w, "I14: holder %d has written %lld Events in %lld "
		       "ms", h->number, (long long)h->recorder->writes,
		       (long long)(h->recorder->at - h->recorder->from));
}

static void
refuse(struct recorder *r, const struct event_series_event *v)
{
	r->outcome.code = EVENT_SERIES_REFUSED;
	r->refused_at = r->at;
	r->refused_us = v->first_us;
	r->refused_count = v->count;
}

/* Sends a write, and draws what becomes of it. */
static void
send(struct holder *h, const struct event_series_todo *todo, bool faults)
{
	const struct world *w = h->w;
	struct recorder *r = h->recorder;
	struct event_series_outcome *o = &r->outcome;
	bool met = faults && roll(&r->dice, 100) < w->odds;

	check_write(h, todo->event);
	r->under_way = true;
	r->answer_at = r->at + between(&r->dice, 1, 30);
	*o = (struct event_series_outcome){EVENT_SERIES_FAILED, -1};
	if (faults && roll(&r->dice, 200) == 0)
		r->quota_until = r->at + QUOTA_MS;
	if (faults && (r->at < w->down_until || r->at < r->quota_until))
		return;
	if (faults && r->at < w->busy_until) {
		o->retry_after_ms = w->retry_after_ms;
	} else if (faults && roll(&r->dice, 50) == 0) {
		refuse(r, todo->event);
	} else if (!met || r->at >= w->error_until) {
		o->code = serve(h, todo);
		if (met && (r->at < w->lossy_until || r->at < w->late_until)) {
			o->code = EVENT_SERIES_FAILED;
			r->answer_at = r->at + CALL_MS;
		}
	}
}

/* --- the replica ---------------------------------------------------------- */

static void
answer(struct holder *h)
{
	struct recorder *r = h->recorder;
	struct said *said = said_of(r, &r->series.sent);
	uint64_t lost = r->series.lost;

	if (r->outcome.code == EVENT_SERIES_WRITTEN)
		stored_of(r, r->series.sent.first_us)->known =
			r->series.sent.count;
	r->under_way = false;
	r->wake_at = r->at;
	event_series_done(&r->series, &r->outcome, now_of(h));
	if (said != NULL && r->series.lost != lost)
		said->excused = true;
}

static void
ask(struct holder *h, bool faults)
{
	struct recorder *r = h->recorder;
	struct event_series_todo todo = event_series_next(&r->series,
							  now_of(h));

	r->wake_at = INT64_MAX;
	if (todo.step != EVENT_SERIES_WAIT)
		send(h, &todo, faults);
	else if (todo.wait_ms <= 0)
		broken(h->w, "I14: the Events of holder %d wait %lld ms",
		       h->number, (long long)todo.wait_ms);
	else if (todo.wait_ms < INT64_MAX)
		r->wake_at = r->at + todo.wait_ms;
}

static int64_t
due_at(const struct recorder *r)
{
	return r->under_way ? r->answer_at : r->wake_at;
}

/* Does what is due by then. */
static void
run_until(struct holder *h, int64_t until, bool faults)
{
	struct recorder *r = h->recorder;

	for (int steps = 0; due_at(r) <= until; steps++) {
		if (steps == STEPS_MAX) {
			broken(h->w, "I14: the Events of holder %d go in "
			       "circles", h->number);
			return;
		}
		if (r->at < due_at(r))
			r->at = due_at(r);
		if (r->under_way)
			answer(h);
		else
			ask(h, faults);
	}
}

void
recorder_step(struct holder *h)
{
	struct recorder *r = h->recorder;

	if (r == NULL)
		return;
	if (r->at < h->paused_until)	/* nothing was done meanwhile */
		r->at = h->paused_until;
	run_until(h, h->w->now, true);
	r->at = h->w->now;
}

void
recorder_last(struct holder *h)
{
	struct recorder *r = h->recorder;
	uint64_t missing = 0;

	if (r == NULL)
		return;
	run_until(h, INT64_MAX - 1, false);
	for (unsigned i = 0; i < r->said_n; i++) {
		const struct said *s = r->said[i];

		missing += s->counted < s->n && !s->excused;
		if (missing > r->series.dropped)
			broken(h->w, "I14: holder %d has said %u times, and "
			       "counted %u: %s", h->number, s->n, s->counted,
			       s->event.note);
	}
}

/* --- what is said --------------------------------------------------------- */

static void
say(struct holder *h, enum event_reason reason, const char *nodepool,
    const char *uid, const char *note)
{
	struct event_series_event v = {.reason = reason};
	struct event_series_what what = {.reason = reason,
					 .nodepool = nodepool,
					 .nodepool_uid = uid,
					 .note = note};
	struct recorder *r = h->recorder;
	struct said *s;

	snprintf(v.nodepool, sizeof(v.nodepool), "%s", nodepool);
	snprintf(v.nodepool_uid, sizeof(v.nodepool_uid), "%s", uid);
	snprintf(v.note, sizeof(v.note), "%s", note);
	s = said_of(r, &v);
	if (s == NULL)
		s = said_new(r, &v);
	s->n++;
	event_series_say(&r->series, &what, now_of(h));
	r->wake_at = r->at;
}

/* Says it on each NodePool of the scope; "": on all. */
static void
say_each(struct holder *h, enum event_reason reason, const char *scope,
	 const char *note)
{
	for (int p = 0; p < h->w->pools_n; p++) {
		const struct pool_state *pool = &h->w->nodepools[p];

		if (pool->thing >= 0 &&
		    (scope[0] == '\0' || strcmp(scope, pool->name) == 0))
			say(h, reason, pool->name,
			    h->w->things[pool->thing].uid, note);
	}
}

void
recorder_note(struct holder *h, const struct note *n)
{
	static const enum event_reason reasons[] = {
		[NOTE_SCOPE_HELD] = EVENT_HOLD_STARTED,
		[NOTE_SCOPE_MOVED] = EVENT_HOLD_EXTENDED,
		[NOTE_SCOPE_QUIET] = EVENT_HOLD_RELEASED,
		[NOTE_SCOPE_CAPPED] = EVENT_HOLD_CAPPED,
	};
	const char *scope = h->rules.scope == SCOPE_NODEPOOL ? n->name : "";
	int64_t ms = n->type == NOTE_SCOPE_QUIET    ? n->as.quiet.held_ms
		     : n->type == NOTE_SCOPE_CAPPED ? n->as.capped.until_ms
						    : n->as.held.until_ms;
	char note[64];

	if (h->recorder == NULL)
		return;
	if (n->type <= NOTE_SCOPE_CAPPED) {
		/* In words it says whole seconds. */
		snprintf(note, sizeof(note), "%lld", (long long)(ms / 1000));
		say_each(h, reasons[n->type], scope, note);
	} else if (n->type == NOTE_BLOCKED) {
		say_each(h, EVENT_RELEASE_BLOCKED, "", n->name);
	} else if (n->type == NOTE_NODEPOOL_MANUAL) {
		say(h, EVENT_MANUAL_HOLD, n->name, n->as.manual.uid,
		    n->as.manual.reason);
	} else if (n->type == NOTE_NODEPOOL_INVALID) {
		say(h, EVENT_INVALID_ANNOTATION, n->name, n->as.invalid.uid,
		    n->as.invalid.value);
	}
}
