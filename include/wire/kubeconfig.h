/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KUBECONFIG_H
#define WIRE_KUBECONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"

/*
 * One kubeconfig (v1 Config of client-go tools/clientcmd/api/v1), one context.
 * Bytes in, struct out; relative file names are resolved against dir.
 * Unknown keys are ignored, as kubectl does; what this version cannot do
 * (exec, auth-provider, username, proxy-url, impersonation) is an error that
 * says so.
 */
struct kubeconfig {	/* strings are owned (malloc) or NULL */
	char *server;		/* https://host:port */
	char *tls_server_name;
	char *ca_pem, *ca_file;	/* data wins over file */
	bool insecure;
	char *cert_pem, *key_pem, *cert_file, *key_file;
	char *token, *token_file;	/* the file wins; it is read again */
	char *namespace_;	/* of the context */
};
void kubeconfig_done(struct kubeconfig *k);

/* context NULL: current-context.  file is for messages only:
 * "FILE:LINE:COL: what was expected". */
int kubeconfig_parse(const char *file, const char *dir, const char *bytes,
		     size_t n, const char *context, struct kubeconfig *out,
		     struct err *e);

#endif
