/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_EVENT_H
#define WIRE_API_EVENT_H

#include <stdint.h>

#include "core/base/buf.h"
#include "core/protocol/event_series.h"

/*
 * Encodes the Events that we write, as events.k8s.io/v1 (k8s.io/api/events/v1
 * types.go).  The bounds are those of Kubernetes
 * pkg/apis/core/validation/events.go.  The Events are in the namespace
 * `default`, because a NodePool has no namespace.  The deprecated fields are
 * left out.  The functions append to b, keep no state, and may be called by any
 * thread.
 */
#define EVENT_BYTES 16384 /* any body fits, even with every byte escaped */
#define EVENT_PATH "/apis/events.k8s.io/v1/namespaces/default/events"
#define EVENT_PATH_BYTES 384 /* for EVENT_PATH, '/' and 253 bytes of name */
#define EVENT_CONTROLLER "karpenter-node-holder.io/karpenter-node-holder"
#define EVENT_INSTANCE_BYTES 129 /* Kubernetes allows 128 bytes */

/* Writes the body of a POST to EVENT_PATH.  `instance` is this replica's name,
 * which is cut if it is longer than Kubernetes accepts. */
void event_create(struct buf *b, const struct event_series_event *v,
		  const char *instance);

/* Writes the path of the Event that event_create creates:
 * EVENT_PATH/<nodepool>.<first_us in hex>. */
void event_path(struct buf *b, const struct event_series_event *v);

/* Writes the merge patch (RFC 7396) that turns the Event into a series, or
 * updates its series.  count must be at least 2; otherwise Kubernetes refuses
 * the patch. */
void event_series(struct buf *b, unsigned count, int64_t last_us);

#endif
