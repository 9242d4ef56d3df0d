/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_EXEC_PLUGIN_RUN_H
#define EDGE_EXEC_PLUGIN_RUN_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/err.h"
#include "wire/kubeconfig/exec.h"
#include "wire/kubeconfig/kubeconfig.h"

/* Runs access->exec and decodes what it prints.  It blocks for `ms` at most.
 * The plugin and its children are killed when the time is up (ERR_TIMEOUT), and
 * when *cancelled (may be NULL) becomes true or SIGINT, SIGTERM or SIGHUP is
 * pending (ERR_CANCELLED).  Any thread may call it. */
int plugin_run(const struct kubeconfig *access, int64_t ms,
	       const atomic_bool *cancelled, struct exec_credential *out,
	       struct err *e);

#endif
