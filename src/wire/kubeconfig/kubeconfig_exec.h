/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KUBECONFIG_KUBECONFIG_EXEC_H
#define WIRE_KUBECONFIG_KUBECONFIG_EXEC_H

#include "core/base/err.h"
#include "wire/kubeconfig/exec.h"
#include "wire/yaml/yaml.h"

/* users[].user.exec (client-go tools/clientcmd/api/v1 ExecConfig).  *out stays
 * as it is where there is none. */
int kubeconfig_exec(const struct yaml *user, const struct yaml *cluster,
		    const char *dir, struct exec **out, struct err *e);

#endif
