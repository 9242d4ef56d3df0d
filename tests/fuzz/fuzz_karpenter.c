/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "wire/karpenter/reader.h"
#include "wire/karpenter/record.h"
#include "wire/karpenter/snapshot.h"

static void
check_text(const char *text, size_t max)
{
	PROMISE(strlen(text) < max);
	promise_utf8(text);
}

static int
check_again(void *ctx, const struct reader_item *item, struct err *e)
{
	struct fact **kept = ctx;

	(void)e;
	PROMISE(item->what == READ_FACT && *kept != NULL);
	PROMISE(fact_compare(*kept, item->fact) == 0);
	free(*kept);
	*kept = NULL;
	return 0;
}

/* Promises that what is written of the fact reads back as the fact. */
static void
check_record(const struct fact *f)
{
	size_t room = (f->nodes_n + 2) * 12 * NAME_BYTES + 4096, used;
	char *text = malloc(room);
	struct fact *kept = fact_copy(f);
	struct reader *r = reader_new(check_again, &kept);
	struct err e = {0};
	struct buf b;

	if (text == NULL || kept == NULL || r == NULL)
		abort();
	buf_init(&b, text, room);
	record_write(&b, kept);
	PROMISE(!b.full);
	promise_json(text, b.len - 1);
	PROMISE(reader_step(r, text, b.len, READER_LAST, &used, &e) == 0);
	PROMISE(used == b.len && kept == NULL);
	reader_free(r);
	free(text);
}

static void
check_fact(const struct fact *f)
{
	check_text(f->claim, NAME_BYTES);
	check_text(f->node, NAME_BYTES);
	check_text(f->pool, NODEPOOL_BYTES);
	check_text(f->action, NODEPOOL_BYTES);
	check_text(f->reason, NODEPOOL_BYTES);
	PROMISE(f->pods >= -1 && f->savings >= -1);
	PROMISE(f->kind < FACT_COUNT && f->maker < MAKER_COUNT);
	PROMISE((f->kind == FACT_DECIDED) == (f->nodes_n > 0));
	for (size_t i = 0; i < f->nodes_n; i++) {
		check_text(f->nodes[i].node, NAME_BYTES);
		check_text(f->nodes[i].claim, NAME_BYTES);
		PROMISE(f->nodes[i].node[0] != '\0' ||
			f->nodes[i].claim[0] != '\0');
	}
	check_record(f);
}

static int
check_snapshot(void *ctx, const struct fact *f, struct err *e)
{
	(void)ctx;
	(void)e;
	check_fact(f);
	return 0;
}

static int
check_item(void *ctx, const struct reader_item *item, struct err *e)
{
	uint64_t *sum = ctx;

	(void)e;
	PROMISE(item->what < READ_WHATS);
	promise_utf8(item->message);
	if (item->fact != NULL)
		check_fact(item->fact);
	PROMISE((item->fact != NULL) ==
		(item->what == READ_FACT || item->what == READ_OBJECT));
	PROMISE((item->value != NULL) ==
		(item->what == READ_SERIES || item->what == READ_ANSWER));
	*sum = *sum * 31 + item->what +
	       (uint64_t)(item->fact != NULL ? item->fact->at_ms : 0);
	return 0;
}

/* Reads the input through windows that grow by so many bytes, and returns a sum
 * of what was found. */
static uint64_t
read_in(const char *bytes, size_t n, size_t by)
{
	uint64_t sum = 0;
	struct reader *r = reader_new(check_item, &sum);
	size_t shown = 0, used;
	struct err e = {0};
	bool cut;

	if (r == NULL)
		abort();
	while (n > 0) {
		char *copy; /* of its exact size */

		shown = n - shown > by ? shown + by : n;
		copy = malloc(shown);
		if (copy == NULL)
			abort();
		memcpy(copy, bytes, shown);
		PROMISE(reader_step(r, copy, shown,
				    shown < n ? READER_MORE : READER_LAST,
				    &used, &e) == 0);
		PROMISE(used <= shown && (used > 0 || shown < n));
		free(copy);
		bytes += used;
		n -= used;
		shown -= used;
	}
	PROMISE(reader_end(r, &cut, &e) == 0);
	reader_free(r);
	return sum;
}

/* The input is a log in any form; and an item of kubectl's list. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *p = (const char *)data;

	PROMISE(snapshot_item(p, n, NULL, check_snapshot, NULL, NULL) !=
		SNAPSHOT_FAILED);
	PROMISE(snapshot_item(p, n, "Event", check_snapshot, NULL, NULL) !=
		SNAPSHOT_FAILED);
	/* What is found does not depend on how the stream comes. */
	PROMISE(read_in(p, n, n + 1) == read_in(p, n, n / 7 + 1));
	return 0;
}
