/* SPDX-License-Identifier: Apache-2.0 */
#include "prices.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"

#define DOLLAR 1000000.0
#define DOLLARS_TOP 1000000.0 /* maximum price of a Node, an hour */

void
prices_done(struct prices *p)
{
	free(p->costs.at);
	free(p->nodes.at);
	*p = (struct prices){.costs.at = NULL};
}

static int
add(struct price_levels *l, const char *pool, int64_t from_ms, double value)
{
	struct price_level *at = l->at;

	if (l->n == l->room) {
		at = realloc(at, (2 * l->n + 64) * sizeof(*at));
		if (at == NULL)
			return -1;
		l->at = at;
		l->room = 2 * l->n + 64;
	}
	str_cut(at[l->n].pool, sizeof(at->pool), pool);
	at[l->n].from_ms = from_ms;
	at[l->n++].value = value;
	return 0;
}

int
prices_cost(struct prices *p, const char *pool, int64_t from_ms, double dollars)
{
	if (p->costs.n >= SIMULATE_FACTS_MAX)
		return 0;
	return add(&p->costs, pool, from_ms, dollars);
}

int
prices_node(struct prices *p, const char *pool, int64_t from_ms, int by)
{
	return add(&p->nodes, pool, from_ms, by);
}

static int
by_time(const void *a, const void *b)
{
	const struct price_level *x = a, *y = b;
	int rc = strcmp(x->pool, y->pool);

	if (rc == 0)
		rc = x->from_ms < y->from_ms ? -1 : x->from_ms > y->from_ms;
	/* Two replicas may report different values for the same moment.  The
	 * order must not depend on which of them came first. */
	if (rc == 0)
		rc = x->value < y->value ? -1 : x->value > y->value;
	return rc;
}

static void
sort(struct price_levels *l)
{
	if (l->n > 0)
		qsort(l->at, l->n, sizeof(*l->at), by_time);
}

void
prices_sort(struct prices *p)
{
	sort(&p->costs);
	sort(&p->nodes);
	/* Until here the value of a level was the change of the number of
	 * Nodes.  From here on the value is the number itself. */
	for (size_t i = 1; i < p->nodes.n; i++)
		if (strcmp(p->nodes.at[i].pool, p->nodes.at[i - 1].pool) == 0)
			p->nodes.at[i].value += p->nodes.at[i - 1].value;
}

/* Returns the latest level of the NodePool at that time, or 0. */
static double
level_at(const struct price_levels *l, const char *pool, int64_t at_ms)
{
	size_t from = 0, to = l->n;

	while (from < to) {
		size_t i = from + (to - from) / 2;
		int rc = strcmp(l->at[i].pool, pool);

		if (rc < 0 || (rc == 0 && l->at[i].from_ms <= at_ms))
			from = i + 1;
		else
			to = i;
	}
	if (from == 0 || strcmp(l->at[from - 1].pool, pool) != 0)
		return 0;
	return l->at[from - 1].value;
}

int64_t
prices_at(const struct prices *p, const char *pool, int64_t at_ms)
{
	double cost = level_at(&p->costs, pool, at_ms);
	double nodes = level_at(&p->nodes, pool, at_ms);

	/* Karpenter does not know all Nodes yet when it has just started.  If
	 * Karpenter has miscounted, the cost that it reports may even be
	 * negative. */
	if (cost <= 0 || nodes < 1 || cost / nodes > DOLLARS_TOP)
		return -1;
	return (int64_t)(cost / nodes * DOLLAR + .5);
}
