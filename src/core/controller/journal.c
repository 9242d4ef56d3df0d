/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/journal.h"

#include <string.h>

#include "core/base/str.h"

const char *
journal_what(enum turn_what w)
{
	static const char *const names[TURN_WHATS] = {
		[TURN_HELD] = "held",
		[TURN_RELEASED] = "released",
		[TURN_CAPPED] = "capped",
		[TURN_RESUMED] = "resumed",
	};

	return names[w];
}

const char *
journal_cause(enum turn_cause c)
{
	static const char *const names[TURN_CAUSES] = {
		[TURN_BY_SCALE_UP] = "scale-up",
		[TURN_BY_HAND] = "hold-until",
		[TURN_BY_TICKET] = "ticket",
		[TURN_BY_QUIET] = "quiet",
		[TURN_BY_RELEASE] = "released-at",
		[TURN_BY_CAP] = "cap",
		[TURN_BY_TIME] = "hold-until-over",
		[TURN_BY_TICKET_END] = "ticket-ended",
		[TURN_BY_RESUME] = "by-hand",
	};

	return names[c];
}

struct turn *
journal_turn(struct journal *h, int64_t at_ms, enum turn_what what,
	     enum turn_cause cause, const char *scope)
{
	struct turn *t = &h->turns[h->turns_n++ % JOURNAL_TURNS];

	*t = (struct turn){.at_ms = at_ms,
			   .what = what,
			   .cause = cause,
			   .held_ms = -1,
			   .until_ms = STAMP_NONE};
	(void)str_copy(t->scope, sizeof(t->scope), scope);
	return t;
}

bool
journal_turn_at(const struct journal *h, uint64_t *before, struct turn *out)
{
	if (*before > h->turns_n)
		*before = h->turns_n;
	if (*before <= h->turns_first || *before + JOURNAL_TURNS <= h->turns_n)
		return false;
	*out = h->turns[--*before % JOURNAL_TURNS];
	return true;
}

uint64_t
journal_last(const struct journal *h, uint64_t from, const char *scope,
	     bool nodepool, struct turn *out)
{
	uint64_t before = h->turns_n;

	while (before > from && before > h->turns_first &&
	       before + JOURNAL_TURNS > h->turns_n) {
		const struct turn *t = &h->turns[--before % JOURNAL_TURNS];

		if (t->nodepool != nodepool || strcmp(t->scope, scope) != 0)
			continue;
		*out = *t;
		return before + 1;
	}
	return 0;
}

/* Hashes the uid with FNV-1a.  With 4,096 writes, one lookup in a million finds
 * the wrong write. */
static uint32_t
object_of(const char *uid)
{
	uint32_t hash = 2166136261u;

	for (; *uid != '\0'; uid++)
		hash = (hash ^ (unsigned char)*uid) * 16777619u;
	return hash;
}

void
journal_write(struct journal *h, int64_t at_ms, const char *uid, enum act act,
	      enum written_how how)
{
	h->writes[h->writes_n++ % JOURNAL_WRITES] =
		(struct written){.at_ms = at_ms,
				 .object = object_of(uid),
				 .act = act,
				 .how = how};
}

bool
journal_written(const struct journal *h, const char *uid, struct written *out)
{
	uint64_t kept =
		h->writes_n < JOURNAL_WRITES ? h->writes_n : JOURNAL_WRITES;
	uint32_t object = object_of(uid);

	for (uint64_t i = 1; i <= kept; i++) {
		const struct written *w =
			&h->writes[(h->writes_n - i) % JOURNAL_WRITES];

		if (w->object != object)
			continue;
		*out = *w;
		return true;
	}
	return false;
}

void
journal_shift(struct journal *h, int64_t by_ms)
{
	for (uint64_t i = 0; i < h->turns_n && i < JOURNAL_TURNS; i++)
		h->turns[i].at_ms += by_ms;
	for (uint64_t i = 0; i < h->writes_n && i < JOURNAL_WRITES; i++)
		h->writes[i].at_ms += by_ms;
	h->since_ms += by_ms;
}
