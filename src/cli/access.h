/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ACCESS_H
#define CLI_ACCESS_H

#include <stdbool.h>

#include "core/base/err.h"
#include "wire/config/config.h"
#include "wire/kubeconfig/kubeconfig.h"

/* Finds the cluster and the credentials to use.  It tries --kubeconfig,
 * $KUBECONFIG, the pod's service account (unless --context is given) and
 * ~/.kube/config, in that order.  `file` and `context` are the values of
 * --kubeconfig and --context, or NULL.  The caller frees *out with
 * kubeconfig_done.  Returns -1 on failure, and *e says why. */
int access_find(const char *file, const char *context, struct kubeconfig *out,
		struct err *e);

/* Checks that the token does not come from a credential plugin, because
 * karpenter-node-holder starts no process.  Returns -1 if a plugin is needed,
 * and *e says what to use instead. */
int access_without_plugin(const struct kubeconfig *access, struct err *e);

/* Returns whether access_find would use the pod's service account. */
bool access_in_cluster(const char *file, const char *context);

/* Checks that the namespace of the Lease and of the Secret is known.  Returns
 * -1 if the namespace is not known, and *e says what to set. */
int access_namespace(const struct config *c, const struct kubeconfig *access,
		     struct err *e);

#endif
