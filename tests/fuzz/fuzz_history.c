/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/duration.h"
#include "core/base/utf8.h"
#include "core/controller/journal.h"
#include "core/protocol/lease.h"

#define NOW INT64_C(1767323045000) /* 2026-01-02T03:04:05Z */

static struct journal journal;
static struct rules rules;
static char first[LEASE_HISTORY_BYTES], second[LEASE_HISTORY_BYTES];

/* Promises that a terminal may show it. */
static void
check_text(const char *s)
{
	bool shows = true;

	while (*s != '\0' && shows)
		s += utf8_shown(s, &shows);
	PROMISE(shows);
}

static void
check_turns(void)
{
	int64_t last_ms = NOW + CLOCK_SHIFT_MS;
	uint64_t before = UINT64_MAX;
	struct turn t;
	unsigned n = 0;

	while (journal_turn_at(&journal, &before, &t)) {
		PROMISE(++n <= JOURNAL_KEPT);
		PROMISE(t.at_ms <= last_ms && t.at_ms >= NOW - DURATION_MS_MAX);
		PROMISE(t.what < TURN_WHATS && t.cause < TURN_CAUSES);
		PROMISE(t.held_ms >= -1 && t.held_ms <= DURATION_MS_MAX);
		PROMISE(!t.nodepool || t.scope[0] != '\0');
		check_text(t.scope);
		check_text(t.machine);
		check_text(t.reason);
		last_ms = t.at_ms;
	}
}

/* Returns whether the text was taken, and writes what was read of it. */
static bool
take(const char *text, char to[LEASE_HISTORY_BYTES])
{
	struct journal_lead l = {.rules = &rules, .term = 7, .since_ms = NOW};
	struct buf b;

	memset(&journal, 0, sizeof(journal));
	if (journal_text_read(&journal, 0, text, &l, NOW)) {
		PROMISE(journal.turns_n == 0 && !l.whole);
		return false;
	}
	check_turns();
	PROMISE(l.since_ms <= NOW + CLOCK_SHIFT_MS &&
		l.since_ms >= NOW - DURATION_MS_MAX);
	buf_init(&b, to, LEASE_HISTORY_BYTES);
	journal_text_write(&journal, &l, NOW, &b);
	PROMISE(!b.full && b.len == strlen(to));
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = text_of_input(data, n);

	/* What is written reads back as what was read. */
	if (take(text, first))
		PROMISE(take(first, second) && strcmp(first, second) == 0);
	free(text);
	return 0;
}
