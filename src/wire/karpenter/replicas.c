/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/base/index.h"
#include "matrix_parts.h"

/*
 * Finds series that come several times, because two replicas of a Prometheus
 * were asked, or because one Prometheus collects from others.  Such series
 * differ in a label, whose name anybody may choose.  If a Node has two series
 * of its age at the same times, the labels in which these differ are of that
 * kind.  Counters that differ in nothing else count once.
 */

/* Births that two series show for one Node differ by less than this. */
#define SAME_MS 60000

void
replicas_labels(const struct json *metric, struct labels *out)
{
	out->n = 0;
	for (const struct json *v = json_first(metric);
	     v != NULL && out->n < MATRIX_LABELS_MAX; v = json_next(v)) {
		const char *value = json_string(v);

		out->at[out->n++] = (struct label){
			index_hash_text(json_key(v)),
			value == NULL ? 0 : index_hash_text(value)};
	}
}

static bool
is_replica(const struct replicas *r, uint32_t key)
{
	unsigned i = 0;

	while (i < r->keys_n && r->keys[i] != key)
		i++;
	return i < r->keys_n;
}

static bool
has(const struct labels *l, struct label label)
{
	unsigned i = 0;

	while (i < l->n &&
	       (l->at[i].key != label.key || l->at[i].value != label.value))
		i++;
	return i < l->n;
}

/* Notes the labels of a that b does not have. */
static void
note_difference(struct replicas *r, const struct labels *a,
		const struct labels *b)
{
	for (unsigned i = 0; i < a->n; i++)
		if (!has(b, a->at[i]) && !is_replica(r, a->at[i].key) &&
		    r->keys_n < MATRIX_REPLICA_LABELS_MAX)
			r->keys[r->keys_n++] = a->at[i].key;
}

void
replicas_see(struct replicas *r, const struct life *l,
	     const struct json *metric)
{
	struct seen now = {.node = index_hash_text(l->node),
			   .birth_ms = l->birth_ms,
			   .first_ms = l->first_ms,
			   .last_ms = l->last_ms};

	replicas_labels(metric, &now.labels);
	for (unsigned i = 0; i < r->seen_n; i++) {
		const struct seen *s = &r->seen[i];

		if (s->node != now.node || s->first_ms > now.last_ms ||
		    now.first_ms > s->last_ms ||
		    llabs(s->birth_ms - now.birth_ms) >= SAME_MS)
			continue;
		note_difference(r, &s->labels, &now.labels);
		note_difference(r, &now.labels, &s->labels);
		return;
	}
	if (r->seen_n < MATRIX_SEEN_MAX)
		r->seen[r->seen_n++] = now;
}

/* A counter without the labels of replicas. */
struct reduced {
	uint64_t labels;
	uint32_t counter;
};

static int
by_labels(const void *a, const void *b)
{
	const struct reduced *x = a, *y = b;

	if (x->labels != y->labels)
		return x->labels < y->labels ? -1 : 1;
	return x->counter < y->counter ? -1 : x->counter > y->counter;
}

static uint64_t
reduce(const struct replicas *r, const struct labels *l)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < l->n; i++)
		if (!is_replica(r, l->at[i].key))
			sum += (l->at[i].key | UINT64_C(1) << 32) *
			       (l->at[i].value * UINT64_C(2) + 1);
	return sum;
}

/* Links each counter with the one before it that differs in labels of replicas
 * alone. */
static int
link_counters(struct matrix *m)
{
	struct reduced *list = malloc(m->counters_n * sizeof(*list));

	if (list == NULL)
		return -1;
	for (uint32_t i = 0; i < m->counters_n; i++)
		list[i] = (struct reduced){
			reduce(&m->replicas, &m->counters[i].each), i};
	qsort(list, m->counters_n, sizeof(*list), by_labels);
	for (size_t i = 0; i < m->counters_n; i++)
		m->counters[list[i].counter].before =
			i > 0 && list[i - 1].labels == list[i].labels
				? list[i - 1].counter
				: NO_ID;
	free(list);
	return 0;
}

/* Returns whether a counter before that of the step has that time, too. */
static bool
is_covered(const struct matrix *m, const struct grown *g)
{
	uint32_t i = m->counters[g->counter].before;

	while (i != NO_ID && (m->counters[i].first_ms > g->at_ms ||
			      g->at_ms > m->counters[i].last_ms))
		i = m->counters[i].before;
	return i != NO_ID;
}

int
replicas_drop(struct matrix *m)
{
	size_t kept = 0;

	if (m->replicas.keys_n == 0 || m->counters_n == 0)
		return 0;
	if (link_counters(m))
		return -1;
	for (size_t i = 0; i < m->grown_n; i++)
		if (!is_covered(m, &m->grown[i]))
			m->grown[kept++] = m->grown[i];
	m->grown_n = kept;
	return 0;
}
