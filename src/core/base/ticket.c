/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/ticket.h"

#include <fnmatch.h>
#include <string.h>

void
ticket_set_patterns(struct ticket *t, const char *value)
{
	static const char apart[] = ", \t\r\n";
	size_t used = 0, n;
	unsigned kept = 0;

	t->left_out = 0;
	memset(t->patterns, 0, sizeof(t->patterns));
	for (; value != NULL && *value != '\0'; value += n) {
		n = strspn(value, apart);
		value += n;
		n = strcspn(value, apart);
		if (n == 0)
			continue;
		if (kept == TICKET_PATTERNS_MAX ||
		    n >= NODEPOOL_PATTERN_BYTES ||
		    used + n + 2 > sizeof(t->patterns)) {
			t->left_out++;
			continue;
		}
		memcpy(t->patterns + used, value, n);
		used += n + 1;
		kept++;
	}
	t->all = kept == 0 && t->left_out == 0;
}

bool
ticket_names(const struct ticket *t, const char *nodepool)
{
	for (const char *p = t->patterns; *p != '\0'; p += strlen(p) + 1)
		if (fnmatch(p, nodepool, 0) == 0)
			return true;
	return t->all;
}

/* Returns why the ticket has no end, or TICKET_GOOD. */
static enum ticket_flaw
endless(const struct ticket *t, int64_t seen_ms)
{
	if (t->fault[0] != '\0')
		return TICKET_UNREADABLE;
	if (t->deleting)
		return TICKET_DELETING;
	if (t->renewed_ms == STAMP_NONE || t->lasts_ms <= 0)
		return TICKET_ENDLESS;
	return t->renewed_ms > seen_ms + TICKET_AHEAD_MAX_MS ? TICKET_FAR_AHEAD
							     : TICKET_GOOD;
}

int64_t
ticket_until_ms(const struct ticket *t, int64_t seen_ms)
{
	int64_t from = t->renewed_ms < seen_ms ? t->renewed_ms : seen_ms;

	if (endless(t, seen_ms) != TICKET_GOOD)
		return STAMP_NONE;
	return from +
	       (t->lasts_ms < TICKET_MAX_MS ? t->lasts_ms : TICKET_MAX_MS);
}

const char *
ticket_problem(enum ticket_flaw flaw)
{
	static const char *const problems[] = {
		[TICKET_GOOD] = NULL,
		[TICKET_UNREADABLE] = "it cannot be read",
		[TICKET_DELETING] = "it is being deleted",
		[TICKET_FAR_AHEAD] = "its renewTime is more than 10 minutes "
				     "ahead of the API server's clock",
		[TICKET_ENDLESS] = "it lacks renewTime or leaseDurationSeconds",
		[TICKET_OVER] = "it was over already when it was seen",
		[TICKET_LONG] = "it holds for 7 days without renewal at most",
		[TICKET_AHEAD] = "its renewTime is ahead of the API server's "
				 "clock, so it counts from when it was seen",
		[TICKET_BROAD] = "it has too many or too long patterns; the "
				 "rest of them hold nothing",
		[TICKET_FULL] = "there are 1000 others, and it holds nothing",
	};

	return problems[flaw];
}

enum ticket_flaw
ticket_flaw(const struct ticket *t, int64_t seen_ms)
{
	int64_t until_ms = ticket_until_ms(t, seen_ms);

	if (until_ms == STAMP_NONE)
		return endless(t, seen_ms);
	if (until_ms <= seen_ms)
		return TICKET_OVER;
	if (t->lasts_ms > TICKET_MAX_MS)
		return TICKET_LONG;
	if (t->renewed_ms > seen_ms + CLOCK_SHIFT_MS)
		return TICKET_AHEAD;
	return t->left_out > 0 ? TICKET_BROAD : TICKET_GOOD;
}
