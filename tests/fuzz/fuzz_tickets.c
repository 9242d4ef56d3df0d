/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"
#include "wire/api/ticket.h"

/* Promises a text that a terminal shows and does not obey. */
static void
promise_shown(const char *text, size_t cap)
{
	bool shows;

	PROMISE(memchr(text, '\0', cap) != NULL);
	promise_utf8(text);
	for (size_t n; *text != '\0'; text += n) {
		n = utf8_shown(text, &shows);
		PROMISE(shows);
	}
}

/* However far the writer's clock is off, and whatever it asks for. */
static void
check_until(const struct ticket *t)
{
	static const int64_t nows[] = {
		INT64_C(-62135596800000), -1, 0, INT64_C(1767323045678),
		INT64_C(253402300799999)};

	for (size_t i = 0; i < sizeof(nows) / sizeof(nows[0]); i++) {
		int64_t until_ms = ticket_until_ms(t, nows[i]);
		enum ticket_flaw flaw = ticket_flaw(t, nows[i]);

		PROMISE(until_ms <= nows[i] + TICKET_MAX_MS);
		bool none = flaw != TICKET_GOOD && flaw <= TICKET_FAR_AHEAD;

		PROMISE((until_ms == STAMP_NONE) == none);
		PROMISE(none == (t->renewed_ms == STAMP_NONE ||
				 t->lasts_ms == 0 || t->deleting ||
				 t->renewed_ms > nows[i] + TICKET_AHEAD_MAX_MS));
		if (flaw == TICKET_OVER)
			PROMISE(until_ms <= nows[i]);
		else if (!none)
			PROMISE(until_ms > nows[i]);
	}
}

static void
check_patterns(const struct ticket *t)
{
	const char *p = t->patterns, *end = p + sizeof(t->patterns);
	unsigned n = 0;

	PROMISE(end[-1] == '\0');
	for (; *p != '\0'; p += strlen(p) + 1, n++) {
		PROMISE(strlen(p) < NODEPOOL_PATTERN_BYTES);
		PROMISE(strpbrk(p, ", \t\r\n") == NULL);
		promise_utf8(p);
	}
	PROMISE(n <= TICKET_PATTERNS_MAX && p < end);
	for (; p < end; p++)
		PROMISE(*p == '\0');
	PROMISE(t->all == (n == 0 && t->left_out == 0));
	PROMISE(!t->all || ticket_names(t, "web"));
	PROMISE(n > 0 || t->all || !ticket_names(t, "web"));
}

static void
check_ticket(const struct ticket *t)
{
	PROMISE(t->name[0] != '\0' && t->uid[0] != '\0' && t->rv[0] != '\0');
	promise_utf8(t->name);
	promise_shown(t->holder, sizeof(t->holder));
	promise_shown(t->reason, sizeof(t->reason));
	PROMISE(t->fault[0] == '\0');
	PROMISE(t->renewed_ms == STAMP_NONE ||
		t->renewed_ms >= TICKET_FIRST_MS);
	PROMISE(t->lasts_ms >= 0 && t->lasts_ms <= 1000 * (int64_t)INT32_MAX);
	check_patterns(t);
	check_until(t);
}

/* What is refused has a fault and holds nothing, if it has a name. */
static void
check_unread(const char *text, size_t n, enum watch_type *type,
	     const struct err *e)
{
	static struct ticket t, before;

	memset(&before, 'x', sizeof(before));
	t = before;
	if (ticket_unread_decode(text, n, type, &t, e)) {
		PROMISE(memcmp(&t, &before, sizeof(t)) == 0);
		return;
	}
	PROMISE(t.name[0] != '\0');
	promise_utf8(t.name);
	promise_shown(t.fault, sizeof(t.fault));
	PROMISE(t.fault[0] != '\0' && !t.all && t.patterns[0] == '\0');
	PROMISE(ticket_flaw(&t, 0) == TICKET_UNREADABLE);
	PROMISE(type == NULL || *type <= WATCH_DELETED);
}

/* Refusal leaves what was there. */
static void
promise_untouched(const struct ticket *t, const struct ticket *before)
{
	PROMISE(memcmp(t, before, sizeof(*t)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct ticket t, before;
	const char *text = (const char *)data;
	enum watch_type type = WATCH_ADDED;
	struct err e = {0};
	int code = 0;

	memset(&before, 'x', sizeof(before));
	t = before;
	if (ticket_decode(text, n, &t, &e) == 0) {
		check_ticket(&t);
	} else {
		promise_refused(&e);
		promise_untouched(&t, &before);
		check_unread(text, n, NULL, &e);
	}
	t = before;
	if (ticket_watch_decode(text, n, &type, &t, &code, &e)) {
		promise_refused(&e);
		promise_untouched(&t, &before);
		PROMISE(type == WATCH_ADDED && code == 0);
		check_unread(text, n, &type, &e);
	} else if (type == WATCH_ERROR) {
		PROMISE(code >= 0 && code < 1000);
		promise_untouched(&t, &before);
	} else if (type == WATCH_BOOKMARK) {
		PROMISE(t.rv[0] != '\0' && t.name[0] == '\0');
		PROMISE(t.renewed_ms == STAMP_NONE && !t.all);
	} else {
		check_ticket(&t);
	}
	return 0;
}
