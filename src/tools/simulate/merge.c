/* SPDX-License-Identifier: Apache-2.0 */
#include "merge.h"

#include <stdbool.h>
#include <stdlib.h>

#include "source.h"

struct merge {
	struct source **sources;
	size_t n;
	struct fact *out;     /* the fact that merge_next returned last */
	struct fact *decided; /* the last decision */
	struct merging all;
};

/* Returns the source to read next: of the sources that have not ended, the one
 * that has been read to the earliest time.  Returns NULL if all have ended. */
static struct source *
slowest(const struct merge *m)
{
	struct source *least = NULL;

	for (size_t i = 0; i < m->n; i++)
		if (!source_ended(m->sources[i]) &&
		    (least == NULL ||
		     source_newest_ms(m->sources[i]) < source_newest_ms(least)))
			least = m->sources[i];
	return least;
}

/* Returns the source with the earliest fact that waits, or NULL if no fact
 * waits. */
static struct source *
earliest(const struct merge *m)
{
	struct source *least = NULL;

	for (size_t i = 0; i < m->n; i++)
		if (source_first(m->sources[i]) != NULL &&
		    (least == NULL || fact_compare(source_first(m->sources[i]),
						   source_first(least)) < 0))
			least = m->sources[i];
	return least;
}

static bool
may_give(const struct merge *m, const struct source *first,
	 const struct source *behind)
{
	if (first == NULL)
		return false;
	if (behind == NULL || source_merging_is_full(&m->all))
		return true;
	/* A file may be several logs, one after another. */
	return source_merging_is_half_full(&m->all) &&
	       source_newest_ms(behind) != STAMP_NONE &&
	       source_first(first)->at_ms <=
		       source_newest_ms(behind) - SIMULATE_DISORDER_MS;
}

static void
count_period(struct tally *t, int64_t at_ms)
{
	if (t->from_ms == STAMP_NONE)
		t->from_ms = at_ms;
	if (t->to_ms == STAMP_NONE || at_ms > t->to_ms)
		t->to_ms = at_ms;
}

/* Times of another log of the same may have only whole seconds. */
#define SAME_DECISION_MS 1000

/* Returns whether the fact equals the one before it, or is the decision before
 * it.  Notes the decision otherwise. */
static bool
is_duplicate(struct merge *m, const struct fact *f)
{
	if (m->out != NULL && fact_compare(f, m->out) == 0)
		return true;
	if (f->kind != FACT_DECIDED)
		return false;
	if (m->decided != NULL && fact_repeats(f, m->decided, SAME_DECISION_MS))
		return true;
	free(m->decided);
	m->decided = fact_copy(f);
	return false;
}

/* Returns the fact.  Returns NULL if the fact is a duplicate. */
static const struct fact *
give_out(struct merge *m, struct fact *next)
{
	if (is_duplicate(m, next)) {
		m->all.tally->duplicates++;
		free(next);
		return NULL;
	}
	free(m->out);
	m->out = next;
	m->all.given_ms = next->at_ms;
	if (next->kind < FACT_HELD)
		count_period(m->all.tally, next->at_ms);
	return next;
}

/* merge_next returns without a fact after this many lines or pieces. */
#define STRETCH 4096

int
merge_next(struct merge *m, const struct fact **f, struct err *e)
{
	*f = NULL;
	for (int reads = 0; reads < STRETCH && *f == NULL; reads++) {
		struct source *behind = slowest(m), *first = earliest(m);

		if (may_give(m, first, behind)) {
			*f = give_out(m, source_take(first));
		} else if (behind == NULL) {
			if (m->all.tally->from_ms != STAMP_NONE)
				count_period(m->all.tally, m->all.ticked_ms);
			return 0;
		} else if (source_read(behind, e)) {
			return -1;
		}
	}
	return 1;
}

const char *
merge_warning(struct merge *m)
{
	bool warns = m->all.warns;

	m->all.warns = false;
	return warns ? m->all.warning : NULL;
}

struct merge *
merge_open(const char *const *names, size_t n, struct tally *t, struct err *e)
{
	struct merge *m = calloc(1, sizeof(*m));

	if (m != NULL) {
		m->sources = calloc(n + 1, sizeof(struct source *));
		m->all = (struct merging){.tally = t,
					  .given_ms = STAMP_NONE,
					  .ticked_ms = STAMP_NONE};
	}
	if (m == NULL || m->sources == NULL) {
		(void)err_set(e, ERR_SYSTEM, "out of memory");
		merge_close(m);
		return NULL;
	}
	for (; m->n < n; m->n++) {
		m->sources[m->n] = source_open(names[m->n], &m->all, e);
		if (m->sources[m->n] == NULL) {
			merge_close(m);
			return NULL;
		}
	}
	return m;
}

int
merge_ask(struct merge *m, matrix_ask_fn *ask, void *ctx, struct err *e)
{
	struct source *s = source_ask(ask, ctx, &m->all, e);

	if (s == NULL)
		return -1;
	m->sources[m->n++] = s;
	return 0;
}

void
merge_close(struct merge *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->n; i++)
		source_close(m->sources[i]);
	free(m->out);
	free(m->decided);
	free(m->sources);
	free(m);
}
