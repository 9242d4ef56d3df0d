/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "wire/api/split.h"
#include "wire/karpenter/line.h"
#include "wire/karpenter/matrix.h"
#include "wire/karpenter/record.h"

static int
take_series(void *ctx, const char *bytes, size_t n, struct err *e)
{
	PROMISE(bytes != NULL);
	PROMISE(matrix_series(ctx, bytes, n, e) != SNAPSHOT_FAILED);
	return 0;
}

/* Promises that the fact reads back from a record. */
static int
check_fact(void *ctx, const struct fact *f, struct err *e)
{
	size_t room = (f->nodes_n + 2) * 12 * NAME_BYTES + 4096;
	char *text = malloc(room);
	struct fact *kept = fact_copy(f), again;
	struct line *l = line_new();
	const char *message;
	struct buf b;

	*(uint64_t *)ctx += (uint64_t)f->at_ms * 31 + f->kind + f->nodes_n + 1;
	(void)e;
	if (text == NULL || kept == NULL || l == NULL)
		abort();
	PROMISE(f->at_ms >= 0 && f->at_ms <= 253402300799000);
	buf_init(&b, text, room);
	record_write(&b, kept);
	PROMISE(!b.full);
	promise_json(text, b.len - 1);
	PROMISE(line_read(l, text, b.len - 1, &again, &message) == LINE_FACT);
	PROMISE(fact_compare(kept, &again) == 0);
	line_free(l);
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
