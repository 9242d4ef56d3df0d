/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_DOCTOR_DOCTOR_H
#define TOOLS_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/doctor/finding.h"
#include "edge/timing.h"
#include "wire/config/config.h"
#include "wire/kubeconfig/kubeconfig.h"

/* What the command line asks for.  It must outlive the call of doctor_run. */
struct doctor_setup {
	const struct config *config;
	/* The installation's namespace, or NULL if the flag is not given. */
	const char *namespace_flag;
	/* Whether the command uses the service account of its pod. */
	bool in_cluster;
	/* For how long the check is repeated while there are errors that may go
	 * away by themselves (--wait). */
	int64_t wait_ms;
	/* How long all calls may take together, beside wait_ms (--timeout). */
	int64_t timeout_ms;
};

/*
 * Checks an installation and its cluster, and adds the findings to *f, which
 * findings_init has made.  Its only writes are dry runs.  An answer that cannot
 * be read also becomes a finding.  doctor_run takes ownership of what *access
 * contains.  It returns -1 with *e set if it could not begin or was ended by a
 * signal.
 */
int doctor_run(const struct doctor_setup *setup, struct kubeconfig *access,
	       const struct timing *t, struct findings *f, struct err *e);

#endif
