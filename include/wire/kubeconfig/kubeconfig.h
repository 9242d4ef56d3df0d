/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KUBECONFIG_KUBECONFIG_H
#define WIRE_KUBECONFIG_KUBECONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "wire/kubeconfig/exec.h"

/*
 * Reads one context of a kubeconfig (v1 Config of client-go
 * tools/clientcmd/api/v1), which is YAML or JSON.  Unknown keys are ignored, as
 * by kubectl.  If the context uses what this version does not support
 * (auth-provider, username and password, proxy-url, impersonation), the error
 * says so.  The functions keep no state; any thread may call them.
 */
struct kubeconfig {   /* strings are owned (malloc) or NULL */
	char *server; /* http(s)://host[:port][/path] without '/' at the end */
	char *tls_server_name;
	/* For each NAME at most one of NAME_pem and NAME_file is set.  If the
	 * kubeconfig has both, the PEM counts. */
	char *ca_pem, *ca_file;
	bool insecure; /* do not verify the server's certificate */
	char *cert_pem, *key_pem, *cert_file, *key_file;
	/* If both are set, the file counts.  The file is read again from time
	 * to time. */
	char *token, *token_file;
	/* owned; used if there is neither token nor token_file */
	struct exec *exec;
	char *namespace_; /* the context's namespace */
};
/* Wipes and frees everything, and zeroes *k. */
void kubeconfig_done(struct kubeconfig *k);

/* Parses the kubeconfig.  `context` is the context to use; NULL means
 * current-context.  `file` is the kubeconfig's name for messages
 * ("FILE:LINE:COL: what was expected").  Relative file names in the kubeconfig
 * are resolved against dir, and stay as they are if dir is NULL or "".  The
 * caller ends *out with kubeconfig_done. */
int kubeconfig_parse(const char *file, const char *dir, const char *bytes,
		     size_t n, const char *context, struct kubeconfig *out,
		     struct err *e);

#endif
