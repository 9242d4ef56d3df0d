/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "input.h"
#include "wire/api/split.h"
#include "wire/karpenter/snapshot.h"

/*
 * `read` is the function that reads the source.  For a file, `read` is at first
 * read_first.  From the first bytes of the file, read_first chooses read_lines,
 * read_list or read_matrix and sets `read` to that function.  For a query to
 * Prometheus, `read` is read_asked.  Facts wait in the array `facts`, in order
 * of time, from index `first` on.
 *
 * The lines of a log are nearly in order, but a single line may have a wrong
 * time, even years ahead.  Therefore a fact whose time is more than
 * SIMULATE_JUMP_MS after the lines before it is put aside.  It counts only if
 * the next line confirms its time.  Lists of objects and answers of Prometheus
 * are in no order, so none of their facts may be taken before the source has
 * ended.
 */

/* Size of the array: the facts that may wait, the facts of one more line, and
 * one fact that was put aside. */
#define FACTS_ROOM (SIMULATE_FACTS_MAX + LINE_FACTS_MAX + 1)
#define PIECE 1024 /* minimum number of places that are freed at a time */

struct source {
	struct merging *of;
	int (*read)(struct source *s, struct err *e);
	struct input *in; /* NULL for a query to Prometheus */
	matrix_ask_fn *ask;
	void *ask_ctx;
	struct line *line;
	/* Whether a line is put aside until the next line confirms its time.
	 * The next members are the time, the number and the fact of that line.
	 * `aside` is NULL if the line has no fact. */
	bool is_aside;
	int64_t aside_ms;
	uint64_t aside_line;
	struct fact *aside;
	/* The latest accepted time, or STAMP_NONE if there is none yet. */
	int64_t newest_ms;
	/* Cuts a list of objects, or an answer of Prometheus, into items. */
	struct split *items;
	struct matrix *matrix;
	uint64_t lines;
	bool ended;

	/* facts[first] to facts[first + n - 1] wait, in order of time */
	struct fact **facts;
	size_t first, n;
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

/* Adds f to the facts that wait and takes ownership of it.  There is always
 * room for a fact.  The places of facts that were taken are freed many at a
 * time, because freeing them moves all facts that wait. */
static void
keep(struct source *s, struct fact *f)
{
	struct fact **at;

	if (s->first > s->n + PIECE || s->first + s->n == FACTS_ROOM) {
		memmove(s->facts, s->facts + s->first,
			s->n * sizeof(struct fact *));
		s->first = 0;
	}
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

/* --- lines ---------------------------------------------------------------- */

static void
put(struct source *s, struct fact *f)
{
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
	f = fact_copy(read);
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
tick(struct source *s, bool sure)
{
	int64_t at_ms = line_time(s->line);

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

static int
take_line(struct source *s, const char *bytes, size_t n, struct err *e)
{
	const char *message = "";
	struct fact f;
	enum line_what what = line_read(s->line, bytes, n, &f, &message);

	s->of->tally->what[what]++;
	if (what == LINE_VERSION)
		return refuse_version(s, message, e);
	if (what == LINE_REFUSED)
		return err_set(e, ERR_INPUT, "%s: %s", input_name(s->in),
			       message);
	if (what == LINE_OTHER || what == LINE_INCOMPLETE)
		tally_message(s->of->tally, message);
	if (what == LINE_OTHER || what == LINE_BARE || what == LINE_UNTIL)
		tick(s, what == LINE_UNTIL);
	if (what != LINE_FACT)
		return 0;
	do
		if (take(s, &f, e))
			return -1;
	while (line_more(s->line, &f));
	return 0;
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

static enum input_got
next_line(struct source *s, const char **bytes, size_t *n, struct err *damage)
{
	uint64_t before = input_bytes(s->in);
	enum input_got got = input_line(s->in, bytes, n, damage);

	s->of->tally->bytes += input_bytes(s->in) - before;
	s->of->tally->too_long += got == INPUT_LONG;
	s->of->tally->lines += got == INPUT_LINE || got == INPUT_LONG;
	s->lines += got == INPUT_LINE || got == INPUT_LONG;
	return got;
}

/* --- a list of objects ---------------------------------------------------- */

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
	f = fact_copy(read);
	if (f == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	s->of->tally->what[LINE_FACT]++;
	keep(s, f);
	return 0;
}

/* Counts an item of a list that contains no fact.  Returns -1 if the command
 * cannot go on. */
static int
count_item(struct source *s, enum snapshot_what what, const char *other)
{
	struct tally *t = s->of->tally;

	if (what == SNAPSHOT_OTHER)
		tally_message(t, other);
	t->what[LINE_OTHER] += what == SNAPSHOT_OTHER;
	t->what[LINE_BROKEN] += what == SNAPSHOT_BROKEN;
	return what == SNAPSHOT_FAILED ? -1 : 0;
}

static int
take_item(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct source *s = ctx;

	if (bytes == NULL) {
		s->of->tally->too_long++;
		return 0;
	}
	return count_item(s, snapshot_item(bytes, n, NULL, take_snapshot, s, e),
			  "(an object that says nothing of machines)");
}

/* Returns whether this line begins a list of objects.  kubectl writes the first
 * brace of a list on a line of its own. */
static bool
begins_list(struct source *s, const char *bytes, size_t n)
{
	return s->lines == 1 && n > 0 && bytes[0] == '{' &&
	       (n == 1 || (n == 2 && bytes[1] == '\r'));
}

/* Takes the next bytes of a list of objects.  If the bytes are damaged, the
 * source ends with a warning.  Returns -1 if the command cannot go on. */
static int
take_piece(struct source *s, const char *bytes, size_t n, struct err *e)
{
	struct err damage = {0};

	if (split_feed(s->items, bytes, n, &damage) == 0 &&
	    split_feed(s->items, "\n", 1, &damage) == 0)
		return 0;
	if (damage.code != ERR_INPUT) {
		*e = damage;
		return -1;
	}
	(void)err_wrap(&damage, "%s", input_name(s->in));
	end(s);
	warn(s, &damage);
	return 0;
}

/* Returns whether the file is a pretty-printed answer of /status. */
static bool
is_status(const struct source *s)
{
	size_t n = 0;
	const char *envelope = split_envelope(s->items, &n);

	return strstr(envelope, "\"HolderStatus\"") != NULL;
}

/* Call this when a file has no more lines. */
static int
end_lines(struct source *s, enum input_got got, struct err *damage,
	  struct err *e)
{
	end(s);
	if (got == INPUT_DAMAGED && input_bytes(s->in) == 0) {
		*e = *damage;
		return -1;
	}
	if (got == INPUT_DAMAGED)
		warn(s, damage);
	return 0;
}

static int
read_list(struct source *s, struct err *e)
{
	struct err damage = {0};
	const char *bytes = NULL;
	size_t n = 0;
	enum input_got got = next_line(s, &bytes, &n, &damage);

	if (got == INPUT_LINE)
		return take_piece(s, bytes, n, e);
	if (got == INPUT_LONG)
		return 0;
	if (got == INPUT_END && is_status(s))
		return err_set(
			e, ERR_INPUT,
			"%s: a holder's /status, expected on one line as "
			"it comes (jq -c . makes it one)",
			input_name(s->in));
	if (got == INPUT_END && split_end(s->items, &damage)) {
		(void)err_wrap(&damage, "%s", input_name(s->in));
		warn(s, &damage);
	}
	return end_lines(s, got, &damage, e);
}

static int
read_lines(struct source *s, struct err *e)
{
	struct err damage = {0};
	const char *bytes = NULL;
	size_t n = 0;
	enum input_got got = next_line(s, &bytes, &n, &damage);

	if (got == INPUT_LINE && begins_list(s, bytes, n)) {
		s->items = split_new(SPLIT_LIST, take_item, s);
		s->read = read_list;
		return s->items == NULL
			       ? err_set(e, ERR_SYSTEM, "out of memory")
			       : take_piece(s, bytes, n, e);
	}
	if (got == INPUT_LINE)
		return take_line(s, bytes, n, e);
	return got == INPUT_LONG ? 0 : end_lines(s, got, &damage, e);
}

/* --- an answer of Prometheus ---------------------------------------------- */

static int
take_series(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct source *s = ctx;

	if (bytes == NULL) {
		s->of->tally->too_long++;
		return 0;
	}
	return count_item(s, matrix_series(s->matrix, bytes, n, e),
			  "(a series that says nothing of machines)");
}

static int
begin_matrix(struct source *s, struct err *e)
{
	if (!input_begins(s->in, "\"matrix\""))
		return err_set(
			e, ERR_INPUT,
			"%s: an answer of Prometheus, expected that of a "
			"range query (/api/v1/query_range, resultType "
			"matrix)",
			input_name(s->in));
	s->matrix = matrix_new();
	s->items = split_new(SPLIT_MATRIX, take_series, s);
	return s->matrix == NULL || s->items == NULL
		       ? err_set(e, ERR_SYSTEM, "out of memory")
		       : 0;
}

/* Takes the n warnings that came with an answer of Prometheus.  `text` is the
 * first of them. */
static void
take_warnings(struct source *s, uint64_t n, const char *text)
{
	struct err said;

	s->of->tally->warnings += n;
	if (n == 0)
		return;
	(void)err_set(&said, ERR_INPUT, "%s: may be partial: %s", name_of(s),
		      text);
	str_cut(s->of->warning, sizeof(s->of->warning), said.text);
	s->of->warns = true;
}

static int
end_matrix(struct source *s, struct err *e)
{
	struct matrix_sums sums;

	if (matrix_end(s->matrix, take_snapshot, s, &sums, e))
		return -1;
	if (sums.to_ms > s->of->ticked_ms)
		s->of->ticked_ms = sums.to_ms;
	if (sums.step_ms > s->of->tally->step_ms)
		s->of->tally->step_ms = sums.step_ms;
	s->of->tally->lost += sums.lost;
	return 0;
}

/* Reads an answer of Prometheus, which is one line of any length. */
static int
read_matrix(struct source *s, struct err *e)
{
	uint64_t before = input_bytes(s->in);
	struct matrix_answer said;
	const char *bytes = NULL;
	struct err damage = {0};
	size_t n = 0;
	enum input_got got = input_piece(s->in, &bytes, &n, &damage);

	s->of->tally->bytes += input_bytes(s->in) - before;
	if (got == INPUT_LINE && split_feed(s->items, bytes, n, &damage) == 0)
		return 0;
	if (got == INPUT_LINE && damage.code != ERR_INPUT) {
		*e = damage;
		return -1;
	}
	end(s);
	s->of->tally->lines++;
	bytes = split_envelope(s->items, &n);
	matrix_answer(bytes, n, &said);
	take_warnings(s, said.warnings, said.text);
	if (got != INPUT_END || split_end(s->items, &damage)) {
		(void)err_wrap(&damage, "%s", input_name(s->in));
		warn(s, &damage);
	}
	return end_matrix(s, e);
}

static int
read_asked(struct source *s, struct err *e)
{
	struct matrix_asked asked;

	s->matrix = matrix_new();
	if (s->matrix == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	if (s->ask(s->ask_ctx, take_series, s, &asked, e))
		return -1;
	end(s);
	s->of->tally->answers += asked.answers;
	s->of->tally->bytes += asked.bytes;
	take_warnings(s, asked.warnings, asked.warning);
	return end_matrix(s, e);
}

/* --- a source ------------------------------------------------------------- */

static int
read_first(struct source *s, struct err *e)
{
	uint64_t before = input_bytes(s->in);
	bool answers = input_begins(s->in, "\"resultType\"");

	s->of->tally->bytes += input_bytes(s->in) - before;
	s->read = answers ? read_matrix : read_lines;
	return answers && begin_matrix(s, e) ? -1 : s->read(s, e);
}

static struct source *
source_new(struct merging *m, int (*read)(struct source *, struct err *),
	   struct err *e)
{
	struct source *s = calloc(1, sizeof(*s));

	if (s != NULL) {
		*s = (struct source){
			.of = m,
			.read = read,
			.newest_ms = STAMP_NONE,
			.line = line_new(),
			.facts = calloc(FACTS_ROOM, sizeof(struct fact *))};
		if (s->line != NULL && s->facts != NULL)
			return s;
	}
	(void)err_set(e, ERR_SYSTEM, "out of memory");
	source_close(s);
	return NULL;
}

struct source *
source_open(const char *name, struct merging *m, struct err *e)
{
	struct source *s = source_new(m, read_first, e);

	if (s == NULL || (s->in = input_open(name, e)) != NULL)
		return s;
	source_close(s);
	return NULL;
}

struct source *
source_ask(matrix_ask_fn *ask, void *ctx, struct merging *m, struct err *e)
{
	struct source *s = source_new(m, read_asked, e);

	if (s != NULL) {
		s->ask = ask;
		s->ask_ctx = ctx;
	}
	return s;
}

int
source_read(struct source *s, struct err *e)
{
	return s->read(s, e);
}

bool
source_ended(const struct source *s)
{
	return s->ended;
}

int64_t
source_newest_ms(const struct source *s)
{
	return s->newest_ms;
}

void
source_close(struct source *s)
{
	if (s == NULL)
		return;
	while (s->n > 0)
		free(source_take(s));
	input_close(s->in);
	line_free(s->line);
	split_free(s->items);
	matrix_free(s->matrix);
	free(s->aside);
	free(s->facts);
	free(s);
}
