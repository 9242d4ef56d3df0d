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
 * The answer to each of these is the whole object, which lease_decode reads.
 * client-go replaces the whole object with a PUT; we PATCH the object at its
 * resourceVersion.  In both cases the API server answers 409 if the object has
 * changed, and the fields of other writers are kept.  The rights needed are
 * get, create and patch on leases.
 */
#define LEASE_PATH "/apis/coordination.k8s.io/v1/namespaces/%s/leases"
#define LEASE_ITEM_PATH LEASE_PATH "/%s" /* arguments: namespace, name */
#define LEASE_CREATE_TYPE "application/json"
#define LEASE_UPDATE_TYPE PATCH_MERGE_TYPE
#define LEASE_HOLD_KEY OWN_PREFIX "hold" /* KEY=VALUE */
#define LEASE_STATE_KEY OWN_PREFIX "state"
#define LEASE_OBSERVED_KEY OWN_PREFIX "observed-state"
/* Both modes share this annotation.  Its text says which mode wrote it. */
#define LEASE_HISTORY_KEY OWN_PREFIX "history"

/* Enough for the body of lease_create or lease_update, even if every byte is
 * escaped as \u00XX. */
#define LEASE_BODY_BYTES                                                       \
	(6 * (LEASE_STATE_BYTES + LEASE_HISTORY_BYTES + LEASE_HOLDER_BYTES +   \
	      HELD_KEY_BYTES + 2 * NAME_BYTES) +                               \
	 1024)

/* Decodes a Lease in an answer of the API server.  `observes` says which state
 * is read: that of leaders with MODE_OBSERVE, or that of leaders that enforce.
 * A missing or null field becomes 0 or "", as in client-go, and a missing or
 * null time becomes STAMP_NONE.  ERR_INPUT: the object is no Lease, has no
 * resourceVersion, or has a field of a wrong type, which the API server never
 * stores.  A state that cannot be read is no error, but sets out->state_bad.  A
 * history or hold that cannot be read counts as missing. */
int lease_decode(const char *bytes, size_t n, bool observes,
		 struct lease_record *out, struct err *e);

/* Decodes one item of a list, which has no `kind`, and copies its namespace (""
 * if it has none).  Apart from that it works like lease_decode with `observes`
 * false. */
int lease_item_decode(const char *bytes, size_t n, char namespace_name[64],
		      struct lease_record *out, struct err *e);

/* Appends the whole object as JSON.  The spec is {} if r has neither a holder
 * nor a renewTime. */
void lease_create(struct buf *b, const char *namespace_name, const char *name,
		  const struct lease_record *r);

/* Appends a merge patch (RFC 7396) at resourceVersion r->rv.  The patch sets
 * r->hold, or removes it if its key is "".  with_spec: the patch contains
 * the spec.  with_state: the patch sets the annotations of
 * r->state and r->history, and a text that is "" removes its annotation.  If
 * r->state_other is set, a patch with with_state also removes the state
 * annotation of the other mode. */
void lease_update(struct buf *b, const struct lease_record *r, bool with_spec,
		  bool with_state);

#endif
