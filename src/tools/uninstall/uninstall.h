/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_UNINSTALL_UNINSTALL_H
#define TOOLS_UNINSTALL_UNINSTALL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "edge/timing.h"
#include "wire/config/config.h"
#include "wire/kubeconfig/kubeconfig.h"

/* What the command line asks for.  It must outlive the call of
 * uninstall_run. */
struct uninstall_setup {
	const struct config *config;
	/* Namespace of the Lease, or NULL if the flag is not given. */
	const char *namespace_flag;
	bool dry_run, remove_webhook;
	/* Whether the command uses the service account of its pod. */
	bool in_cluster;
	int64_t timeout_ms; /* 0: no limit */
};

/*
 * Removes every hold and mark of the holder and prints on stdout what it does.
 * If nobody reads stdout, the command still keeps the Lease and ends in time.
 * It takes ownership of what *access contains.  It returns 0 if two lists in a
 * row have shown no mark, or if a dry run is complete.  Otherwise it returns -1
 * with *e set.
 */
int uninstall_run(const struct uninstall_setup *setup,
		  struct kubeconfig *access, const struct timing *t,
		  struct err *e);

#endif
