/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/index.h"
#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "core/base/str.h"
#include "matrix_parts.h"
#include "parts.h"

/*
 * Reads the series of a range query.  Each Node has a series of its age, which
 * gives its birth and its last sample (`life`).  Each counter has a series,
 * whose steps are kept with their times (`grown`).  matrix_tell.c makes facts
 * of both at the end.
 *
 * The same series comes several times if the range was queried in parts, and
 * the same Node comes several times if several replicas were scraped.  So the
 * lives of one Node are joined, and a counter is identified by a hash of its
 * labels and continues from its last sample.  Samples with impossible values
 * are left out.
 */

#define LIFETIME "karpenter_nodes_current_lifetime_seconds"
#define CREATED "karpenter_nodeclaims_created_total"
#define DISRUPTED "karpenter_nodeclaims_disrupted_total"
#define PODS "karpenter_pods_disruption_initiated_total"
#define COST "karpenter_nodepools_cost_total"

/* Two births that were computed for one Node differ by less than this. */
#define SAME_MS 60000
#define LATEST_S 253402300799.0 /* the end of the year 9999 */

static uint32_t
counter_hash(const void *ctx, uint32_t id)
{
	const struct matrix *m = ctx;

	return (uint32_t)m->counters[id].labels;
}

static bool
counter_same(const void *ctx, uint32_t id, const void *labels)
{
	const struct matrix *m = ctx;

	return m->counters[id].labels == *(const uint64_t *)labels;
}

struct matrix *
matrix_new(void)
{
	struct matrix *m = calloc(1, sizeof(*m));

	if (m == NULL ||
	    index_init(&m->by_labels, SIMULATE_FACTS_MAX, SIMULATE_FACTS_MAX,
		       counter_hash, counter_same, m)) {
		free(m);
		return NULL;
	}
	m->sums.from_ms = m->sums.to_ms = m->pods_ms = STAMP_NONE;
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
	free(m->counters);
	index_done(&m->by_labels);
	prices_done(&m->prices);
	pieces_done(&m->pieces);
	free(m);
}

int
matrix_order(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

/* --- Nodes ---------------------------------------------------------------- */

static int
by_node(const void *a, const void *b)
{
	const struct life *x = a, *y = b;
	int rc = strcmp(x->node, y->node);

	if (rc == 0)
		rc = matrix_order(x->birth_ms, y->birth_ms);
	return rc != 0 ? rc : strcmp(x->pool, y->pool);
}

/* Returns whether both lives are of the same Node.  A birth is exact to some
 * seconds, or only to about a minute if it was computed from a single
 * sample. */
static bool
is_same(const struct life *before, const struct life *l)
{
	return strcmp(before->node, l->node) == 0 &&
	       (l->birth_ms - before->birth_ms < SAME_MS ||
		l->birth_ms <= before->last_ms);
}

void
matrix_join(struct matrix *m)
{
	size_t kept = 0;

	if (m->lives_n > 0)
		qsort(m->lives, m->lives_n, sizeof(*m->lives), by_node);
	for (size_t i = 0; i < m->lives_n; i++) {
		struct life *l = &m->lives[i], *to = &m->lives[kept];

		if (kept > 0 && is_same(&to[-1], l)) {
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

/* --- reading a series ----------------------------------------------------- */

struct sample {
	int64_t at_ms;
	double value;
};

/* Reads a value such as [1772445600.5,"12.25"].  Returns false if it has
 * another form. */
static bool
read_value(const struct json *v, struct sample *out)
{
	const struct json *time = json_first(v);
	const char *text = json_string(json_next(time));
	double at;
	char *end;

	if (json_number(time, &at) || text == NULL || at < 0 || at > LATEST_S)
		return false;
	out->at_ms = (int64_t)(at * 1000 + .5);
	out->value = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(out->value);
}

/* Reads a sample of a Node's age or of a counter.  A value above the number of
 * seconds since 1970 is refused: no Node is older, and no counter is that
 * large. */
static bool
read_sample(const struct json *v, struct sample *out)
{
	return read_value(v, out) && out->value >= 0 &&
	       out->value <= (double)out->at_ms / 1000 + 1;
}

static void *
too_many(struct err *e)
{
	(void)err_set(e, ERR_LIMIT, "more than %d Nodes or steps of counters",
		      SIMULATE_FACTS_MAX);
	return NULL;
}

/* Returns the array with room for at least n + 1 elements, or NULL with *e
 * set. */
static void *
more(void *array, size_t n, size_t *room, size_t size, struct err *e)
{
	void *grown;

	if (n < *room)
		return array;
	if (n >= SIMULATE_FACTS_MAX)
		return too_many(e);
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

/* Makes room for another life.  First it joins lives of the same Node.  If this
 * frees at most half of the room, it also doubles the room.  Otherwise a join,
 * which takes time, might be needed for every life. */
static int
room_for_life(struct matrix *m, struct err *e)
{
	struct life *lives;

	if (m->lives_n < m->lives_room)
		return 0;
	matrix_join(m);
	if (2 * m->lives_n < m->lives_room)
		return 0;
	lives = more(m->lives, m->lives_room, &m->lives_room, sizeof(*lives),
		     e);
	if (lives == NULL)
		return -1;
	m->lives = lives;
	return 0;
}

static int
read_life(struct matrix *m, const char *node, const char *pool,
	  const struct json *metric, const struct json *values, struct err *e)
{
	struct life l = {.birth_ms = STAMP_NONE,
			 .first_ms = STAMP_NONE,
			 .last_ms = STAMP_NONE};
	struct sample s;
	int64_t birth_ms;

	for (const struct json *v = json_first(values); v != NULL;
	     v = json_next(v)) {
		if (!read_sample(v, &s))
			continue;
		see_time(&m->sums, l.last_ms, s.at_ms);
		birth_ms = s.at_ms - (int64_t)(s.value * 1000);
		if (l.first_ms == STAMP_NONE)
			l.first_ms = s.at_ms;
		/* The age in a sample may have been measured some seconds
		 * before the time of the sample, so the earliest birth
		 * counts. */
		if (l.birth_ms == STAMP_NONE || birth_ms < l.birth_ms)
			l.birth_ms = birth_ms;
		if (s.at_ms > l.last_ms)
			l.last_ms = s.at_ms;
	}
	if (l.first_ms == STAMP_NONE)
		return 0;
	if (room_for_life(m, e))
		return -1;
	str_cut(l.pool, sizeof(l.pool), pool);
	l.node = strdup(node);
	if (l.node == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	replicas_see(&m->replicas, &l, metric);
	m->lives[m->lives_n++] = l;
	return 0;
}

static int
add_grown(struct matrix *m, const struct grown *like, const struct sample *s,
	  double by, struct err *e)
{
	struct grown *grown =
		more(m->grown, m->grown_n, &m->grown_room, sizeof(*grown), e);

	if (grown == NULL)
		return -1;
	m->grown = grown;
	grown[m->grown_n] = *like;
	grown[m->grown_n].at_ms = s->at_ms;
	grown[m->grown_n++].by = (long long)(by + .5);
	return 0;
}

/* Continues the FNV-1a hash h with the text and the NUL at its end.  Returns
 * the new hash. */
static uint64_t
mix(uint64_t h, const char *text)
{
	if (text == NULL)
		text = "";
	do
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	while (*text++ != '\0');
	return h;
}

/* Hashes all labels, because two series may differ in any of them.  A server
 * always writes the labels of a series in the same order. */
static uint64_t
hash_labels(const struct json *metric)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (const struct json *v = json_first(metric); v != NULL;
	     v = json_next(v)) {
		h = mix(h, json_key(v));
		h = mix(h, json_string(v));
	}
	return h;
}

/* Returns the counter with these labels, a new one if there is none yet, or
 * NULL with *e set. */
static struct counter *
find_counter(struct matrix *m, const struct json *metric, struct err *e)
{
	uint64_t labels = hash_labels(metric);
	uint32_t id = index_find(&m->by_labels, (uint32_t)labels, &labels);
	struct counter *counters;

	if (id != NO_ID)
		return &m->counters[id];
	/* The array may still have room, but the index is full. */
	if (m->counters_n == SIMULATE_FACTS_MAX)
		return too_many(e);
	counters = more(m->counters, m->counters_n, &m->counters_room,
			sizeof(*counters), e);
	if (counters == NULL)
		return NULL;
	m->counters = counters;
	id = (uint32_t)m->counters_n++;
	counters[id] = (struct counter){.labels = labels,
					.first_ms = STAMP_NONE,
					.last_ms = STAMP_NONE};
	replicas_labels(metric, &counters[id].each);
	index_add(&m->by_labels, id);
	return &counters[id];
}

static int
read_counter(struct matrix *m, struct grown like, const struct json *metric,
	     const struct json *values, struct err *e)
{
	struct counter *c = find_counter(m, metric, e);
	struct sample s;
	double by;

	if (c == NULL)
		return -1;
	like.counter = (uint32_t)(c - m->counters);
	for (const struct json *v = json_first(values); v != NULL;
	     v = json_next(v)) {
		if (!read_sample(v, &s) || s.at_ms <= c->last_ms)
			continue;
		see_time(&m->sums, c->last_ms, s.at_ms);
		if (like.of == COUNTED_PODS &&
		    (m->pods_ms == STAMP_NONE || s.at_ms < m->pods_ms))
			m->pods_ms = s.at_ms;
		like.first = c->last_ms == STAMP_NONE;
		if (like.first)
			c->first_ms = s.at_ms;
		/* A counter that has fallen was reset, and has counted up from
		 * 0 since. */
		by = s.value < c->last ? s.value : s.value - c->last;
		if (by >= 1 && add_grown(m, &like, &s, by, e))
			return -1;
		c->last = s.value;
		c->last_ms = s.at_ms;
	}
	return 0;
}

static int
read_cost(struct matrix *m, const char *pool, const struct json *values,
	  struct err *e)
{
	double before = -1;
	struct sample s;

	for (const struct json *v = json_first(values); v != NULL;
	     v = json_next(v)) {
		if (!read_value(v, &s) || s.value == before)
			continue;
		before = s.value;
		if (prices_cost(&m->prices, pool, s.at_ms, s.value))
			return err_set(e, ERR_SYSTEM, "out of memory");
	}
	return 0;
}

/* Finds out which of the three counters the metric is.  Returns false if it is
 * none of the three. */
static bool
read_counted(const char *name, enum counted *out)
{
	static const char *const names[] = {[COUNTED_CREATED] = CREATED,
					    [COUNTED_DISRUPTED] = DISRUPTED,
					    [COUNTED_PODS] = PODS};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0) {
			*out = (enum counted)i;
			return true;
		}
	return false;
}

enum snapshot_what
matrix_series(struct matrix *m, const char *bytes, size_t n, struct err *e)
{
	enum json_end end;
	size_t used;
	AUTO_JSON root = pieces_parse(bytes, n, &used, &end);

	return matrix_object(m, root, e);
}

enum snapshot_what
matrix_object(struct matrix *m, const struct json *root, struct err *e)
{
	const char *name, *node, *pool, *reason;
	const struct json *metric = json_member(root, "metric");
	const struct json *values = json_member(root, "values");
	struct grown like = {.by = 0};
	int rc;

	if (!json_is_object(metric) || !json_is_array(values) ||
	    pieces_take_name(json_member(metric, "__name__"), NAME_BYTES,
			     &name) ||
	    pieces_take_name(json_member(metric, "node_name"), NAME_BYTES,
			     &node) ||
	    pieces_take_name(json_member(metric, "nodepool"), NODEPOOL_BYTES,
			     &pool) ||
	    pieces_take_name(json_member(metric, "reason"), NODEPOOL_BYTES,
			     &reason))
		return SNAPSHOT_BROKEN;
	(void)pieces_take_reason(reason, strlen(reason), like.reason);
	str_cut(like.pool, sizeof(like.pool), pool);
	if (pool[0] == '\0')
		return SNAPSHOT_OTHER;
	if (strcmp(name, LIFETIME) == 0 && node[0] != '\0')
		rc = read_life(m, node, pool, metric, values, e);
	else if (read_counted(name, &like.of))
		rc = read_counter(m, like, metric, values, e);
	else if (strcmp(name, COST) == 0)
		rc = read_cost(m, pool, values, e);
	else
		return SNAPSHOT_OTHER;
	return rc == 0 ? SNAPSHOT_TAKEN : SNAPSHOT_FAILED;
}
