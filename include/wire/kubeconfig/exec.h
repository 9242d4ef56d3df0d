/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KUBECONFIG_EXEC_H
#define WIRE_KUBECONFIG_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/limits.h"

/*
 * A credential plugin (client-go plugin/pkg/client/auth/exec) is the program
 * that a kubeconfig names in users[].user.exec.  This header describes the
 * command to run, the plugin's environment variable EXEC_INFO and the plugin's
 * output, for client.authentication.k8s.io/v1 and v1beta1.  edge/exec runs the
 * plugin.  The functions keep no state; any thread may call them.
 */
#define EXEC_INFO "KUBERNETES_EXEC_INFO"

struct exec {			 /* strings are owned (malloc) */
	const char *api_version; /* static */
	/* The program.  A name with a '/' is relative to the kubeconfig's
	 * folder, and any other name is looked up in $PATH. */
	char *command;
	char *args[EXEC_ARGS_MAX + 1]; /* without the command; ends with NULL */
	char *env[EXEC_ENV_MAX + 1];   /* "NAME=VALUE" each; ends with NULL */
	char *install_hint;	       /* on one line, or NULL if none */
	/* "FILE:LINE:COL: user NAME", for messages.  NULL if the struct was not
	 * read from a file. */
	char *place;
	bool cluster_info; /* Whether EXEC_INFO has to contain the cluster. */
};
/* Frees x and its strings.  NULL is allowed. */
void exec_free(struct exec *x);

/* The data of the cluster that the plugin gets in EXEC_INFO.  ca_pem and
 * tls_server_name may be NULL. */
struct exec_cluster {
	const char *server, *tls_server_name, *ca_pem;
	bool insecure;
};
/* Returns an upper bound for what exec_info writes, including the NUL. */
size_t exec_info_bytes(const struct exec_cluster *c);
/* Appends the value of the variable EXEC_INFO.  It contains the cluster only if
 * the plugin wants it (x->cluster_info). */
void exec_info(struct buf *b, const struct exec *x,
	       const struct exec_cluster *c);

/* Returns whether a bearer token is printable ASCII without spaces.  Check
 * every token, because it goes into a header, where a line break would start
 * another header. */
bool exec_token_is_printable(const char *s);

struct exec_credential {
	char *token; /* owned */
	/* When the token expires, in ms since 1970; STAMP_NONE: the plugin did
	 * not say. */
	int64_t expires_ms;
};
/* Wipes the token and frees it. */
void exec_credential_done(struct exec_credential *c);

/* Decodes the plugin's output.  ERR_INPUT: it is no ExecCredential of this
 * api_version, or one without a token that we can use.  No error quotes a
 * token. */
int exec_credential_decode(const char *bytes, size_t n, const char *api_version,
			   struct exec_credential *out, struct err *e);

#endif
