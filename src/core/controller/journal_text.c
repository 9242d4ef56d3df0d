/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/journal.h"

#include <stdio.h>
#include <string.h>

#include "core/base/duration.h"
#include "core/base/str.h"
#include "core/base/utf8.h"

/*
 * This file writes and reads the turns as text, the newest first, for the next
 * leader (docs/rules.md#what-outlives-a-leader):
 *
 *     enforce cluster term=7
 *     2026-01-02T03:04:05Z held scale-up scope= machine=web-x7k2p
 *     2026-01-02T02:00:00Z held hold-until nodepool=web until=… reason=a sale
 *     since=2026-01-01T00:00:00Z
 *
 * The last line says from when on the text has all turns.  `cut=` instead of
 * `since=` says that there was no room for earlier turns.  A line or a
 * `name=value` that this release does not know is skipped, so later releases
 * may add some.
 */

#define TERM "term="
#define END_BYTES (sizeof("since=\n") + STAMP_BYTES)
#define LINE_BYTES 640 /* the longest line that we write has 450 */
#define AHEAD_MS 5000  /* how far the clocks of two API servers may be apart */

static const char *
mode_of(const struct rules *r)
{
	return r->mode == MODE_OBSERVE ? "observe" : "enforce";
}

static const char *
scopes_of(const struct rules *r)
{
	return r->scope == SCOPE_CLUSTER    ? "cluster"
	       : r->scope == SCOPE_NODEPOOL ? "nodepool"
					    : "node";
}

/* Returns whether the text has only bytes that cannot end a word or a line. */
static bool
is_name(const char *s)
{
	static const char of_names[] = "abcdefghijklmnopqrstuvwxyz"
				       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789-._";

	return s[strspn(s, of_names)] == '\0';
}

/* --- writing -------------------------------------------------------------- */

static void
write_turn(struct buf *b, const struct turn *t)
{
	char stamp[STAMP_BYTES], span[DURATION_BYTES];

	stamp_format(t->at_ms, stamp);
	buf_printf(b, "%s %s %s %s=%s", stamp, journal_what(t->what),
		   journal_cause(t->cause), t->nodepool ? "nodepool" : "scope",
		   t->scope);
	if (t->held_ms >= 0) {
		duration_format(t->held_ms, span);
		buf_printf(b, " held=%s", span);
	}
	if (t->until_ms != STAMP_NONE) {
		stamp_format(t->until_ms, stamp);
		buf_printf(b, " until=%s", stamp);
	}
	if (t->machine[0] != '\0' && is_name(t->machine))
		buf_printf(b, " machine=%s", t->machine);
	if (t->reason[0] != '\0')
		buf_printf(b, " reason=%s", t->reason);
	buf_puts(b, "\n");
}

/* Returns whether the turn is written.  A hold by hand that is in force is
 * written however old it is, because the next leader would otherwise take it
 * for a new hold. */
static bool
is_told(const struct turn *t, int64_t now_ms)
{
	return t->at_ms > now_ms - JOURNAL_MS ||
	       (t->nodepool && t->what == TURN_HELD && t->until_ms > now_ms);
}

void
journal_text_write(const struct journal *h, const struct journal_lead *l,
		   int64_t now_ms, struct buf *b)
{
	int64_t since_ms = l->since_ms, oldest_ms = now_ms;
	uint64_t before = UINT64_MAX;
	char stamp[STAMP_BYTES];
	bool cut = false;
	struct turn t;

	buf_init(b, b->data, b->cap - END_BYTES);
	buf_printf(b, "%s %s " TERM "%d\n", mode_of(l->rules),
		   scopes_of(l->rules), (int)l->term);
	for (unsigned n = 0; !cut && journal_turn_at(h, &before, &t);) {
		struct buf was = *b;

		if (!is_told(&t, now_ms) || !is_name(t.scope))
			continue;
		if (n++ < JOURNAL_KEPT)
			write_turn(b, &t);
		cut = n > JOURNAL_KEPT || b->full;
		if (cut)
			*b = was;
		else
			oldest_ms = t.at_ms;
	}
	b->data[b->len] = '\0';
	b->cap += END_BYTES;
	if (cut && oldest_ms > since_ms)
		since_ms = oldest_ms;
	stamp_format(since_ms, stamp);
	buf_printf(b, "%s=%s\n", cut || l->cut ? "cut" : "since", stamp);
}

/* --- reading -------------------------------------------------------------- */

/* Copies the next line and moves *text behind it.  A line that is too long
 * comes out empty.  Returns false at the end. */
static bool
next_line(const char **text, char line[LINE_BYTES])
{
	size_t n = strcspn(*text, "\n");

	if (**text == '\0')
		return false;
	line[0] = '\0';
	if (n < LINE_BYTES) {
		memcpy(line, *text, n);
		line[n] = '\0';
	}
	*text += n + ((*text)[n] == '\n');
	return true;
}

/* Ends the word at *p with a NUL and returns it.  Moves *p to the next word. */
static char *
next_word(char **p)
{
	char *word = *p;

	*p += strcspn(*p, " ");
	if (**p != '\0')
		*(*p)++ = '\0';
	return word;
}

static const char *
value_of(const char *word, const char *name)
{
	size_t n = strlen(name);

	return strncmp(word, name, n) == 0 ? word + n : NULL;
}

static int
copy_name(char *to, size_t cap, const char *name)
{
	return is_name(name) ? str_copy(to, cap, name) : -1;
}

static int
read_fact(const char *word, struct turn *t)
{
	const char *v;

	if ((v = value_of(word, "scope=")) != NULL)
		return copy_name(t->scope, sizeof(t->scope), v);
	if ((v = value_of(word, "machine=")) != NULL)
		return copy_name(t->machine, sizeof(t->machine), v);
	if ((v = value_of(word, "held=")) != NULL)
		return duration_parse(v, &t->held_ms);
	if ((v = value_of(word, "until=")) != NULL)
		return stamp_parse(v, &t->until_ms);
	if ((v = value_of(word, "nodepool=")) == NULL)
		return 0;
	t->nodepool = true;
	return copy_name(t->scope, sizeof(t->scope), v);
}

static int
read_what(const char *word, struct turn *t)
{
	for (int w = 0; w < TURN_WHATS; w++)
		if (strcmp(word, journal_what((enum turn_what)w)) == 0) {
			t->what = (enum turn_what)w;
			return 0;
		}
	return -1;
}

static int
read_cause(const char *word, struct turn *t)
{
	for (int c = 0; c < TURN_CAUSES; c++)
		if (strcmp(word, journal_cause((enum turn_cause)c)) == 0) {
			t->cause = (enum turn_cause)c;
			return 0;
		}
	return -1;
}

/* Reads a turn from the line, into which it writes NULs.  Returns -1 if the
 * line is no turn. */
static int
read_turn(char *line, struct turn *t)
{
	*t = (struct turn){.held_ms = -1, .until_ms = STAMP_NONE};
	if (stamp_parse(next_word(&line), &t->at_ms) ||
	    read_what(next_word(&line), t) || read_cause(next_word(&line), t))
		return -1;
	while (*line != '\0') {
		const char *reason = value_of(line, "reason=");

		if (reason != NULL) {
			str_cut(t->reason, sizeof(t->reason), reason);
			utf8_make_shown(t->reason);
			break;
		}
		if (read_fact(next_word(&line), t))
			return -1;
	}
	if (t->what == TURN_HELD)
		t->held_ms = -1;
	return t->nodepool && t->scope[0] == '\0' ? -1 : 0;
}

static bool
is_absurd(int64_t ms, int64_t now_ms)
{
	return ms > now_ms + AHEAD_MS || ms < now_ms - DURATION_MS_MAX;
}

/* Reads the next turn that is readable and has a possible time.  The time is
 * not in the future, and not older than JOURNAL_MS unless the turn is a hold by
 * hand that is in force.  The time is also not later than *last_ms, the time of
 * the turn that was read last, because the text begins with the newest turn. */
static bool
next_turn(const char **text, int64_t now_ms, int64_t *last_ms, struct turn *t)
{
	char line[LINE_BYTES];

	while (next_line(text, line)) {
		if (read_turn(line, t) || is_absurd(t->at_ms, now_ms) ||
		    t->at_ms > *last_ms || !is_told(t, now_ms))
			continue;
		*last_ms = t->at_ms;
		return true;
	}
	return false;
}

/* Adds the turns of the text after the turns that we have. */
static void
add_turns(struct journal *h, const char *text, int64_t now_ms)
{
	const char *p = text;
	int64_t last_ms = INT64_MAX;
	unsigned n = 0, i = 0;
	struct turn t;

	while (n < JOURNAL_KEPT && next_turn(&p, now_ms, &last_ms, &t))
		n++;
	/* For the time that the text covers, only its turns count.  Our own
	 * turns of that time are dropped, because our lead may have ended
	 * before some of them were written to the Lease. */
	while (n > 0 && h->turns_n > h->turns_first &&
	       h->turns[(h->turns_n - 1) % JOURNAL_TURNS].at_ms / 1000 * 1000 >=
		       last_ms)
		h->turns_n--;
	h->turns_n += n;
	if (h->turns_n > h->turns_first + JOURNAL_TURNS)
		h->turns_first = h->turns_n - JOURNAL_TURNS;
	last_ms = INT64_MAX;
	for (p = text; i < n && next_turn(&p, now_ms, &last_ms, &t); i++)
		h->turns[(h->turns_n - 1 - i) % JOURNAL_TURNS] = t;
}

/* Reads the first line.  Returns -1 if it names another mode or another kind of
 * scope.  Sets *follows to whether nobody led between the writer of the text
 * and us. */
static int
read_lead(char *line, const struct journal_lead *l, bool *follows)
{
	const char *mode = next_word(&line), *scopes = next_word(&line);
	const char *term = value_of(next_word(&line), TERM);
	char ours[16], before[16];

	if (strcmp(mode, mode_of(l->rules)) != 0 ||
	    strcmp(scopes, scopes_of(l->rules)) != 0)
		return -1;
	(void)snprintf(ours, sizeof(ours), "%d", (int)l->term);
	(void)snprintf(before, sizeof(before), "%d", (int)l->term - 1);
	*follows = term != NULL &&
		   (strcmp(term, ours) == 0 || strcmp(term, before) == 0);
	return 0;
}

/* Finds the line that says from when on the text has all turns. */
static int
read_end(const char *text, int64_t now_ms, struct journal_lead *l)
{
	char line[LINE_BYTES];

	while (next_line(&text, line)) {
		const char *since = value_of(line, "since=");
		const char *cut = value_of(line, "cut=");
		int64_t ms;

		if ((since == NULL && cut == NULL) ||
		    stamp_parse(since != NULL ? since : cut, &ms) ||
		    is_absurd(ms, now_ms))
			continue;
		l->since_ms = ms;
		l->cut = cut != NULL && ms > now_ms - JOURNAL_MS;
		return 0;
	}
	return -1;
}

int
journal_text_read(struct journal *h, uint64_t own, const char *text,
		  struct journal_lead *l, int64_t now_ms)
{
	char line[LINE_BYTES];
	bool follows;

	if (!next_line(&text, line) || read_lead(line, l, &follows))
		return -1;
	if (h->turns_n > h->turns_first + JOURNAL_TURNS)
		h->turns_first = h->turns_n - JOURNAL_TURNS;
	if (own < h->turns_n)
		h->turns_n = own > h->turns_first ? own : h->turns_first;
	add_turns(h, text, now_ms);
	/* If a leader between the writer and us wrote no text, the term in the
	 * text is too old, so `follows` is false. */
	l->whole = read_end(text, now_ms, l) == 0 && follows;
	return 0;
}
