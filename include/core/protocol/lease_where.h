/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_LEASE_WHERE_H
#define CORE_PROTOCOL_LEASE_WHERE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/protocol/lease.h"

/*
 * Finds out in which namespace a command takes the holder's Lease.  The caller
 * lists the Leases of that name in all namespaces, passes each to
 * lease_where_seen and asks lease_where_choose:
 *
 *	a namespace is given	that one.  ERR_INPUT if it has no such Lease and
 *				a holder renews one elsewhere, because a Lease
 *				taken beside it would stop nobody
 *	none is given		the one that has a Lease, or none.  ERR_INPUT if
 *				several have one
 *
 * It owns no memory.  The caller sets `given` and server_ms before
 * lease_where_begin.  Not thread-safe.
 */
#define LEASE_NAMESPACE_BYTES 64

struct lease_where {
	const char *given; /* borrowed; a DNS label, or "": none */
	int64_t server_ms; /* the time now */
	bool there;	   /* the given namespace has a Lease */
	/* The first namespace that has one, and the last other one. */
	char found[LEASE_NAMESPACE_BYTES];
	char second[LEASE_NAMESPACE_BYTES];
	/* A namespace that is not given and in which a holder renews, and that
	 * holder. */
	char live[LEASE_NAMESPACE_BYTES];
	char holder[LEASE_HOLDER_BYTES];
};

/* Call this when the list begins, and again when it has to start over: what it
 * has shown so far is dropped. */
void lease_where_begin(struct lease_where *w);
/* Call this for each Lease of the list. */
void lease_where_seen(struct lease_where *w,
		      const char namespace_name[LEASE_NAMESPACE_BYTES],
		      const struct lease_record *r);
/* Call this when the list is complete.  Sets out to the namespace, or to "" if
 * there is no Lease. */
int lease_where_choose(const struct lease_where *w,
		       char out[LEASE_NAMESPACE_BYTES], struct err *e);

#endif
