/* SPDX-License-Identifier: Apache-2.0 */
#include "notes.h"

#include <assert.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/duration.h"
#include "core/base/stamp.h"
#include "edge/log.h"
#include "phrase.h"

/*
 * Each note of the controller becomes a line of the log.  A note about a scope,
 * about holds that cannot be released, or about a NodePool's annotations also
 * becomes Events on NodePools.  With MODE_OBSERVE the line and the Events say
 * what would have been done.  Their texts then begin with words that say so,
 * and the reasons of the Events differ.
 */
#define MOMENT_BYTES                                                           \
	(DURATION_BYTES > STAMP_BYTES ? DURATION_BYTES : STAMP_BYTES)

/* --- mode observe --------------------------------------------------------- */

static const char *
are(const struct rules *r)
{
	return r->mode == MODE_OBSERVE ? "would be" : "are";
}

/* Begins the text of an Event about a decision. */
static void
begin(struct buf *b, const struct rules *r, char *text, size_t cap)
{
	buf_init(b, text, cap);
	if (r->mode == MODE_OBSERVE)
		buf_puts(b, "Mode observe: ");
}

static enum event_reason
reason_of(const struct rules *r, enum event_reason reason)
{
	return r->mode == MODE_OBSERVE ? event_series_reason_observed(reason)
				       : reason;
}

/* --- scopes --------------------------------------------------------------- */

static const char *
scope_name(const struct note *n, const struct rules *r)
{
	return r->scope == SCOPE_CLUSTER ? "cluster" : n->name;
}

/* Formats the time for the log and the Event: for NOTE_SCOPE_QUIET how long the
 * scope was held, otherwise until when the scope is held or free. */
static void
moment_of(const struct note *n, char moment[MOMENT_BYTES])
{
	if (n->type == NOTE_SCOPE_QUIET)
		duration_format(n->as.quiet.held_ms, moment);
	else
		stamp_format(n->type == NOTE_SCOPE_CAPPED
				     ? n->as.capped.until_ms
				     : n->as.held.until_ms,
			     moment);
}

static void
log_held(const struct note *n, const char *phrase, const char *name,
	 const char *moment)
{
	LOG(LOG_INFO, phrase, LS("scope", name), LS("quietAt", moment),
	    LS("atTheEarliest", n->as.held.earliest ? "true" : "false"),
	    LS("machine", n->as.held.machine));
}

static void
log_scope(const struct note *n, const struct rules *r, const char *name,
	  const char *moment)
{
	char cap[DURATION_BYTES];

	switch (n->type) {
	case NOTE_SCOPE_HELD:
		log_held(n, PHRASE(r, "scope held"), name, moment);
		break;
	case NOTE_SCOPE_MOVED:
		log_held(n, PHRASE(r, "quiet time moved"), name, moment);
		break;
	case NOTE_SCOPE_QUIET:
		LOG(LOG_INFO, PHRASE(r, "scope quiet"), LS("scope", name),
		    LS("heldFor", moment));
		break;
	default:
		duration_format(n->as.capped.max_ms, cap);
		LOG(r->mode == MODE_OBSERVE ? LOG_INFO : LOG_WARN,
		    PHRASE(r, "maxHoldDuration used up, released"),
		    LS("scope", name), LS("maxHoldDuration", cap),
		    LS("until", moment));
	}
}

/* Writes until when the scope is held.  While machines boot, the scope is held
 * at least until this time. */
static void
put_until(struct buf *b, const struct note *n, const char *moment)
{
	if (n->as.held.capped)
		buf_printf(b,
			   "until %s at the latest, when its "
			   "maxHoldDuration is used up",
			   moment);
	else if (n->as.held.earliest)
		buf_printf(b,
			   "until %s at the earliest, as machines are still "
			   "booting",
			   moment);
	else
		buf_printf(b, "until %s if nothing is added", moment);
}

static void
put_machine(struct buf *b, const char *before, const char *machine)
{
	if (machine[0] != '\0')
		buf_printf(b, "%s%s", before, machine);
}

static enum event_reason
describe_scope(const struct note *n, const struct rules *r, const char *moment,
	       struct buf *b)
{
	char cap[DURATION_BYTES];

	buf_puts(b,
		 r->scope == SCOPE_CLUSTER ? "The cluster" : "This NodePool");
	switch (n->type) {
	case NOTE_SCOPE_HELD:
		buf_puts(b, " has scaled up");
		put_machine(b, ", most recently by machine ",
			    n->as.held.machine);
		buf_printf(b, ": its nodes %s held ", are(r));
		put_until(b, n, moment);
		return EVENT_HOLD_STARTED;
	case NOTE_SCOPE_MOVED:
		/* The text does not say "is held longer", because the hold may
		 * end at the same time as before.  That time may only have
		 * become certain. */
		buf_puts(b, " is still busy");
		put_machine(b, ", most recently because of machine ",
			    n->as.held.machine);
		buf_printf(b, ": its nodes %s held ", are(r));
		put_until(b, n, moment);
		return EVENT_HOLD_EXTENDED;
	case NOTE_SCOPE_QUIET:
		buf_printf(b, " is quiet after %s: its nodes %s released",
			   moment, are(r));
		if (n->as.quiet.unseen != NULL)
			buf_printf(b, " as soon as %ss are seen again",
				   n->as.quiet.unseen);
		return EVENT_HOLD_RELEASED;
	default:
		duration_format(n->as.capped.max_ms, cap);
		buf_printf(b,
			   " has used up its maxHoldDuration of %s: until "
			   "%s at the earliest its nodes %s released, but for "
			   "machines whose own holdDuration has not passed",
			   cap, moment, are(r));
		if (n->as.capped.unseen != NULL)
			buf_printf(b, ", as soon as %ss are seen again",
				   n->as.capped.unseen);
		return EVENT_HOLD_CAPPED;
	}
}

/* Records an Event on each NodePool of the scope. */
static void
report_scope(struct state *s, const struct note *n, const struct rules *r,
	     struct event_recorder *rec)
{
	char moment[MOMENT_BYTES], text[EVENT_SERIES_NOTE_BYTES];
	bool starts = n->type == NOTE_SCOPE_HELD || n->type == NOTE_SCOPE_MOVED;
	struct event_series_what what = {.note = text};
	struct nodepool_report nodepool;
	struct buf b;

	moment_of(n, moment);
	log_scope(n, r, scope_name(n, r), moment);
	begin(&b, r, text, sizeof(text));
	what.reason = reason_of(r, describe_scope(n, r, moment, &b));
	for (uint32_t i = 0; state_nodepool_at(s, &i, &nodepool);) {
		if (nodepool.out || (r->scope == SCOPE_NODEPOOL &&
				     strcmp(nodepool.name, n->name) != 0))
			continue;
		if (nodepool.hand_ms != STAMP_NONE && !starts)
			continue; /* the hold-until still holds its nodes */
		what.nodepool = nodepool.name;
		what.nodepool_uid = nodepool.uid;
		event_recorder_say(rec, &what);
	}
}

/* --- trouble -------------------------------------------------------------- */

static void
report_blocked(struct state *s, const struct note *n, const struct rules *r,
	       struct event_recorder *rec)
{
	char text[EVENT_SERIES_NOTE_BYTES];
	struct event_series_what what = {
		.reason = reason_of(r, EVENT_RELEASE_BLOCKED), .note = text};
	struct nodepool_report nodepool;
	struct buf b;

	LOG(LOG_WARN, PHRASE(r, "holds cannot be released"),
	    LS("unseen", n->name), LI("objects", n->as.objects));
	/* The text leaves out the number of objects, so that all these Events
	 * form one series. */
	begin(&b, r, text, sizeof(text));
	buf_printf(&b,
		   "Nothing %s released, whatever is due: %ss cannot be "
		   "listed or watched; the log of the holder that leads says "
		   "why",
		   r->mode == MODE_OBSERVE ? "would be" : "is", n->name);
	for (uint32_t i = 0; state_nodepool_at(s, &i, &nodepool);) {
		if (nodepool.out)
			continue;
		what.nodepool = nodepool.name;
		what.nodepool_uid = nodepool.uid;
		event_recorder_say(rec, &what);
	}
}

static void
log_without(const struct note *n)
{
	LOG(LOG_WARN, "leading without a list", LS("unseen", n->name),
	    LS("meanwhile",
	       strcmp(n->name, object_kind_name(KIND_EVENT)) == 0
		       ? "replacements count as scale-ups until Karpenter's "
			 "Events are seen"
	       : strcmp(n->name, object_kind_name(KIND_TICKET)) == 0
		       ? "only the tickets that were seen hold"
		       : "NodePools count as they were last known, else as the "
			 "configuration says"));
}

static void
log_refused(const struct note *n)
{
	static const char *const writes[] = {
		[ACT_HOLD] = "hold",
		[ACT_CLEAR] = "release",
		[ACT_UNMARK] = "remove the mark",
		[ACT_CLASSIFY] = "note a replacement",
	};

	enum act act = n->as.refused.act;

	assert(act >= ACT_HOLD && act <= ACT_CLASSIFY);
	LOG(LOG_WARN, "write refused",
	    LS("kind", object_kind_name(n->as.refused.kind)),
	    LS("name", n->name), LS("write", writes[act]),
	    LS("err", n->as.refused.why));
}

/* --- NodePools ------------------------------------------------------------ */

static void
report_manual(const struct note *n, const struct rules *r,
	      struct event_recorder *rec)
{
	char stamp[STAMP_BYTES], text[EVENT_SERIES_NOTE_BYTES];
	struct event_series_what what = {
		.reason = reason_of(r, EVENT_MANUAL_HOLD),
		.nodepool = n->name,
		.nodepool_uid = n->as.manual.uid,
		.note = text};
	struct buf b;

	stamp_format(n->as.manual.until_ms, stamp);
	begin(&b, r, text, sizeof(text));
	buf_printf(&b, "%s: the nodes of this NodePool %s held until %s",
		   n->as.manual.ticket ? "a ticket"
				       : nodepool_key_name(NODEPOOL_HOLD_UNTIL),
		   are(r), stamp);
	if (n->as.manual.reason[0] == '\0') {
		LOG(LOG_INFO, PHRASE(r, "pool held by hand"),
		    LS("pool", n->name), LS("until", stamp));
	} else {
		LOG(LOG_INFO, PHRASE(r, "pool held by hand"),
		    LS("pool", n->name), LS("until", stamp),
		    LS("reason", n->as.manual.reason));
		/* The plugin's signature alone is in parentheses already. */
		buf_printf(&b, n->as.manual.reason[0] == '(' ? " %s" : " (%s)",
			   n->as.manual.reason);
	}
	event_recorder_say(rec, &what);
}

static void
report_invalid(const struct note *n, struct event_recorder *rec)
{
	const char *key = nodepool_key_name(n->as.invalid.key);
	const char *expected = nodepool_expected(n->as.invalid.key);
	char action[EVENT_SERIES_ACTION_BYTES], text[EVENT_SERIES_NOTE_BYTES];
	struct event_series_what what = {.reason = EVENT_INVALID_ANNOTATION,
					 .nodepool = n->name,
					 .nodepool_uid = n->as.invalid.uid,
					 .action = action,
					 .note = text};
	struct buf a, b;

	LOG(LOG_WARN, "annotation does not count", LS("pool", n->name),
	    LS("annotation", key), LS("value", n->as.invalid.value),
	    LS("expected", expected));
	buf_init(&a, action, sizeof(action));
	buf_printf(&a, "Ignored %s=%s", key + strlen(OWN_PREFIX),
		   n->as.invalid.value);
	buf_init(&b, text, sizeof(text));
	buf_printf(&b, "%s: \"%s\" does not count, expected %s", key,
		   n->as.invalid.value, expected);
	event_recorder_say(rec, &what);
}

static void
log_ticket(const struct note *n)
{
	/* Its writer may change it all the time. */
	if (!log_ratelimit("ticket", 60))
		return;
	LOG(LOG_WARN, "ticket", LS("name", n->name),
	    LS("holder", n->as.ticket.holder),
	    LS("problem", n->as.ticket.fault[0] != '\0'
				  ? n->as.ticket.fault
				  : ticket_problem(n->as.ticket.flaw)));
}

void
notes_report(struct state *s, const struct rules *r, struct event_recorder *rec)
{
	struct note n;

	while (state_note(s, &n)) {
		switch (n.type) {
		case NOTE_SCOPE_HELD:
		case NOTE_SCOPE_MOVED:
		case NOTE_SCOPE_QUIET:
		case NOTE_SCOPE_CAPPED:
			report_scope(s, &n, r, rec);
			break;
		case NOTE_NODEPOOL_MANUAL:
			report_manual(&n, r, rec);
			break;
		case NOTE_NODEPOOL_INVALID:
			report_invalid(&n, rec);
			break;
		case NOTE_TABLE_FULL:
			if (log_ratelimit("table full", 3))
				LOG(LOG_ERROR, "table full",
				    LS("left_unheld", n.name));
			break;
		case NOTE_BLOCKED:
			report_blocked(s, &n, r, rec);
			break;
		case NOTE_WITHOUT:
			log_without(&n);
			break;
		case NOTE_LEFT:
			LOG(LOG_WARN, "mode observe leaves holds in place",
			    LI("objects", n.as.objects));
			break;
		case NOTE_STATE_SHORT:
			LOG(LOG_WARN,
			    "the Lease has no room for the state of all scopes",
			    LI("left_out", n.as.objects));
			break;
		case NOTE_REFUSED:
			log_refused(&n);
			break;
		case NOTE_TICKET:
			log_ticket(&n);
			break;
		case NOTE_STOPPED:
			LOG(LOG_INFO,
			    PHRASE(r, "release waits for unseen objects"),
			    LS("kind", n.name), LI("unseen", n.as.objects));
			break;
		}
	}
}
