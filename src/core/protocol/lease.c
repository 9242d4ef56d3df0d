/* SPDX-License-Identifier: Apache-2.0 */
#include "core/protocol/lease.h"

#include <assert.h>
#include <string.h>

#include "core/base/str.h"

/*
 * An attempt is a chain of calls without a pause between them.  `plan` is the
 * next call of the chain, `busy` is the call under way, and not_before_ms says
 * when the next attempt begins.  A follower reads the Lease, and acquires it if
 * nobody holds it.  A leader writes at once.  The leader reads first only if
 * its copy of the Lease (`seen`) may be out of date, that is, if `fresh` is
 * false.
 *
 * The role changes in three places: wrote() makes a leader, lose() ends the
 * lead, and lease_stop() ends everything.  Without leader election the role is
 * LEASE_LEADS from the start, and kept() only maintains the state in the
 * record.
 *
 * The callers are daemon/state_lease, under the mutex of the table, and the
 * only thread of a command (tools/uninstall/lease_session).
 */

/* Maximum number of steps in one attempt, which has no pauses: UPDATE, GET,
 * UPDATE or CREATE, GET.  The limit prevents a busy loop if a server
 * contradicts itself. */
#define STEPS_MAX 4
/* Longest backoff without leader election, in multiples of retry_ms. */
#define BACKOFF_TIMES 8
/* Longest pause, before jitter, between two reads of a Lease that another
 * replica holds.  With client-go's 2 s and its jitter, a replica might notice
 * only after 4.4 s that the Lease was released. */
#define LOOK_MS 600
/* Our reading of the server's time may go back by up to this.  The renewTime
 * that we write grows all the same, because other replicas see no sign of life
 * in an unchanged renewTime. */
#define JITTER_US 3000000

static bool
is_ours(const struct lease *l)
{
	return l->seen.present && !l->seen.holder_cut &&
	       strcmp(l->seen.holder, l->config.identity) == 0;
}

/* Returns the boot time at which the time of the holder in `seen` is over.
 * leaseDuration counts from when we saw the record change.  The record's
 * renewTime does not count, because the holder has another clock.
 *
 * If the Lease was deleted, only a holder that we saw renewing it may still
 * lead.  It may have renewed once more just before the deletion, so the time
 * counts from when we noticed the deletion.  It may have been configured with a
 * longer duration than we are, so its duration counts if a holder can have it,
 * and otherwise our own. */
static int64_t
expiry_ms(const struct lease *l)
{
	int64_t ms = (int64_t)l->seen.duration_s * 1000;

	if (l->gone && !l->renewed)
		return LEASE_NEVER;
	if (l->gone && (ms > LEASE_MS_MAX || ms < l->config.duration_ms))
		ms = l->config.duration_ms;
	return l->seen_ms + (ms < LEASE_MS_MAX ? ms : LEASE_MS_MAX);
}

/* Returns whether another replica holds the Lease. */
static bool
is_held(const struct lease *l, int64_t boot_ms)
{
	return l->seen.present && l->seen.holder[0] != '\0' && !is_ours(l) &&
	       boot_ms < expiry_ms(l);
}

const struct hold_key *
lease_hold(const struct lease *l)
{
	return l->hold.key[0] != '\0' ? &l->hold : &l->config.hold;
}

static bool
hold_differs(const struct lease *l)
{
	return object_hold_compare(&l->seen.hold, lease_hold(l)) != 0;
}

static bool
state_differs(const struct lease *l)
{
	return l->read && (l->seen.state_other ||
			   strcmp(l->seen.state, l->want.state) != 0 ||
			   strcmp(l->seen.history, l->want.history) != 0);
}

int64_t
lease_fence_ms(const struct lease *l)
{
	if (!l->config.enabled)
		return INT64_MAX;
	if (l->sent_ms == LEASE_NEVER)
		return LEASE_NEVER;
	return l->sent_ms + l->config.duration_ms - LEASE_MARGIN_MS;
}

/* Returns the boot time up to which we lead. */
static int64_t
end_ms(const struct lease *l)
{
	int64_t fence = lease_fence_ms(l), renew;

	if (!l->config.enabled || l->sent_ms == LEASE_NEVER)
		return fence;
	renew = l->sent_ms + l->config.renew_deadline_ms;
	return renew < fence ? renew : fence;
}

bool
lease_leads(const struct lease *l, int64_t boot_ms)
{
	return l->role == LEASE_LEADS && boot_ms < end_ms(l) &&
	       (l->config.enabled || l->heard);
}

const char *
lease_holder(const struct lease *l, int64_t boot_ms, int64_t *since_us)
{
	struct lease_wait wait;

	*since_us = STAMP_NONE;
	if (lease_leads(l, boot_ms)
		    ? !l->seen.present
		    : !is_held(l, boot_ms) || lease_waits(l, boot_ms, &wait))
		return "";
	*since_us = l->seen.acquire_us;
	return l->seen.holder;
}

bool
lease_waits(const struct lease *l, int64_t boot_ms, struct lease_wait *out)
{
	if (l->role != LEASE_FOLLOWS || !is_held(l, boot_ms) ||
	    (!l->gone &&
	     (!l->fresh || boot_ms < l->seen_ms + l->config.renew_deadline_ms)))
		return false;
	*out = (struct lease_wait){.holder = l->seen.holder,
				   .deletion_helps = !l->renewed,
				   .end_ms = expiry_ms(l)};
	return true;
}

bool
lease_is_orphan(const struct lease *l)
{
	const char *ours = l->config.identity, *end = strrchr(ours, '_');
	const char *its = strrchr(l->seen.holder, '_');

	return l->seen.present && !is_ours(l) && !l->renewed && end != NULL &&
	       its != NULL && its - l->seen.holder == end - ours &&
	       strncmp(ours, l->seen.holder, (size_t)(end - ours)) == 0;
}

void
lease_init(struct lease *l, const struct lease_config *c, uint64_t seed)
{
	assert(!c->enabled || c->identity[0] != '\0');
	assert(c->retry_ms > 0 && c->renew_deadline_ms > 1);
	memset(l, 0, sizeof(*l));
	l->config = *c;
	l->role = c->enabled ? LEASE_FOLLOWS : LEASE_LEADS;
	l->not_before_ms = l->sent_ms = LEASE_NEVER;
	l->state_us = STAMP_NONE;
	pace_init(&l->pace, seed);
}

static bool
lease_check(const struct lease *l)
{
	bool stops = l->role == LEASE_STOPS;

	/* No step is planned while another is under way, except by
	 * lease_stop. */
	if (l->busy != LEASE_WAIT && l->plan != LEASE_WAIT && !stops)
		return false;
	if (l->busy == LEASE_END || (l->plan == LEASE_END && !stops) ||
	    (l->releasing && !stops))
		return false;
	if (!l->config.enabled)
		return l->role != LEASE_FOLLOWS && l->sent_ms == LEASE_NEVER;
	/* While this replica leads, it has read the state and sent a write.
	 * While it follows, it has not read the state. */
	if (l->role == LEASE_LEADS)
		return l->read && l->sent_ms != LEASE_NEVER;
	return stops || !l->read;
}

static void
note_put(struct lease *l, enum lease_note_type type, const char *name)
{
	struct lease_note *n;

	if (l->notes_n == LEASE_NOTES) { /* drop the oldest */
		l->notes_first = (l->notes_first + 1) % LEASE_NOTES;
		l->notes_n--;
	}
	n = &l->notes[(l->notes_first + l->notes_n++) % LEASE_NOTES];
	n->type = type;
	(void)str_copy(n->name, sizeof(n->name), name);
}

bool
lease_note(struct lease *l, struct lease_note *out)
{
	if (l->notes_n == 0)
		return false;
	*out = l->notes[l->notes_first];
	l->notes_first = (l->notes_first + 1) % LEASE_NOTES;
	l->notes_n--;
	return true;
}

/* Takes over the state in the server's record.  From now on this process
 * maintains the state. */
static void
state_adopt(struct lease *l)
{
	(void)str_copy(l->want.state, sizeof(l->want.state), l->seen.state);
	(void)str_copy(l->want.history, sizeof(l->want.history),
		       l->seen.history);
	l->read = true;
	if (l->seen.state_bad)
		note_put(l, LEASE_NOTE_BAD_STATE, "");
}

static void
lose(struct lease *l, enum lease_note_type why)
{
	l->role = LEASE_FOLLOWS;
	l->read = false;
	l->state_us = l->seen.renew_us;
	l->want.state[0] = l->want.history[0] = '\0';
	l->plan = LEASE_WAIT;
	note_put(l, why, why == LEASE_NOTE_TAKEN ? l->seen.holder : "");
}

/* Takes the hold in the server's record, unless this process leads or led. */
static void
hold_adopt(struct lease *l, const struct hold_key *k)
{
	bool news = object_hold_compare(k, lease_hold(l)) != 0;

	if (k->key[0] == '\0' ||
	    (l->role != LEASE_FOLLOWS && (l->config.enabled || l->heard)))
		return;
	l->hold = *k;
	if (news && l->config.hold.key[0] != '\0' &&
	    object_hold_compare(k, &l->config.hold) != 0)
		note_put(l, LEASE_NOTE_HOLD, "");
}

/* Takes over the record that the server has now.  Only a change of the Lease's
 * spec shows that its holder is alive.  A label that somebody adds does not. */
static void
observe(struct lease *l, const struct lease_record *r, int64_t boot_ms)
{
	const struct lease_record *s = &l->seen;
	bool same = s->present && strcmp(s->holder, r->holder) == 0;

	if (!same || s->holder_cut != r->holder_cut ||
	    s->duration_s != r->duration_s ||
	    s->transitions != r->transitions ||
	    s->acquire_us != r->acquire_us || s->renew_us != r->renew_us) {
		l->seen_ms = boot_ms;
		l->renewed = same;
	}
	lease_record_copy(&l->seen, r);
	l->seen.present = true;
	l->gone = false;
	l->fresh = true;
	hold_adopt(l, &r->hold);
	if (l->role != LEASE_LEADS && !is_ours(l))
		l->state_us = r->renew_us;
	if (!l->config.enabled || strcmp(l->reported, r->holder) == 0)
		return;
	memcpy(l->reported, r->holder, sizeof(l->reported));
	l->told = false;
	if (r->holder[0] != '\0' && !is_ours(l)) {
		note_put(l, LEASE_NOTE_LEADER, r->holder);
		l->free_ms = 0;
	}
}

/* --- what comes next ------------------------------------------------------ */

/* Ends the attempt and sets the time of the next one. */
static void
retry(struct lease *l, int64_t retry_after_ms, int64_t boot_ms)
{
	int64_t ms = l->config.retry_ms;

	if (ms > LOOK_MS && l->role != LEASE_LEADS && l->fresh &&
	    is_held(l, boot_ms))
		ms = LOOK_MS;
	l->plan = LEASE_WAIT;
	if (!l->config.enabled && l->heard)
		l->not_before_ms =
			boot_ms + pace_backoff(&l->pace, ++l->failures, ms,
					       BACKOFF_TIMES * ms);
	else if (l->role == LEASE_LEADS)
		l->not_before_ms = l->attempt_ms + ms;
	else /* client-go's JitterFactor is 1.2 */
		l->not_before_ms =
			boot_ms + ms +
			(int64_t)(pace_random(&l->pace) % (uint64_t)ms * 6 / 5);
	if (l->not_before_ms < boot_ms + retry_after_ms)
		l->not_before_ms = boot_ms + retry_after_ms;
}

/* Plans the next step of the same attempt, or ends the attempt after STEPS_MAX
 * steps. */
static void
go_on(struct lease *l, enum lease_step step, int64_t boot_ms)
{
	if (l->steps < STEPS_MAX)
		l->plan = step;
	else
		retry(l, -1, boot_ms);
}

static enum lease_step
first_step(const struct lease *l)
{
	if (l->config.enabled)
		return l->role == LEASE_LEADS && l->fresh ? LEASE_UPDATE
							  : LEASE_GET;
	/* The record has to be fresh, because a write whose answer was lost may
	 * still take effect. */
	if (l->read && l->fresh && l->seen.present && !state_differs(l) &&
	    !hold_differs(l))
		return LEASE_WAIT;
	return l->read && l->fresh ? LEASE_UPDATE : LEASE_GET;
}

static enum lease_step
last_step(const struct lease *l)
{
	if (l->config.enabled ? !is_ours(l) : !state_differs(l))
		return LEASE_END;
	return l->fresh ? LEASE_UPDATE : LEASE_GET;
}

void
lease_stop(struct lease *l)
{
	if (l->role == LEASE_STOPS)
		return;
	l->role = LEASE_STOPS;
	l->steps = 0;
	/* The answer to a call under way replaces this plan. */
	l->plan = last_step(l);
	assert(lease_check(l));
}

/* Fills in the record to write. */
static void
fill(struct lease *l, struct now now)
{
	struct lease_record *w = &l->want;
	const struct lease_record *s = &l->seen;

	memcpy(w->rv, s->rv, sizeof(w->rv));
	w->observes = l->config.observes;
	w->state_other = s->state_other;
	w->hold = *lease_hold(l);
	w->acquire_us = w->renew_us = now.server_ms * 1000;
	w->transitions = s->transitions;

	w->holder[0] = '\0';
	w->duration_s = 0;
	/* Without leader election the Lease only stores the state.  Nobody is
	 * elected by its spec, so the spec stays empty. */
	if (!l->config.enabled)
		w->acquire_us = w->renew_us = STAMP_NONE;
	if (l->role == LEASE_STOPS)
		w->duration_s = 1;
	if (!l->config.enabled || l->role == LEASE_STOPS)
		return;

	memcpy(w->holder, l->config.identity, sizeof(w->holder));
	/* The duration is rounded up, so that no replica stops waiting before
	 * our fence. */
	w->duration_s = (int32_t)((l->config.duration_ms + 999) / 1000);

	if (is_ours(l)) {
		w->acquire_us = s->acquire_us;
		if (w->renew_us <= s->renew_us &&
		    w->renew_us > s->renew_us - JITTER_US)
			w->renew_us = s->renew_us + 1;
	} else if (s->present && w->transitions < INT32_MAX) {
		w->transitions++;
	}
}

static struct lease_todo
next_call(struct lease *l, struct now now)
{
	struct lease_todo t = {.step = l->plan,
			       .timeout_ms = l->config.renew_deadline_ms / 2};

	l->plan = LEASE_WAIT;
	l->busy = t.step;
	l->call_ms = now.boot_ms;
	l->steps++;
	if (t.step != LEASE_GET) {
		fill(l, now);
		t.record = &l->want;
		t.with_spec = l->config.enabled;
		t.with_state = state_differs(l);
		l->releasing = l->role == LEASE_STOPS;
	}

	if (l->role == LEASE_LEADS && t.timeout_ms > end_ms(l) - now.boot_ms)
		t.timeout_ms = end_ms(l) - now.boot_ms;
	return t;
}

/* Returns whether a command still has to wait, because running replicas get the
 * Lease first, or create it if somebody has deleted it. */
static bool
is_early(struct lease *l, int64_t boot_ms)
{
	if (l->config.patience_ms == 0 || l->role != LEASE_FOLLOWS ||
	    (l->plan != LEASE_UPDATE &&
	     (l->plan != LEASE_CREATE || l->reported[0] == '\0')))
		return false;
	if (l->free_ms == 0) {
		l->free_ms = boot_ms;
		note_put(l, LEASE_NOTE_FREE, "");
	}
	return boot_ms < l->free_ms + l->config.patience_ms;
}

/* Returns the planned step, unless a command has to wait or continues without
 * the Lease. */
static struct lease_todo
go(struct lease *l, struct now now)
{
	if (is_early(l, now.boot_ms)) {
		retry(l, 0, now.boot_ms);
		return (struct lease_todo){.wait_ms = l->not_before_ms -
						      now.boot_ms};
	}
	if (l->plan == LEASE_CREATE && l->config.patience_ms > 0)
		return (struct lease_todo){.step = LEASE_NONE};
	return next_call(l, now);
}

struct lease_todo
lease_next(struct lease *l, struct now now)
{
	struct lease_todo wait = {.wait_ms = INT64_MAX};

	assert(lease_check(l));
	if (l->role == LEASE_LEADS && now.boot_ms >= end_ms(l))
		lose(l, LEASE_NOTE_LATE);

	/* The caller has to call again when the lead ends, even if no step is
	 * due then. */
	if (l->role == LEASE_LEADS && l->config.enabled)
		wait.wait_ms = end_ms(l) - now.boot_ms;

	if (l->busy != LEASE_WAIT)
		return wait;
	if (l->plan == LEASE_END)
		return (struct lease_todo){.step = LEASE_END};
	if (l->plan != LEASE_WAIT)
		return go(l, now);

	if (first_step(l) == LEASE_WAIT)
		return wait;
	if (now.boot_ms < l->not_before_ms) {
		if (wait.wait_ms > l->not_before_ms - now.boot_ms)
			wait.wait_ms = l->not_before_ms - now.boot_ms;
		return wait;
	}

	l->plan = first_step(l);
	l->attempt_ms = now.boot_ms;
	l->steps = 0;
	return go(l, now);
}

/* --- the outcome of a step ------------------------------------------------ */

static void
got(struct lease *l, const struct lease_outcome *o, int64_t boot_ms)
{
	struct lease_wait wait;

	if (o->code == LEASE_NOT_FOUND) {
		if (!l->gone)
			l->seen_ms = boot_ms;
		l->gone = true;
		if (!is_held(l, boot_ms)) {
			lease_record_copy(&l->seen, NULL);
			go_on(l, LEASE_CREATE, boot_ms);
			return;
		}
	} else if (o->code == LEASE_OK) {
		if (l->role == LEASE_LEADS && !is_ours(l))
			lose(l, LEASE_NOTE_TAKEN);
		if (!is_held(l, boot_ms)) {
			go_on(l, LEASE_UPDATE, boot_ms);
			return;
		}
	}
	if (!l->told && lease_waits(l, boot_ms, &wait)) {
		note_put(l, LEASE_NOTE_WAITS, wait.holder);
		l->told = true;
	}
	retry(l, o->retry_after_ms, boot_ms);
}

static void
wrote(struct lease *l, const struct lease_outcome *o, int64_t boot_ms)
{
	if (o->code == LEASE_OK && is_ours(l)) {
		l->sent_ms = l->call_ms;
		l->not_before_ms = boot_ms + l->config.retry_ms;
		if (l->role == LEASE_LEADS || boot_ms >= end_ms(l))
			return;
		l->role = LEASE_LEADS;
		note_put(l, LEASE_NOTE_LEADS, l->config.identity);
		state_adopt(l);
	} else if (l->role == LEASE_LEADS && o->code != LEASE_BUSY) {
		go_on(l, LEASE_GET, boot_ms);
	} else {
		retry(l, o->retry_after_ms, boot_ms);
	}
}

/* Handles an answer without leader election. */
static void
kept(struct lease *l, enum lease_step was, const struct lease_outcome *o,
     int64_t boot_ms)
{
	l->not_before_ms = l->attempt_ms + l->config.retry_ms;
	if (o->code == LEASE_OK) {
		l->failures = 0;
		if (!l->read)
			state_adopt(l);
		if (was == LEASE_GET && (state_differs(l) || hold_differs(l)))
			go_on(l, LEASE_UPDATE, boot_ms);
	} else if (was == LEASE_GET && o->code == LEASE_NOT_FOUND) {
		lease_record_copy(&l->seen, NULL);
		go_on(l, LEASE_CREATE, boot_ms);
	} else if (was != LEASE_GET &&
		   (o->code == LEASE_CONFLICT || o->code == LEASE_NOT_FOUND)) {
		go_on(l, LEASE_GET, boot_ms);
	} else {
		retry(l, o->retry_after_ms, boot_ms);
	}
}

/* Handles an answer after lease_stop.  The Lease is released in one try.  If
 * the try met a conflict, there is a GET and a second try. */
static void
stopped(struct lease *l, enum lease_step was, const struct lease_outcome *o)
{
	if (was == LEASE_GET) {
		l->plan = o->code == LEASE_OK ? last_step(l) : LEASE_END;
	} else if (!l->releasing) { /* the call began before the stop */
		l->plan = o->code == LEASE_OK ? last_step(l) : LEASE_GET;
	} else if (o->code == LEASE_CONFLICT && l->steps < STEPS_MAX - 1) {
		l->plan = LEASE_GET;
	} else {
		l->plan = LEASE_END;
		if (l->config.enabled && o->code == LEASE_OK)
			note_put(l, LEASE_NOTE_RELEASED, "");
	}
}

void
lease_done(struct lease *l, const struct lease_outcome *o, struct now now)
{
	enum lease_step was = l->busy;

	assert(was != LEASE_WAIT);
	l->busy = LEASE_WAIT;
	if (l->role == LEASE_LEADS && now.boot_ms >= end_ms(l))
		lose(l, LEASE_NOTE_LATE);
	if (o->code == LEASE_OK)
		observe(l, o->record, now.boot_ms);
	else if (o->code != LEASE_BUSY) /* `seen` may be out of date. */
		l->fresh = false;
	l->heard |= o->refused ||
		    (o->code != LEASE_FAILED && o->code != LEASE_BUSY);
	if (l->role == LEASE_STOPS)
		stopped(l, was, o);
	else if (!l->config.enabled)
		kept(l, was, o, now.boot_ms);
	else if (was == LEASE_GET)
		got(l, o, now.boot_ms);
	else
		wrote(l, o, now.boot_ms);
	assert(lease_check(l));
}

int64_t
lease_state_ms(const struct lease *l)
{
	if (!l->config.enabled || l->state_us == STAMP_NONE)
		return STAMP_NONE;
	return l->state_us / 1000;
}

/* Copies only the bytes in use.  The 80 KiB of a record are mostly empty, and a
 * record is copied every two seconds. */
void
lease_record_copy(struct lease_record *to, const struct lease_record *from)
{
	size_t head = offsetof(struct lease_record, state);

	if (from == NULL) {
		memset(to, 0, head + 1);
		to->history[0] = '\0';
		return;
	}
	memcpy(to, from, head + strlen(from->state) + 1);
	(void)str_copy(to->history, sizeof(to->history), from->history);
}

const char *
lease_state(const struct lease *l)
{
	return l->read ? l->want.state : NULL;
}

int
lease_state_set(struct lease *l, const char *text)
{
	if (!l->read || l->role == LEASE_STOPS)
		return -1;
	return str_copy(l->want.state, sizeof(l->want.state), text);
}

const char *
lease_history(const struct lease *l)
{
	return l->read ? l->want.history : NULL;
}

int
lease_history_set(struct lease *l, const char *text)
{
	if (!l->read || l->role == LEASE_STOPS)
		return -1;
	return str_copy(l->want.history, sizeof(l->want.history), text);
}

void
lease_clear(struct lease *l)
{
	(void)lease_state_set(l, "");
	(void)lease_history_set(l, "");
	l->hold.key[0] = '\0';
}

int32_t
lease_term(const struct lease *l)
{
	return l->seen.transitions;
}
