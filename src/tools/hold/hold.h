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
	/* All but renewed_us. */
	struct ticket_draft ticket;

	/* --while: the command with its arguments, which end with NULL, or
	 * NULL.  Where the holder is that has to confirm the ticket, and
	 * whether the command starts only then. */
	char *const *command;
	const char *holder_namespace, *holder_lease;
	bool strict;

	/* --while-query: the expression, or NULL, and how often to ask. */
	const char *query;
	struct prometheus_setup prometheus;
	int64_t every_ms;
};

/* The exit code if --strict keeps the command from starting. */
#define HOLD_UNHELD 3

/* Returns the exit code of the command, or -1 with *e set.  Without a command
 * and a query it writes the ticket and returns 0.  It takes *access over and
 * zeroes it.  Only the main thread calls it, and before anything is opened. */
int hold_run(const struct hold_setup *s, struct kubeconfig *access,
	     const struct timing *t, struct err *e);

#define HOLD_NAME_BYTES 64
/* Makes a name for a ticket, from the host's name and some random digits. */
void hold_name(char out[HOLD_NAME_BYTES]);
/* Writes who we are: USER@HOST. */
void hold_identity(char out[TICKET_HOLDER_BYTES]);

#endif
