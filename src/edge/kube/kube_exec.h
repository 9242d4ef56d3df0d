/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_KUBE_KUBE_EXEC_H
#define EDGE_KUBE_KUBE_EXEC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "wire/kubeconfig/kubeconfig.h"

/* --- kube_exec.c: one run of a credential plugin -------------------------- */

#define EXEC_MS 60000		/* a plugin may ask a cloud and try again */
#define EXEC_OUT_MAX (64u << 10)	/* what it prints: tokens have 2 KiB */
#define EXEC_EARLY_MS 10000	/* a call takes no longer: CALL_MS */
#define EXEC_PAUSE_MS 1000	/* before it is asked for the same again */

/* Runs access->exec and decodes what it prints.  Blocks for ms at most; the
 * plugin is killed then, where *cancelled (may be NULL) comes true, and where
 * SIGINT, SIGTERM or SIGHUP is pending (ERR_CANCELLED). */
int kube_exec_run(const struct kubeconfig *access, int64_t ms,
		  const atomic_bool *cancelled, struct exec_credential *out,
		  struct err *e);

/* --- kube_plugin.c: the credential that all threads share ----------------- */

struct kube_plugin;

/* access is borrowed.  Runs it for the first time: what is wrong with it is
 * told at start. */
struct kube_plugin *kube_plugin_new(const struct kubeconfig *access,
				    int64_t ms, struct err *e);
void kube_plugin_free(struct kube_plugin *p);

/* Makes *text, a copy to be freed, the token as it is now, if its *version is
 * another one.  One thread runs the plugin, the others wait for it. */
int kube_plugin_get(struct kube_plugin *p, const atomic_bool *cancelled,
		    char **text, unsigned *version, struct err *e);

/* A call with this version got a 401; true: there is another token. */
bool kube_plugin_refused(struct kube_plugin *p, const atomic_bool *cancelled,
			 unsigned version);

#endif
