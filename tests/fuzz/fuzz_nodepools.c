/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <string.h>

#include "core/base/duration.h"
#include "wire/api/nodepool.h"

static void
check_nodepool(const struct nodepool *p)
{
	PROMISE(p->name[0] != '\0' && p->uid[0] != '\0' && p->rv[0] != '\0');
	PROMISE(p->hold_ms == -1 ||
		(p->hold_ms >= 0 && p->hold_ms <= DURATION_MS_MAX));
	/* A value that cannot be read changes nothing. */
	PROMISE(p->bad[NODEPOOL_ENABLED][0] == '\0' || !p->disabled);
	PROMISE(p->bad[NODEPOOL_HOLD_UNTIL][0] == '\0' ||
		p->hold_until_ms == STAMP_NONE);
	PROMISE(p->bad[NODEPOOL_RELEASED_AT][0] == '\0' ||
		p->released_at_ms == STAMP_NONE);
	PROMISE(p->bad[NODEPOOL_HOLD_DURATION][0] == '\0' || p->hold_ms == -1);
	for (int k = 0; k < NODEPOOL_KEY_COUNT; k++)
		promise_utf8(p->bad[k]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *text = (const char *)data;
	enum watch_type type;
	struct nodepool p;
	struct err e = {0};
	int code = 0;

	if (nodepool_decode(text, n, &p, &e) == 0)
		check_nodepool(&p);
	else
		promise_refused(&e);
	if (nodepool_watch_decode(text, n, &type, &p, &code, &e))
		promise_refused(&e);
	else if (type == WATCH_ERROR)
		PROMISE(code >= 0 && code < 1000);
	else if (type == WATCH_BOOKMARK)
		PROMISE(p.rv[0] != '\0');
	else
		check_nodepool(&p);
	return 0;
}
