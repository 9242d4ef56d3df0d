/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_HOLD_HOLD_H
#define TOOLS_HOLD_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "edge/timing.h"
#include "tools/prometheus/prometheus.h"
#include "wire/api/ticket.h"
#include "wire/kubeconfig/kubeconfig.h"

/* Holds NodePools by a ticket (docs/rules.md#tickets): for a time, while a
 * command runs, or while a query of Prometheus finds something. */
struct hold_setup {
	/* The ticket to write.  renewed_us is not set. */
	struct ticket_draft ticket;

	/* --while: `command` is the command and its arguments, ended by NULL,
	 * or NULL without --while.  holder_namespace and holder_lease are the
	 * namespace and the Lease of the holder that has to confirm the ticket.
	 * With `strict` the command starts only if that holder has confirmed
	 * the ticket. */
	char *const *command;
	const char *holder_namespace, *holder_lease;
	bool strict;

	/* --while-query: `query` is the expression, or NULL without this flag.
	 * Prometheus is asked every every_ms. */
	const char *query;
	struct prometheus_setup prometheus;
	int64_t every_ms;
};

/* The exit code if --strict keeps the command from starting. */
#define HOLD_UNHELD 3

/* Without a command and a query, writes the ticket and returns 0.  With a
 * command, returns the command's exit code, or HOLD_UNHELD.  With a query, runs
 * until a signal comes and returns 0.  Returns -1 with *e set on failure.  It
 * takes ownership of *access and zeroes it.  Main calls it before any file or
 * connection is opened. */
int hold_run(const struct hold_setup *s, struct kubeconfig *access,
	     const struct timing *t, struct err *e);

#define HOLD_NAME_BYTES 64
/* Makes a name for a ticket, from the host's name and some random digits. */
void hold_name(char out[HOLD_NAME_BYTES]);
/* Writes who we are: USER@HOST. */
void hold_identity(char out[TICKET_HOLDER_BYTES]);

#endif
