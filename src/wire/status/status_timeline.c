/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "core/base/str.h"
#include "status_parts.h"

/*
 * Writes the timeline of the page: a row for each scope, and for each NodePool
 * that a person holds, drawn like the pictures in docs/rules.md.  A row is
 * as wide as the reader's window allows, so each x is a share of that width.
 *
 * The turns of the history (holds and releases) are read once, the newest
 * first, into an array at the end of the page's buffer (read_past).  The rows
 * are then written in front of that array: first the scopes that are held or
 * capped now or have changed since the chart begins, then the NodePools that
 * people hold, then all other scopes.  A row that does not fit is removed and
 * counted.
 */

#define ROWS_SHOWN 30	/* maximum number of rows */
#define FULL 10000	/* width of a row, in hundredths of a percent */
#define SEEN 30		/* minimum width of a box, so that it is visible */
#define WORDS_WIDE 2200 /* width of the text "held 03:04" on a phone */
#define TICKS 8		/* maximum number of ticks on the axis */

/* A hold in the history.  It is either over, and was read from the turn that
 * ended it, or it is a hold by hold-until, which may end in the future. */
struct past {
	int64_t from_ms, to_ms;
	bool capped, by_hand;
	char name[NODEPOOL_BYTES];
};

struct chart {
	const struct status_head *h;
	int64_t from_ms, known_ms; /* when the chart begins, and the history */
	const struct past *past;   /* holds in the history, newest first */
	unsigned past_n;
	uint64_t rows, left;
	size_t limit;
};

/* --- shapes --------------------------------------------------------------- */

static int
share(const struct chart *c, int64_t ms)
{
	if (ms <= c->from_ms)
		return 0;
	if (ms >= c->h->now_ms)
		return FULL;
	return (int)((ms - c->from_ms) * FULL / c->h->view.last_ms);
}

static void
percent(struct buf *b, const char *attribute, int x)
{
	buf_printf(b, " %s=\"%d.%02d%%\"", attribute, x / 100, x % 100);
}

static void
box(struct buf *b, const char *class, const struct chart *c, int64_t from_ms,
    int64_t to_ms, int high)
{
	int x = share(c, from_ms), wide = share(c, to_ms) - x;

	if (to_ms <= c->from_ms || to_ms < from_ms)
		return;
	if (wide < SEEN)
		wide = SEEN;
	if (x + wide > FULL)
		x = FULL - wide;
	buf_printf(b, "<rect class=\"%s\"", class);
	percent(b, "x", x);
	percent(b, "width", wide);
	buf_printf(b, " y=\"%d\" height=\"%d\"/>", 21 - high / 2, high);
}

/* --- the axis ------------------------------------------------------------- */

static int64_t
step_of(int64_t last_ms)
{
	static const int minutes[] = {1, 2, 5, 10, 15, 30, 60, 120, 180};
	size_t i = 0;

	while (i + 1 < sizeof(minutes) / sizeof(minutes[0]) &&
	       last_ms > TICKS * (int64_t)minutes[i] * 60000)
		i++;
	return minutes[i] * (int64_t)60000;
}

/* Writes the axis.  The vertical lines, which all rows show, are defined once,
 * as #g. */
static void
axis(struct buf *b, const struct chart *c)
{
	int64_t step = step_of(c->h->view.last_ms);
	int64_t first = (c->from_ms / step + 1) * step;
	char stamp[STAMP_BYTES];

	buf_puts(b,
		 "<svg class=\"ax\" aria-hidden=\"true\"><defs><g id=\"g\">");
	for (int64_t at = first; at < c->h->now_ms; at += step) {
		buf_puts(b, "<line class=\"g\"");
		percent(b, "x1", share(c, at));
		percent(b, "x2", share(c, at));
		buf_puts(b, " y1=\"0\" y2=\"34\"/>");
	}
	buf_puts(b, "</g></defs>");
	for (int64_t at = first; at < c->h->now_ms; at += step) {
		int x = share(c, at);

		stamp_format(at, stamp);
		if (x < FULL / 20 || x > FULL - FULL / 20)
			continue;
		buf_puts(b, "<text class=\"m\" y=\"14\"");
		percent(b, "x", x);
		buf_printf(b, ">%.5s</text>", stamp + 11);
	}
	buf_puts(b, "</svg>");
}

static void
legend(struct buf *b)
{
	static const struct {
		const char *class, *words;
		int high;
	} looks[] = {
		{"o", "held", 14},
		{"f", "not held", 2},
		{"c", "released by its cap", 12},
		{"p", "held by hold-until or tickets", 14},
		{"e", "asked for by a hold-until or tickets that are gone", 12},
		{"u", "not known", 12},
	};

	buf_puts(b, "<ul class=\"k\">");
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++)
		buf_printf(
			b,
			"<li><svg aria-hidden=\"true\"><rect class=\"%s\" "
			"x=\"1\" width=\"24\" y=\"%d\" height=\"%d\"/></svg> "
			"%s</li>",
			looks[i].class, 7 - looks[i].high / 2, looks[i].high,
			looks[i].words);
	buf_puts(b, "</ul>");
}

/* --- a row ---------------------------------------------------------------- */

/* A box in a row, from one moment to another. */
struct stretch {
	const char *class; /* CSS class of the box; NULL: there is no box */
	int64_t from_ms, to_ms;
	int high;
};

/* Writes, above the beginning of a stretch, the time at which the stretch
 * began, unless the text would overlap the text of a later stretch.  The style
 * leaves room for words behind the end of the row. */
static void
words_at(struct buf *b, const struct chart *c, const struct stretch *s,
	 int *words_x)
{
	int x = share(c, s->from_ms);
	char stamp[STAMP_BYTES];

	if (s->from_ms <= c->from_ms || *words_x - x < WORDS_WIDE)
		return;
	*words_x = x;
	stamp_format(s->from_ms, stamp);
	buf_puts(b, "<text y=\"10\"");
	percent(b, "x", x);
	buf_printf(b, ">held %.5s</text>", stamp + 11);
}

static bool
is_of(const struct past *p, const char *name, bool by_hand)
{
	return p->by_hand == by_hand && strcmp(p->name, name) == 0;
}

/* Writes in words what the row shows.  `words` says it for the row of a
 * NodePool, and is NULL for the row of a scope. */
static void
summary(struct buf *b, const struct chart *c, const char *name,
	const char *words, const struct stretch *now)
{
	bool held = now->class != NULL && now->high == 14;
	int64_t from = now->from_ms > c->from_ms ? now->from_ms : c->from_ms;
	int64_t sum = held ? c->h->now_ms - from : 0;
	unsigned times = held;

	for (unsigned i = 0; i < c->past_n; i++) {
		const struct past *p = &c->past[i];

		from = p->from_ms > c->from_ms ? p->from_ms : c->from_ms;
		if (!is_of(p, name, false) || p->to_ms <= c->from_ms)
			continue;
		sum += p->to_ms - from;
		times++;
	}
	buf_puts(b, "<span class=\"d\">");
	if (words != NULL || times == 0) {
		buf_puts(b, words != NULL ? words : "not held");
	} else {
		buf_puts(b, "held ");
		if (times > 1)
			buf_printf(b, "%u times, for ", times);
		else
			buf_puts(b, "once, for ");
		html_span(b, sum);
		buf_puts(b, times > 1 ? " in all" : "");
		buf_puts(b, held ? ", and now" : "");
	}
	buf_puts(b, "</span>");
}

static void
past_boxes(struct buf *b, const struct chart *c, const char *name, bool by_hand,
	   int64_t now_from, int *words_x)
{
	int64_t window_ms = c->h->rules->cap.window_ms, later = c->h->now_ms;

	for (unsigned i = 0; i < c->past_n && b->len <= c->limit; i++) {
		const struct past *p = &c->past[i];
		struct stretch s = {by_hand ? "e" : "o", p->from_ms, p->to_ms,
				    by_hand ? 12 : 14};

		if (!is_of(p, name, by_hand) || p->from_ms >= now_from)
			continue;
		if (s.to_ms > later)
			s.to_ms = later;
		box(b, s.class, c, s.from_ms, s.to_ms, s.high);
		if (p->capped && p->to_ms < now_from)
			box(b, "c", c, p->to_ms,
			    p->to_ms + window_ms < later ? p->to_ms + window_ms
							 : later,
			    12);
		if (!by_hand && s.to_ms > c->from_ms)
			words_at(b, c, &s, words_x);
		later = s.from_ms;
	}
}

static void
draw_row(struct buf *b, struct chart *c, const char *name, const char *words,
	 const struct stretch *now)
{
	const struct buf was = *b;
	int words_x = 2 * FULL;

	if (c->rows == ROWS_SHOWN) {
		c->left++;
		return;
	}
	buf_printf(b, "<li><span>%s ", words != NULL ? "pool" : "scope");
	html_name(b, name[0] != '\0' ? name : "machines without a NodePool");
	buf_puts(b, " ");
	summary(b, c, name, words, now);
	buf_puts(b, "</span><svg aria-hidden=\"true\">");
	box(b, "u", c, c->from_ms, c->known_ms, 14);
	buf_puts(b, "<use href=\"#g\"/>");
	box(b, "f", c, c->known_ms, c->h->now_ms, 2);
	/* The newest box comes first, so that it always gets its words. */
	if (now->class != NULL)
		box(b, now->class, c, now->from_ms, now->to_ms, now->high);
	if (now->class != NULL && now->class[0] == 'o')
		words_at(b, c, now, &words_x);
	past_boxes(b, c, name, words != NULL,
		   now->class != NULL ? now->from_ms : INT64_MAX, &words_x);
	buf_puts(b, "</svg></li>\n");
	words_settle(b, &was, c->limit, &c->left);
	c->rows++;
}

/* If `turned` is true, draws the rows of the scopes that are held or capped now
 * or have changed since the chart begins.  Otherwise draws the rows of all
 * other scopes. */
static void
scope_rows(struct buf *b, struct chart *c, const struct status_items *items,
	   bool turned)
{
	struct scope_status s;

	for (uint32_t i = 0; items->scope(items->ctx, &i, &s);) {
		struct stretch now = {
			s.hand_alone		  ? "p"
			: s.state == SCOPE_HELD	  ? "o"
			: s.state == SCOPE_CAPPED ? "c"
						  : NULL,
			s.since_ms != STAMP_NONE ? s.since_ms : c->known_ms,
			c->h->now_ms, s.state == SCOPE_HELD ? 14 : 12};

		if (now.from_ms > now.to_ms) /* the clock was set back */
			now.from_ms = now.to_ms;
		if ((now.class != NULL || s.since_ms > c->from_ms) == turned)
			draw_row(b, c, words_scope(c->h, s.name), NULL, &now);
	}
}

static void
nodepool_rows(struct buf *b, struct chart *c, const struct status_items *items)
{
	struct nodepool_status p;

	for (uint32_t i = 0; items->nodepool(items->ctx, &i, &p);) {
		bool by_hand = p.by_hand || p.by_ticket;
		struct stretch now = {by_hand ? "p" : NULL, c->known_ms,
				      c->h->now_ms, 14};
		bool any = by_hand;

		for (unsigned k = 0; k < c->past_n; k++) {
			if (!is_of(&c->past[k], p.nodepool.name, true))
				continue;
			/* The newest hold-until is the one in force. */
			if (!any || now.from_ms == c->known_ms)
				now.from_ms = c->past[k].from_ms;
			any = true;
		}
		if (any)
			draw_row(b, c, p.nodepool.name,
				 p.by_ticket ? "held by tickets now"
				 : p.by_hand ? "held by hold-until now"
					     : "no longer held",
				 &now);
	}
}

/* --- the whole timeline --------------------------------------------------- */

/* Reads the holds in the history into `past`, and returns their number.  If the
 * history is full, *oldest_ms is the time of its oldest turn, and otherwise
 * STAMP_NONE. */
static unsigned
read_past(struct past *past, const struct status_head *h,
	  const struct status_items *items, int64_t *oldest_ms)
{
	uint64_t before = UINT64_MAX;
	unsigned n = 0, turns = 0;
	struct turn t;

	while (turns < JOURNAL_TURNS && items->turn(items->ctx, &before, &t)) {
		struct past *p = &past[n];

		turns++;
		/* The clock may have been set back a little since the turn. */
		if (t.at_ms > h->now_ms)
			t.at_ms = h->now_ms;
		*oldest_ms = t.at_ms;
		*p = (struct past){.from_ms = t.at_ms - t.held_ms,
				   .to_ms = t.at_ms,
				   .capped = t.what == TURN_CAPPED,
				   .by_hand = t.nodepool};
		if (t.nodepool && t.what == TURN_HELD) {
			p->from_ms = t.at_ms;
			p->to_ms = t.until_ms;
		} else if (t.held_ms < 0) {
			continue;
		}
		(void)str_copy(p->name, sizeof(p->name),
			       p->by_hand ? t.scope : words_scope(h, t.scope));
		n++;
	}
	/* If the history is full, older turns are lost. */
	if (turns < JOURNAL_TURNS)
		*oldest_ms = STAMP_NONE;
	return n;
}

static void
rows(struct buf *b, struct chart *c, const struct status_items *items)
{
	buf_puts(b, "<ol class=\"t\"><li><span class=\"d\">UTC</span>");
	axis(b, c);
	buf_puts(b, "</li>\n");
	scope_rows(b, c, items, true);
	nodepool_rows(b, c, items);
	scope_rows(b, c, items, false);
	buf_puts(b, "</ol>");
	if (c->left > 0)
		buf_printf(b, "<p class=\"d\">… and %llu rows more</p>",
			   (unsigned long long)c->left);
	legend(b);
}

void
status_timeline(struct buf *b, const struct status_head *h,
		const struct status_items *items, size_t limit)
{
	size_t bytes = JOURNAL_TURNS * sizeof(struct past), cap = b->cap;
	struct chart c = {.h = h, .limit = limit};
	struct past *past;
	int64_t oldest_ms;

	if (cap < limit + bytes + sizeof(int64_t)) {
		b->full = true;
		return;
	}
	b->cap = cap - bytes - (uintptr_t)(b->data + cap) % sizeof(int64_t);
	past = (struct past *)(void *)(b->data + b->cap);
	c.past = past;
	c.past_n = read_past(past, h, items, &oldest_ms);
	c.from_ms = h->now_ms - h->view.last_ms;
	c.known_ms = c.from_ms;
	if (h->known_ms > c.known_ms)
		c.known_ms = h->known_ms;
	if (oldest_ms > c.known_ms)
		c.known_ms = oldest_ms;
	rows(b, &c, items);
	b->cap = cap;
}
