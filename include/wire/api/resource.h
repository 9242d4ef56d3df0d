/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_RESOURCE_H
#define WIRE_API_RESOURCE_H

#include "core/base/buf.h"
#include "core/base/counters.h"
#include "core/base/object.h"

/* Says for each kind where the API server has the objects, and in which form we
 * ask for them.  All of this is constant or pure; any thread may use it. */
struct resource {
	const char *name; /* for logs and metrics */
	/* The path of the list of all objects.  For tickets, which are in one
	 * namespace, the name of the namespace and `rest` follow the path.  For
	 * other kinds `rest` is NULL. */
	const char *path, *rest;
	/* The Accept field for a list, and the Accept field for a watch or a
	 * single object.  NULL: we ask for whole objects as JSON. */
	const char *list_accept, *item_accept;
	/* Each kind has four counters of watch_restarts_total.  This member is
	 * the first of the four, COUNTER_WATCH_…_END. */
	enum counter restarts;
	const char *selector; /* such as "fieldSelector=…", or NULL for all */
};

/* Writes the path of one page of a list.  `cont` is the continue token, or ""
 * for the first page.  namespace_name is the namespace of tickets, and is
 * ignored for other kinds.  PATH_BYTES are enough. */
void resource_list_path(struct buf *b, enum kind kind,
			const char *namespace_name, unsigned limit,
			const char *cont);
/* Writes only the end of the path of a list, from "limit=" on. */
void resource_list_query(struct buf *b, unsigned limit, const char *cont);
/* Appends text to a query.  All bytes but the unreserved characters of RFC 3986
 * §2.3 are escaped as %XX. */
void resource_query_text(struct buf *b, const char *text);
/* Writes the path of a watch that begins after the resourceVersion rv.
 * WATCH_PATH_BYTES are enough. */
void resource_watch_path(struct buf *b, enum kind kind,
			 const char *namespace_name, int timeout_s,
			 const char *rv);

#define PATH_BYTES (3 * CONTINUE_BYTES + NAME_BYTES + 500)
#define WATCH_PATH_BYTES (3 * RV_BYTES + 600)

/* Indexed by enum kind.  Nodes come as metadata only.  The other kinds come
 * whole, because we need more of them, such as the conditions of a NodeClaim.
 */
extern const struct resource resources[VIEW_COUNT];

#define ACCEPT_METADATA                                                        \
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"        \
	"application/json"
#define ACCEPT_METADATA_LIST                                                   \
	"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"    \
	"application/json"

#endif
