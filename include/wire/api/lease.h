/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_LEASE_H
#define WIRE_API_LEASE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/object.h"
#include "core/protocol/lease.h"
#include "wire/api/patch.h"

/*
 * Decodes and encodes the Lease of coordination.k8s.io/v1
 * (k8s.io/api/coordination/v1 types.go) for core/protocol/lease.  The functions
 * keep no state; any thread may call them.
 *
 *	GET	LEASE_ITEM_PATH
 *	CREATE	POST LEASE_PATH, LEASE_CREATE_TYPE, lease_create
 *	UPDATE	PATCH LEASE_ITEM_PATH, LEASE_UPDATE_TYPE, lease_update
 *
 * Each is answered with the whole object, for lease_decode.  client-go updates
 * the whole object that it has read; we patch it at its resourceVersion.  The
 * API server answers 409 to both if the object has changed, and both keep the
 * fields of others.  The rights needed are get, create and patch on leases.
 */
#define LEASE_PATH "/apis/coordination.k8s.io/v1/namespaces/%s/leases"
#define LEASE_ITEM_PATH LEASE_PATH "/%s" /* namespace, name */
#define LEASE_CREATE_TYPE "application/json"
#define LEASE_UPDATE_TYPE PATCH_MERGE_TYPE
#define LEASE_STATE_KEY OWN_PREFIX "state"
#define LEASE_OBSERVED_KEY OWN_PREFIX "observed-state"
#define LEASE_HISTORY_KEY                                                      \
	OWN_PREFIX "history" /* either mode writes it; the
						   text says which did */

/* Enough for either body, even if every byte is escaped as \u00XX. */
#define LEASE_BODY_BYTES                                                       \
	(6 * (LEASE_STATE_BYTES + LEASE_HISTORY_BYTES + LEASE_HOLDER_BYTES +   \
	      2 * NAME_BYTES) +                                                \
	 1024)

/* Decodes a Lease in an answer of the API server.  observes: read the state of
 * MODE_OBSERVE.  Missing and null fields become zero, as in client-go.
 * ERR_INPUT: it is no Lease, or a field has a wrong type, which the API server
 * never stores.  A state that cannot be read is no error, but sets
 * out->state_bad.  A history that cannot be read counts as "". */
int lease_decode(const char *bytes, size_t n, bool observes,
		 struct lease_record *out, struct err *e);

/* Decodes one item of a list, which has no `kind`, and copies its namespace (""
 * if it has none).  Otherwise like lease_decode for a leader that enforces. */
int lease_item_decode(const char *bytes, size_t n, char namespace_name[64],
		      struct lease_record *out, struct err *e);

/* Appends the whole object as JSON.  It has "spec":{} if r has no holder and no
 * times. */
void lease_create(struct buf *b, const char *namespace_name, const char *name,
		  const struct lease_record *r);

/* Appends a merge patch (RFC 7396) at resourceVersion r->rv.  with_spec: the
 * patch contains the spec.  with_state: the patch contains state and history.
 * If one of the two is "", the patch removes its annotation.  If r->state_other
 * is set, the patch also removes the annotation with the state of the other
 * mode. */
void lease_update(struct buf *b, const struct lease_record *r, bool with_spec,
		  bool with_state);

#endif
