/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KUBECONFIG_KUBECONFIG_EXEC_H
#define WIRE_KUBECONFIG_KUBECONFIG_EXEC_H

#include "core/base/err.h"
#include "wire/kubeconfig/exec.h"
#include "wire/yaml/yaml.h"

/* Reads the section users[].user.exec (client-go tools/clientcmd/api/v1
 * ExecConfig) of the user that the context names, with the data of the cluster
 * that the context names.  If there is no exec, *out stays as it is.  It
 * returns -1 on failure, and *e says why.  The caller frees *out with
 * exec_free. */
int kubeconfig_exec(const struct yaml *context, const struct yaml *user,
		    const struct yaml *cluster, const char *dir,
		    struct exec **out, struct err *e);

#endif
