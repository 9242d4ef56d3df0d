/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_RESOURCE_H
#define WIRE_API_RESOURCE_H

#include "core/base/buf.h"
#include "core/base/counters.h"
#include "core/base/object.h"

/* The API server's path of each kind, and the form in which we ask for it.  All
 * of this is constant or pure; any thread may use it. */
struct resource {
	const char *name; /* for logs and metrics */
	const char *path;
	const char *list_accept, *item_accept; /* NULL: all types */
	enum counter restarts; /* the first of the four counters of
				   watch_restarts_total: COUNTER_WATCH_…_END */
	const char *selector; /* such as "fieldSelector=…", or NULL for all */
};

/* Writes the path of one page of a list; cont: "" for the first.  PATH_BYTES
 * are enough. */
void resource_list_path(struct buf *b, enum kind kind, unsigned limit,
			const char *cont);
/* Writes the end of such a path, from "limit=" on. */
void resource_list_query(struct buf *b, unsigned limit, const char *cont);
/* Appends text with everything escaped that may not stand in a query (RFC 3986
 * §2.3). */
void resource_query_text(struct buf *b, const char *text);
/* Writes the path of a watch from rv on.  WATCH_PATH_BYTES are enough. */
void resource_watch_path(struct buf *b, enum kind kind, int timeout_s,
			 const char *rv);

#define PATH_BYTES (3 * CONTINUE_BYTES + NAME_BYTES + 500)
#define WATCH_PATH_BYTES (3 * RV_BYTES + 600)

/* By enum kind.  All kinds but two come as metadata only: NodeClaims come whole
 * because of their conditions, and so do Events. */
extern const struct resource resources[VIEW_COUNT];

#define ACCEPT_METADATA                                                        \
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"        \
	"application/json"
#define ACCEPT_METADATA_LIST                                                   \
	"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"    \
	"application/json"

#endif
