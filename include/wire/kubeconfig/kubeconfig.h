/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KUBECONFIG_KUBECONFIG_H
#define WIRE_KUBECONFIG_KUBECONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "wire/kubeconfig/exec.h"

/*
 * One kubeconfig (v1 Config of client-go tools/clientcmd/api/v1), one context.
 * YAML or JSON bytes in, struct out.  Relative file names are resolved against
 * dir.  Unknown keys are ignored, as kubectl does.  If the chosen context uses
 * what this version cannot do (auth-provider, username and password, proxy-url,
 * impersonation), the error says so.  Stateless; any thread.
 */
struct kubeconfig {	/* strings are owned (malloc) or NULL */
	char *server;		/* http(s)://host[:port][/path], no last '/' */
	char *tls_server_name;
	char *ca_pem, *ca_file;	/* data wins over file: at most one is set */
	bool insecure;
	char *cert_pem, *key_pem, *cert_file, *key_file;	/* the same
								   here */
	char *token, *token_file;	/* the file wins; it is read again */
	struct exec *exec;	/* owned; run if there is no token */
	char *namespace_;	/* the context's */
};
void kubeconfig_done(struct kubeconfig *k);

/* context NULL: current-context.  file is for messages only: "FILE:LINE:COL:
 * what was expected".  dir NULL or "": file names stay as they are. */
int kubeconfig_parse(const char *file, const char *dir, const char *bytes,
		     size_t n, const char *context, struct kubeconfig *out,
		     struct err *e);

#endif
