/* SPDX-License-Identifier: Apache-2.0 */
#include "merge.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "input.h"
#include "wire/api/list.h"
#include "wire/karpenter/matrix.h"
#include "wire/karpenter/snapshot.h"

struct source {
	struct input *in;	/* NULL: ask */
	matrix_ask_fn *ask;
	void *ask_ctx;
	struct line *line;
	bool is_aside;	/* a line is so far ahead that the next one has to
			   confirm it */
	int64_t aside_ms;	/* its time */
	uint64_t aside_line;	/* its number */
	struct fact *aside;	/* what it says; NULL: no fact */
	int64_t newest_ms;	/* STAMP_NONE: nothing with a time so far */
	struct split *snapshot;	/* the file is a list of objects, in no order:
				   nothing of it is given out before its end */
	struct matrix *matrix;	/* so is this answer of Prometheus */
	struct merge *of;
	uint64_t lines;
	bool begun, ended;
};

struct merge {
	struct source *sources;
	size_t n;
	struct tally *tally;
	struct fact **heap;	/* facts that wait, the earliest on top */
	size_t waiting, waiting_bytes;
	struct fact *out;	/* the latest that was given out */
	int64_t ticked_ms;	/* the latest time of any other line */
	char warning[240];
	bool warns;
};

static const char *
name_of(const struct source *s)
{
	return s->in == NULL ? "Prometheus" : input_name(s->in);
}

/* --- facts that wait --------------------------------------------------------- */

static void
swap(struct fact **a, struct fact **b)
{
	struct fact *f = *a;

	*a = *b;
	*b = f;
}

static void
heap_add(struct merge *m, struct fact *f)
{
	size_t i = m->waiting++;

	m->waiting_bytes += fact_bytes(f);
	m->heap[i] = f;
	while (i > 0 && fact_compare(m->heap[i], m->heap[(i - 1) / 2]) < 0) {
		swap(&m->heap[i], &m->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
}

static bool
is_full(const struct merge *m)
{
	return m->waiting >= SIMULATE_FACTS_MAX ||
	       m->waiting_bytes >= SIMULATE_FACTS_BYTES_MAX;
}

static struct fact *
heap_take(struct merge *m)
{
	struct fact *top = m->heap[0];
	size_t i = 0, least;

	m->waiting_bytes -= fact_bytes(top);
	m->heap[0] = m->heap[--m->waiting];
	for (;; i = least) {
		least = i;
		for (size_t c = 2 * i + 1; c <= 2 * i + 2; c++)
			if (c < m->waiting &&
			    fact_compare(m->heap[c], m->heap[least]) < 0)
				least = c;
		if (least == i)
			return top;
		swap(&m->heap[i], &m->heap[least]);
	}
}

/* --- one file ------------------------------------------------------------------ */

static void
put(struct merge *m, struct source *s, struct fact *f)
{
	if (f->at_ms > s->newest_ms)
		s->newest_ms = f->at_ms;
	if (m->out != NULL && f->at_ms < m->out->at_ms) {
		m->tally->late++;
		free(f);
		return;
	}
	heap_add(m, f);
}

static bool
is_ahead(const struct source *s, int64_t at_ms)
{
	return s->newest_ms == STAMP_NONE ||
	       at_ms > s->newest_ms + SIMULATE_JUMP_MS;
}

/* The file says that there was nothing to say until then. */
static void
come_to(struct merge *m, struct source *s, int64_t at_ms)
{
	if (at_ms > s->newest_ms)
		s->newest_ms = at_ms;
	if (at_ms > m->ticked_ms)
		m->ticked_ms = at_ms;
}

/* A log may be quiet for so long, and then have one line. */
static bool
is_near(const struct source *s)
{
	return s->newest_ms != STAMP_NONE &&
	       s->aside_ms <= s->newest_ms + SIMULATE_GAP_MS;
}

/* Is a line of this time earlier than the one that is aside, by more than a
 * file may be out of order? */
static bool
goes_back(const struct source *s, int64_t at_ms)
{
	return at_ms < s->aside_ms - SIMULATE_DISORDER_MS;
}

static bool
confirms(const struct source *s, int64_t at_ms)
{
	return !goes_back(s, at_ms) &&
	       (is_near(s) || at_ms <= s->aside_ms + SIMULATE_GAP_MS);
}

static void
refuse_time(struct tally *t, const struct source *s, uint64_t line)
{
	if (t->odd_times++ > 0)
		return;
	t->odd_file = name_of(s);
	t->odd_line = line;
}

/* Nobody's clock is so wrong but one that was never set, or has overflowed.
 * Such lines may be many and confirm each other. */
static bool
is_odd(int64_t at_ms)
{
	return at_ms < SIMULATE_EARLIEST_MS || at_ms >= SIMULATE_LATEST_MS;
}

static void
judge_aside(struct merge *m, struct source *s, bool confirmed)
{
	bool counts = s->is_aside && confirmed;
	struct fact *f = s->aside;

	s->is_aside = false;
	s->aside = NULL;
	if (f != NULL && counts) {
		put(m, s, f);
	} else if (counts) {
		come_to(m, s, s->aside_ms);
	} else if (f != NULL) {
		refuse_time(m->tally, s, s->aside_line);
		free(f);
	}
}

static int
take(struct merge *m, struct source *s, const struct fact *read, struct err *e)
{
	struct fact *f;

	if (is_odd(read->at_ms)) {
		refuse_time(m->tally, s, s->lines);
		return 0;
	}
	f = fact_copy(read);
	if (f == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	judge_aside(m, s, confirms(s, f->at_ms));
	if (is_ahead(s, f->at_ms)) {
		s->is_aside = true;
		s->aside = f;
		s->aside_ms = f->at_ms;
		s->aside_line = s->lines;
	} else {
		put(m, s, f);
	}
	return 0;
}

/* A line that says nothing to us.  It may confirm a fact that is aside, but
 * does not refute it by going back.  sure: nobody need confirm it, as it is the
 * end of a record, which may have been quiet for days. */
static void
tick(struct merge *m, struct source *s, bool sure)
{
	int64_t at_ms = line_time(s->line);

	if (at_ms == STAMP_NONE || is_odd(at_ms))
		return;
	if (s->aside == NULL || !goes_back(s, at_ms))
		judge_aside(m, s, confirms(s, at_ms));
	if (sure || !is_ahead(s, at_ms)) {
		come_to(m, s, at_ms);
	} else if (s->aside == NULL) {
		s->is_aside = true;
		s->aside_ms = at_ms;
	}
}

static int
refuse_version(const struct source *s, const char *version, struct err *e)
{
	return err_set(e, ERR_INPUT,
		       "%s: a record of version \"%.60s\", expected "
		       "karpenter-node-holder.io/record/v1",
		       input_name(s->in), version);
}

static int
take_line(struct merge *m, struct source *s, const char *bytes, size_t n,
	  struct err *e)
{
	const char *message = "";
	struct fact f;
	enum line_what what = line_read(s->line, bytes, n, &f, &message);

	m->tally->what[what]++;
	if (what == LINE_VERSION)
		return refuse_version(s, message, e);
	if (what == LINE_REFUSED)
		return err_set(e, ERR_INPUT, "%s: %s", input_name(s->in),
			       message);
	if (what == LINE_OTHER || what == LINE_INCOMPLETE)
		tally_message(m->tally, message);
	if (what == LINE_OTHER || what == LINE_BARE || what == LINE_UNTIL)
		tick(m, s, what == LINE_UNTIL);
	if (what != LINE_FACT)
		return 0;
	do
		if (take(m, s, &f, e))
			return -1;
	while (line_more(s->line, &f));
	return 0;
}

static void
end(struct merge *m, struct source *s)
{
	s->ended = true;
	/* A time alone that nothing confirms would only make the period longer,
	 * unless the file has no other. */
	if (s->aside != NULL || s->newest_ms == STAMP_NONE)
		judge_aside(m, s, is_near(s) || s->newest_ms == STAMP_NONE);
}

static void
warn(struct merge *m, const struct err *e)
{
	m->tally->damaged++;
	str_cut(m->warning, sizeof(m->warning), e->text);
	m->warns = true;
}

/* --- a list of objects --------------------------------------------------------------- */

static int
take_snapshot(void *ctx, const struct fact *read, struct err *e)
{
	struct source *s = ctx;
	struct fact *f;

	if (is_odd(read->at_ms)) {
		refuse_time(s->of->tally, s, s->lines);
		return 0;
	}
	f = fact_copy(read);
	if (f == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	if (is_full(s->of))
		return err_set(e, ERR_LIMIT,
			       "%s: more than %d facts in lists of objects or "
			       "metrics",
			       name_of(s), SIMULATE_FACTS_MAX);
	s->of->tally->what[LINE_FACT]++;
	heap_add(s->of, f);
	return 0;
}

static int
take_item(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct source *s = ctx;
	struct tally *t = s->of->tally;

	if (bytes == NULL) {
		t->too_long++;
		return 0;
	}
	switch (snapshot_item(bytes, n, NULL, take_snapshot, s, e)) {
	case SNAPSHOT_FAILED:
		return -1;
	case SNAPSHOT_BROKEN:
		t->what[LINE_BROKEN]++;
		return 0;
	case SNAPSHOT_OTHER:
		tally_message(t, "(an object that says nothing of machines)");
		t->what[LINE_OTHER]++;
		return 0;
	default:
		return 0;
	}
}

/* kubectl writes a list with its braces on lines of their own. */
static bool
begins_list(struct source *s, const char *bytes, size_t n)
{
	return s->lines == 1 && n > 0 && bytes[0] == '{' &&
	       (n == 1 || (n == 2 && bytes[1] == '\r'));
}

/* Returns -1 if the command cannot go on. */
static int
take_piece(struct merge *m, struct source *s, const char *bytes, size_t n,
	   struct err *e)
{
	struct err damage = {0};

	if (split_feed(s->snapshot, bytes, n, &damage) == 0 &&
	    split_feed(s->snapshot, "\n", 1, &damage) == 0)
		return 0;
	if (damage.code != ERR_INPUT) {
		*e = damage;
		return -1;
	}
	(void)err_wrap(&damage, "%s", input_name(s->in));
	end(m, s);
	warn(m, &damage);
	return 0;
}

/* Somebody may have made an answer of /status pretty. */
static bool
is_status(const struct source *s)
{
	size_t n = 0;
	const char *envelope = split_envelope(s->snapshot, &n);

	return strstr(envelope, "\"HolderStatus\"") != NULL;
}

static int
begin_list(struct merge *m, struct source *s)
{
	s->of = m;
	s->snapshot = split_new(SPLIT_LIST, take_item, s);
	return s->snapshot == NULL ? -1 : 0;
}

/* --- an answer of Prometheus ----------------------------------------------------------- */

static int
take_series(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct source *s = ctx;
	struct tally *t = s->of->tally;

	if (bytes == NULL) {
		t->too_long++;
		return 0;
	}
	switch (matrix_series(s->matrix, bytes, n, e)) {
	case SNAPSHOT_FAILED:
		return -1;
	case SNAPSHOT_BROKEN:
		t->what[LINE_BROKEN]++;
		return 0;
	case SNAPSHOT_OTHER:
		tally_message(t, "(a series that says nothing of machines)");
		t->what[LINE_OTHER]++;
		return 0;
	default:
		return 0;
	}
}

static int
begin_matrix(struct merge *m, struct source *s, struct err *e)
{
	if (!input_begins(s->in, "\"matrix\""))
		return err_set(e, ERR_INPUT,
			       "%s: an answer of Prometheus, expected that of a "
			       "range query (/api/v1/query_range, resultType "
			       "matrix)",
			       input_name(s->in));
	s->of = m;
	s->matrix = matrix_new();
	s->snapshot = split_new(SPLIT_MATRIX, take_series, s);
	return s->matrix == NULL || s->snapshot == NULL
		       ? err_set(e, ERR_SYSTEM, "out of memory")
		       : 0;
}

/* What Prometheus warns of, with its answer. */
static void
take_warnings(struct merge *m, const struct source *s, uint64_t n,
	      const char *text)
{
	struct err said;

	m->tally->warnings += n;
	if (n == 0)
		return;
	(void)err_set(&said, ERR_INPUT, "%s: may be partial: %s", name_of(s),
		      text);
	str_cut(m->warning, sizeof(m->warning), said.text);
	m->warns = true;
}

static int
end_matrix(struct merge *m, struct source *s, struct err *e)
{
	struct matrix_sums sums;

	if (matrix_end(s->matrix, take_snapshot, s, &sums, e))
		return -1;
	if (sums.to_ms > m->ticked_ms)
		m->ticked_ms = sums.to_ms;
	if (sums.step_ms > m->tally->step_ms)
		m->tally->step_ms = sums.step_ms;
	m->tally->lost += sums.lost;
	return 0;
}

/* An answer is one line of any length. */
static int
read_matrix(struct merge *m, struct source *s, struct err *e)
{
	uint64_t before = input_bytes(s->in);
	struct matrix_answer said;
	const char *bytes = NULL;
	struct err damage = {0};
	size_t n = 0;
	enum input_got got = input_piece(s->in, &bytes, &n, &damage);

	m->tally->bytes += input_bytes(s->in) - before;
	if (got == INPUT_LINE && split_feed(s->snapshot, bytes, n, &damage) == 0)
		return 0;
	if (got == INPUT_LINE && damage.code != ERR_INPUT) {
		*e = damage;
		return -1;
	}
	end(m, s);
	m->tally->lines++;
	bytes = split_envelope(s->snapshot, &n);
	matrix_answer(bytes, n, &said);
	take_warnings(m, s, said.warnings, said.text);
	if (got != INPUT_END || split_end(s->snapshot, &damage)) {
		(void)err_wrap(&damage, "%s", input_name(s->in));
		warn(m, &damage);
	}
	return end_matrix(m, s, e);
}

static int
read_asked(struct merge *m, struct source *s, struct err *e)
{
	struct matrix_asked asked;

	s->of = m;
	s->matrix = matrix_new();
	if (s->matrix == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	if (s->ask(s->ask_ctx, take_series, s, &asked, e))
		return -1;
	end(m, s);
	m->tally->answers += asked.answers;
	m->tally->bytes += asked.bytes;
	take_warnings(m, s, asked.warnings, asked.warning);
	return end_matrix(m, s, e);
}

static int
read_line(struct merge *m, struct source *s, struct err *e)
{
	uint64_t before = input_bytes(s->in);
	struct err damage = {0};
	const char *bytes = NULL;
	size_t n = 0;
	enum input_got got;

	if (!s->begun && input_begins(s->in, "\"resultType\"") &&
	    begin_matrix(m, s, e))
		return -1;
	s->begun = true;
	if (s->matrix != NULL)
		return read_matrix(m, s, e);
	got = input_line(s->in, &bytes, &n, &damage);

	m->tally->bytes += input_bytes(s->in) - before;
	m->tally->lines += got == INPUT_LINE || got == INPUT_LONG;
	m->tally->too_long += got == INPUT_LONG;
	s->lines += got == INPUT_LINE || got == INPUT_LONG;
	if (got == INPUT_LINE && begins_list(s, bytes, n) && begin_list(m, s))
		return err_set(e, ERR_SYSTEM, "out of memory");
	if (got == INPUT_LINE && s->snapshot != NULL)
		return take_piece(m, s, bytes, n, e);
	if (got == INPUT_LINE)
		return take_line(m, s, bytes, n, e);
	if (got == INPUT_LONG)
		return 0;
	end(m, s);
	if (got == INPUT_END && s->snapshot != NULL && is_status(s))
		return err_set(e, ERR_INPUT,
			       "%s: a holder's /status, expected on one line as "
			       "it comes (jq -c . makes it one)",
			       input_name(s->in));
	if (got == INPUT_END && s->snapshot != NULL &&
	    split_end(s->snapshot, &damage)) {
		(void)err_wrap(&damage, "%s", input_name(s->in));
		warn(m, &damage);
	}
	if (got == INPUT_DAMAGED && input_bytes(s->in) == 0) {
		*e = damage;
		return -1;
	}
	if (got == INPUT_DAMAGED)
		warn(m, &damage);
	return 0;
}

/* --- all files ------------------------------------------------------------------ */

/* Returns the file that is behind all others, or NULL if all have ended. */
static struct source *
slowest(struct merge *m)
{
	struct source *least = NULL;

	for (struct source *s = m->sources; s < m->sources + m->n; s++)
		if (!s->ended &&
		    (least == NULL || s->newest_ms < least->newest_ms))
			least = s;
	return least;
}

static bool
may_give(const struct merge *m, const struct source *behind)
{
	if (m->waiting == 0)
		return false;
	if (behind == NULL || is_full(m))
		return true;
	return behind->newest_ms != STAMP_NONE &&
	       m->heap[0]->at_ms <= behind->newest_ms - SIMULATE_DISORDER_MS;
}

static void
count_period(struct tally *t, int64_t at_ms)
{
	if (t->from_ms == STAMP_NONE)
		t->from_ms = at_ms;
	if (t->to_ms == STAMP_NONE || at_ms > t->to_ms)
		t->to_ms = at_ms;
}

#define STRETCH 4096	/* lines */

int
merge_next(struct merge *m, const struct fact **f, struct err *e)
{
	*f = NULL;
	for (int reads = 0; reads < STRETCH; reads++) {
		struct source *behind = slowest(m);
		struct fact *next;

		if (!may_give(m, behind)) {
			if (behind == NULL && m->tally->from_ms != STAMP_NONE)
				count_period(m->tally, m->ticked_ms);
			if (behind == NULL)
				return 0;
			if (behind->in == NULL ? read_asked(m, behind, e)
					       : read_line(m, behind, e))
				return -1;
			continue;
		}
		next = heap_take(m);
		if (m->out != NULL && fact_compare(next, m->out) == 0) {
			m->tally->duplicates++;
			free(next);
			continue;
		}
		free(m->out);
		m->out = next;
		if (next->kind < FACT_HELD)
			count_period(m->tally, next->at_ms);
		*f = next;
		break;
	}
	return 1;
}

const char *
merge_warning(struct merge *m)
{
	bool warns = m->warns;

	m->warns = false;
	return warns ? m->warning : NULL;
}

struct merge *
merge_open(const char *const *names, size_t n, struct tally *t, struct err *e)
{
	struct merge *m = calloc(1, sizeof(*m));

	if (m != NULL) {
		m->sources = calloc(n + 1, sizeof(*m->sources));
		/* What a line adds, and the fact that was aside. */
		m->heap = calloc(SIMULATE_FACTS_MAX + LINE_FACTS_MAX + 1,
				 sizeof(*m->heap));
		m->tally = t;
		m->ticked_ms = STAMP_NONE;
	}
	if (m == NULL || m->sources == NULL || m->heap == NULL) {
		(void)err_set(e, ERR_SYSTEM, "out of memory");
		merge_close(m);
		return NULL;
	}
	for (struct source *s = m->sources; m->n < n; s++) {
		m->n++;
		s->newest_ms = STAMP_NONE;
		s->line = line_new();
		s->in = input_open(names[s - m->sources], e);
		if (s->line == NULL)
			(void)err_set(e, ERR_SYSTEM, "out of memory");
		if (s->line == NULL || s->in == NULL) {
			merge_close(m);
			return NULL;
		}
	}
	return m;
}

void
merge_ask(struct merge *m, matrix_ask_fn *ask, void *ctx)
{
	m->sources[m->n++] = (struct source){
		.ask = ask, .ask_ctx = ctx, .newest_ms = STAMP_NONE};
}

void
merge_close(struct merge *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->n; i++) {
		input_close(m->sources[i].in);
		line_free(m->sources[i].line);
		split_free(m->sources[i].snapshot);
		matrix_free(m->sources[i].matrix);
		free(m->sources[i].aside);
	}
	while (m->waiting > 0)
		free(m->heap[--m->waiting]);
	free(m->out);
	free(m->heap);
	free(m->sources);
	free(m);
}
