/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/kube/kube.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "kube_parts.h"

#define ROOT "/var/run/secrets/kubernetes.io/serviceaccount"

static char *
file_in(const char *root, const char *name)
{
	char *s = NULL;

	return asprintf(&s, "%s/%s", root, name) < 0 ? NULL : s;
}

/* Writes the server as net.JoinHostPort does, with an IPv6 address in
 * brackets. */
static char *
server_of(const char *host, const char *port)
{
	bool v6 = strchr(host, ':') != NULL;
	char *s = NULL;

	return asprintf(&s, "https://%s%s%s:%s", v6 ? "[" : "", host,
			v6 ? "]" : "", port) < 0
		       ? NULL
		       : s;
}

/* Checks that the file exists and is not empty. */
static int
demand(const char *path, size_t max, struct err *e)
{
	char *text = NULL;

	if (kube_file_read(path, max, &text, e))
		return -1;
	free(text);
	return 0;
}

static int
files(const char *root, struct kubeconfig *k, struct err *e)
{
	char *path = file_in(root, "namespace");
	struct err ignored;

	k->token_file = file_in(root, "token");
	k->ca_file = file_in(root, "ca.crt");
	if (path == NULL || k->token_file == NULL || k->ca_file == NULL) {
		free(path);
		return err_set(e, ERR_SYSTEM, "out of memory");
	}
	(void)kube_file_read(path, NAME_BYTES, &k->namespace_, &ignored);
	free(path);
	if (demand(k->token_file, TOKEN_BYTES_MAX, e) ||
	    demand(k->ca_file, CERT_BYTES_MAX, e))
		return err_wrap(e, "service account");
	return 0;
}

int
kube_in_cluster(const char *root, struct kubeconfig *out, struct err *e)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	struct kubeconfig k = {0};

	if (host == NULL || *host == '\0' || port == NULL || *port == '\0')
		return err_set(e, ERR_INPUT,
			       "not in a cluster: KUBERNETES_SERVICE_HOST and "
			       "KUBERNETES_SERVICE_PORT are not set");
	k.server = server_of(host, port);
	if (k.server == NULL || files(root != NULL ? root : ROOT, &k, e)) {
		if (k.server == NULL)
			(void)err_set(e, ERR_SYSTEM, "out of memory");
		kubeconfig_done(&k);
		return -1;
	}
	*out = k;
	return 0;
}
