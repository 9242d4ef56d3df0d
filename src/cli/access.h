/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ACCESS_H
#define CLI_ACCESS_H

#include <stdbool.h>

#include "core/base/err.h"
#include "wire/config/config.h"
#include "wire/kubeconfig/kubeconfig.h"

/* Which cluster, and as whom: --kubeconfig, $KUBECONFIG, in-cluster,
 * ~/.kube/config, in that order.  file and context may be NULL. */
int access_find(const char *file, const char *context, struct kubeconfig *out,
		struct err *e);

/* Does access_find, where it is given no file and no context, take the pod's
 * service account? */
bool access_in_cluster(void);

/* Is it known where the Lease is to be, and the Secret? */
int access_namespace(const struct config *c, const struct kubeconfig *access,
		     struct err *e);

#endif
