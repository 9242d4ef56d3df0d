/* SPDX-License-Identifier: Apache-2.0 */
#include "picture_parts.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/duration.h"
#include "svg.h"

void
picture_clock(int64_t ms, char out[32])
{
	int64_t s = (ms + 500) / 1000;

	snprintf(out, 32, "%lld:%02d", (long long)(s / 60), (int)(s % 60));
}

/* --- what the history does ------------------------------------------------ */

bool
on_holder(enum op_type type)
{
	return type >= OP_KILL && type <= OP_OLDER;
}

bool
on_watches(enum op_type type)
{
	return type >= OP_CUT && type <= OP_EXPIRE;
}

bool
on_server(enum op_type type)
{
	return type >= OP_DOWN && type <= OP_UNINSTALL;
}

bool
on_nodepool(enum op_type type)
{
	return type >= OP_POOL && type <= OP_UNTICKET;
}

static void
nodepool_words(const struct picture *p, const struct op *o, char out[WORDS])
{
	const char *key = pool_key_name((int)o->key);
	bool gone = strcmp(o->value, "-") == 0;
	char value[DURATION_BYTES];

	if (o->type == OP_TICKET) {
		duration_format(o->for_ms, value);
		snprintf(out, WORDS, "ticket %.20s: %s", o->value, value);
		return;
	}
	if (o->type == OP_SPOIL || o->type == OP_LINGER) {
		snprintf(out, WORDS, "ticket %.20s %s", o->value,
			 o->type == OP_SPOIL ? "unreadable" : "being deleted");
		return;
	}
	if (o->type == OP_UNTICKET) {
		snprintf(out, WORDS, "ticket %.20s deleted", o->value);
		return;
	}
	if (o->type != OP_POOL) {
		snprintf(out, WORDS, "%s",
			 o->type == OP_UNPOOL ? "deleted" : "made again");
		return;
	}
	if (gone || (o->value[0] == '\0' && o->key == NODEPOOL_ENABLED)) {
		snprintf(out, WORDS, "%s removed", key);
		return;
	}
	if (o->value[0] != '\0') {
		snprintf(out, WORDS,
			 (int)o->key < NODEPOOL_KEY_COUNT ? "%s: \"%s\""
							  : "%s: %s",
			 key, o->value);
		return;
	}
	if (o->key == NODEPOOL_HOLD_UNTIL || o->key == NODEPOOL_RELEASED_AT)
		picture_clock(o->ms - p->from, value);
	else
		duration_format(o->ms, value);
	snprintf(out, WORDS, "%s: %s", key, value);
}

/* Says more than the kind of event.  False: there is no more to say. */
static bool
long_words(const struct picture *p, const struct op *o, char out[WORDS])
{
	char by[DURATION_BYTES];

	if (on_nodepool(o->type)) {
		nodepool_words(p, o, out);
	} else if (o->type == OP_DENY) {
		snprintf(out, WORDS, "patches of %ss: %s", object_kind_name(o->kind),
			 o->value);
	} else if (o->type == OP_UNSERVE) {
		snprintf(out, WORDS, "%ss are not served", object_kind_name(o->kind));
	} else if (o->type == OP_TURNS) {
		duration_format(o->ms, by);
		snprintf(out, WORDS, "two servers by turns, clocks %s apart",
			 by);
	} else if (o->type == OP_DISRUPT && o->value[0] != '\0') {
		snprintf(out, WORDS, "%c%s", o->value[0] | 0x20, o->value + 1);
	} else {
		return false;
	}
	return true;
}

static const char *
event_words(const struct op *o)
{
	static const char *const refused[VIEW_COUNT] = {
		[KIND_NODE] = "Nodes cannot be listed or watched",
		[KIND_NODECLAIM] = "NodeClaims cannot be listed or watched",
		[KIND_NODEPOOL] = "NodePools cannot be listed or watched",
		[KIND_EVENT] = "Events cannot be listed or watched",
		[KIND_TICKET] = "tickets cannot be listed or watched",
	};
	static const char *const people[] = {
		[PERSON_SET] = "a person sets the hold",
		[PERSON_UNHOLD] = "a person removes the hold",
		[PERSON_UNMARK] = "a person removes our mark, keeps the hold",
		[PERSON_STRIP] = "a person strips hold and mark",
		[PERSON_MARK] = "a person sets our mark",
		[PERSON_TOUCH] = "a person sets a label",
		[PERSON_SWELL] = "too large from now on",
		[PERSON_SHRINK] = "small again",
	};
	static const char *const words[OP_COUNT] = {
		[OP_DISRUPT] = "drifted",
		[OP_DRIFT] = "has drifted",
		[OP_DELETE] = "deleted",
		[OP_AGAIN] = "its kubelet posts it again",
		[OP_RECREATE] = "its Node is made anew",
		[OP_UNNODE] = "its Node is deleted",
		[OP_FORGE] = "an Event somebody forged",
		[OP_CUT] = "a watch is cut",
		[OP_HANG] = "a watch hangs",
		[OP_LAG] = "a watch lags",
		[OP_EXPIRE] = "watches expire",
		[OP_DOWN] = "API server down",
		[OP_BUSY] = "API server answers 429",
		[OP_ERRORS] = "API server answers 500",
		[OP_LOSSY] = "answers are lost",
		[OP_LATE] = "answers are late",
		[OP_SLOW] = "API server is slow",
		[OP_LEASE] = "the Lease is deleted",
		[OP_UNINSTALL] = "uninstall",
		[OP_CLEANUP] = "uninstall, when the holders are gone",
		[OP_KILL] = "killed",
		[OP_START] = "started",
		[OP_PAUSE] = "sleeps",
		[OP_SKEW] = "its clock is wrong",
		[OP_RULES] = "started with another configuration",
		[OP_OLDER] = "begins where an older one left off",
	};

	if (o->type == OP_REFUSE)
		return refused[o->kind];
	return o->type == OP_PERSON ? people[o->what] : words[o->type];
}

void
picture_say(struct picture *p, int64_t at, int row, const char *text,
	    bool event)
{
	if (row < 0 || text == NULL || p->words_n == 2 * OPS || at < p->from ||
	    at > p->to)
		return;
	for (struct word *w = p->words; event && w < p->words + p->words_n;
	     w++) {
		if (w->at == at && w->row == row) {
			w->event = true;
			return;
		}
	}
	p->words[p->words_n] =
		(struct word){.at = at, .row = row, .event = event};
	snprintf(p->words[p->words_n++].text, WORDS, "%s", text);
}

void
picture_events(struct picture *p)
{
	int64_t at = 0;		/* never backwards, as in history_run */

	for (int i = 0; i < p->h->ops_n; i++) {
		const struct op *o = &p->h->ops[i];
		const char *words = event_words(o);
		int row = row_of(p, ROW_MACHINE, o->machine);
		char said[WORDS];

		at = o->at > at ? o->at : at;
		if (on_holder(o->type))
			row = row_of(p, ROW_HOLDER, o->holder);
		if (on_watches(o->type))
			row = row_of(p, ROW_WATCHES, 0);
		if (on_server(o->type))
			row = row_of(p, ROW_SERVER, 0);
		if (on_nodepool(o->type))
			row = row_of_nodepool(p, o->nodepool);
		if (o->type == OP_PERSON && o->kind == KIND_NODECLAIM &&
		    row_of(p, ROW_CLAIM, o->machine) >= 0)
			row = row_of(p, ROW_CLAIM, o->machine);
		if (long_words(p, o, said))
			words = said;
		picture_say(p, at, row, words, true);
	}
}

/* --- what the rows show --------------------------------------------------- */

/* Says when a scope turns or a replica takes the lead.  A line down through
 * the machines shows the turn of a scope as well.  A look that lasts less than
 * a second is no turn: the leader is still reading its table. */
static void
turns(struct picture *p, int row, FILE *out)
{
	static const char *const words[LOOKS] = {[LEADS] = "leads",
						 [QUIET] = "quiet",
						 [SCOPE_HELD] = "held",
						 [WINDOW] = "released"};
	const struct row *r = &p->rows[row];
	enum look was = NOTHING;
	char at[32], said[WORDS];

	for (const struct span *s = r->spans; s < r->spans + r->spans_n; s++) {
		enum look before = was;

		if (s->look == NOTHING || s->to - s->from < 1000)
			continue;
		was = s->look;
		if (was == before || before == NOTHING || words[was] == NULL ||
		    s->from < p->from || s->from > p->to)
			continue;
		picture_clock(s->from - p->from, at);
		snprintf(said, sizeof(said), "%s %s",
			 before == WINDOW && was == QUIET ? "window closed"
							  : words[was],
			 at);
		picture_say(p, s->from, row, said, false);
		if (r->kind == ROW_SCOPE)
			svg_upright(out, "v", picture_x(p, s->from),
				    TOP + PITCH * row + BAR,
				    TOP + PITCH * p->rows_n);
	}
}

/* Says how much the debt is where its line turns. */
static void
debts(struct picture *p, int row)
{
	const struct row *r = &p->rows[row];
	char debt[32], said[WORDS];

	for (int i = 1; i + 1 < r->points_n; i++) {
		const struct point *at = &r->points[i];
		bool top = r->points[i - 1].debt < at->debt &&
			   at[1].debt <= at->debt;
		bool low = r->points[i - 1].debt > at->debt && at->debt > 0 &&
			   at[1].debt > at->debt;

		if (!top && !low)
			continue;
		picture_clock(at->debt, debt);
		snprintf(said, sizeof(said), "%s", debt);
		picture_say(p, at->at, row, said, false);
	}
}

/* In a short picture it matters by seconds when a machine was launched. */
static void
launches(struct picture *p, int row)
{
	if (p->to - p->from <= 300000 && p->rows[row].launched >= 0)
		picture_say(p, p->rows[row].launched, row, "launched", false);
}

/* Says when Karpenter's Event came, if the holder listens to Events. */
static void
events_said(struct picture *p, int row)
{
	if (!p->h->count && p->rows[row].said >= 0)
		picture_say(p, p->rows[row].said, row,
			    "Event: replaces another", true);
}

void
picture_turns(struct picture *p, FILE *out)
{
	for (int i = 0; i < p->rows_n; i++) {
		if (p->rows[i].kind == ROW_MACHINE) {
			launches(p, i);
			events_said(p, i);
		} else if (p->rows[i].kind == ROW_DEBT) {
			debts(p, i);
		} else if (p->rows[i].kind != ROW_CLAIM) {
			turns(p, i, out);
		}
	}
}

/* --- where the words go --------------------------------------------------- */

static bool
has_room(const struct picture *p, const struct word *w, int from, int to)
{
	for (const struct word *o = p->words; o < p->words + p->words_n; o++)
		if (o->row == w->row && o->from < o->to && from < o->to + 4 &&
		    o->from < to + 4)
			return false;
	return true;
}

static void
word_place(const struct picture *p, struct word *w)
{
	int x = picture_x(p, w->at) / 10, from;
	int wide = CHAR_WIDTH * (int)strlen(w->text);

	w->left = x + wide > WIDTH - 8;
	from = w->left ? x - wide - 4 : x;
	if (has_room(p, w, from, from + wide)) {
		w->from = from;
		w->to = from + wide;
	} else if (w->said) {
		fprintf(stderr, "sim: %s: no room for \"%s\"\n", p->file,
			w->text);
	}
}

/* Events, and what the file says, get their room before words that repeat what
 * the bars show. */
static void
words_place(struct picture *p)
{
	for (int pass = 0; pass < 2; pass++)
		for (struct word *w = p->words; w < p->words + p->words_n; w++)
			if ((w->event || w->said) == (pass == 0))
				word_place(p, w);
}

static void
word_draw(const struct picture *p, const struct word *w, int y, FILE *out)
{
	int x = picture_x(p, w->at) / 10;

	if (w->event)
		svg_upright(out, "e", 10 * x, y + BAR - 10, y + BAR + 9);
	if (w->from == w->to)
		return;
	svg_text(out, 10 * (w->left ? x + 2 : x - 1), y + BAR - 12,
	     w->left ? (w->event ? "s a r w" : "s a r")
		     : (w->event ? "s a w" : "s a"),
	     "%s", w->text);
}

static int
by_time(const void *a, const void *b)
{
	const struct word *x = a, *y = b;

	if (x->row != y->row)
		return x->row - y->row;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return strcmp(x->text, y->text);
}

void
picture_words(struct picture *p, FILE *out)
{
	qsort(p->words, (size_t)p->words_n, sizeof(p->words[0]), by_time);
	words_place(p);
	for (int i = 0; i < p->words_n; i++)
		word_draw(p, &p->words[i], TOP + PITCH * p->words[i].row, out);
}
