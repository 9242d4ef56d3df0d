/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <string.h>

#include "wire/api/disruption_event.h"
#include "wire/api/event.h"

static void
check_read(const struct disruption_event *v)
{
	PROMISE(v->rv[0] != '\0');
	if (!v->replacement)
		return;
	PROMISE(v->claim_uid[0] != '\0' && v->reason[0] != '\0');
	PROMISE(strpbrk(v->reason, " \n\"\\") == NULL);
	promise_utf8(v->claim_name);
}

static void
read_event(const char *text, size_t n)
{
	struct disruption_event v;
	enum watch_type type;
	struct err e = {0};
	int code = 0;

	if (disruption_event_decode(text, n, &v, &e) == 0)
		check_read(&v);
	else
		promise_refused(&e);
	if (disruption_event_watch_decode(text, n, &type, &v, &code, &e))
		promise_refused(&e);
	else if (type == WATCH_ERROR)
		PROMISE(code >= 0 && code < 1000);
	else if (type == WATCH_BOOKMARK)
		PROMISE(v.rv[0] != '\0');
	else
		check_read(&v);
}

/* Takes the next line of *at as a text of fewer than cap bytes. */
static void
take(const char **at, const char *end, char *out, size_t cap)
{
	size_t n = 0;

	for (; *at < end && **at != '\n' && **at != '\0'; (*at)++)
		if (n + 1 < cap)
			out[n++] = **at;
	out[n] = '\0';
	*at += *at < end;
}

/* What we write, from texts that are no better than the input's lines. */
static void
write_event(const char *text, size_t n)
{
	static struct event_series_event v;
	static char body[EVENT_BYTES];
	char path[EVENT_PATH_BYTES], instance[256];
	const char *at = text, *end = text + n;
	struct buf b;

	v = (struct event_series_event){
		.first_us = (int64_t)(n * UINT64_C(0x9e3779b97f4a7c15) >> 8),
		.last_us = (int64_t)n,
		.count = 2,
		.reason = (enum event_reason)(n % 2),
	};
	take(&at, end, v.nodepool, sizeof(v.nodepool));
	take(&at, end, v.nodepool_uid, sizeof(v.nodepool_uid));
	take(&at, end, v.action, sizeof(v.action));
	take(&at, end, instance, sizeof(instance));
	take(&at, end, v.note, sizeof(v.note));
	buf_init(&b, body, sizeof(body));
	event_create(&b, &v, instance);
	PROMISE(!b.full);
	promise_json(body, b.len);
	buf_init(&b, body, sizeof(body));
	event_series(&b, v.count, v.last_us);
	promise_json(body, b.len);
	buf_init(&b, path, sizeof(path));
	event_path(&b, &v);
	PROMISE(!b.full);
	PROMISE(strpbrk(path, " \r\n?#%") == NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	read_event((const char *)data, n);
	write_event((const char *)data, n);
	return 0;
}
