/* SPDX-License-Identifier: Apache-2.0 */
#include "notes.h"

#include <string.h>

#include "core/buf.h"
#include "core/stamp.h"
#include "edge/log.h"

#define MOMENT_BYTES                                                           \
	(DURATION_BYTES > STAMP_BYTES ? DURATION_BYTES : STAMP_BYTES)

/* --- scopes -------------------------------------------------------------------- */

static const char *
scope_name(const struct note *n, const struct rules *r)
{
	return r->scope == SCOPE_CLUSTER ? "cluster" : n->name;
}

static void
log_scope(const struct note *n, const char *name, const char *moment)
{
	if (n->type == NOTE_SCOPE_HELD)
		LOG(LOG_INFO, "scope held", LS("scope", name),
		    LS("quietAt", moment));
	else if (n->type == NOTE_SCOPE_QUIET)
		LOG(LOG_INFO, "scope quiet", LS("scope", name),
		    LS("heldFor", moment));
	else
		LOG(LOG_WARN, "scope held for maxHoldDuration, released",
		    LS("scope", name), LS("until", moment));
}

static enum tell_reason
describe_scope(const struct note *n, const struct rules *r, const char *moment,
	       struct buf *b)
{
	buf_puts(b, r->scope == SCOPE_CLUSTER ? "The cluster" : "This NodePool");
	switch (n->type) {
	case NOTE_SCOPE_HELD:
		buf_printf(b, " has scaled up: its nodes are held, until %s if "
			   "nothing is added", moment);
		return TELL_HOLD_STARTED;
	case NOTE_SCOPE_QUIET:
		buf_printf(b, " is quiet after %s: its nodes are released",
			   moment);
		if (n->value[0] != '\0')
			buf_printf(b, " as soon as %ss are watched again",
				   n->value);
		return TELL_HOLD_RELEASED;
	default:
		buf_printf(b, " was held for its maxHoldDuration: its nodes "
			   "are released until %s, however busy", moment);
		return TELL_HOLD_CAPPED;
	}
}

/* An Event on each NodePool of the scope. */
static void
tell_scope(struct shared *s, const struct note *n, const struct rules *r,
	   struct teller *t)
{
	char moment[MOMENT_BYTES], text[TELL_NOTE_BYTES];
	struct tell_what what = {.note = text};
	struct pool_report pool;
	struct buf b;

	if (n->type == NOTE_SCOPE_QUIET)
		duration_format(n->a, moment);
	else
		stamp_format(n->a, moment);
	log_scope(n, scope_name(n, r), moment);
	buf_init(&b, text, sizeof(text));
	what.reason = describe_scope(n, r, moment, &b);
	for (uint32_t i = 0; shared_pool_at(s, &i, &pool);) {
		if (pool.out || (r->scope == SCOPE_NODEPOOL &&
				 strcmp(pool.name, n->name) != 0))
			continue;
		if (pool.by_hand && n->type != NOTE_SCOPE_HELD)
			continue;	/* its nodes stay held */
		what.pool = pool.name;
		what.pool_uid = pool.uid;
		teller_say(t, &what);
	}
}

/* --- NodePools ----------------------------------------------------------------- */

static void
tell_manual(const struct note *n, struct teller *t)
{
	char stamp[STAMP_BYTES], text[TELL_NOTE_BYTES];
	struct tell_what what = {.reason = TELL_MANUAL_HOLD,
				 .pool = n->name,
				 .pool_uid = n->uid,
				 .note = text};
	struct buf b;

	stamp_format(n->a, stamp);
	LOG(LOG_INFO, "pool held by hand", LS("pool", n->name),
	    LS("until", stamp));
	buf_init(&b, text, sizeof(text));
	buf_printf(&b, "%s: the nodes of this NodePool are held until %s",
		   pool_key_name(POOL_HOLD_UNTIL), stamp);
	teller_say(t, &what);
}

static void
tell_invalid(const struct note *n, struct teller *t)
{
	const char *key = pool_key_name((enum pool_key)n->a);
	const char *expected = pool_expected((enum pool_key)n->a);
	char action[TELL_ACTION_BYTES], text[TELL_NOTE_BYTES];
	struct tell_what what = {.reason = TELL_INVALID_ANNOTATION,
				 .pool = n->name,
				 .pool_uid = n->uid,
				 .action = action,
				 .note = text};
	struct buf a, b;

	LOG(LOG_WARN, "annotation does not count", LS("pool", n->name),
	    LS("annotation", key), LS("value", n->value),
	    LS("expected", expected));
	/* Two bad ones of a pool are two Events, and so are two values. */
	buf_init(&a, action, sizeof(action));
	buf_printf(&a, "Ignored %s=%s", key + strlen(OWN_PREFIX), n->value);
	buf_init(&b, text, sizeof(text));
	buf_printf(&b, "%s: \"%s\" does not count, expected %s", key, n->value,
		   expected);
	teller_say(t, &what);
}

void
notes_tell(struct shared *s, const struct rules *r, struct teller *t)
{
	struct note n;

	while (shared_note(s, &n)) {
		switch (n.type) {
		case NOTE_SCOPE_HELD:
		case NOTE_SCOPE_QUIET:
		case NOTE_SCOPE_CAPPED:
			tell_scope(s, &n, r, t);
			break;
		case NOTE_POOL_MANUAL:
			tell_manual(&n, t);
			break;
		case NOTE_POOL_INVALID:
			tell_invalid(&n, t);
			break;
		case NOTE_TABLE_FULL:
			if (log_ratelimit("table full", 3))
				LOG(LOG_ERROR, "table full",
				    LS("left_unheld", n.name));
			break;
		case NOTE_BLOCKED:
			LOG(LOG_WARN, "holds cannot be released",
			    LS("unwatched", n.name), LI("objects", n.a));
			break;
		case NOTE_SCOPE_MOVED:
		case NOTE_WITHOUT:
		case NOTE_REFUSED:
			break;
		case NOTE_STOPPED:
			LOG(LOG_INFO, "release waits for unseen NodeClaims",
			    LI("unseen", n.a));
			break;
		}
	}
}
