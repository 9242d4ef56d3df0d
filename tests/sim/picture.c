/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/stamp.h"
#include "core/rules/admit.h"

#define ROWS 64
#define SPANS 96		/* of one row; what comes later is not drawn */
#define OWN 4			/* likewise */
#define POINTS 96		/* of a debt's line, likewise */
#define WORDS 160
#define WIDTH 880
#define LEFT 130
#define RIGHT 24
#define TOP 58
#define PITCH 42		/* from row to row: words, bar, bracket */
#define BAR 18			/* where the bar's middle is, below the words */
#define DEBT_LOW 34		/* where a debt of 0 is, below the words */
#define DEBT_HIGH 23		/* … and the cap above that */
#define CHAR_W 6		/* a small letter, generously */

/* Those of tests/e2e/chart.py. */
#define FREE "#9db4c8"
#define HELD "#2f7d5b"
#define DARK "#444c56"
#define BAD "#c0392b"
#define PERSONS "#c9881f"
#define STYLE                                                                  \
	"text{font:13px sans-serif;fill:#24292f}.s{font-size:11px}"            \
	".h{font-weight:bold;font-size:14px}.r{text-anchor:end}"               \
	".b{font-weight:bold}"                                                 \
	".a{paint-order:stroke;stroke:#fff;stroke-width:3px}"                  \
	".m{text-anchor:middle}.w{fill:" BAD "}.l{fill:#57606a}"               \
	".f{fill:" FREE "}.o{fill:" HELD "}.p{fill:" PERSONS "}"               \
	".k{fill:" FREE ";stroke:" HELD ";stroke-width:2}"                     \
	".u{fill:" DARK "}.x{fill:" BAD "}"                                    \
	".c{fill:none;stroke:" HELD ";stroke-width:1.5;stroke-dasharray:4 3}"  \
	".e{stroke:" BAD ";stroke-width:1.5}.q{fill:none;stroke:" DARK "}"     \
	".t{fill:none;stroke:" DARK ";stroke-dasharray:1 3}"                   \
	".d{fill:none;stroke:" DARK ";stroke-width:1.5}"                   \
	".g{stroke:#e3e8ed}.v{stroke:#8b949e;stroke-dasharray:2 3}"

/* --- what is seen --------------------------------------------------------- */

enum look {
	NOTHING,
	STANDS_BY,
	LEADS,
	SERVER_ANSWERS,
	SERVER_REFUSES,
	SERVER_AHEAD,
	WATCHES_OPEN,
	NO_EVENTS,
	WATCH_DOWN,
	QUIET,
	SCOPE_HELD,
	WINDOW,
	DEBT,
	POOL_PLAIN,
	POOL_BY_HAND,
	POOL_DISABLED,
	/* a machine: how far it is, and four whose hold it has */
	BOOTING,
	READY = BOOTING + 4,
	GOING = READY + 4,
	LOOKS = GOING + 4,
};
enum whose {
	NO_HOLD,
	OURS,
	A_PERSONS,
	ONLY_A_MARK,
};

enum row_kind {
	ROW_HOLDER,
	ROW_SERVER,
	ROW_WATCHES,
	ROW_POOL,
	ROW_SCOPE,
	ROW_DEBT,
	ROW_MACHINE,
	ROW_CLAIM,
};

struct span {
	int64_t from, to;
	enum look look;
};

/* A machine's own quiet time.  It may end before it has begun. */
struct own {
	int64_t from, to;
};

/* Where the line of a debt bends. */
struct point {
	int64_t at, debt;
};

struct row {
	enum row_kind kind;
	int number;		/* holder or machine; of a debt its scope's row */
	char name[24], nodepool[16];
	struct span spans[SPANS];
	int spans_n;
	/* a machine's */
	int64_t born, launched, ready, gone, said;	/* -1: not */
	struct own own[OWN];
	int own_n;
	/* a scope's */
	int64_t seen_at, window_left, released;
	bool leader_held;	/* when there was a leader, last */
	/* a debt's, in milliseconds; its slope in thousandths */
	enum look was;
	int64_t debt, slope;
	struct point points[POINTS];
	int points_n;
	bool ended;
};

struct word {
	int64_t at;
	int row;
	bool event, said;	/* said: in the file */
	bool left;		/* of its moment */
	int from, to;		/* x; from == to: no room */
	char text[WORDS];
};

struct picture {
	const struct history *h;
	const char *file;
	char title[WORDS];
	int64_t from, to;
	struct row rows[ROWS];
	int rows_n;
	struct word words[2 * OPS];
	int words_n;
	bool used[LOOKS];
	bool own_time, starting;	/* a bracket of that kind was drawn */
	bool debt, claims;		/* the file wants rows of them */
};

static struct row *
row_add(struct picture *p, enum row_kind kind, int number, const char *name,
	const char *nodepool)
{
	struct row *r = &p->rows[p->rows_n];

	if (p->rows_n == ROWS)
		return NULL;
	p->rows_n++;
	*r = (struct row){.kind = kind, .number = number, .born = -1,
			  .launched = -1, .ready = -1, .gone = -1,
			  .said = -1};
	snprintf(r->name, sizeof(r->name), "%s", name);
	snprintf(r->nodepool, sizeof(r->nodepool), "%s", nodepool);
	return r;
}

static int
row_named(const struct picture *p, const char *name)
{
	for (int i = 0; i < p->rows_n; i++)
		if (strcmp(p->rows[i].name, name) == 0)
			return i;
	return -1;
}

static int
pool_row(const struct picture *p, const char *nodepool)
{
	for (int i = 0; i < p->rows_n; i++)
		if (p->rows[i].kind == ROW_POOL &&
		    strcmp(p->rows[i].nodepool, nodepool) == 0)
			return i;
	return -1;
}

static int
row_of(const struct picture *p, enum row_kind kind, int number)
{
	for (int i = 0; i < p->rows_n; i++)
		if (p->rows[i].kind == kind && p->rows[i].number == number)
			return i;
	return -1;
}

static void
row_looks(struct row *r, int64_t now, enum look look)
{
	struct span *last = r->spans_n > 0 ? &r->spans[r->spans_n - 1] : NULL;

	if (last != NULL)
		last->to = now;
	if ((last != NULL && last->look == look) || r->spans_n == SPANS)
		return;
	r->spans[r->spans_n++] = (struct span){now, now, look};
}

static const struct thing *
alive(const struct world *w, int thing)
{
	return thing >= 0 && w->things[thing].used ? &w->things[thing] : NULL;
}

static enum whose
whose(const struct thing *t, const struct rules *r)
{
	bool mark = t->notes.at[ANN_MARK][0] != '\0';
	enum ann a = ann_of(&r->hold);

	if (t->notes.at[a][0] == '\0')
		return mark ? ONLY_A_MARK : NO_HOLD;
	return mark && t->notes.by[a] != BY_PERSON ? OURS : A_PERSONS;
}

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t
own_or(int64_t nodepools, int64_t rules)
{
	return nodepools >= 0 ? nodepools : rules;
}

/* When its own quiet time ends, in times of the history. */
static int64_t
own_end(const struct row *row, const struct world *w, const struct rules *r)
{
	const struct machine *m = &w->machines[row->number];
	const struct pool_state *p = &w->nodepools[m->pool_id];
	const struct thing *head = &w->things[m->claim >= 0 ? m->claim
							   : m->node];
	int64_t end = (row->ready >= 0 ? row->ready
				       : row->born + r->startup_ms) +
		      own_or(p->hold, r->hold_ms);
	int64_t max = r->scope == SCOPE_CLUSTER ? r->cap.max_ms
						: own_or(p->max, r->cap.max_ms);

	if (p->disabled || !rules_nodepool_included(r, m->nodepool) ||
	    (p->released <= world_server_ms(w) &&
	     head->created_ms < p->released))
		return 0;
	return max > 0 && end > row->born + max ? row->born + max : end;
}

/* It ends when it has passed, or when its NodePool's annotations end it; and
 * they may bring it back. */
static void
own_looks(struct row *row, const struct world *w, const struct rules *r,
	  bool ready_now)
{
	struct own *last = row->own_n > 0 ? &row->own[row->own_n - 1] : NULL;
	int64_t from = row->ready >= 0 ? row->ready
				       : row->born + r->startup_ms;
	int64_t to = later(own_end(row, w, r), w->now);

	if (last != NULL && last->to > w->now) {
		if (last->from > w->now || ready_now)
			last->from = from;
		last->to = to;
	} else if (to > w->now && row->own_n < OWN) {
		row->own[row->own_n++] = (struct own){
			last == NULL ? from : later(from, w->now), to};
	}
}

static enum look
machine_looks(struct row *row, const struct world *w, const struct rules *r)
{
	const struct machine *m = &w->machines[row->number];
	const struct thing *claim, *node, *t;
	enum whose hold;
	bool ready = row->ready >= 0;

	if (row->number >= w->machines_n)
		return NOTHING;
	claim = alive(w, m->claim);
	node = alive(w, m->node);
	row->born = m->born;
	row->said = m->said_at;
	if (claim != NULL) {
		if (claim->launched && row->launched < 0)
			row->launched = w->now;
		row->ready = claim->ready_ms == STAMP_NONE ? -1
							   : claim->ready_at;
	}
	t = node != NULL ? node : claim;
	if ((t == NULL || t->deleting || (claim != NULL && claim->deleting)) &&
	    row->gone < 0)
		row->gone = w->now;
	if (t == NULL)
		return NOTHING;
	hold = whose(t, r);
	if (row->gone >= 0)
		return GOING + (int)hold;
	own_looks(row, w, r, !ready && row->ready >= 0);
	return (row->ready < 0 ? BOOTING : READY) + (int)hold;
}

static enum look
claim_looks(const struct row *row, const struct world *w,
	    const struct rules *r)
{
	const struct thing *claim;

	if (row->number >= w->machines_n)
		return NOTHING;
	claim = alive(w, w->machines[row->number].claim);
	if (claim == NULL)
		return NOTHING;
	return (claim->deleting ? GOING : BOOTING) + (int)whose(claim, r);
}

static const struct holder *
leader(const struct picture *p, const struct holder *holders)
{
	for (int i = 0; i < p->h->holders; i++)
		if (holders[i].up && holders[i].leads)
			return &holders[i];
	return NULL;
}

/* -1: there is none yet. */
static int
pool_of(const struct row *row, const struct world *w)
{
	for (int i = 0; i < w->pools_n; i++)
		if (strcmp(w->nodepools[i].name, row->nodepool) == 0)
			return i;
	return -1;
}

/* What people say in its annotations. */
static enum look
pool_looks(const struct row *row, const struct world *w)
{
	int nodepool = pool_of(row, w);

	if (nodepool < 0)
		return NOTHING;
	if (w->nodepools[nodepool].disabled)
		return POOL_DISABLED;
	return w->nodepools[nodepool].until > world_server_ms(w) ? POOL_BY_HAND
							 : POOL_PLAIN;
}

static bool
sees_all(const struct holder *h)
{
	struct controller_report r;

	if (h == NULL)
		return false;
	controller_report(h->controller, &r);
	return r.up[KIND_NODE] && r.up[KIND_NODECLAIM] && r.up[KIND_NODEPOOL];
}

/* Have all its pools been released by hand meanwhile?  That ends a window. */
static bool
released_again(struct row *row, const struct world *w)
{
	int64_t earliest = INT64_MAX;
	bool again;

	for (const struct pool_state *p = w->nodepools;
	     p < w->nodepools + w->pools_n; p++)
		if (!p->disabled && p->thing >= 0 && p->released < earliest &&
		    (row->nodepool[0] == '\0' ||
		     strcmp(p->name, row->nodepool) == 0))
			earliest = p->released;
	again = earliest > row->released && row->released != 0;
	row->released = earliest;
	return again;
}

/* As the leader reports it.  What it held and still counts machines of has been
 * capped; then the window runs while all is seen. */
static enum look
scope_looks(struct row *row, const struct world *w, const struct rules *rules,
	    const struct holder *h)
{
	struct scope_report r = {.quiet_ms = STAMP_NONE}, at;
	int64_t past = w->now - row->seen_at;

	row->seen_at = w->now;
	if (h == NULL)
		return NOTHING;
	if (sees_all(h))
		row->window_left -= past;
	for (uint32_t i = 0; controller_scope(h->controller, &i, &at);)
		if (strcmp(at.name, row->nodepool) == 0)
			r = at;
	if (row->leader_held && !r.held && r.quiet_ms > world_server_ms(w))
		row->window_left = rules->cap.window_ms;
	if (released_again(row, w) || r.held)
		row->window_left = 0;
	row->leader_held = r.held;
	if (r.held)
		return SCOPE_HELD;
	return row->window_left > 0 ? WINDOW : QUIET;
}

static void
point_add(struct row *row, int64_t at, int64_t debt)
{
	if (row->points_n < POINTS)
		row->points[row->points_n++] = (struct point){at, debt};
}

/* The debt of a scope's cap, reckoned from how the scope looks. */
static void
debt_moves(struct row *row, enum look look, bool all_seen,
	   const struct cap_rules *r, int64_t now)
{
	int64_t debt = row->debt + (now - row->seen_at) * row->slope / 1000;
	int64_t slope = 0;

	debt = debt < 0 ? 0 : debt > r->max_ms ? r->max_ms : debt;
	if (look == WINDOW) {
		debt = r->max_ms;
	} else if (row->was == WINDOW) {
		point_add(row, now, r->max_ms);
		debt = 0;
	}
	if (look == SCOPE_HELD || (look == NOTHING && row->leader_held))
		slope = 1000;
	else if (look == QUIET && debt > 0 && all_seen)
		slope = -1000 * r->max_ms / r->window_ms;
	if (slope != row->slope || look != row->was || row->points_n == 0)
		point_add(row, now, debt);
	row->leader_held = look == NOTHING ? row->leader_held
					   : look == SCOPE_HELD;
	row->was = look;
	row->slope = slope;
	row->debt = debt;
	row->seen_at = now;
}

/* How it has looked since the step before. */
static enum look
looks_now(const struct row *r)
{
	return r->spans_n == 0 ? NOTHING : r->spans[r->spans_n - 1].look;
}

static enum look
watches_look(const struct holder *h)
{
	struct controller_report r;

	if (h == NULL)
		return NOTHING;
	controller_report(h->controller, &r);
	if (!sees_all(h))
		return WATCH_DOWN;
	return holder_watches(h, KIND_EVENT) && !r.up[KIND_EVENT]
		       ? NO_EVENTS
		       : WATCHES_OPEN;
}

/* A fault ends without a step of anybody's. */
static enum look
server_looks(struct row *row, const struct world *w)
{
	int64_t until = later(later(w->down_until, w->busy_until),
			      later(w->error_until, w->lossy_until));

	until = later(until, later(w->late_until, w->slow_until));
	for (int k = 0; k < KIND_COUNT; k++)
		until = later(until, w->denied[k].until);
	for (int k = 0; k < VIEW_COUNT; k++)
		until = later(until, w->unserved_until[k]);
	if (until > w->now)
		return SERVER_REFUSES;
	if (looks_now(row) == SERVER_REFUSES)
		row_looks(row, until, SERVER_ANSWERS);
	return world_server_ms(w) - SERVER_START > w->now ? SERVER_AHEAD
							  : SERVER_ANSWERS;
}

static enum look
row_look(struct picture *p, struct row *r, const struct world *w,
	 const struct holder *holders)
{
	const struct holder *lead = leader(p, holders), *h = &holders[0];
	enum look look;

	switch (r->kind) {
	case ROW_HOLDER:
		h = &holders[r->number];
		return !h->up ? NOTHING : h->leads ? LEADS : STANDS_BY;
	case ROW_SERVER:
		return server_looks(r, w);
	case ROW_WATCHES:
		return watches_look(lead);
	case ROW_POOL:
		return pool_looks(r, w);
	case ROW_SCOPE:
		return scope_looks(r, w, &h->rules, lead);
	case ROW_DEBT:
		look = looks_now(&p->rows[r->number]);
		debt_moves(r, look, sees_all(lead), &h->rules.cap, w->now);
		return DEBT;
	case ROW_CLAIM:
		return claim_looks(r, w, &h->rules);
	default:
		return machine_looks(r, w, &h->rules);
	}
}

void
picture_look(struct picture *p, const struct world *w,
	     const struct holder *holders)
{
	if (p == NULL)
		return;
	for (struct row *r = p->rows; r < p->rows + p->rows_n; r++) {
		/* Nothing has changed up to this step. */
		if (w->now <= p->to)
			row_looks(r, w->now, row_look(p, r, w, holders));
		else if (r->spans_n > 0)
			r->spans[r->spans_n - 1].to = p->to;
		if (w->now > p->to && r->points_n > 0 && !r->ended) {
			r->ended = true;
			point_add(r, p->to, r->debt + (p->to - r->seen_at) *
						      r->slope / 1000);
		}
	}
}

/* --- what happens --------------------------------------------------------- */

static bool
on_holder(enum op_type type)
{
	return type >= OP_KILL && type <= OP_RULES;
}

static bool
on_watches(enum op_type type)
{
	return type >= OP_CUT && type <= OP_EXPIRE;
}

static bool
on_server(enum op_type type)
{
	return type >= OP_DOWN && type <= OP_UNINSTALL;
}

static bool
on_pool(enum op_type type)
{
	return type >= OP_POOL && type <= OP_REPOOL;
}

static void clock_write(int64_t ms, char out[32]);

static void
pool_words(const struct picture *p, const struct op *o, char out[WORDS])
{
	const char *key = nodepool_key_name(o->key) + strlen(OWN_PREFIX);
	bool gone = strcmp(o->value, "-") == 0;
	char value[DURATION_BYTES];

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
		snprintf(out, WORDS, "%s: \"%s\"", key, o->value);
		return;
	}
	if (o->key == NODEPOOL_HOLD_UNTIL || o->key == NODEPOOL_RELEASED_AT)
		clock_write(o->ms - p->from, value);
	else
		duration_format(o->ms, value);
	snprintf(out, WORDS, "%s: %s", key, value);
}

/* Those that say more than what kind of event it is. */
static bool
long_words(const struct picture *p, const struct op *o, char out[WORDS])
{
	char by[DURATION_BYTES];

	if (on_pool(o->type)) {
		pool_words(p, o, out);
	} else if (o->type == OP_DENY) {
		snprintf(out, WORDS, "patches of %ss: %s", kind_name(o->kind),
			 o->value);
	} else if (o->type == OP_UNSERVE) {
		snprintf(out, WORDS, "%ss are not served", kind_name(o->kind));
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
	};
	static const char *const people[] = {
		[PERSON_SET] = "a person sets the hold",
		[PERSON_UNHOLD] = "a person removes the hold",
		[PERSON_UNMARK] = "a person removes our mark, keeps the hold",
		[PERSON_STRIP] = "a person strips hold and mark",
		[PERSON_MARK] = "a person sets our mark",
	};
	static const char *const words[OP_COUNT] = {
		[OP_DISRUPT] = "drifted",
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
	};

	if (o->type == OP_REFUSE)
		return refused[o->kind];
	return o->type == OP_PERSON ? people[o->what] : words[o->type];
}

/* Words that the file says itself come first, and stand for the event's. */
static void
word_add(struct picture *p, int64_t at, int row, const char *text, bool event)
{
	if (row < 0 || text == NULL || p->words_n == 2 * OPS ||
	    at < p->from || at > p->to)
		return;
	for (struct word *w = p->words; event && w < p->words + p->words_n;
	     w++) {
		if (w->at == at && w->row == row) {
			w->event = true;
			return;
		}
	}
	p->words[p->words_n] = (struct word){.at = at, .row = row,
					     .event = event};
	snprintf(p->words[p->words_n++].text, WORDS, "%s", text);
}

static void
events_add(struct picture *p)
{
	int64_t at = 0;		/* one after the other, as history_run has it */

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
		if (on_pool(o->type))
			row = pool_row(p, o->nodepool);
		if (o->type == OP_PERSON && o->kind == KIND_NODECLAIM &&
		    row_of(p, ROW_CLAIM, o->machine) >= 0)
			row = row_of(p, ROW_CLAIM, o->machine);
		if (long_words(p, o, said))
			words = said;
		word_add(p, at, row, words, true);
	}
}

/* --- the file's own lines ------------------------------------------------- */

static void
line_read(struct picture *p, const char *line)
{
	double a, b;
	char row[24];
	int n = 0;

	if (sscanf(line, "#: picture %lf %lf %n", &a, &b, &n) == 2 && n > 0) {
		p->from = (int64_t)(a * 1000 + 0.5);
		p->to = (int64_t)(b * 1000 + 0.5);
		snprintf(p->title, WORDS, "%s", line + n);
	} else if (sscanf(line, "#: say %lf %23s %n", &a, row, &n) == 2 &&
		   n > 0) {
		if (row_named(p, row) < 0)
			fprintf(stderr, "sim: %s: no row %s\n", p->file, row);
		word_add(p, (int64_t)(a * 1000 + 0.5), row_named(p, row),
			 line + n, false);
	}
}

static void
option_read(struct picture *p, const char *line)
{
	p->debt |= strcmp(line, "#: debt") == 0;
	p->claims |= strcmp(line, "#: claims") == 0;
}

static void
file_read(struct picture *p, void (*read)(struct picture *, const char *))
{
	FILE *in = fopen(p->file, "r");
	char line[512];

	if (in == NULL) {
		perror(p->file);
		return;
	}
	while (fgets(line, sizeof(line), in) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		read(p, line);
	}
	fclose(in);
}

static void
rows_around(struct picture *p)
{
	const struct history *h = p->h;
	bool holders = h->holders > 1, server = false, watches = false;
	char name[24];

	for (int i = 0; i < h->ops_n; i++) {
		holders |= on_holder(h->ops[i].type);
		server |= on_server(h->ops[i].type);
		watches |= on_watches(h->ops[i].type);
	}
	for (int i = 0; i < h->holders && holders; i++) {
		snprintf(name, sizeof(name), "replica %d", i);
		row_add(p, ROW_HOLDER, i, h->holders > 1 ? name : "holder", "");
	}
	if (server)
		row_add(p, ROW_SERVER, 0, "server", "");
	if (watches)
		row_add(p, ROW_WATCHES, 0, "watches", "");
	for (int i = 0; i < h->ops_n; i++) {
		if (!on_pool(h->ops[i].type) ||
		    pool_row(p, h->ops[i].nodepool) >= 0)
			continue;
		snprintf(name, sizeof(name), "pool-%s", h->ops[i].nodepool);
		row_add(p, ROW_POOL, i, name, h->ops[i].nodepool);
	}
}

static void
rows_of_scopes(struct picture *p)
{
	const struct history *h = p->h;

	if (h->scope == SCOPE_CLUSTER) {
		row_add(p, ROW_SCOPE, 0, "cluster", "");
		if (p->debt)
			row_add(p, ROW_DEBT, p->rows_n - 1, "debt", "");
	}
	for (int i = 0; i < h->ops_n && h->scope == SCOPE_NODEPOOL; i++)
		if (h->ops[i].type == OP_CREATE &&
		    row_named(p, h->ops[i].nodepool) < 0)
			row_add(p, ROW_SCOPE, i, h->ops[i].nodepool,
				h->ops[i].nodepool);
}

static void
rows_of_machines(struct picture *p)
{
	const struct history *h = p->h;
	char name[24];
	int n = 0;

	for (int i = 0; i < h->ops_n; i++) {
		for (int k = 0; h->ops[i].type == OP_CREATE &&
				k < h->ops[i].n; k++, n++) {
			snprintf(name, sizeof(name), "n%d", n);
			row_add(p, ROW_MACHINE, n, name, h->ops[i].nodepool);
			snprintf(name, sizeof(name), "n%d-claim", n);
			if (p->claims)
				row_add(p, ROW_CLAIM, n, name, "");
		}
	}
}

struct picture *
picture_new(const struct history *h, const char *file)
{
	struct picture *p = calloc(1, sizeof(*p));

	if (p == NULL)
		abort();
	p->h = h;
	p->file = file;
	snprintf(p->title, WORDS, "%s", file);
	for (int i = 0; i < h->ops_n; i++)
		if (h->ops[i].at > p->to)
			p->to = h->ops[i].at;
	p->to += h->startup_ms + h->hold_ms;
	file_read(p, option_read);
	rows_around(p);
	rows_of_scopes(p);
	rows_of_machines(p);
	file_read(p, line_read);
	for (int i = 0; i < p->words_n; i++)
		p->words[i].said = true;
	events_add(p);
	return p;
}

void
picture_free(struct picture *p)
{
	free(p);
}

/* --- drawing: whole numbers, tenths of a pixel ---------------------------- */

#define FULL (10 * (WIDTH - LEFT - RIGHT))
#define SEEN 5		/* what is shorter cannot be */

static int
x_of(const struct picture *p, int64_t at)
{
	if (at < p->from)
		at = p->from;
	if (at > p->to)
		at = p->to;
	return 10 * LEFT +
	       (int)((at - p->from) * FULL / (p->to - p->from));
}

static void
put(FILE *out, int tenths)
{
	if (tenths % 10 == 0)
		fprintf(out, "%d", tenths / 10);
	else
		fprintf(out, "%d.%d", tenths / 10, tenths % 10);
}

static void
escaped(FILE *out, const char *s)
{
	for (; *s != '\0'; s++) {
		if (*s == '&')
			fputs("&amp;", out);
		else if (*s == '<')
			fputs("&lt;", out);
		else
			fputc(*s, out);
	}
}

static void
text(FILE *out, int x, int y, const char *class, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

static void
text(FILE *out, int x, int y, const char *class, const char *fmt, ...)
{
	char words[2 * WORDS];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(words, sizeof(words), fmt, args);
	va_end(args);
	fprintf(out, "<text x=\"");
	put(out, x);
	fprintf(out, "\" y=\"%d\" class=\"%s\">", y, class);
	escaped(out, words);
	fprintf(out, "</text>\n");
}

static void
box(FILE *out, const char *class, int x, int to, int middle, int high)
{
	fprintf(out, "<path class=\"%s\" d=\"M", class);
	put(out, x);
	fprintf(out, " %dh", middle - high / 2);
	put(out, to - x);
	fprintf(out, "v%dH", high);
	put(out, x);
	fprintf(out, "z\"/>\n");
}

static void
upright(FILE *out, const char *class, int x, int from, int to)
{
	fprintf(out, "<path class=\"%s\" d=\"M", class);
	put(out, x);
	fprintf(out, " %dV%d\"/>\n", from, to);
}

/* A machine's own quiet time, below its bar: from, to, and a tick at its end
 * if that was reached. */
static void
bracket(FILE *out, const char *class, int x, int to, int y, bool ends)
{
	fprintf(out, "<path class=\"%s\" d=\"M", class);
	put(out, x);
	fprintf(out, " %d.5H", y);
	put(out, to);
	if (ends)
		fprintf(out, "m0 -4v8");
	fprintf(out, "\"/>\n");
}

static void
look_draw(FILE *out, enum look look, int x, int to, int middle)
{
	static const char *const whose_class[] = {"f", "o", "p", "k"};

	switch (look) {
	case NOTHING:
		return;
	case STANDS_BY:
		box(out, "f", x, to, middle, 4);
		return;
	case LEADS:
		box(out, "u", x, to, middle, 14);
		return;
	case DEBT:
		return;		/* a line: debt_draw */
	case SERVER_AHEAD:
		box(out, "u", x, to, middle, 14);
		return;
	case SERVER_ANSWERS:
	case WATCHES_OPEN:
		box(out, "u", x, to, middle, 4);
		return;
	case NO_EVENTS:
		box(out, "x", x, to, middle, 4);
		return;
	case SERVER_REFUSES:
	case WATCH_DOWN:
		box(out, "x", x, to, middle, 10);
		return;
	case QUIET:
		box(out, "f", x, to, middle, 2);
		return;
	case SCOPE_HELD:
		box(out, "o", x, to, middle, 14);
		return;
	case WINDOW:
		box(out, "c", x, to, middle, 14);
		return;
	case POOL_PLAIN:
		box(out, "f", x, to, middle, 2);
		return;
	case POOL_BY_HAND:
		box(out, "p", x, to, middle, 14);
		return;
	case POOL_DISABLED:
		box(out, "u", x, to, middle, 6);
		return;
	default:
		box(out, whose_class[(look - BOOTING) % 4], x, to, middle,
		    look < READY ? 6 : look < GOING ? 14 : 2);
	}
}

static void
bend(const struct picture *p, const struct point *at, int y, char how,
     FILE *out)
{
	int high = (int)(10 * DEBT_HIGH * at->debt / p->h->max_ms);

	fprintf(out, "%c", how);
	put(out, x_of(p, at->at));
	fprintf(out, " ");
	put(out, 10 * (y + DEBT_LOW) - high);
}

/* The line of a debt from the picture's left on, and the cap above it. */
static void
debt_draw(const struct picture *p, const struct row *r, int y, FILE *out)
{
	char how = 'M';

	fprintf(out, "<path class=\"t\" d=\"M");
	put(out, x_of(p, p->from));
	fprintf(out, " %d.5H", y + DEBT_LOW - DEBT_HIGH);
	put(out, x_of(p, p->to));
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
					 [ROW_POOL] = "pool "};
	const char *name = r->kind == ROW_POOL	   ? r->nodepool
			   : r->kind == ROW_SERVER ? "API server"
						   : r->name;

	if (r->kind == ROW_CLAIM)
		text(out, 300, y + BAR + 4, "s l", "its NodeClaim");
	else
		text(out, 160, y + BAR + 4,
		     r->kind == ROW_MACHINE ? "" : "b", "%s%s",
		     of[r->kind] != NULL ? of[r->kind] : "", name);
	if (r->kind == ROW_MACHINE)
		text(out, 520, y + BAR + 4, "s l", "%s", r->nodepool);
}

static void
row_draw(struct picture *p, const struct row *r, int y, FILE *out)
{
	int from = x_of(p, p->from), to = from;
	enum look look = NOTHING;

	row_name(r, y, out);
	for (int i = 0; i < r->spans_n; i++) {
		const struct span *s = &r->spans[i];
		int x = x_of(p, s->from), end = x_of(p, s->to);

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

/* Its part within the picture, up to the machine's end. */
static void
part(struct picture *p, const struct row *r, int64_t from, int64_t to,
     bool own, int y, FILE *out)
{
	bool ends = own && to <= p->to && (r->gone < 0 || r->gone >= to);

	if (r->gone >= 0 && r->gone < to)
		to = r->gone;
	if (to <= p->from || from >= p->to || to <= from)
		return;
	bracket(out, own ? "q" : "t", x_of(p, from), x_of(p, to), y + BAR + 11,
		ends);
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

/* --- words ---------------------------------------------------------------- */

static void
clock_write(int64_t ms, char out[32])
{
	int64_t s = (ms + 500) / 1000;

	snprintf(out, 32, "%lld:%02d", (long long)(s / 60), (int)(s % 60));
}

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
	int x = x_of(p, w->at) / 10, wide = CHAR_W * (int)strlen(w->text);
	int from;

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

/* What happens goes before what can be seen on the bars. */
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
	int x = x_of(p, w->at) / 10;

	if (w->event)
		upright(out, "e", 10 * x, y + BAR - 10, y + BAR + 9);
	if (w->from == w->to)
		return;
	text(out, 10 * (w->left ? x + 2 : x - 1), y + BAR - 12,
	     w->left ? (w->event ? "s a r w" : "s a r")
		     : (w->event ? "s a w" : "s a"),
	     "%s", w->text);
}

/* When a scope turns or a replica takes the lead: words, and of a scope a line
 * down through the machines.  What is over within a second is no turn: a table
 * that is being read. */
static void
turns(struct picture *p, int row, FILE *out)
{
	static const char *const words[LOOKS] = {
		[LEADS] = "leads", [QUIET] = "quiet", [SCOPE_HELD] = "held",
		[WINDOW] = "released"};
	const struct row *r = &p->rows[row];
	enum look was = NOTHING;
	char at[32], said[WORDS];

	for (const struct span *s = r->spans; s < r->spans + r->spans_n; s++) {
		enum look before = was;

		if (s->look == NOTHING || s->to - s->from < 1000)
			continue;
		was = s->look;
		if (was == before || before == NOTHING ||
		    words[was] == NULL || s->from < p->from || s->from > p->to)
			continue;
		clock_write(s->from - p->from, at);
		snprintf(said, sizeof(said), "%s %s",
			 before == WINDOW && was == QUIET ? "window closed"
							  : words[was], at);
		word_add(p, s->from, row, said, false);
		if (r->kind == ROW_SCOPE)
			upright(out, "v", x_of(p, s->from),
				TOP + PITCH * row + BAR,
				TOP + PITCH * p->rows_n);
	}
}

/* How much it is where its line turns down, or ends. */
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
		clock_write(at->debt, debt);
		snprintf(said, sizeof(said), "%s", debt);
		word_add(p, at->at, row, said, false);
	}
}

/* Seconds matter: when was it launched? */
static void
launches(struct picture *p, int row)
{
	if (p->to - p->from <= 300000 && p->rows[row].launched >= 0)
		word_add(p, p->rows[row].launched, row, "launched", false);
}

/* Karpenter's Event, where it is listened to. */
static void
signs(struct picture *p, int row)
{
	if (!p->h->count && p->rows[row].said >= 0)
		word_add(p, p->rows[row].said, row, "Event: replaces another",
			 true);
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

/* --- around it ------------------------------------------------------------ */

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
		int x = x_of(p, p->from + t);

		upright(out, "g", x, TOP, (int)bottom + 4);
		clock_write(t, at);
		text(out, x, (int)bottom + 18, "s m", "%s", at);
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
	if (h->min_scale_up > 1)
		snprintf(more + strlen(more), sizeof(more) - strlen(more),
			 " · minScaleUp %d", h->min_scale_up);
	for (const struct op *o = h->ops; o < h->ops + h->ops_n; o++) {
		int i = row_of(p, ROW_MACHINE, o->machine);

		if (o->type != OP_DISRUPT && o->type != OP_FORGE &&
		    (o->type != OP_DELETE || i < 0 || p->rows[i].ready < 0))
			continue;
		snprintf(more + strlen(more), sizeof(more) - strlen(more),
			 " · replacements %s", h->count ? "count" : "ignore");
		break;
	}
	text(out, 160, 22, "h", "%s", p->title);
	text(out, 160, 40, "s l", "scope %s · holdDuration %s%s",
	     scopes[h->scope], a, more);
}

struct entry {
	int x, y;
	FILE *out;
};

/* Room for one more entry of the legend; its x. */
static int
entry_add(struct entry *e, const char *words)
{
	int wide = 36 + CHAR_W * (int)strlen(words) + 8, x;

	if (e->x + wide > WIDTH) {
		e->x = 16;
		e->y += 20;
	}
	x = e->x;
	e->x += wide;
	text(e->out, 10 * (x + 32), e->y, "s", "%s", words);
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

/* Only what is in the picture. */
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
	entry_look(&e, u[POOL_BY_HAND], POOL_BY_HAND, "held by hand");
	entry_look(&e, u[POOL_DISABLED], POOL_DISABLED, "disabled");
	entry_look(&e, hold[NO_HOLD], READY + NO_HOLD, "not held");
	entry_look(&e, hold[A_PERSONS], READY + A_PERSONS,
		   "a person's hold");
	entry_look(&e, hold[ONLY_A_MARK], READY + ONLY_A_MARK,
		   "our mark, no hold");
	entry_look(&e, booting, BOOTING + OURS, "booting");
	entry_look(&e, going, GOING + OURS, "being deleted");
	if (p->starting) {
		x = entry_add(&e, "counts as starting");
		bracket(out, "t", x, x + 260, e.y - 4, false);
	}
	if (p->own_time) {
		x = entry_add(&e, "its own quiet time");
		bracket(out, "q", x, x + 260, e.y - 4, true);
	}
	if (p->debt) {
		x = entry_add(&e, "maxHoldDuration");
		bracket(out, "t", x, x + 260, e.y - 4, false);
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
	for (int i = 0; i < p->rows_n; i++) {
		if (p->rows[i].kind == ROW_MACHINE) {
			launches(p, i);
			signs(p, i);
		} else if (p->rows[i].kind == ROW_DEBT) {
			debts(p, i);
		} else if (p->rows[i].kind != ROW_CLAIM) {
			turns(p, i, out);
		}
	}
	for (int i = 0; i < p->rows_n; i++) {
		row_draw(p, &p->rows[i], TOP + PITCH * i, out);
		own_time(p, &p->rows[i], TOP + PITCH * i, out);
	}
	qsort(p->words, (size_t)p->words_n, sizeof(p->words[0]), by_time);
	words_place(p);
	for (int i = 0; i < p->words_n; i++)
		word_draw(p, &p->words[i], TOP + PITCH * p->words[i].row, out);
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
	escaped(out, p->title);
	fprintf(out, "</title>\n<style>" STYLE "</style>\n"
		     "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n%s"
		     "</svg>\n", WIDTH, high, inner);
	free(inner);
}
