/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/karpenter/matrix.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "parts.h"

#define LIFETIME "karpenter_nodes_current_lifetime_seconds"
#define CREATED "karpenter_nodeclaims_created_total"
#define DISRUPTED "karpenter_nodeclaims_disrupted_total"

#define BOOT_MS 900000	/* a Node joins so soon after its NodeClaim */
#define DRAIN_MS 3600000	/* … and goes so soon after the decision */
#define SAME_MS 60000	/* two births of one Node differ by less */
#define LATEST_S 253402300799.0	/* the end of the year 9999 */

/* A Node, from its birth to its last sample. */
struct life {
	char *node;
	char pool[NODEPOOL_BYTES];
	int64_t birth_ms, first_ms, last_ms;
	enum fact_maker maker;
	bool made, decided;	/* a counter's step was for it */
};

/* A counter has grown. */
struct grown {
	char pool[NODEPOOL_BYTES], reason[NODEPOOL_BYTES];
	int64_t at_ms;
	long long by;
	bool created;	/* and not disrupted */
	bool first;	/* the first sample of its series */
};

struct matrix {
	struct life *lives;
	struct grown *grown;
	size_t lives_n, lives_room, grown_n, grown_room;
	struct pieces pieces;	/* the machines of a decision */
	struct matrix_sums sums;
};

struct matrix *
matrix_new(void)
{
	struct matrix *m = calloc(1, sizeof(*m));

	if (m != NULL)
		m->sums.from_ms = m->sums.to_ms = STAMP_NONE;
	return m;
}

void
matrix_free(struct matrix *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->lives_n; i++)
		free(m->lives[i].node);
	free(m->lives);
	free(m->grown);
	pieces_done(&m->pieces);
	free(m);
}

/* --- a series ----------------------------------------------------------------- */

static const struct json_keep labels[] = {{"__name__", NULL},
					  {"node_name", NULL},
					  {"nodepool", NULL},
					  {"reason", NULL},
					  {NULL, NULL}};
static const struct json_keep series[] = {
	{"metric", labels}, {"values", NULL}, {NULL, NULL}};

struct sample {
	int64_t at_ms;
	double value;
};

/* "[1772445600.5,"12.25"]".  Returns false if it says nothing. */
static bool
read_sample(const struct json *v, struct sample *out)
{
	const struct json *time = json_first(v);
	const char *text = json_string(json_next(time));
	double at;
	char *end;

	if (json_number(time, &at) || text == NULL || at < 0 || at > LATEST_S)
		return false;
	out->at_ms = (int64_t)(at * 1000 + .5);
	out->value = strtod(text, &end);
	/* No Node is older than 1970, and no counter that large. */
	return end != text && *end == '\0' && out->value >= 0 &&
	       out->value <= at;
}

/* Returns room for one more of n, or NULL. */
static void *
more(void *array, size_t n, size_t *room, size_t size, struct err *e)
{
	void *grown;

	if (n < *room)
		return array;
	if (n >= SIMULATE_FACTS_MAX) {
		(void)err_set(e, ERR_LIMIT, "more than %d Nodes or steps of "
					    "counters",
			      SIMULATE_FACTS_MAX);
		return NULL;
	}
	grown = realloc(array, (2 * n + 64) * size);
	if (grown == NULL)
		(void)err_set(e, ERR_SYSTEM, "out of memory");
	else
		*room = 2 * n + 64;
	return grown;
}

static void
see_time(struct matrix_sums *s, int64_t before_ms, int64_t at_ms)
{
	if (s->from_ms == STAMP_NONE || at_ms < s->from_ms)
		s->from_ms = at_ms;
	if (at_ms > s->to_ms)
		s->to_ms = at_ms;
	if (before_ms != STAMP_NONE && at_ms > before_ms &&
	    (s->step_ms == 0 || at_ms - before_ms < s->step_ms))
		s->step_ms = at_ms - before_ms;
}

static int
read_life(struct matrix *m, const char *node, const char *pool,
	  const struct json *values, struct err *e)
{
	struct life l = {.first_ms = STAMP_NONE, .last_ms = STAMP_NONE};
	struct life *lives;
	struct sample s;

	for (const struct json *v = json_first(values); v != NULL;
	     v = json_next(v)) {
		if (!read_sample(v, &s))
			continue;
		see_time(&m->sums, l.last_ms, s.at_ms);
		if (l.first_ms == STAMP_NONE) {
			l.first_ms = s.at_ms;
			l.birth_ms = s.at_ms - (int64_t)(s.value * 1000);
		}
		if (s.at_ms > l.last_ms)
			l.last_ms = s.at_ms;
	}
	if (l.first_ms == STAMP_NONE)
		return 0;
	lives = more(m->lives, m->lives_n, &m->lives_room, sizeof(*lives), e);
	if (lives == NULL)
		return -1;
	m->lives = lives;
	str_cut(l.pool, sizeof(l.pool), pool);
	l.node = strdup(node);
	if (l.node == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	m->lives[m->lives_n++] = l;
	return 0;
}

static int
add_grown(struct matrix *m, const struct grown *like, const struct sample *s,
	  double by, struct err *e)
{
	struct grown *grown = more(m->grown, m->grown_n, &m->grown_room,
				   sizeof(*grown), e);

	if (grown == NULL)
		return -1;
	m->grown = grown;
	grown[m->grown_n] = *like;
	grown[m->grown_n].at_ms = s->at_ms;
	grown[m->grown_n++].by = (long long)(by + .5);
	return 0;
}

static int
read_counter(struct matrix *m, struct grown like, const struct json *values,
	     struct err *e)
{
	int64_t before_ms = STAMP_NONE;
	double before = 0, by;
	struct sample s;

	like.first = true;
	for (const struct json *v = json_first(values); v != NULL;
	     v = json_next(v)) {
		if (!read_sample(v, &s))
			continue;
		see_time(&m->sums, before_ms, s.at_ms);
		/* A counter that falls began anew. */
		by = s.value < before ? s.value : s.value - before;
		if (by >= 1 && add_grown(m, &like, &s, by, e))
			return -1;
		before = s.value;
		before_ms = s.at_ms;
		like.first = false;
	}
	return 0;
}

enum snapshot_what
matrix_series(struct matrix *m, const char *bytes, size_t n, struct err *e)
{
	struct json_bounds bounds = json_bounds_stored;
	const char *name, *node, *pool, *reason;
	const struct json *metric, *values;
	struct grown like = {.by = 0};
	int rc;

	/* Prometheus gives 11,000 samples at most. */
	bounds.kept_values_max = bounds.values_max;
	bounds.kept_bytes_max = ITEM_BYTES_MAX;
	AUTO_JSON root = json_pick(bytes, n, series, &bounds, NULL);
	metric = json_member(root, "metric");
	values = json_member(root, "values");
	if (!json_is_object(metric) || !json_is_array(values) ||
	    take_name(json_member(metric, "__name__"), NAME_BYTES, &name) ||
	    take_name(json_member(metric, "node_name"), NAME_BYTES, &node) ||
	    take_name(json_member(metric, "nodepool"), NODEPOOL_BYTES, &pool) ||
	    take_name(json_member(metric, "reason"), NODEPOOL_BYTES, &reason))
		return SNAPSHOT_BROKEN;
	take_reason(reason, like.reason);
	str_cut(like.pool, sizeof(like.pool), pool);
	like.created = strcmp(name, CREATED) == 0;
	if (pool[0] == '\0')
		return SNAPSHOT_OTHER;
	if (strcmp(name, LIFETIME) == 0 && node[0] != '\0')
		rc = read_life(m, node, pool, values, e);
	else if (like.created || strcmp(name, DISRUPTED) == 0)
		rc = read_counter(m, like, values, e);
	else
		return SNAPSHOT_OTHER;
	return rc == 0 ? SNAPSHOT_TAKEN : SNAPSHOT_FAILED;
}

/* --- all series --------------------------------------------------------------- */

static int
order(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int
by_node(const void *a, const void *b)
{
	const struct life *x = a, *y = b;
	int rc = strcmp(x->node, y->node);

	return rc != 0 ? rc : order(x->birth_ms, y->birth_ms);
}

static int
by_birth(const void *a, const void *b)
{
	const struct life *x = a, *y = b;
	int rc = order(x->birth_ms, y->birth_ms);

	return rc != 0 ? rc : strcmp(x->node, y->node);
}

static int
by_end(const void *a, const void *b)
{
	const struct life *x = a, *y = b;
	int rc = order(x->last_ms, y->last_ms);

	return rc != 0 ? rc : strcmp(x->node, y->node);
}

static int
by_step(const void *a, const void *b)
{
	const struct grown *x = a, *y = b;
	int rc = order(x->at_ms, y->at_ms);

	if (rc == 0)
		rc = strcmp(x->pool, y->pool);
	return rc != 0 ? rc : strcmp(x->reason, y->reason);
}

/* A Node has several series if several replicas were scraped. */
static void
join_lives(struct matrix *m)
{
	size_t kept = 0;

	if (m->lives_n > 0)
		qsort(m->lives, m->lives_n, sizeof(*m->lives), by_node);
	for (size_t i = 0; i < m->lives_n; i++) {
		struct life *l = &m->lives[i], *to = &m->lives[kept];

		if (kept > 0 && strcmp(to[-1].node, l->node) == 0 &&
		    l->birth_ms - to[-1].birth_ms < SAME_MS) {
			if (l->first_ms < to[-1].first_ms)
				to[-1].first_ms = l->first_ms;
			if (l->last_ms > to[-1].last_ms)
				to[-1].last_ms = l->last_ms;
			free(l->node);
			continue;
		}
		*to = *l;
		kept++;
	}
	m->lives_n = kept;
}

/* What the first sample of a series has counted may be older than the answer. */
static bool
counts(const struct matrix *m, const struct grown *g)
{
	return !g->first || g->at_ms > m->sums.from_ms + m->sums.step_ms;
}

static enum fact_maker
maker_of(const char *reason)
{
	if (strcmp(reason, "provisioned") == 0)
		return MAKER_PROVISIONER;
	return strncmp(reason, "static", 6) == 0 ? MAKER_STATIC
						 : MAKER_DISRUPTION;
}

/* The lives are in order of their births, as the steps are.  *from is where to
 * begin. */
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

static bool
is_voluntary(const char *reason)
{
	return strcmp(reason, "drifted") == 0 || strcmp(reason, "empty") == 0 ||
	       strcmp(reason, "underutilized") == 0;
}

/* The same for their ends. */
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
	for (size_t i = *from;
	     i < m->lives_n && (long long)f.nodes_n < g->by; i++) {
		struct life *l = &m->lives[i];

		if (l->last_ms > g->at_ms + DRAIN_MS || !has_ended(m, l))
			break;
		if (l->decided || strcmp(l->pool, g->pool) != 0)
			continue;
		if (pieces_nodes(&m->pieces, f.nodes_n + 1))
			return err_set(e, ERR_SYSTEM, "out of memory");
		l->decided = true;
		m->pieces.nodes[f.nodes_n++] =
			(struct fact_node){l->node, l->node};
		if (l->last_ms < f.at_ms)
			f.at_ms = l->last_ms;
	}
	m->sums.lost += (uint64_t)(g->by - (long long)f.nodes_n);
	f.pool = g->pool;
	f.reason = g->reason;
	f.nodes = m->pieces.nodes;
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
	/* One that was there before says nothing of its boot. */
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
	return tell(&f, FACT_DELETING, l->last_ms, fn, ctx, e) ||
			       tell(&f, FACT_NODE_GONE, l->last_ms, fn, ctx, e) ||
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

	join_lives(m);
	if (m->grown_n > 0)
		qsort(m->grown, m->grown_n, sizeof(*m->grown), by_step);
	if (m->lives_n > 0)
		qsort(m->lives, m->lives_n, sizeof(*m->lives), by_birth);
	for (size_t i = 0; i < m->grown_n; i++)
		if (m->grown[i].created && counts(m, &m->grown[i]))
			find_made(m, &m->grown[i], &from);
	if (m->lives_n > 0)
		qsort(m->lives, m->lives_n, sizeof(*m->lives), by_end);
	from = 0;
	for (size_t i = 0; rc == 0 && i < m->grown_n; i++)
		if (!m->grown[i].created && counts(m, &m->grown[i]) &&
		    is_voluntary(m->grown[i].reason))
			rc = tell_decision(m, &m->grown[i], &from, fn, ctx,
					   e);
	for (size_t i = 0; rc == 0 && i < m->lives_n; i++)
		rc = tell_life(m, &m->lives[i], fn, ctx, e);
	*out = m->sums;
	return rc;
}
