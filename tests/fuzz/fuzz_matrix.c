/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "wire/api/split.h"
#include "wire/karpenter/matrix.h"
#include "wire/karpenter/reader.h"
#include "wire/karpenter/record.h"

static int
take_series(void *ctx, const char *bytes, size_t n, struct err *e)
{
	PROMISE(bytes != NULL);
	PROMISE(matrix_series(ctx, bytes, n, e) != SNAPSHOT_FAILED);
	return 0;
}

static int
check_again(void *ctx, const struct reader_item *item, struct err *e)
{
	(void)e;
	PROMISE(item->what == READ_FACT);
	PROMISE(fact_compare(ctx, item->fact) == 0);
	return 0;
}

/* Promises that the fact reads back from a record. */
static int
check_fact(void *ctx, const struct fact *f, struct err *e)
{
	size_t room = (f->nodes_n + 2) * 12 * NAME_BYTES + 4096, used;
	char *text = malloc(room);
	struct fact *kept = fact_copy(f);
	struct reader *r = reader_new(check_again, kept);
	struct buf b;

	*(uint64_t *)ctx += (uint64_t)f->at_ms * 31 + f->kind + f->nodes_n + 1;
	if (text == NULL || kept == NULL || r == NULL)
		abort();
	PROMISE(f->at_ms >= 0 && f->at_ms <= 253402300799000);
	buf_init(&b, text, room);
	record_write(&b, kept);
	PROMISE(!b.full);
	promise_json(text, b.len - 1);
	PROMISE(reader_step(r, text, b.len, READER_LAST, &used, e) == 0);
	PROMISE(used == b.len);
	reader_free(r);
	free(kept);
	free(text);
	return 0;
}

static void
feed(struct matrix *m, const char *data, size_t n)
{
	struct split *s = split_new(SPLIT_MATRIX, take_series, m);
	struct err e = {0};

	if (s == NULL)
		abort();
	if (split_feed(s, data, n, &e))
		promise_refused(&e);
	split_free(s);
}

/* Returns what sums up the facts of an answer that has come so many times. */
static uint64_t
facts_of(const char *data, size_t n, int times)
{
	struct matrix *m = matrix_new();
	struct matrix_sums sums;
	uint64_t facts = 0;
	struct err e = {0};

	if (m == NULL)
		abort();
	while (times-- > 0)
		feed(m, data, n);
	PROMISE(matrix_end(m, check_fact, &facts, &sums, &e) == 0);
	PROMISE((sums.from_ms == STAMP_NONE) == (sums.to_ms == STAMP_NONE));
	PROMISE(sums.step_ms >= 0 && sums.from_ms <= sums.to_ms);
	matrix_free(m);
	return facts;
}

/* The input is an answer of Prometheus.  What comes twice counts once. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *text = (const char *)data;
	struct matrix_answer said;

	PROMISE(facts_of(text, n, 1) == facts_of(text, n, 2));
	matrix_answer(text, n, &said);
	PROMISE(memchr(said.text, '\0', sizeof(said.text)) != NULL);
	return 0;
}
