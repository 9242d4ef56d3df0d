/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api/event.h"

#include "core/base/stamp.h"
#include "core/base/utf8.h"

static void
put_time(struct buf *b, int64_t us)
{
	char text[STAMP_US_BYTES];

	stamp_format_us(us, text);
	buf_printf(b, "\"%s\"", text);
}

/* Writes whole characters of cap - 1 bytes at most.  What a terminal does not
 * show becomes '?', because kubectl prints it as it is.  Kubernetes counts the
 * bytes that it reads, so it must not become something longer. */
static void
put_text(struct buf *b, const char *s, size_t cap)
{
	char text[EVENT_SERIES_NOTE_BYTES];

	str_cut(text, cap < sizeof(text) ? cap : sizeof(text), s);
	utf8_make_shown(text);
	buf_json(b, text);
}

static bool
is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Is this a DNS-1123 subdomain, as the name of every NodePool is?  The Event's
 * name begins with it.  The API server would refuse a bad name, and the Event
 * would be lost. */
static bool
is_name(const char *s)
{
	char before = '.';

	for (; *s != '\0'; before = *s++)
		if (!is_alnum(*s) && ((*s != '-' && *s != '.') ||
				      before == '.' ||
				      (*s == '.' && before == '-')))
			return false;
	return is_alnum(before);
}

static void
put_name(struct buf *b, const struct event_series_event *v)
{
	buf_puts(b, is_name(v->nodepool) ? v->nodepool : "nodepool");
	buf_printf(b, ".%llx", (unsigned long long)v->first_us);
}

static void
put_series(struct buf *b, unsigned count, int64_t last_us)
{
	buf_printf(b, "\"series\":{\"count\":%u,\"lastObservedTime\":", count);
	put_time(b, last_us);
	buf_puts(b, "}");
}

void
event_path(struct buf *b, const struct event_series_event *v)
{
	buf_puts(b, EVENT_PATH "/");
	put_name(b, v);
}

void
event_series(struct buf *b, unsigned count, int64_t last_us)
{
	buf_puts(b, "{");
	put_series(b, count, last_us);
	buf_puts(b, "}");
}

void
event_create(struct buf *b, const struct event_series_event *v,
	     const char *instance)
{
	buf_puts(b, "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\","
		    "\"metadata\":{\"namespace\":\"default\",\"name\":\"");
	put_name(b, v);

	buf_puts(b, "\"},\"eventTime\":");
	put_time(b, v->first_us);
	buf_puts(b, ",");
	if (v->count >= 2) {
		put_series(b, v->count, v->last_us);
		buf_puts(b, ",");
	}

	buf_puts(b, "\"reportingController\":\"" EVENT_CONTROLLER "\","
		    "\"reportingInstance\":");
	put_text(b, instance[0] != '\0' ? instance : "karpenter-node-holder",
		 EVENT_INSTANCE_BYTES);

	buf_puts(b, ",\"action\":");
	put_text(b, v->action, EVENT_SERIES_ACTION_BYTES);
	buf_printf(b, ",\"reason\":\"%s\",\"type\":\"%s\",\"note\":",
		   event_reason_name(v->reason), event_reason_type(v->reason));
	put_text(b, v->note, EVENT_SERIES_NOTE_BYTES);

	buf_puts(b, ",\"regarding\":{\"apiVersion\":\"karpenter.sh/v1\","
		    "\"kind\":\"NodePool\",\"name\":");
	put_text(b, v->nodepool, NODEPOOL_BYTES);
	buf_puts(b, ",\"uid\":");
	put_text(b, v->nodepool_uid, UID_BYTES);
	buf_puts(b, "}}");
}
