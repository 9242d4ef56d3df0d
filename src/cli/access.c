/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "edge/kube/kube.h"
#include "options.h"

#define SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

static bool
is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value != NULL && value[0] != '\0';
}

bool
access_in_cluster(const char *file, const char *context)
{
	return file == NULL && context == NULL && !is_set("KUBECONFIG") &&
	       getenv("KUBERNETES_SERVICE_HOST") != NULL;
}

int
access_find(const char *file, const char *context, struct kubeconfig *out,
	    struct err *e)
{
	const char *env = getenv("KUBECONFIG"), *home = getenv("HOME");
	char path[4096];

	if (file == NULL && is_set("KUBECONFIG")) {
		if (strchr(env, ':') != NULL)
			return err_set(e, ERR_INPUT,
				       "$KUBECONFIG: a list of files is not "
				       "in this version, expected one file");
		file = env;
	}
	if (file != NULL)
		return options_kubeconfig(file, context, out, e);
	if (getenv("KUBERNETES_SERVICE_HOST") != NULL && context == NULL)
		return kube_in_cluster(SERVICE_ACCOUNT, out, e);
	(void)snprintf(path, sizeof(path), "%s/.kube/config",
		       home == NULL ? "" : home);
	if (home == NULL || access(path, F_OK) != 0)
		return err_set(e, ERR_INPUT,
			       "no cluster: expected --kubeconfig, "
			       "$KUBECONFIG, a pod's service account or "
			       "~/.kube/config");
	return options_kubeconfig(path, context, out, e);
}

int
access_without_plugin(const struct kubeconfig *access, struct err *e)
{
	const struct exec *x = access->exec;

	if (x == NULL || access->token != NULL || access->token_file != NULL)
		return 0;
	(void)err_set(
		e, ERR_INPUT,
		"exec %.60s: %s runs no credential plugin, expected in its "
		"place token, tokenFile or a client certificate, such as "
		"of kubectl create token",
		x->command, say_program());
	return x->place == NULL ? -1 : err_wrap(e, "%s", x->place);
}

int
access_namespace(const struct config *c, const struct kubeconfig *access,
		 struct err *e)
{
	if (c->leader.namespace_[0] != '\0' || access->namespace_ != NULL)
		return 0;
	if (c->self_signed.enabled)
		return err_set(e, ERR_INPUT,
			       "selfSigned.enabled: neither a pod nor the "
			       "kubeconfig's context has a namespace, expected "
			       "one (or leaderElection.namespace)");
	if (!c->leader.enabled)
		return 0;
	return err_set(e, ERR_INPUT,
		       "leaderElection.namespace: \"\", and neither a pod nor "
		       "the kubeconfig's context has one, expected a namespace "
		       "(or leaderElection.enabled false)");
}
