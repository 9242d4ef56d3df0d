/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api/event.h"

#include "core/base/stamp.h"
#include "core/base/str.h"
#include "core/base/utf8.h"
#include "wire/json/json_printf.h"

/* Cuts s after a whole character, to at most cap - 1 bytes.  kubectl prints the
 * text as it is, so a character that could control a terminal becomes '?'.  The
 * text must not get longer by this, because Kubernetes limits its bytes. */
static const char *
shown(const char *s, size_t cap, char *out)
{
	str_cut(out, cap, s);
	utf8_make_shown(out);
	return out;
}

static bool
is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Returns whether the name is a DNS-1123 subdomain, as every NodePool's name
 * is.  The Event's name begins with the NodePool's name, and the API server
 * refuses an Event with a bad name. */
static bool
is_name(const char *s)
{
	char before = '.';

	for (; *s != '\0'; before = *s++)
		if (!is_alnum(*s) &&
		    ((*s != '-' && *s != '.') || before == '.' ||
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
	char last[STAMP_US_BYTES];

	stamp_format_us(last_us, last);
	json_printf(b, ",'series':{'count':%u,'lastObservedTime':%s}", count,
		    last);
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
	char first[STAMP_US_BYTES], who[EVENT_INSTANCE_BYTES];
	char action[EVENT_SERIES_ACTION_BYTES], note[EVENT_SERIES_NOTE_BYTES];
	char nodepool[NODEPOOL_BYTES], uid[UID_BYTES];

	stamp_format_us(v->first_us, first);
	if (instance[0] == '\0')
		instance = "karpenter-node-holder";
	json_printf(b, "{'apiVersion':'events.k8s.io/v1','kind':'Event',"
		       "'metadata':{'namespace':'default','name':'");
	put_name(b, v);
	json_printf(b, "'},'eventTime':%s", first);
	if (v->count >= 2)
		put_series(b, v->count, v->last_us);
	json_printf(b,
		    ",'reportingController':'" EVENT_CONTROLLER "',"
		    "'reportingInstance':%s,'action':%s,'reason':%s,'type':%s,"
		    "'note':%s,'regarding':{'apiVersion':'karpenter.sh/v1',"
		    "'kind':'NodePool','name':%s,'uid':%s}}",
		    shown(instance, sizeof(who), who),
		    shown(v->action, sizeof(action), action),
		    event_series_reason_name(v->reason),
		    event_series_reason_type(v->reason),
		    shown(v->note, sizeof(note), note),
		    shown(v->nodepool, sizeof(nodepool), nodepool),
		    shown(v->nodepool_uid, sizeof(uid), uid));
}
