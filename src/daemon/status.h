/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_STATUS_H
#define DAEMON_STATUS_H

#include "edge/server/server.h"
#include "recent.h"
#include "serving_cert.h"
#include "state.h"

/*
 * The handlers of the page (/), /status, /status/machines, one machine's
 * /status/machines/NAME, and /status/time (docs/status.md).  Main calls
 * status_init and status_done.  The handlers run on the worker of the metrics
 * server.  Only status_time and status_busy run on its serving thread, because
 * they need neither a lock nor the table.
 */
#define STATUS_MACHINES "/status/machines/"

struct status {
	struct state *shared;
	struct serving_cert *pair;
	const struct config *config;
	struct recent recent; /* counts of admission reviews */
	/* The name that /status shows for this replica if there is no Lease. */
	char host[65];
	/* The figures about all machines.  `counted` says whether they were
	 * counted, counted_boot_ms when, and counted_turns how many holds and
	 * releases of scopes there had been by then. */
	struct figures *figures;
	bool counted;
	int64_t counted_boot_ms;
	uint64_t counted_turns;
};

/* The arguments must outlive the struct.  Returns -1 if there is no memory. */
int status_init(struct status *t, struct state *s, struct serving_cert *pair,
		const struct config *config, struct err *e);
void status_done(struct status *t);

/* Counts the machines again if the figures are a second old, or if a scope was
 * held or released since.  The server's worker calls this. */
void status_count(struct status *t);
/* Makes `text` the body of the reply, which takes ownership.  `text` comes from
 * malloc and is shrunk to its first len bytes. */
void status_send(struct server_reply *a, char *text, size_t len);

/* The handlers.  If the worker has no room for a request, status_busy answers
 * instead of the four handlers after it. */
void status_busy(const struct server_request *q, struct server_reply *a);
void status_browse(struct status *t, const struct server_request *q,
		   struct server_reply *a);
void status_overview(struct status *t, const struct server_request *q,
		     struct server_reply *a);
void status_machines(struct status *t, const struct server_request *q,
		     struct server_reply *a);
void status_machine(struct status *t, const struct server_request *q,
		    struct server_reply *a);
void status_time(struct status *t, const struct server_request *q,
		 struct server_reply *a);

#endif
