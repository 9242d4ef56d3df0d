/* SPDX-License-Identifier: Apache-2.0 */
#include "picture_parts.h"

#include <string.h>

/* How each row looks after a step of the run. */

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

/* Returns when the machine's own quiet time ends. */
static int64_t
own_end(const struct row *row, const struct world *w, const struct rules *r)
{
	const struct machine *m = &w->machines[row->number];
	const struct pool_state *p = &w->nodepools[m->pool_id];
	const struct thing *head =
		&w->things[m->claim >= 0 ? m->claim : m->node];
	int64_t end =
		(row->ready >= 0 ? row->ready : row->born + r->startup_ms) +
		own_or(p->hold, r->hold_ms);
	int64_t max = r->cap.max_ms;

	if (p->disabled || p->fixed || p->never ||
	    !rules_nodepool_included(r, m->nodepool) ||
	    (p->released <= world_server_ms(w) &&
	     head->created_ms < p->released))
		return 0;
	return max > 0 && end > row->born + max ? row->born + max : end;
}

/* A machine's own quiet time ends when it has passed, or when the annotations
 * of its NodePool end it.  They may also bring it back. */
static void
own_looks(struct row *row, const struct world *w, const struct rules *r,
	  bool ready_now)
{
	struct own *last = row->own_n > 0 ? &row->own[row->own_n - 1] : NULL;
	int64_t from = row->ready >= 0 ? row->ready : row->born + r->startup_ms;
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
		row->ready =
			claim->ready_ms == STAMP_NONE ? -1 : claim->ready_at;
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
claim_looks(const struct row *row, const struct world *w, const struct rules *r)
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

/* Returns -1 while there is no such NodePool. */
static int
nodepool_of(const struct row *row, const struct world *w)
{
	for (int i = 0; i < w->pools_n; i++)
		if (strcmp(w->nodepools[i].name, row->nodepool) == 0)
			return i;
	return -1;
}

/* A NodePool looks as people say in its annotations and its spec. */
static enum look
nodepool_looks(const struct row *row, const struct world *w)
{
	int nodepool = nodepool_of(row, w);
	const struct pool_state *p;

	if (nodepool < 0)
		return NOTHING;
	p = &w->nodepools[nodepool];
	if (p->disabled)
		return NODEPOOL_OFF;
	if (p->until > world_server_ms(w))
		return NODEPOOL_BY_HAND;
	return p->fixed || p->never ? NODEPOOL_OFF : NODEPOOL_PLAIN;
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

/* Have all NodePools of the scope been released by hand since the last look?
 * That ends a window. */
static bool
released_again(struct row *row, const struct world *w)
{
	int64_t earliest = INT64_MAX;
	bool again;

	for (const struct pool_state *p = w->nodepools;
	     p < w->nodepools + w->pools_n; p++)
		if (!p->disabled && !p->fixed && !p->never && p->thing >= 0 &&
		    p->released < earliest &&
		    (row->nodepool[0] == '\0' ||
		     strcmp(p->name, row->nodepool) == 0))
			earliest = p->released;
	again = earliest > row->released && row->released != 0;
	row->released = earliest;
	return again;
}

/* A scope looks as the leader reports it.  If the leader no longer holds it
 * although its machines are not quiet yet, it has been capped.  From then on
 * the window runs while the leader sees everything. */
static enum look
scope_looks(struct row *row, const struct world *w, const struct rules *rules,
	    const struct holder *h)
{
	struct scope_report r;
	int64_t past = w->now - row->seen_at;

	row->seen_at = w->now;
	if (h == NULL)
		return NOTHING;
	if (sees_all(h))
		row->window_left -= past;
	r = holder_scope(h, row->nodepool);
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

/* The debt of a scope's cap follows from how the scope looks. */
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
	row->leader_held =
		look == NOTHING ? row->leader_held : look == SCOPE_HELD;
	row->was = look;
	row->slope = slope;
	row->debt = debt;
	row->seen_at = now;
}

/* Returns how the row has looked since the step before. */
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

/* A fault of the server ends by itself, between two steps. */
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
	case ROW_NODEPOOL:
		return nodepool_looks(r, w);
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
			point_add(r, p->to,
				  r->debt + (p->to - r->seen_at) * r->slope /
						    1000);
		}
	}
}
