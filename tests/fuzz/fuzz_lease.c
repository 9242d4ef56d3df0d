/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <string.h>

#include "wire/api/lease.h"

static char body[LEASE_BODY_BYTES];

/* Promises that what is written reads back as what was read. */
static void
check_update(const struct lease_record *r)
{
	static struct lease_record again;
	char namespace_name[64];
	struct err e = {0};
	struct buf b;

	buf_init(&b, body, sizeof(body));
	lease_update(&b, r, true, true);
	PROMISE(!b.full);
	PROMISE(lease_item_decode(body, b.len, namespace_name, &again, &e) ==
		0);
	PROMISE(namespace_name[0] == '\0' && !again.state_bad);
	PROMISE(!again.holder_cut && strcmp(again.holder, r->holder) == 0);
	PROMISE(again.duration_s == r->duration_s);
	PROMISE(again.transitions == r->transitions);
	PROMISE(again.acquire_us == r->acquire_us);
	PROMISE(again.renew_us == r->renew_us);
	PROMISE(strcmp(again.rv, r->rv) == 0);
	PROMISE(strcmp(again.state, r->state) == 0);
	PROMISE(strcmp(again.history, r->history) == 0);
}

static void
check_record(const struct lease_record *r)
{
	struct buf b;

	PROMISE(r->present && r->rv[0] != '\0');
	PROMISE(!r->state_bad || r->state[0] == '\0');
	promise_utf8(r->holder);
	promise_utf8(r->state);
	promise_utf8(r->history);
	check_update(r);
	buf_init(&b, body, sizeof(body));
	lease_create(&b, "namespace", "name", r);
	PROMISE(!b.full);
	promise_json(body, b.len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct lease_record r;
	char namespace_name[64];
	struct err e = {0};

	if (lease_item_decode((const char *)data, n, namespace_name, &r, &e)) {
		promise_refused(&e);
		PROMISE(lease_decode((const char *)data, n, false, &r, &e) != 0 ||
			e.code != ERR_NONE);
		return 0;
	}
	check_record(&r);
	if (lease_decode((const char *)data, n, false, &r, &e) == 0)
		check_record(&r);
	else
		promise_refused(&e);
	return 0;
}
