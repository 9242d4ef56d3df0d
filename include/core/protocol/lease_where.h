/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_LEASE_WHERE_H
#define CORE_PROTOCOL_LEASE_WHERE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/protocol/lease.h"

/*
 * Finds out in which namespace a command acquires the holder's Lease.  The
 * caller lists the Leases with the holder's name in all namespaces, and passes
 * each to lease_where_seen.  Then lease_where_choose returns:
 *
 *	a namespace is given	that namespace.  ERR_INPUT if it has no such
 *				Lease and a holder renews one in another
 *				namespace, because a Lease in the given one
 *				would not stop that holder
 *	none is given		the only namespace that has a Lease, or none.
 *				ERR_INPUT if several namespaces have one
 *
 * A struct lease_where owns no memory.  The caller sets `given` and server_ms
 * before lease_where_begin.  Not thread-safe.
 */
#define LEASE_NAMESPACE_BYTES 64

struct lease_where {
	/* The namespace that was given, a DNS label, or "" if none was.
	 * Borrowed. */
	const char *given;
	int64_t server_ms; /* the current time */
	bool there;	   /* the given namespace has a Lease */
	/* `found` is the first namespace with a Lease, and `second` the last
	 * namespace after it with a Lease. */
	char found[LEASE_NAMESPACE_BYTES];
	char second[LEASE_NAMESPACE_BYTES];
	/* A namespace other than the given one in which a holder renews the
	 * Lease, and the identity of that holder. */
	char live[LEASE_NAMESPACE_BYTES];
	char holder[LEASE_HOLDER_BYTES];
};

/* Call this when the list begins, and each time it starts over.  It discards
 * the Leases seen so far. */
void lease_where_begin(struct lease_where *w);
/* Call this for each Lease of the list. */
void lease_where_seen(struct lease_where *w,
		      const char namespace_name[LEASE_NAMESPACE_BYTES],
		      const struct lease_record *r);
/* Call this when the list is complete.  Sets `out` to the namespace, or to ""
 * if there is no Lease. */
int lease_where_choose(const struct lease_where *w,
		       char out[LEASE_NAMESPACE_BYTES], struct err *e);

#endif
