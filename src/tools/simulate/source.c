/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "input.h"
#include "wire/karpenter/snapshot.h"

/*
 * A file is read value by value (wire/karpenter/reader), and a query to
 * Prometheus as a whole.  Facts wait in the array `facts`, in order of time,
 * from index `first` on.
 *
 * The lines of a log are nearly in order, but a single line may have a wrong
 * time, even years ahead.  Therefore a fact whose time is more than
 * SIMULATE_JUMP_MS after the lines before it is put aside.  It counts only if
 * the next line confirms its time.  Lists of objects and answers of Prometheus
 * are in no order, so none of their facts may be taken before the source has
 * ended.
 */

#define PIECE 1024 /* minimum number of places that are freed at a time */

struct source {
	struct merging *of;
	struct input *in; /* NULL for a query to Prometheus */
	matrix_ask_fn *ask;
	void *ask_ctx;
	struct reader *reader;
	struct err damage; /* why the file cannot be read to its end */
	/* Whether a line is put aside until the next line confirms its time.
	 * The next members are the time, the number and the fact of that line.
	 * `aside` is NULL if the line has no fact. */
	bool is_aside;
	int64_t aside_ms;
	uint64_t aside_line;
	struct fact *aside;
	/* The latest accepted time, or STAMP_NONE if there is none yet. */
	int64_t newest_ms;
	struct matrix *matrix; /* NULL if no series has come */
	uint64_t lines;	       /* the number of the current line */
	bool in_line;	       /* Whether a part of that line was read. */
	/* Whether there are facts in no order of time. */
	bool unordered;
	bool taken; /* Whether the merge has taken a fact. */
	bool ended;

	/* facts[first] to facts[first + n - 1] wait, in order of time */
	struct fact **facts;
	size_t first, n, room;
};

static const char *
name_of(const struct source *s)
{
	return s->in == NULL ? "Prometheus" : input_name(s->in);
}

/* --- facts that wait ------------------------------------------------------ */

/* Returns how many of the waiting facts do not come after f.  The last fact is
 * compared first, because most facts come in order. */
static size_t
place_of(const struct source *s, const struct fact *f)
{
	struct fact *const *at = s->facts + s->first;
	size_t low = 0, high = s->n;

	if (s->n > 0 && fact_compare(at[s->n - 1], f) <= 0)
		return s->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (fact_compare(at[middle], f) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Makes room for two more facts.  The places of facts that were taken are freed
 * many at a time, because freeing them moves all facts that wait. */
static int
room_for_fact(struct source *s)
{
	struct fact **facts;

	if (s->first > s->n + PIECE) {
		memmove(s->facts, s->facts + s->first,
			s->n * sizeof(struct fact *));
		s->first = 0;
	}
	if (s->first + s->n + 2 <= s->room)
		return 0;
	facts = realloc(s->facts, 2 * (s->room + 32) * sizeof(*facts));
	if (facts == NULL)
		return -1;
	s->facts = facts;
	s->room = 2 * (s->room + 32);
	return 0;
}

/* Adds f to the facts that wait and takes ownership of it.  There is room. */
static void
keep(struct source *s, struct fact *f)
{
	struct fact **at;

	at = s->facts + s->first + place_of(s, f);
	memmove(at + 1, at,
		(size_t)(s->facts + s->first + s->n - at) * sizeof(*at));
	*at = f;
	s->n++;
	s->of->waiting++;
	s->of->waiting_bytes += fact_bytes(f);
}

const struct fact *
source_first(const struct source *s)
{
	return s->n == 0 ? NULL : s->facts[s->first];
}

struct fact *
source_take(struct source *s)
{
	struct fact *f = s->facts[s->first++];

	s->taken = true;
	s->n--;
	s->of->waiting--;
	s->of->waiting_bytes -= fact_bytes(f);
	return f;
}

bool
source_merging_is_full(const struct merging *m)
{
	return m->waiting >= SIMULATE_FACTS_MAX ||
	       m->waiting_bytes >= SIMULATE_FACTS_BYTES_MAX;
}

bool
source_merging_is_half_full(const struct merging *m)
{
	return m->waiting >= SIMULATE_FACTS_MAX / 2 ||
	       m->waiting_bytes >= SIMULATE_FACTS_BYTES_MAX / 2;
}

/* --- lines ---------------------------------------------------------------- */

static void
put(struct source *s, struct fact *f)
{
	/* A download may have the newest line first. */
	if (!s->taken && s->newest_ms != STAMP_NONE &&
	    f->at_ms < s->newest_ms - SIMULATE_DISORDER_MS)
		s->unordered = true;
	if (f->at_ms > s->newest_ms)
		s->newest_ms = f->at_ms;
	if (s->of->given_ms != STAMP_NONE && f->at_ms < s->of->given_ms) {
		s->of->tally->late++;
		free(f);
		return;
	}
	keep(s, f);
}

static bool
is_ahead(const struct source *s, int64_t at_ms)
{
	return s->newest_ms == STAMP_NONE ||
	       at_ms > s->newest_ms + SIMULATE_JUMP_MS;
}

/* Records that the file has been read up to this time. */
static void
come_to(struct source *s, int64_t at_ms)
{
	if (at_ms > s->newest_ms)
		s->newest_ms = at_ms;
	if (at_ms > s->of->ticked_ms)
		s->of->ticked_ms = at_ms;
}

/* Returns whether the time that was put aside is accepted even if no later line
 * confirms it.  The time is accepted if it is at most SIMULATE_GAP_MS after the
 * latest accepted time, because a log may be quiet for that long. */
static bool
is_near(const struct source *s)
{
	return s->newest_ms != STAMP_NONE &&
	       s->aside_ms <= s->newest_ms + SIMULATE_GAP_MS;
}

/* Returns whether this time is before the one that was put aside, by more than
 * the lines of a file may be out of order. */
static bool
goes_back(const struct source *s, int64_t at_ms)
{
	return at_ms < s->aside_ms - SIMULATE_DISORDER_MS;
}

static bool
confirms(const struct source *s, int64_t at_ms)
{
	if (s->newest_ms == STAMP_NONE)
		return at_ms >= s->aside_ms - SIMULATE_JUMP_MS &&
		       at_ms <= s->aside_ms + SIMULATE_GAP_MS;
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

/* Returns whether the time must come from a clock that was never set or has
 * overflowed.  Many lines may have such a time and would confirm each other. */
static bool
is_odd(int64_t at_ms)
{
	return at_ms < SIMULATE_EARLIEST_MS || at_ms >= SIMULATE_LATEST_MS;
}

/* Returns whether a fact with this time is left out.  If it is left out, the
 * tally counts it. */
static bool
refuses(const struct source *s, int64_t at_ms)
{
	if (is_odd(at_ms))
		refuse_time(s->of->tally, s, s->lines);
	return is_odd(at_ms);
}

static void
judge_aside(struct source *s, bool confirmed)
{
	bool counts = s->is_aside && confirmed;
	struct fact *f = s->aside;

	s->is_aside = false;
	s->aside = NULL;
	if (f != NULL && counts) {
		put(s, f);
	} else if (counts) {
		come_to(s, s->aside_ms);
	} else if (f != NULL) {
		refuse_time(s->of->tally, s, s->aside_line);
		free(f);
	}
}

static int
take(struct source *s, const struct fact *read, struct err *e)
{
	struct fact *f;

	if (refuses(s, read->at_ms))
		return 0;
	/* One for this fact, and one for the fact that was put aside. */
	f = room_for_fact(s) ? NULL : fact_copy(read);
	if (f == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	judge_aside(s, confirms(s, f->at_ms));
	if (is_ahead(s, f->at_ms)) {
		s->is_aside = true;
		s->aside = f;
		s->aside_ms = f->at_ms;
		s->aside_line = s->lines;
	} else {
		put(s, f);
	}
	return 0;
}

/* Takes the time of a line without a fact.  The time may confirm a fact that
 * was put aside, but cannot refute it by being earlier.  `sure` is set for the
 * end of a record, whose time needs no confirmation: a record may have been
 * quiet for days. */
static void
tick(struct source *s, int64_t at_ms, bool sure)
{
	if (at_ms == STAMP_NONE || is_odd(at_ms))
		return;
	if (s->aside == NULL || !goes_back(s, at_ms))
		judge_aside(s, confirms(s, at_ms));
	if (sure || !is_ahead(s, at_ms)) {
		come_to(s, at_ms);
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

static void
end(struct source *s)
{
	s->ended = true;
	/* An unconfirmed time without a fact could only make the period of the
	 * log longer.  It counts only if the file has no other time. */
	if (s->aside != NULL || s->newest_ms == STAMP_NONE)
		judge_aside(s, is_near(s) || s->newest_ms == STAMP_NONE);
}

static void
warn(struct source *s, const struct err *e)
{
	s->of->tally->damaged++;
	str_cut(s->of->warning, sizeof(s->of->warning), e->text);
	s->of->warns = true;
}

/* --- objects and metrics -------------------------------------------------- */

static int
take_snapshot(void *ctx, const struct fact *read, struct err *e)
{
	struct source *s = ctx;
	struct fact *f;

	if (refuses(s, read->at_ms))
		return 0;
	if (source_merging_is_full(s->of))
		return err_set(e, ERR_LIMIT,
			       "%s: more than %d facts in lists of objects or "
			       "metrics",
			       name_of(s), SIMULATE_FACTS_MAX);
	f = room_for_fact(s) ? NULL : fact_copy(read);
	if (f == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	s->unordered = true;
	keep(s, f);
	return 0;
}

/* Counts a series that says nothing of machines.  Returns -1 if the command
 * cannot go on. */
static int
count_series(struct source *s, enum snapshot_what what)
{
	struct tally *t = s->of->tally;

	if (what == SNAPSHOT_OTHER)
		tally_message(t, "(a series that says nothing of machines)");
	t->what[READ_OTHER] += what == SNAPSHOT_OTHER;
	t->what[READ_BROKEN] += what == SNAPSHOT_BROKEN;
	return what == SNAPSHOT_FAILED ? -1 : 0;
}

/* Returns the matrix, or NULL with *e set. */
static struct matrix *
matrix_of(struct source *s, struct err *e)
{
	s->unordered = true;
	if (s->matrix == NULL)
		s->matrix = matrix_new();
	if (s->matrix == NULL)
		(void)err_set(e, ERR_SYSTEM, "out of memory");
	return s->matrix;
}

static int
take_series(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct source *s = ctx;

	if (bytes == NULL) {
		s->of->tally->too_long++;
		return 0;
	}
	return count_series(s, matrix_series(s->matrix, bytes, n, e));
}

/* Takes what Prometheus says of an answer besides the series.  `text` is the
 * first warning or, without a warning, the first info. */
static void
take_warnings(struct source *s, uint64_t warnings, uint64_t infos,
	      const char *text)
{
	struct err said;

	s->of->tally->warnings += warnings;
	if (warnings + infos == 0)
		return;
	(void)err_set(&said, ERR_INPUT, "%s: %s: %s", name_of(s),
		      warnings > 0 ? "may be partial" : "Prometheus says",
		      text);
	str_cut(s->of->warning, sizeof(s->of->warning), said.text);
	s->of->warns = true;
}

static int
take_answer(struct source *s, const struct json *answer, struct err *e)
{
	struct matrix_answer said;

	matrix_answer_object(answer, &said);
	take_warnings(s, said.warnings, said.infos, said.text);
	if (said.matrix)
		return 0;
	return err_set(e, ERR_INPUT,
		       "%s: an answer of Prometheus%s%s, expected that of a "
		       "range query (/api/v1/query_range, resultType matrix)",
		       name_of(s), said.text[0] != '\0' ? ", " : "", said.text);
}

static int
end_matrix(struct source *s, struct err *e)
{
	struct matrix_sums sums;

	if (s->matrix == NULL)
		return 0;
	if (matrix_end(s->matrix, take_snapshot, s, &sums, e))
		return -1;
	if (sums.to_ms > s->of->ticked_ms)
		s->of->ticked_ms = sums.to_ms;
	if (sums.step_ms > s->of->tally->step_ms)
		s->of->tally->step_ms = sums.step_ms;
	s->of->tally->lost += sums.lost;
	return 0;
}

static int
read_asked(struct source *s, struct err *e)
{
	struct matrix_asked asked;

	if (matrix_of(s, e) == NULL)
		return -1;
	if (s->ask(s->ask_ctx, take_series, s, &asked, e))
		return -1;
	end(s);
	s->of->tally->answers += asked.answers;
	s->of->tally->bytes += asked.bytes;
	take_warnings(s, asked.warnings, asked.infos, asked.warning);
	return end_matrix(s, e);
}

/* --- a file --------------------------------------------------------------- */

/* Takes what the reader has found in a file. */
static int
take_item(void *ctx, const struct reader_item *item, struct err *e)
{
	struct source *s = ctx;
	struct tally *t = s->of->tally;

	t->what[item->what]++;
	switch (item->what) {
	case READ_FACT:
		return take(s, item->fact, e);
	case READ_OBJECT:
		return take_snapshot(s, item->fact, e);
	case READ_SERIES:
		return matrix_of(s, e) == NULL
			       ? -1
			       : count_series(s, matrix_object(s->matrix,
							       item->value, e));
	case READ_ANSWER:
		return take_answer(s, item->value, e);
	case READ_VERSION:
		return refuse_version(s, item->message, e);
	case READ_REFUSED:
		return err_set(e, ERR_INPUT, "%s: %s", input_name(s->in),
			       item->message);
	case READ_UNDECIDED:
		if (t->undecided[0] == '\0')
			str_cut(t->undecided, sizeof(t->undecided),
				item->message);
		tally_message(t, item->message);
		break;
	case READ_OTHER:
	case READ_INCOMPLETE:
		tally_message(t, item->message);
		break;
	case READ_LONG:
		t->too_long++;
		break;
	default:
		break;
	}
	tick(s, item->at_ms, item->what == READ_UNTIL);
	return 0;
}

static void
count_lines(struct source *s, const char *bytes, size_t n)
{
	const char *end = bytes + n, *newline;

	while ((newline = memchr(bytes, '\n', (size_t)(end - bytes))) != NULL) {
		s->lines++;
		s->of->tally->lines += 1;
		bytes = newline + 1;
		s->in_line = false;
	}
	s->in_line = s->in_line || bytes < end;
}

static int
end_file(struct source *s, struct err *e)
{
	bool cut;

	if (reader_end(s->reader, &cut, e))
		return -1;
	s->of->tally->lines += s->in_line;
	end(s);
	if (s->damage.code == ERR_NONE && cut)
		(void)err_set(&s->damage, ERR_CUT,
			      "%s: ends in the middle of a value", name_of(s));
	if (s->damage.code != ERR_NONE)
		warn(s, &s->damage);
	return end_matrix(s, e);
}

/* Reads more of the file into the window. */
static int
read_more(struct source *s, struct err *e)
{
	uint64_t before = input_bytes(s->in);
	int failed = input_more(s->in, &s->damage);

	s->of->tally->bytes += input_bytes(s->in) - before;
	if (!failed || input_bytes(s->in) > 0)
		return 0;
	*e = s->damage;
	return -1;
}

/* Reads the next value of the file, or the text before it. */
static int
read_file(struct source *s, struct err *e)
{
	const char *bytes;
	size_t n, used = 0;
	enum reader_rest rest = input_window(s->in, &bytes, &n);

	if (n == 0 && rest == READER_LAST)
		return end_file(s, e);
	if (n > 0 && reader_step(s->reader, bytes, n, rest, &used, e))
		return -1;
	if (used == 0)
		return read_more(s, e);
	count_lines(s, bytes, used);
	input_use(s->in, used);
	return 0;
}

/* --- a source ------------------------------------------------------------- */

static struct source *
source_new(struct merging *m, struct err *e)
{
	struct source *s = calloc(1, sizeof(*s));

	if (s != NULL) {
		s->of = m;
		s->newest_ms = STAMP_NONE;
		s->lines = 1;
		s->reader = reader_new(take_item, s);
		if (s->reader != NULL)
			return s;
	}
	(void)err_set(e, ERR_SYSTEM, "out of memory");
	source_close(s);
	return NULL;
}

struct source *
source_open(const char *name, struct merging *m, struct err *e)
{
	struct source *s = source_new(m, e);

	if (s == NULL || (s->in = input_open(name, e)) != NULL)
		return s;
	source_close(s);
	return NULL;
}

struct source *
source_ask(matrix_ask_fn *ask, void *ctx, struct merging *m, struct err *e)
{
	struct source *s = source_new(m, e);

	if (s != NULL) {
		s->ask = ask;
		s->ask_ctx = ctx;
	}
	return s;
}

int
source_read(struct source *s, struct err *e)
{
	return s->in == NULL ? read_asked(s, e) : read_file(s, e);
}

bool
source_ended(const struct source *s)
{
	return s->ended;
}

int64_t
source_newest_ms(const struct source *s)
{
	return s->unordered && !s->ended ? STAMP_NONE : s->newest_ms;
}

void
source_close(struct source *s)
{
	if (s == NULL)
		return;
	while (s->n > 0)
		free(source_take(s));
	input_close(s->in);
	reader_free(s->reader);
	matrix_free(s->matrix);
	free(s->aside);
	free(s->facts);
	free(s);
}
