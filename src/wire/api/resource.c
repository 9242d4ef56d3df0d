/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api/resource.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "wire/api/disruption_event.h"
#include "wire/api/nodepool.h"

const struct resource resources[VIEW_COUNT] = {
	[KIND_NODE] = {"nodes", "/api/v1/nodes", NULL, ACCEPT_METADATA_LIST,
		       ACCEPT_METADATA, COUNTER_WATCH_NODES_END, NULL},
	[KIND_NODECLAIM] = {"nodeclaims", "/apis/karpenter.sh/v1/nodeclaims",
			    NULL, NULL, NULL, COUNTER_WATCH_CLAIMS_END, NULL},
	[KIND_NODEPOOL] = {"nodepools", NODEPOOLS_PATH, NULL, NULL, NULL,
			   COUNTER_WATCH_NODEPOOLS_END, NULL},
	[KIND_EVENT] = {"events", DISRUPTION_EVENTS_PATH, NULL, NULL, NULL,
			COUNTER_WATCH_EVENTS_END, DISRUPTION_EVENTS_SELECTOR},
	[KIND_TICKET] = {"tickets", "/apis/coordination.k8s.io/v1/namespaces/",
			 "/leases", NULL, NULL, COUNTER_WATCH_TICKETS_END,
			 NULL},
};

void
resource_query_text(struct buf *b, const char *text)
{
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x80 && (isalnum(c) || strchr("-._~", c) != NULL))
			buf_printf(b, "%c", c);
		else
			buf_printf(b, "%%%02X", c);
	}
}

/* Writes the path and the selector.  Further parameters may follow. */
static void
resource_path(struct buf *b, enum kind kind, const char *namespace_name)
{
	const struct resource *r = &resources[kind];

	buf_puts(b, r->path);
	if (r->rest != NULL)
		buf_printf(b, "%s%s", namespace_name, r->rest);
	buf_puts(b, "?");
	if (r->selector != NULL)
		buf_printf(b, "%s&", r->selector);
}

void
resource_list_path(struct buf *b, enum kind kind, const char *namespace_name,
		   unsigned limit, const char *cont)
{
	resource_path(b, kind, namespace_name);
	resource_list_query(b, limit, cont);
}

void
resource_list_query(struct buf *b, unsigned limit, const char *cont)
{
	buf_printf(b, "limit=%u", limit);
	if (cont[0] == '\0')
		return;
	buf_puts(b, "&continue=");
	resource_query_text(b, cont);
}

void
resource_watch_path(struct buf *b, enum kind kind, const char *namespace_name,
		    int timeout_s, const char *rv)
{
	resource_path(b, kind, namespace_name);
	buf_printf(b,
		   "watch=1&allowWatchBookmarks=true&timeoutSeconds=%d"
		   "&resourceVersion=",
		   timeout_s);
	resource_query_text(b, rv);
}
