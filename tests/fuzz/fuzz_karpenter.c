/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "wire/karpenter/line.h"
#include "wire/karpenter/record.h"
#include "wire/karpenter/snapshot.h"

static void
check_text(const char *text, size_t max)
{
	PROMISE(strlen(text) < max);
	promise_utf8(text);
}

/* Promises that what is written of the fact reads back as the fact. */
static void
check_record(const struct fact *f)
{
	size_t room = (f->nodes_n + 2) * 12 * NAME_BYTES + 4096;
	char *text = malloc(room);
	struct fact *kept = fact_copy(f), again;
	struct line *l = line_new();
	const char *message;
	struct buf b;

	if (text == NULL || kept == NULL || l == NULL)
		abort();
	buf_init(&b, text, room);
	record_write(&b, kept);
	PROMISE(!b.full);
	promise_json(text, b.len - 1);
	PROMISE(line_read(l, text, b.len - 1, &again, &message) == LINE_FACT);
	PROMISE(fact_compare(kept, &again) == 0);
	line_free(l);
	free(kept);
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

/* The input is a log; and an item of kubectl's list. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *p = (const char *)data, *end = p + n;
	struct line *l = line_new();

	if (l == NULL)
		abort();
	PROMISE(snapshot_item(p, n, NULL, check_snapshot, NULL, NULL) !=
		SNAPSHOT_FAILED);
	PROMISE(snapshot_item(p, n, "Event", check_snapshot, NULL, NULL) !=
		SNAPSHOT_FAILED);
	while (p < end) {
		const char *next = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((next == NULL ? end : next) - p);
		char *copy = malloc(len + 1);	/* of its exact size */
		const char *message = NULL;
		struct fact f;
		enum line_what what;

		if (copy == NULL)
			abort();
		memcpy(copy, p, len);
		what = line_read(l, copy, len, &f, &message);
		PROMISE(what < LINE_WHATS);
		if (what == LINE_FACT)
			do
				check_fact(&f);
			while (line_more(l, &f));
		if (what == LINE_OTHER || what == LINE_INCOMPLETE ||
		    what == LINE_REFUSED || what == LINE_VERSION)
			promise_utf8(message);
		if (what == LINE_FACT || what == LINE_OTHER ||
		    what == LINE_BARE || what == LINE_UNTIL)
			(void)line_time(l);
		free(copy);
		p += len + 1;
	}
	line_free(l);
	return 0;
}
