/* SPDX-License-Identifier: Apache-2.0 */
#include "picture_parts.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/duration.h"
#include "svg.h"

#define DEBT_LOW 34	/* from the words down to where a debt is 0 */
#define DEBT_HIGH 23	/* from there up to the cap */
#define FULL (10 * (WIDTH - LEFT - RIGHT))
#define SEEN 5		/* a shorter span could not be seen */

int
picture_x(const struct picture *p, int64_t at)
{
	if (at < p->from)
		at = p->from;
	if (at > p->to)
		at = p->to;
	return 10 * LEFT + (int)((at - p->from) * FULL / (p->to - p->from));
}

/* The class and the height of each look's box; none: no box. */
static const struct box {
	const char *class;
	int high;
} boxes[BOOTING] = {
	[STANDS_BY] = {"f", 4},
	[LEADS] = {"u", 14},
	[SERVER_ANSWERS] = {"u", 4},
	[SERVER_REFUSES] = {"x", 10},
	[SERVER_AHEAD] = {"u", 14},
	[WATCHES_OPEN] = {"u", 4},
	[NO_EVENTS] = {"x", 4},
	[WATCH_DOWN] = {"x", 10},
	[QUIET] = {"f", 2},
	[SCOPE_HELD] = {"o", 14},
	[WINDOW] = {"c", 14},
	[NODEPOOL_PLAIN] = {"f", 2},
	[NODEPOOL_BY_HAND] = {"p", 14},
	[NODEPOOL_OFF] = {"u", 6},
	/* debt_draw draws the line of DEBT. */
};

static struct box
machine_box(enum look look)
{
	static const char *const whose_class[] = {"f", "o", "p", "k"};

	return (struct box){whose_class[(look - BOOTING) % 4],
			    look < READY   ? 6
			    : look < GOING ? 14
					   : 2};
}

static void
look_draw(FILE *out, enum look look, int x, int to, int middle)
{
	struct box b = look < BOOTING ? boxes[look] : machine_box(look);

	if (b.class != NULL)
		svg_box(out, b.class, x, to, middle, b.high);
}

static void
bend(const struct picture *p, const struct point *at, int y, char how,
     FILE *out)
{
	int high = (int)(10 * DEBT_HIGH * at->debt / p->h->max_ms);

	fprintf(out, "%c", how);
	svg_number(out, picture_x(p, at->at));
	fprintf(out, " ");
	svg_number(out, 10 * (y + DEBT_LOW) - high);
}

/* Draws the line of a debt from the left of the picture on, and the cap above
 * it. */
static void
debt_draw(const struct picture *p, const struct row *r, int y, FILE *out)
{
	char how = 'M';

	fprintf(out, "<path class=\"t\" d=\"M");
	svg_number(out, picture_x(p, p->from));
	fprintf(out, " %d.5H", y + DEBT_LOW - DEBT_HIGH);
	svg_number(out, picture_x(p, p->to));
	fprintf(out, "\"/>\n<path class=\"d\" d=\"");
	for (int i = 0; i + 1 < r->points_n; i++) {
		struct point at = r->points[i];
		const struct point *to = &r->points[i + 1];

		if (to->at <= p->from)
			continue;
		if (at.at < p->from) {
			at.debt += (to->debt - at.debt) * (p->from - at.at) /
				   (to->at - at.at);
			at.at = p->from;
		}
		bend(p, &at, y, how, out);
		bend(p, to, y, 'L', out);
		how = 'L';
	}
	fprintf(out, "\"/>\n");
}

static void
row_name(const struct row *r, int y, FILE *out)
{
	static const char *const of[] = {[ROW_CLAIM] = NULL,
					 [ROW_SCOPE] = "scope ",
					 [ROW_NODEPOOL] = "pool "};
	const char *name = r->kind == ROW_NODEPOOL ? r->nodepool
			   : r->kind == ROW_SERVER ? "API server"
						   : r->name;

	if (r->kind == ROW_CLAIM)
		svg_text(out, 300, y + BAR + 4, "s l", "its NodeClaim");
	else
		svg_text(out, 160, y + BAR + 4,
			 r->kind == ROW_MACHINE ? "" : "b", "%s%s",
			 of[r->kind] != NULL ? of[r->kind] : "", name);
	if (r->kind == ROW_MACHINE)
		svg_text(out, 520, y + BAR + 4, "s l", "%s", r->nodepool);
}

static void
row_draw(struct picture *p, const struct row *r, int y, FILE *out)
{
	int from = picture_x(p, p->from), to = from;
	enum look look = NOTHING;

	row_name(r, y, out);
	for (int i = 0; i < r->spans_n; i++) {
		const struct span *s = &r->spans[i];
		int x = picture_x(p, s->from), end = picture_x(p, s->to);

		if (end - x < SEEN)
			continue;
		if (s->look != look || x - to >= SEEN) {
			look_draw(out, look, from, to, y + BAR);
			look = s->look;
			from = x - to < SEEN ? to : x;
		}
		to = end;
		p->used[look] = true;
	}
	look_draw(out, look, from, to, y + BAR);
	if (r->kind == ROW_DEBT)
		debt_draw(p, r, y, out);
}

/* Draws the part of the bracket that is shown, up to the machine's end. */
static void
part(struct picture *p, const struct row *r, int64_t from, int64_t to, bool own,
     int y, FILE *out)
{
	bool ends = own && to <= p->to && (r->gone < 0 || r->gone >= to);

	if (r->gone >= 0 && r->gone < to)
		to = r->gone;
	if (to <= p->from || from >= p->to || to <= from)
		return;
	svg_bracket(out, own ? "q" : "t", picture_x(p, from), picture_x(p, to),
		    y + BAR + 11, ends);
	p->own_time |= own;
	p->starting |= !own;
}

static void
own_time(struct picture *p, const struct row *r, int y, FILE *out)
{
	const struct own *first = &r->own[0];
	bool starting = r->ready < 0 || first->to < first->from;

	if (r->launched < 0 || r->own_n == 0)
		return;
	if (starting)
		part(p, r, r->born,
		     first->to < first->from ? first->to : first->from, false,
		     y, out);
	for (const struct own *o = first; o < first + r->own_n; o++)
		part(p, r, o->from, o->to, true, y, out);
}

/* --- axis, heading and legend --------------------------------------------- */

static void
axis(const struct picture *p, FILE *out)
{
	static const int steps[] = {5, 10, 15, 30, 60, 120, 300, 600, 1800};
	int64_t step = 3600000, bottom = TOP + PITCH * p->rows_n;
	char at[32];

	for (size_t i = sizeof(steps) / sizeof(steps[0]); i-- > 0;)
		if ((p->to - p->from) / (steps[i] * 1000) <= 15)
			step = steps[i] * 1000;
	for (int64_t t = 0; t <= p->to - p->from; t += step) {
		int x = picture_x(p, p->from + t);

		svg_upright(out, "g", x, TOP, (int)bottom + 4);
		picture_clock(t, at);
		svg_text(out, x, (int)bottom + 18, "s m", "%s", at);
	}
}

static void
heading(const struct picture *p, FILE *out)
{
	const struct history *h = p->h;
	static const char *const scopes[] = {"cluster", "nodepool", "node"};
	char a[DURATION_BYTES], b[DURATION_BYTES], more[WORDS] = "";

	duration_format(h->hold_ms, a);
	if (h->max_ms > 0) {
		char c[DURATION_BYTES];

		duration_format(h->max_ms, b);
		duration_format(h->window_ms, c);
		snprintf(more, sizeof(more),
			 " · maxHoldDuration %s · releaseWindow %s", b, c);
	}
	for (const struct row *r = p->rows; r < p->rows + p->rows_n; r++) {
		if (r->kind != ROW_MACHINE || r->launched < 0 ||
		    r->ready >= 0 || strstr(more, "startup") != NULL)
			continue;
		duration_format(h->startup_ms, b);
		snprintf(more + strlen(more), sizeof(more) - strlen(more),
			 " · startupTimeout %s", b);
	}
	if (h->min_scale_up > 1 || h->min_scale_up_percent > 0)
		snprintf(more + strlen(more), sizeof(more) - strlen(more),
			 " · minScaleUp %d%s",
			 h->min_scale_up_percent > 0 ? h->min_scale_up_percent
						     : h->min_scale_up,
			 h->min_scale_up_percent > 0 ? "%" : "");
	for (const struct op *o = h->ops; o < h->ops + h->ops_n; o++) {
		int i = row_of(p, ROW_MACHINE, o->machine);

		if (o->type != OP_DISRUPT && o->type != OP_FORGE &&
		    (o->type != OP_DELETE || i < 0 || p->rows[i].ready < 0))
			continue;
		snprintf(more + strlen(more), sizeof(more) - strlen(more),
			 " · replacements %s", h->count ? "count" : "ignore");
		break;
	}
	svg_text(out, 160, 22, "h", "%s", p->title);
	svg_text(out, 160, 40, "s l", "scope %s · holdDuration %s%s",
		 scopes[h->scope], a, more);
}

struct entry {
	int x, y;
	FILE *out;
};

/* Makes room for one more entry of the legend and returns its x. */
static int
entry_add(struct entry *e, const char *words)
{
	int wide = 36 + CHAR_WIDTH * (int)strlen(words) + 8, x;

	if (e->x + wide > WIDTH) {
		e->x = 16;
		e->y += 20;
	}
	x = e->x;
	e->x += wide;
	svg_text(e->out, 10 * (x + 32), e->y, "s", "%s", words);
	return 10 * x;
}

static void
entry_look(struct entry *e, bool used, enum look look, const char *words)
{
	int x;

	if (!used)
		return;
	x = entry_add(e, words);
	look_draw(e->out, look, x, x + 260, e->y - 4);
}

/* Lists only what is in the picture. */
static int
legend(const struct picture *p, int y, FILE *out)
{
	struct entry e = {16, y, out};
	const bool *u = p->used;
	bool hold[4] = {false}, booting = false, going = false;
	int x;

	for (int i = 0; i < 4; i++) {
		hold[i] = u[BOOTING + i] || u[READY + i];
		booting |= u[BOOTING + i];
		going |= u[GOING + i];
	}
	entry_look(&e, hold[OURS] || u[SCOPE_HELD], READY + OURS, "held");
	entry_look(&e, u[WINDOW], WINDOW, "window open: nothing spreads");
	entry_look(&e, u[NODEPOOL_BY_HAND], NODEPOOL_BY_HAND, "held by hand");
	entry_look(&e, u[NODEPOOL_OFF], NODEPOOL_OFF, "left alone");
	entry_look(&e, hold[NO_HOLD], READY + NO_HOLD, "not held");
	entry_look(&e, hold[A_PERSONS], READY + A_PERSONS,
		   "a person's hold");
	entry_look(&e, hold[ONLY_A_MARK], READY + ONLY_A_MARK,
		   "our mark, no hold");
	entry_look(&e, booting, BOOTING + OURS, "booting");
	entry_look(&e, going, GOING + OURS, "being deleted");
	if (p->starting) {
		x = entry_add(&e, "counts as starting");
		svg_bracket(out, "t", x, x + 260, e.y - 4, false);
	}
	if (p->own_time) {
		x = entry_add(&e, "its own quiet time");
		svg_bracket(out, "q", x, x + 260, e.y - 4, true);
	}
	if (p->debt) {
		x = entry_add(&e, "maxHoldDuration");
		svg_bracket(out, "t", x, x + 260, e.y - 4, false);
	}
	entry_look(&e, u[LEADS], LEADS, p->h->holders > 1 ? "leads" : "runs");
	entry_look(&e, u[STANDS_BY], STANDS_BY, "stands by");
	entry_look(&e, u[SERVER_ANSWERS], SERVER_ANSWERS, "answers");
	entry_look(&e, u[SERVER_REFUSES], SERVER_REFUSES, "refuses patches");
	entry_look(&e, u[SERVER_AHEAD], SERVER_AHEAD, "its clock is ahead");
	entry_look(&e, u[WATCHES_OPEN], WATCHES_OPEN, "all watches open");
	entry_look(&e, u[NO_EVENTS], NO_EVENTS, "all but Events");
	entry_look(&e, u[WATCH_DOWN], WATCH_DOWN, "half a view");
	return e.y;
}

static void
body(struct picture *p, FILE *out)
{
	axis(p, out);
	picture_turns(p, out);
	for (int i = 0; i < p->rows_n; i++) {
		row_draw(p, &p->rows[i], TOP + PITCH * i, out);
		own_time(p, &p->rows[i], TOP + PITCH * i, out);
	}
	picture_words(p, out);
}

void
picture_draw(struct picture *p, FILE *out)
{
	char *inner = NULL;
	size_t n = 0;
	FILE *in = open_memstream(&inner, &n);
	int high;

	if (in == NULL)
		abort();
	heading(p, in);
	body(p, in);
	high = legend(p, TOP + PITCH * p->rows_n + 46, in) + 16;
	fclose(in);
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
		"height=\"%d\" viewBox=\"0 0 %d %d\">\n<title>",
		WIDTH, high, WIDTH, high);
	svg_escaped(out, p->title);
	fprintf(out, "</title>\n<style>" SVG_STYLE "</style>\n"
		     "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n%s"
		     "</svg>\n", WIDTH, high, inner);
	free(inner);
}
