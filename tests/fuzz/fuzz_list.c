/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "wire/api/pager.h"
#include "wire/api/resource.h"
#include "wire/api/split.h"

/* What came of a stream, as a sum over all items and their lengths. */
struct outcome {
	uint64_t sum;
	size_t item_max;
	size_t items, discarded, envelope;
	int failed;
	enum err_code code;
};

static uint64_t
sum_add(uint64_t sum, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum = (sum ^ (uint8_t)p[i]) * UINT64_C(0x100000001b3);
	return (sum ^ n) * UINT64_C(0x100000001b3);
}

static int
note_item(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct outcome *o = ctx;

	(void)e;
	PROMISE(n > 0);
	if (n > o->item_max) {
		o->sum = sum_add(o->sum, bytes, o->item_max) ^ n;
		o->discarded++;
		return 0;
	}
	o->sum = sum_add(o->sum, bytes, n);
	o->items++;
	return 0;
}

/* Feeds the stream in pieces of `step`, each in memory of its own. */
static struct outcome
run(enum split_mode mode, size_t item_max, const uint8_t *data, size_t n,
    size_t step)
{
	struct outcome o = {.item_max = item_max};
	struct split *s = split_new_bounded(mode, item_max, note_item, &o);
	struct err e = {0};
	const char *env;

	for (size_t at = 0; at < n && !o.failed; at += step) {
		size_t len = n - at < step ? n - at : step;
		char *piece = malloc(len);

		memcpy(piece, data + at, len);
		o.failed = split_feed(s, piece, len, &e);
		free(piece);
	}
	if (!o.failed)
		o.failed = split_end(s, &e);
	o.code = e.code;
	env = split_envelope(s, &o.envelope);
	PROMISE(env[o.envelope] == '\0');
	if (!o.failed)
		o.sum = sum_add(o.sum, env, o.envelope);
	split_free(s);
	return o;
}

static int
pass(void *ctx, const char *bytes, size_t n, struct err *e)
{
	(void)ctx, (void)bytes, (void)n, (void)e;
	return 0;
}

/* The same bytes as one page of a list after another, until the last. */
static void
turn_pages(const char *bytes, size_t n)
{
	char path[PATH_BYTES];
	struct pager p;
	struct err e = {0};
	struct buf b;

	pager_init(&p, 500, 0, LIST_WHOLE_MS);
	do {
		if (pager_page(&p, bytes, n, pass, NULL, 0, &e)) {
			PROMISE(e.code == ERR_INPUT || e.code == ERR_LIMIT ||
				e.code == ERR_CUT);
			PROMISE(pager_streams(&p, &e) == p.streams);
			pager_drop(&p);
			return;
		}
		PROMISE(p.rv[0] != '\0' && p.pages <= LIST_PAGES_MAX);
		for (int k = 0; k < VIEW_COUNT; k++) {
			buf_init(&b, path, sizeof(path));
			resource_list_path(&b, (enum kind)k, "tickets",
					   p.limit, p.cont);
			PROMISE(!b.full);
			PROMISE(strpbrk(path, " \r\n#") == NULL);
			buf_init(&b, path, sizeof(path));
			resource_watch_path(&b, (enum kind)k, "tickets",
					    300, p.rv);
			PROMISE(!b.full);
			PROMISE(strpbrk(path, " \r\n#") == NULL);
		}
		/* The bound on pages costs time: only short lists meet it. */
	} while (p.cont[0] != '\0' && (n < 100 || p.pages < 3));
	if (pager_restart(&p, 0, &e))
		PROMISE(e.code == ERR_LIMIT);
	pager_drop(&p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct outcome whole, cut;
	enum split_mode mode;
	size_t step;

	if (n < 2)
		return 0;
	mode = data[0] & 1 ? SPLIT_LINES
	       : data[0] >= 0xf0 ? SPLIT_MATRIX
				 : SPLIT_LIST;
	step = (data[0] >> 1) + 1u;
	turn_pages((const char *)data + 1, n - 1);
	/* Bounds of 8, 16 … 1024 bytes; the last bits of the stream choose. */
	for (size_t max = 8u << (data[n - 1] & 7);; max = ITEM_BYTES_MAX) {
		whole = run(mode, max, data + 1, n - 1, n);
		cut = run(mode, max, data + 1, n - 1, step);
		PROMISE(whole.failed == cut.failed && whole.code == cut.code);
		PROMISE(whole.items == cut.items && whole.sum == cut.sum);
		PROMISE(whole.discarded == cut.discarded);
		if (max == ITEM_BYTES_MAX)
			return 0;
	}
}
