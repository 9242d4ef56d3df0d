/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_MEMORY_H
#define DAEMON_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How the memory limit is divided (docs/operations.md#memory).  Memory for what
 * others send is bounded, and only this file adds up the bounds.  The process,
 * the API client, one large review and the pages for /metrics and /status take
 * a fixed amount.  Tickets also take a fixed amount if they are followed.  The
 * table of machines and the webhook share the rest.
 */
struct memory {
	/* Maximum of Nodes, and of NodeClaims, for controller_new. */
	uint32_t machines_max;
	/* Bounds of the webhook, which gets the memory that the table does not
	 * use. */
	unsigned connections_max;
	size_t bodies_max; /* bytes */
};

/* Divides `limit` bytes.  A limit below MEMORY_MIN (with tickets: below
 * MEMORY_TICKETS_MIN) counts as that minimum.  `lanes` is how many patches may
 * be in flight, `tickets` whether tickets are followed, and `machines` how many
 * machines are in the table now.  machines_max does not depend on `machines`.
 * Call this about once a second.  It is a pure function, so any thread may call
 * it. */
struct memory memory_divide(int64_t limit, unsigned lanes, bool tickets,
			    uint32_t machines);

#endif
