/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_EXEC_PLUGIN_RUN_H
#define EDGE_EXEC_PLUGIN_RUN_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/err.h"
#include "wire/kubeconfig/exec.h"
#include "wire/kubeconfig/kubeconfig.h"

/* Runs the plugin access->exec and decodes what it prints.  Blocks for `ms` at
 * most.  The plugin and its children are killed if the time is up
 * (ERR_TIMEOUT).  They are also killed if *cancelled becomes true, or if
 * a signal of edge/signals.h is pending (ERR_CANCELLED).  `cancelled` may be
 * NULL.  Any thread may call this function. */
int plugin_run(const struct kubeconfig *access, int64_t ms,
	       const atomic_bool *cancelled, struct exec_credential *out,
	       struct err *e);

#endif
