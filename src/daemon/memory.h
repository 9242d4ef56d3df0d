/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_MEMORY_H
#define DAEMON_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How the memory limit is divided (docs/operations.md#memory).  Everything that
 * grows with what others send has a bound, and this is the one place where the
 * bounds are added up.  The process, the API client, one large review and the
 * pages take a fixed amount, and so do tickets if they are followed.  The table
 * of machines and the webhook share the rest.
 */
struct memory {
	uint32_t machines_max; /* of each kind, for controller_new */
	/* Bounds of the webhook, which gets the memory that the table does not
	 * use. */
	unsigned connections_max;
	size_t bodies_max; /* bytes */
};

/* Divides `limit` bytes.  A limit below MEMORY_MIN, or with tickets below
 * MEMORY_TICKETS_MIN, counts as that much.  `lanes` is how many patches may be
 * in flight, `tickets` whether tickets are followed, and `machines` how many
 * machines are in the table now.  machines_max does not depend on `machines`.
 * Call it again every second or so.  Pure; any thread. */
struct memory memory_divide(int64_t limit, unsigned lanes, bool tickets,
			    uint32_t machines);

#endif
