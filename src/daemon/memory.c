/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include "core/base/limits.h"
#include "core/protocol/lease.h"

#define MIB ((int64_t)1 << 20)

/* An idle process takes 3 MiB of anonymous memory.  The kernel may drop pages
 * of the program and of its libraries and read them from their files again, but
 * there should be room for the busiest 4 MiB of these pages. */
#define PROCESS_BYTES (7 * MIB)

/* Memory of the server at the metrics address: the page or answer that is being
 * written, finished answers that clients have not read yet, the journal, its
 * text, and the counts.  The journal and the counts take 780 KiB
 * (core/controller/journal.h, status.h).  The text exists in several copies:
 * two in the Lease's step machine, two in the elector, one in the state, and as
 * JSON. */
#define HEALTH_BYTES                                                           \
	((int64_t)METRICS_PAGE_BYTES + HEALTH_UNREAD_BYTES_MAX + (780 << 10) + \
	 8 * LEASE_HISTORY_BYTES)

/* One value of a JSON tree (wire/json/json.c). */
#define VALUE_TREE_BYTES 32
/* The memory of a JSON tree: the kept text, cJSON's copy of one string (at most
 * as long as the text), and the values. */
#define TREE_BYTES(text)                                                       \
	(2 * (int64_t)(text) + (int64_t)JSON_KEPT_VALUES_MAX * VALUE_TREE_BYTES)

/* A patch in flight: libcurl's handle, its connection with OpenSSL's buffers,
 * and the answer. */
#define LANE_BYTES ((80 << 10) + WRITE_ANSWER_MAX)

/* The four watches.  The watches of Nodes and NodeClaims keep all annotations
 * of an item.  The watches of NodePools and Events keep little of it. */
#define STREAMS_BYTES                                                          \
	(4 * (int64_t)ITEM_BYTES_MAX + 2 * TREE_BYTES(JSON_KEPT_BYTES_MAX) +   \
	 2 * 3 * (int64_t)JSON_SMALL_BYTES_MAX)

/* The watch of tickets keeps little of an item, too.  A ticket takes 3,464
 * bytes in the table of tickets (core/table/tickets.h), and 24 bytes in the
 * index by name. */
#define TICKETS_BYTES                                                          \
	((int64_t)ITEM_BYTES_MAX + 3 * (int64_t)JSON_SMALL_BYTES_MAX +         \
	 (int64_t)TICKETS_MAX * (3464 + 24))

/* REVIEWS_BIG_MAX threads handle a large review, and all others handle small
 * ones. */
#define REVIEWS_BYTES                                                          \
	((int64_t)SERVER_BYTES_LEAST +                                         \
	 REVIEWS_BIG_MAX * TREE_BYTES(JSON_KEPT_BYTES_MAX) +                   \
	 (SERVER_THREADS - REVIEWS_BIG_MAX) * TREE_BYTES(REVIEW_BYTES_BIG))

/* Memory of a connection without TLS: libmicrohttpd's, and the kernel's for the
 * socket and its buffers. */
#define PLAIN_CONNECTION_BYTES                                                 \
	((4 << 10) + SERVER_CONNECTION_BYTES +                                 \
	 2 * (SERVER_RECEIVE_BYTES + SERVER_SEND_BYTES))
#define PLAIN_BYTES (HEALTH_CONNECTIONS_MAX * PLAIN_CONNECTION_BYTES)

/* A connection with TLS takes 40 KiB more than one without TLS: for GnuTLS's
 * session, for up to SERVER_SILENT_BYTES that were received but contain no HTTP
 * yet, and for the buffer of one record.  RECORDS_BYTES is for the further
 * records of all connections together. */
#define CONNECTION_BYTES (PLAIN_CONNECTION_BYTES + (40 << 10))
#define RECORDS_BYTES (SERVER_RECORDS_MAX * SERVER_RECORD_BYTES)

/* The memory of a machine: a Node and a NodeClaim, the claim's place in the
 * index by name, and one failed write that waits for its next try. */
#define MACHINE_BYTES (2 * 244 + 8 + 72)

/* Connections and the table share the rest of the memory.  Connections get at
 * least the rest divided by CONNECTIONS_SHARE, even if the table is full. */
#define CONNECTIONS_SHARE 12

/* The division leaves memory for this many more machines than the table has,
 * because a list may add them before the memory is divided again. */
#define MACHINES_SOON 32768

static int64_t
at_most(int64_t n, int64_t max)
{
	return n < max ? n : max;
}

static int64_t
at_least(int64_t n, int64_t min)
{
	return n > min ? n : min;
}

struct memory
memory_divide(int64_t limit, unsigned lanes, bool tickets, uint32_t machines)
{
	int64_t left =
		at_least(limit, tickets ? MEMORY_TICKETS_MIN : MEMORY_MIN) -
		PROCESS_BYTES - LOG_WAITING_BYTES_MAX - HEALTH_BYTES -
		PLAIN_BYTES - STREAMS_BYTES - REVIEWS_BYTES - RECORDS_BYTES -
		(tickets ? TICKETS_BYTES : 0) - (int64_t)lanes * LANE_BYTES;
	int64_t connections =
		at_least(left / CONNECTIONS_SHARE,
			 (int64_t)SERVER_CONNECTIONS_LEAST * CONNECTION_BYTES);
	int64_t max =
		at_most((left - connections) / MACHINE_BYTES, MACHINES_MAX);
	int64_t bodies;

	left -= at_most((int64_t)machines + MACHINES_SOON, max) * MACHINE_BYTES;
	bodies = at_most(left - connections,
			 SERVER_BYTES_MAX - SERVER_BYTES_LEAST);
	return (struct memory){
		.machines_max = (uint32_t)max,
		.bodies_max = (size_t)(SERVER_BYTES_LEAST + bodies),
		.connections_max =
			(unsigned)at_most((left - bodies) / CONNECTION_BYTES,
					  SERVER_CONNECTIONS_MAX),
	};
}
