/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_KUBE_KUBE_EXEC_H
#define EDGE_KUBE_KUBE_EXEC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "wire/kubeconfig/kubeconfig.h"

/* --- kube_exec.c: one run of a credential plugin -------------------------- */

/* Runs access->exec and decodes what it prints.  It blocks for `ms` at most.
 * The plugin and its children are killed when the time is up (ERR_TIMEOUT), and
 * when *cancelled (of the call, may be NULL) or *ended (of all calls) becomes
 * true or SIGINT, SIGTERM or SIGHUP is pending (ERR_CANCELLED).  Any thread may
 * call it. */
int kube_exec_run(const struct kubeconfig *access, int64_t ms,
		  const atomic_bool *cancelled, const atomic_bool *ended,
		  struct exec_credential *out, struct err *e);

/* --- kube_plugin.c: the credential that all threads share ----------------- */

struct kube_plugin;

/* Borrows access.  It runs the plugin for the first time, so that the start
 * fails if the plugin does: it returns NULL then, and *e says why. */
struct kube_plugin *kube_plugin_new(const struct kubeconfig *access,
				    int64_t ms, struct err *e);
void kube_plugin_free(struct kube_plugin *p);
/* kube_end_plugin. */
void kube_plugin_end(struct kube_plugin *p);

/* If the token is no longer the one of *version, frees *text, sets it to a copy
 * of the new token, which the caller frees, and sets *version.  If the token
 * has expired, the plugin is run; one thread runs it while the others wait.
 * Any thread. */
int kube_plugin_get(struct kube_plugin *p, const atomic_bool *cancelled,
		    char **text, unsigned *version, struct err *e);

/* Tells that a call with the token of this version got a 401.  It runs the
 * plugin if nobody has since, and returns true if there is another token now.
 * Any thread. */
bool kube_plugin_refused(struct kube_plugin *p, const atomic_bool *cancelled,
			 unsigned version);

#endif
