/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_EXEC_PLUGIN_H
#define EDGE_EXEC_PLUGIN_H

#include "edge/kube/kube.h"

/* Runs the credential plugin of a kubeconfig, for struct kube_options.  Only
 * edge/exec starts processes. */
kube_plugin_new plugin_new;

#endif
