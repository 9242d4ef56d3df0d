/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_NODEPOOL_H
#define WIRE_API_NODEPOOL_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/base/nodepool.h"
#include "wire/api/watch.h"

/*
 * Decodes NodePools and their watch lines to struct nodepool.  The API server
 * sends whole NodePools (karpenter.sh/v1), or PartialObjectMetadata in the
 * fresh list that is made before a release.  The functions keep no state; any
 * thread may call them.
 */
#define NODEPOOLS_PATH "/apis/karpenter.sh/v1/nodepools"

/* Decodes one item of a list.  ERR_INPUT names what is wrong, such as a missing
 * uid, a name over its bound, or annotations that are no strings.  An
 * annotation of ours with a bad value is no error; out->bad has the value. */
int nodepool_decode(const char *bytes, size_t n, struct nodepool *out,
		    struct err *e);

/* Decodes one watch line, as object_watch_decode does.  For WATCH_BOOKMARK only
 * out->rv is set.  For WATCH_ERROR it also returns 0; it sets *status_code and
 * *e, and leaves *out untouched. */
int nodepool_watch_decode(const char *bytes, size_t n, enum watch_type *type,
			  struct nodepool *out, int *status_code,
			  struct err *e);

/* Decodes only the metadata of a NodePool that these functions have refused, as
 * object_unread_decode does.  Sets out->unread. */
int nodepool_unread_decode(const char *bytes, size_t n, enum watch_type *type,
			   struct nodepool *out);

#endif
