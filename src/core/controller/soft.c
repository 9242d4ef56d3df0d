/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/controller.h"

#include <assert.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/duration.h"
#include "core/base/sort.h"
#include "controller_parts.h"

/*
 * This file writes and reads the state that the next leader needs and that no
 * object shows (docs/status.md#the-debts-in-the-lease).  The text is "none", or
 * has one scope after the other:
 *
 *     general debt=12m30s held at=2026-01-02T03:04:05Z; batch debt=1h
 *     window=4m10s idle at=…
 *
 * `held` means that the debt has grown since `at`, `idle` that the debt has
 * shrunk or the window has run, and `paused` that neither has happened, because
 * not everything was seen.  A text ends where it cannot be read, as at
 * "left-out 12", which says that there was no room for twelve more scopes.
 */

#define CLUSTER_NAME "*" /* no NodePool can have this name */
/* The scope of machines without a NodePool.  No NodePool can have this name,
 * either. */
#define UNLABELLED_NAME "-"
#define NOTHING "none"
#define LEFT_OUT "left-out"
#define LEFT_OUT_BYTES sizeof("; " LEFT_OUT " 4294967295")

static const char *
name_of(const struct controller *s, const struct scope *sc)
{
	if (s->rules.scope == SCOPE_CLUSTER)
		return CLUSTER_NAME;
	return sc->name[0] != '\0' ? sc->name : UNLABELLED_NAME;
}

static void
write_duration(struct buf *b, const char *name, int64_t ms)
{
	char text[DURATION_BYTES];

	duration_format(ms, text);
	buf_printf(b, " %s=%s", name, text);
}

static void
write_scope(const struct controller *s, uint32_t i, struct buf *b,
	    struct now now)
{
	const struct scope *sc = timers_scope(&s->timers, i);
	int64_t window_ms = cap_window_ms(&sc->cap, now.boot_ms);
	char at[STAMP_BYTES];

	buf_puts(b, b->len > 0 ? "; " : "");
	buf_puts(b, name_of(s, sc));
	write_duration(b, "debt",
		       cap_debt_ms(&sc->cap, &s->rules.cap, now.boot_ms));
	if (window_ms > 0)
		write_duration(b, "window", window_ms);
	stamp_format(now.server_ms, at);
	buf_printf(b, " %s at=%s",
		   sc->cap.grows    ? "held"
		   : sc->cap.usable ? "idle"
				    : "paused",
		   at);
}

struct moment {
	const struct controller *s;
	struct now now;
};

/* Returns whether the state of scope a is more important to the next leader
 * than that of b.  Without its state, a scope with an open window would be held
 * again, and a scope with a debt would be held longer. */
static bool
matters_more(const void *ctx, uint32_t a, uint32_t b)
{
	const struct moment *m = ctx;
	const struct scope *at = timers_scope(&m->s->timers, a);
	const struct scope *bt = timers_scope(&m->s->timers, b);
	const struct cap_rules *r = &m->s->rules.cap;
	bool open_a = cap_window_ms(&at->cap, m->now.boot_ms) > 0;
	bool open_b = cap_window_ms(&bt->cap, m->now.boot_ms) > 0;
	int64_t owes_a = cap_debt_ms(&at->cap, r, m->now.boot_ms);
	int64_t owes_b = cap_debt_ms(&bt->cap, r, m->now.boot_ms);

	if (open_a != open_b)
		return open_a;
	return owes_a != owes_b ? owes_a > owes_b : a < b;
}

/* Writes as many of the n scopes as fit, and then the number of those that do
 * not fit, which it returns. */
static uint32_t
write_most(const struct controller *s, uint32_t *scopes, uint32_t n,
	   struct buf *b, struct now now)
{
	struct moment m = {s, now};
	size_t cap = b->cap, whole = 0;
	uint32_t i = 0;

	assert(cap > LEFT_OUT_BYTES);
	sort_ids(scopes, n, matters_more, &m);
	buf_init(b, b->data, b->cap - LEFT_OUT_BYTES);
	for (; i < n && !b->full; i++) {
		whole = b->len;
		write_scope(s, scopes[i], b, now);
	}
	if (b->full)
		i--;
	else
		whole = b->len;
	b->data[whole] = '\0';
	*b = (struct buf){b->data, whole, cap, false};
	buf_printf(b, "%s" LEFT_OUT " %u", b->len > 0 ? "; " : "", n - i);
	return n - i;
}

/* Reports how many scopes had no room, and again when the number has more than
 * doubled.  The first text of a new leader may leave out a few scopes, and the
 * next text hundreds, when all scopes have been seen. */
static void
tell_left_out(struct controller *s, uint32_t n)
{
	if (n > 2 * s->soft_told)
		notes_put(&s->notes, NOTE_STATE_SHORT, "")->as.objects = n;
	if (n > 2 * s->soft_told || n == 0)
		s->soft_told = n;
}

bool
controller_soft(struct controller *s, struct buf *b, bool always,
		struct now now)
{
	uint32_t n = 0, left_out = 0;

	if (!views_leads(&s->views) || (!s->timers.changed && !always))
		return false;
	now = controller_steady(s, now);
	s->timers.changed = false;
	for (uint32_t i = 0; i < s->timers.scopes_top; i++) {
		if (!timers_keeps(&s->timers, i, now.boot_ms))
			continue;
		s->soft_scopes[n++] = i;
		write_scope(s, i, b, now);
	}
	if (n == 0)
		buf_puts(b, NOTHING);
	if (b->full)
		left_out = write_most(s, s->soft_scopes, n, b, now);
	tell_left_out(s, left_out);
	return true;
}

/* --- reading -------------------------------------------------------------- */

/* A cap usually has boot times.  Here all its times are the writer's server
 * time, so their differences are right as well. */
struct kept {
	char name[NODEPOOL_BYTES];
	struct cap cap;
	bool complete; /* it says how the cap changed from `at` on */
	int64_t at_ms;
};

/* Copies the next word, up to a blank or a semicolon.  Returns -1 if there is
 * none, or if it is too long. */
static int
word(const char **p, char *out, size_t cap)
{
	size_t n;

	*p += strspn(*p, " ");
	n = strcspn(*p, " ;");
	if (n == 0 || n >= cap)
		return -1;
	memcpy(out, *p, n);
	out[n] = '\0';
	*p += n;
	return 0;
}

static bool
has_name(const char *text, const char *name, const char **value)
{
	size_t n = strlen(name);

	*value = text + n + 1;
	return strncmp(text, name, n) == 0 && text[n] == '=';
}

static int
read_fact(const char *text, struct kept *k)
{
	const char *value;

	if (has_name(text, "debt", &value))
		return duration_parse(value, &k->cap.debt_ms);
	if (has_name(text, "window", &value))
		return duration_parse(value, &k->cap.window_ms);
	if (has_name(text, "at", &value))
		return stamp_parse(value, &k->at_ms);
	k->cap.grows = strcmp(text, "held") == 0;
	k->cap.usable = strcmp(text, "idle") == 0;
	k->complete =
		k->cap.grows || k->cap.usable || strcmp(text, "paused") == 0;
	return k->complete ? 0 : -1;
}

static int
read_scope(const char **text, struct kept *k)
{
	char fact[NODEPOOL_BYTES];

	*k = (struct kept){.at_ms = STAMP_NONE};
	if (word(text, k->name, sizeof(k->name)))
		return -1;
	while (word(text, fact, sizeof(fact)) == 0)
		if (read_fact(fact, k))
			return -1;
	if (**text != ';' && **text != '\0')
		return -1;
	*text += strspn(*text, "; ");
	return k->complete && k->at_ms != STAMP_NONE ? 0 : -1;
}

/* Updates the scope's state to the present time.  For the time in which the
 * writer of the state still led, debt and window change as that writer would
 * have changed them.  After that only the debt of a held scope grows. */
static void
kept_settle(struct kept *k, const struct cap_rules *r, int64_t renewed_ms,
	    struct now now)
{
	int64_t until = renewed_ms > k->at_ms ? renewed_ms : k->at_ms;

	if (until > now.server_ms)
		until = now.server_ms;
	k->cap.at_ms = k->at_ms < until ? k->at_ms : until;
	cap_settle(&k->cap, r, k->cap.grows ? now.server_ms : until);
}

static void
restore_scope(struct controller *s, struct kept *k, int64_t renewed_ms,
	      struct now now)
{
	kept_settle(k, &s->rules.cap, renewed_ms, now);
	timers_restore(&s->timers, k->name, &k->cap, k->at_ms, now);
}

/* Returns whether the state was written with our `scope`.  A state of another
 * scope is dropped. */
static bool
is_ours(const struct controller *s, struct kept *k)
{
	bool cluster = strcmp(k->name, CLUSTER_NAME) == 0;

	if (cluster || strcmp(k->name, UNLABELLED_NAME) == 0)
		k->name[0] = '\0';
	return s->rules.scope != SCOPE_NODE &&
	       cluster == (s->rules.scope == SCOPE_CLUSTER);
}

void
controller_restore(struct controller *s, const char *text, int64_t renewed_ms,
		   struct now now)
{
	struct kept k;

	now = controller_steady(s, now);
	while (text != NULL && read_scope(&text, &k) == 0) {
		if (is_ours(s, &k))
			restore_scope(s, &k, renewed_ms, now);
		else
			s->timers.changed = true; /* the first write drops it */
	}
	/* The released-at of NodePools may lower the debts. */
	timers_unteach_all(&s->timers);
}
