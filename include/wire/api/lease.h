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
 * coordination.k8s.io/v1 Lease (k8s.io/api/coordination/v1 types.go), bytes to
 * core/protocol/lease and back.  Stateless; any thread.
 *
 *	GET	LEASE_ITEM_PATH
 *	CREATE	POST LEASE_PATH, LEASE_CREATE_TYPE, lease_create
 *	UPDATE	PATCH LEASE_ITEM_PATH, LEASE_UPDATE_TYPE, lease_update
 *
 * Each answers with the whole object, for lease_decode.  Where client-go puts
 * back the whole object it has read, we patch at its resourceVersion: both are
 * refused with 409 if it moved on, both keep what is not ours.  The rights
 * are get, create and patch on leases.
 */
#define LEASE_PATH "/apis/coordination.k8s.io/v1/namespaces/%s/leases"
#define LEASE_ITEM_PATH LEASE_PATH "/%s"	/* namespace, name */
#define LEASE_CREATE_TYPE "application/json"
#define LEASE_UPDATE_TYPE PATCH_MERGE_TYPE
#define LEASE_STATE_KEY OWN_PREFIX "state"

/* Either body fits, were every byte to come out as \u00XX. */
#define LEASE_BODY_BYTES                                                       \
	(6 * (LEASE_STATE_BYTES + LEASE_HOLDER_BYTES + 2 * NAME_BYTES) + 1024)

/* An object that the server holds.  Missing and null fields are zero, as
 * client-go takes them; ERR_INPUT names what is no Lease: the API server
 * stores none of a wrong type.  The state alone is never an error. */
int lease_decode(const char *bytes, size_t n, struct lease_record *out,
		 struct err *e);

/* One item of a list, which says no kind; namespace_name: "" if none. */
int lease_item_decode(const char *bytes, size_t n, char namespace_name[64],
		      struct lease_record *out, struct err *e);

/* The whole object; "spec":{} where nobody holds it and its times are none. */
void lease_create(struct buf *b, const char *namespace_name, const char *name,
		  const struct lease_record *r);

/* RFC 7396, at r->rv: the record as far as with_spec says, the state as far as
 * with_state does; "" removes it. */
void lease_update(struct buf *b, const struct lease_record *r, bool with_spec,
		  bool with_state);

#endif
