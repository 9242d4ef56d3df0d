/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "wire/api/list.h"
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

	(void)ctx;
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

/* The input is an answer of Prometheus. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct matrix *m = matrix_new();
	struct split *s = split_new(SPLIT_MATRIX, take_series, m);
	struct matrix_sums sums;
	struct err e = {0};

	if (m == NULL || s == NULL)
		abort();
	if (split_feed(s, (const char *)data, n, &e))
		promise_refused(&e);
	PROMISE(matrix_end(m, check_fact, NULL, &sums, &e) == 0);
	PROMISE((sums.from_ms == STAMP_NONE) == (sums.to_ms == STAMP_NONE));
	PROMISE(sums.step_ms >= 0 && sums.from_ms <= sums.to_ms);
	split_free(s);
	matrix_free(m);
	return 0;
}
