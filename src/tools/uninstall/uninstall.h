/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_UNINSTALL_UNINSTALL_H
#define TOOLS_UNINSTALL_UNINSTALL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "edge/timing.h"
#include "wire/config/config.h"
#include "wire/kubeconfig/kubeconfig.h"

/* What the command line asks for.  It is borrowed while uninstall_run runs. */
struct uninstall_setup {
	const struct config *config;
	const char *namespace_flag; /* the Lease's namespace; NULL: not given */
	bool dry_run, remove_webhook;
	bool in_cluster;    /* access is the pod's service account */
	int64_t timeout_ms; /* 0 if no end */
};

/*
 * Removes every hold and mark of the holder and prints on stdout what it does.
 * A reader that takes nothing costs it neither the Lease nor its end.
 * It takes ownership of what *access contains.  It returns 0 when two lists in
 * a row have shown no mark, or when a dry run is over; else -1, and *e says
 * why.
 */
int uninstall_run(const struct uninstall_setup *setup,
		  struct kubeconfig *access, const struct timing *t,
		  struct err *e);

#endif
