/* SPDX-License-Identifier: Apache-2.0 */
#include "book.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "edge/clock.h"
#include "wire/karpenter/record.h"

/* Maximum length of the line for a fact of a NodeClaim or Event. */
#define FACT_BYTES 8192

int
book_init(struct book *b)
{
	*b = (struct book){.n = 0};
	b->early = calloc(RECORD_EARLY_MAX, sizeof(struct fact *));
	if (b->early != NULL && told_init(&b->told, SIMULATE_MACHINES_MAX) == 0)
		return 0;
	free(b->early);
	b->early = NULL;
	return -1;
}

void
book_done(struct book *b)
{
	while (b->n > 0)
		free(b->at[--b->n]);
	free(b->at);
	for (uint32_t i = 0; b->early != NULL && i < RECORD_EARLY_MAX; i++)
		free(b->early[i]);
	free(b->early);
	told_done(&b->told);
}

/* Adds the fact and takes ownership of it.  Fails if f is NULL, which means
 * that the caller had no memory for a copy. */
static int
keep(struct book *b, struct fact *f, struct err *e)
{
	struct fact **more;

	if (f != NULL && b->n == b->room) {
		size_t room = 2 * b->room + 64;

		more = realloc(b->at, room * sizeof(struct fact *));
		if (more != NULL) {
			b->at = more;
			b->room = room;
		}
	}
	if (f == NULL || b->n == b->room) {
		free(f);
		return err_set(e, ERR_SYSTEM, "out of memory");
	}
	if (b->n == 0)
		b->since_ms = clock_boot_ms();
	b->at[b->n++] = f;
	return 0;
}

/* Adds the facts of the Events that came before this NodeClaim was known. */
static int
take_early(struct book *b, const char *claim, struct err *e)
{
	for (uint32_t i = 0; i < RECORD_EARLY_MAX; i++) {
		struct fact *f = b->early[i];

		if (f == NULL || strcmp(told_name(f), claim) != 0)
			continue;
		b->early[i] = NULL;
		if (!told_news(&b->told, f))
			free(f);
		else if (keep(b, f, e))
			return -1;
	}
	return 0;
}

static int
keep_early(struct book *b, const struct fact *f, struct err *e)
{
	struct fact **place = &b->early[b->early_next++ % RECORD_EARLY_MAX];

	free(*place);
	*place = fact_copy(f);
	return *place != NULL ? 0 : err_set(e, ERR_SYSTEM, "out of memory");
}

int
book_take(struct book *b, const struct fact *f, struct err *e)
{
	bool known = told_find(&b->told, told_name(f)) != NO_ID;

	if (!known && told_of_event(f))
		return keep_early(b, f, e);
	if (!known && told_full(&b->told)) {
		b->full = true;
		return 0;
	}
	if (told_news(&b->told, f) && keep(b, fact_copy(f), e))
		return -1;
	return known ? 0 : take_early(b, f->claim, e);
}

static int
keep_going(struct book *b, uint32_t i, int64_t now_ms, struct err *e)
{
	struct fact f;

	told_going(&b->told, i, now_ms, &f);
	return keep(b, fact_copy(&f), e);
}

int
book_gone(struct book *b, const char *claim, int64_t now_ms, struct err *e)
{
	uint32_t i = told_find(&b->told, claim);

	if (i == NO_ID || b->told.at[i].gone)
		return 0;
	return keep_going(b, i, now_ms, e);
}

void
book_listing(struct book *b)
{
	told_begin(&b->told);
}

int
book_listed(struct book *b, int64_t now_ms, struct err *e)
{
	for (uint32_t i = 0; told_gone(&b->told, &i); i++)
		if (keep_going(b, i, now_ms, e))
			return -1;
	return 0;
}

static int
by_time(const void *a, const void *b)
{
	return fact_compare(*(struct fact *const *)a, *(struct fact *const *)b);
}

void
book_begin(struct book *b, struct output *out)
{
	char line[200];
	struct buf head;

	if (b->begun)
		return;
	b->begun = true;
	buf_init(&head, line, sizeof(line));
	record_head(&head);
	output_add(out, head.data, head.len);
}

/* Drops the first n facts, which have been printed. */
static void
drop_first(struct book *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(b->at[i]);
	b->n -= n;
	if (n > 0)
		memmove(b->at, b->at + n, b->n * sizeof(struct fact *));
}

int
book_print(struct book *b, struct output *out, int64_t stall_ms, struct err *e)
{
	char bytes[FACT_BYTES];
	struct buf line;
	size_t i = 0;
	int rc = 0;

	if (b->n > 0)
		qsort(b->at, b->n, sizeof(struct fact *), by_time);
	for (; rc == 0 && i < b->n; i++) {
		buf_init(&line, bytes, sizeof(bytes));
		record_write(&line, b->at[i]);
		if (!line.full)
			output_add(out, line.data, line.len);
		if (output_is_full(out))
			rc = output_wait(out, OUTPUT_WAITING_MAX / 2, stall_ms,
					 e);
	}
	drop_first(b, i);
	return rc != 0 ? -1 : output_wait(out, 0, stall_ms, e);
}

int
book_end(struct book *b, struct output *out, int64_t now_ms, int64_t stall_ms,
	 struct err *e)
{
	char line[200];
	struct buf end;

	book_begin(b, out);
	if (book_print(b, out, stall_ms, e))
		return -1;
	buf_init(&end, line, sizeof(line));
	record_end(&end, now_ms);
	output_add(out, end.data, end.len);
	return output_wait(out, 0, stall_ms, e);
}
