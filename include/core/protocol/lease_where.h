/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_LEASE_WHERE_H
#define CORE_PROTOCOL_LEASE_WHERE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/protocol/lease.h"

/*
 * In which namespace does a command take the holder's Lease?  The caller lists
 * the Leases of that name in all namespaces, passes each to lease_where_seen
 * and asks lease_where_choose:
 *
 *	a namespace is given	that one.  An error if it has no such Lease and
 *				a holder renews one elsewhere, because a Lease
 *				taken beside it would stop nobody
 *	none is given		the one that has a Lease, or none; two are an
 *				error
 *
 * Pure; not thread-safe.
 */
#define LEASE_NAMESPACE_BYTES 64

struct lease_where {
	const char *given;	/* borrowed; a DNS label, or "": none */
	int64_t server_ms;	/* now */
	bool there;		/* the given namespace has a Lease */
	char found[LEASE_NAMESPACE_BYTES];	/* the first one that has … */
	char second[LEASE_NAMESPACE_BYTES];	/* … and the last other one */
	char live[LEASE_NAMESPACE_BYTES];	/* one that is not given and in
						   which a holder renews … */
	char holder[LEASE_HOLDER_BYTES];	/* … which is this one */
};

/* The list begins, or starts over: what it has shown counts no more. */
void lease_where_begin(struct lease_where *w);
void lease_where_seen(struct lease_where *w,
		      const char namespace_name[LEASE_NAMESPACE_BYTES],
		      const struct lease_record *r);
/* The list is complete.  out: the namespace; "": there is no Lease.  ERR_INPUT
 * if a person has to say which. */
int lease_where_choose(const struct lease_where *w,
		       char out[LEASE_NAMESPACE_BYTES], struct err *e);

#endif
