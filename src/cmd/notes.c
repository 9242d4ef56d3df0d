/* SPDX-License-Identifier: Apache-2.0 */
#include "notes.h"

#include "core/stamp.h"
#include "edge/log.h"

static void
tell_scope(const struct note *n, const char *name)
{
	char text[DURATION_BYTES > STAMP_BYTES ? DURATION_BYTES : STAMP_BYTES];

	if (n->type == NOTE_SCOPE_QUIET)
		duration_format(n->a, text);
	else
		stamp_format(n->a, text);
	if (n->type == NOTE_SCOPE_HELD)
		LOG(LOG_INFO, "scope held", LS("scope", name),
		    LS("quietAt", text));
	else if (n->type == NOTE_SCOPE_QUIET)
		LOG(LOG_INFO, "scope quiet", LS("scope", name),
		    LS("heldFor", text));
	else
		LOG(LOG_WARN, "scope held for maxHoldDuration, released",
		    LS("scope", name), LS("until", text));
}

static void
tell_pool(const struct note *n)
{
	char text[STAMP_BYTES];

	if (n->type == NOTE_POOL_MANUAL) {
		stamp_format(n->a, text);
		LOG(LOG_INFO, "pool held by hand", LS("pool", n->name),
		    LS("until", text));
		return;
	}
	LOG(LOG_WARN, "annotation does not count", LS("pool", n->name),
	    LS("annotation", pool_key_name((enum pool_key)n->a)),
	    LS("value", n->value),
	    LS("expected", pool_expected((enum pool_key)n->a)));
}

void
notes_tell(struct shared *s, enum scope_kind scope)
{
	struct note n;

	while (shared_note(s, &n)) {
		switch (n.type) {
		case NOTE_SCOPE_HELD:
		case NOTE_SCOPE_QUIET:
		case NOTE_SCOPE_CAPPED:
			tell_scope(&n, scope == SCOPE_CLUSTER ? "cluster"
							      : n.name);
			break;
		case NOTE_POOL_MANUAL:
		case NOTE_POOL_INVALID:
			tell_pool(&n);
			break;
		case NOTE_TABLE_FULL:
			if (log_ratelimit("table full", 3))
				LOG(LOG_ERROR, "table full",
				    LS("left_unheld", n.name));
			break;
		case NOTE_STOPPED:
			LOG(LOG_INFO, "release waits for unseen NodeClaims",
			    LI("unseen", n.a));
			break;
		}
	}
}
