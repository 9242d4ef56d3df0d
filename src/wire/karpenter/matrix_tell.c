/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/stamp.h"
#include "matrix_parts.h"

/*
 * Makes facts of what matrix.c has read.  Prometheus knows how many NodeClaims
 * were created or disrupted in a step, and which Nodes there were, but not
 * which Nodes a counter counted.  So each step of a counter is assigned to
 * those Nodes of the NodePool whose birth or end follows it next.
 *
 * The lives are sorted by birth for creations and by end for disruptions, and
 * the steps by time.  So creations and disruptions each take one pass over
 * lives and steps.  A disruption that no Node accounts for is `lost`, and is
 * reported.
 */

/* Longest time from a NodeClaim's creation to its Node's birth. */
#define BOOT_MS 900000
/* Longest time from a decision to the end of its Nodes. */
#define DRAIN_MS 3600000

static int
by_birth(const void *a, const void *b)
{
	const struct life *x = a, *y = b;
	int rc = matrix_order(x->birth_ms, y->birth_ms);

	return rc != 0 ? rc : strcmp(x->node, y->node);
}

static int
by_end(const void *a, const void *b)
{
	const struct life *x = a, *y = b;
	int rc = matrix_order(x->last_ms, y->last_ms);

	return rc != 0 ? rc : strcmp(x->node, y->node);
}

static int
by_step(const void *a, const void *b)
{
	const struct grown *x = a, *y = b;
	int rc = matrix_order(x->at_ms, y->at_ms);

	if (rc == 0)
		rc = strcmp(x->pool, y->pool);
	if (rc == 0)
		rc = strcmp(x->reason, y->reason);
	return rc != 0 ? rc : (int)x->of - (int)y->of;
}

/* Returns whether the step counts.  The first sample of a series has no sample
 * before it, so it counts only if the series began after the beginning of the
 * answer.  Otherwise its value may include things that happened before the time
 * of the answer. */
static bool
counts(const struct matrix *m, const struct grown *g)
{
	return !g->first || g->at_ms > m->sums.from_ms + m->sums.step_ms;
}

/* Joins the steps of a counter that have the same time, NodePool and reason
 * into one, which becomes one decision.  There are several such steps if the
 * counter has several series.  These differ in other labels, which since
 * Karpenter 1.15 are the capacity type and how a node ends. */
static void
join_steps(struct matrix *m)
{
	size_t kept = 0;

	if (m->grown_n > 0)
		qsort(m->grown, m->grown_n, sizeof(*m->grown), by_step);
	for (size_t i = 0; i < m->grown_n; i++) {
		const struct grown *g = &m->grown[i];

		if (!counts(m, g))
			continue;
		if (kept > 0 && by_step(&m->grown[kept - 1], g) == 0)
			m->grown[kept - 1].by += g->by;
		else
			m->grown[kept++] = *g;
	}
	m->grown_n = kept;
}

static enum fact_maker
maker_of(const char *reason)
{
	if (strcmp(reason, "provisioned") == 0)
		return MAKER_PROVISIONER;
	return strncmp(reason, "static", 6) == 0 ? MAKER_STATIC
						 : MAKER_DISRUPTION;
}

/* Finds the Nodes whose creation made the counter grow by g->by.  The lives are
 * sorted by birth, and the growths by time, so the search begins at *from and
 * advances it. */
static void
find_made(struct matrix *m, const struct grown *g, size_t *from)
{
	long long left = g->by;

	while (*from < m->lives_n &&
	       (m->lives[*from].made ||
		m->lives[*from].birth_ms < g->at_ms - m->sums.step_ms))
		++*from;
	for (size_t i = *from; i < m->lives_n && left > 0; i++) {
		struct life *l = &m->lives[i];

		if (l->birth_ms > g->at_ms + BOOT_MS)
			return;
		if (l->made || strcmp(l->pool, g->pool) != 0)
			continue;
		l->made = true;
		l->maker = maker_of(g->reason);
		left--;
	}
}

static bool
has_ended(const struct matrix *m, const struct life *l)
{
	return l->last_ms < m->sums.to_ms - 2 * m->sums.step_ms;
}

/* Reports to `prices` how many Nodes there were at which time. */
static int
count_nodes(struct matrix *m)
{
	for (size_t i = 0; i < m->lives_n; i++) {
		const struct life *l = &m->lives[i];

		if (prices_node(&m->prices, l->pool, l->birth_ms, 1) ||
		    (has_ended(m, l) &&
		     prices_node(&m->prices, l->pool, l->last_ms + 1, -1)))
			return -1;
	}
	prices_sort(&m->prices);
	return 0;
}

static bool
is_voluntary(const char *reason)
{
	return strcmp(reason, "drifted") == 0 || strcmp(reason, "empty") == 0 ||
	       strcmp(reason, "underutilized") == 0;
}

/* Returns how many of the step's pods were on the Nodes that were found for the
 * step *g.  `nodes` is the number of these Nodes.  Each Node of the step is
 * assumed to have had the same number of pods.  Returns -1 if Karpenter did not
 * count pods yet.  by_step puts the step of the counter of pods right behind
 * *g. */
static long long
pods_of(const struct matrix *m, const struct grown *g, size_t nodes)
{
	const struct grown *pods = g + 1;

	if (m->pods_ms == STAMP_NONE || g->at_ms < m->pods_ms)
		return -1;
	if (pods == m->grown + m->grown_n || pods->of != COUNTED_PODS ||
	    pods->at_ms != g->at_ms || strcmp(pods->pool, g->pool) != 0 ||
	    strcmp(pods->reason, g->reason) != 0)
		return 0;
	return (long long)((double)pods->by * (double)nodes / (double)g->by +
			   .5);
}

/* Finds the Nodes that a step of the counter of disruptions has counted, and
 * passes the decision to fn.  It searches as find_made does, but by the ends of
 * the Nodes instead of their births. */
static int
tell_decision(struct matrix *m, const struct grown *g, size_t *from,
	      snapshot_fn *fn, void *ctx, struct err *e)
{
	struct fact f;

	fact_init(&f, FACT_DECIDED, g->at_ms);
	while (*from < m->lives_n &&
	       (m->lives[*from].decided ||
		m->lives[*from].last_ms < g->at_ms - 2 * m->sums.step_ms))
		++*from;
	for (size_t i = *from; i < m->lives_n && (long long)f.nodes_n < g->by;
	     i++) {
		struct life *l = &m->lives[i];

		if (l->last_ms > g->at_ms + DRAIN_MS || !has_ended(m, l))
			break;
		if (l->decided || strcmp(l->pool, g->pool) != 0)
			continue;
		if (pieces_add(&m->pieces, &f, l->node, l->node))
			return err_set(e, ERR_SYSTEM, "out of memory");
		l->decided = true;
		if (l->last_ms < f.at_ms)
			f.at_ms = l->last_ms;
	}
	m->sums.lost += (uint64_t)(g->by - (long long)f.nodes_n);
	f.pool = g->pool;
	f.reason = g->reason;
	f.pods = pods_of(m, g, f.nodes_n);
	f.price = prices_at(&m->prices, g->pool, f.at_ms);
	return f.nodes_n == 0 ? 0 : fn(ctx, &f, e);
}

static int
tell(struct fact *f, enum fact_kind kind, int64_t at_ms, snapshot_fn *fn,
     void *ctx, struct err *e)
{
	f->kind = kind;
	f->at_ms = at_ms;
	return fn(ctx, f, e);
}

static int
tell_life(const struct matrix *m, const struct life *l, snapshot_fn *fn,
	  void *ctx, struct err *e)
{
	struct fact f;

	fact_init(&f, FACT_CREATED, 0);
	f.claim = l->node;
	f.pool = l->pool;
	/* If a Node is older than the beginning of the answer, its boot is
	 * unknown. */
	if (l->birth_ms >= m->sums.from_ms) {
		f.maker = l->maker;
		if (tell(&f, FACT_CREATED, l->birth_ms, fn, ctx, e))
			return -1;
		f.maker = MAKER_UNKNOWN;
		f.node = l->node;
		if (tell(&f, FACT_REGISTERED, l->birth_ms, fn, ctx, e) ||
		    tell(&f, FACT_READY, l->first_ms, fn, ctx, e))
			return -1;
	}
	f.node = l->node;
	if (!has_ended(m, l))
		return 0;
	return tell(&f, FACT_DELETING, l->last_ms, fn, ctx,
		    e) || tell(&f, FACT_NODE_GONE, l->last_ms, fn, ctx, e) ||
			       tell(&f, FACT_GONE, l->last_ms, fn, ctx, e)
		       ? -1
		       : 0;
}

int
matrix_end(struct matrix *m, snapshot_fn *fn, void *ctx,
	   struct matrix_sums *out, struct err *e)
{
	size_t from = 0;
	int rc = 0;

	if (replicas_drop(m))
		return err_set(e, ERR_SYSTEM, "out of memory");
	matrix_join(m);
	join_steps(m);
	if (m->lives_n > 0)
		qsort(m->lives, m->lives_n, sizeof(*m->lives), by_birth);
	for (size_t i = 0; i < m->grown_n; i++)
		if (m->grown[i].of == COUNTED_CREATED)
			find_made(m, &m->grown[i], &from);
	if (m->lives_n > 0)
		qsort(m->lives, m->lives_n, sizeof(*m->lives), by_end);
	from = 0;
	if (count_nodes(m))
		return err_set(e, ERR_SYSTEM, "out of memory");
	for (size_t i = 0; rc == 0 && i < m->grown_n; i++)
		if (m->grown[i].of == COUNTED_DISRUPTED &&
		    is_voluntary(m->grown[i].reason))
			rc = tell_decision(m, &m->grown[i], &from, fn, ctx, e);
	for (size_t i = 0; rc == 0 && i < m->lives_n; i++)
		rc = tell_life(m, &m->lives[i], fn, ctx, e);
	*out = m->sums;
	return rc;
}
