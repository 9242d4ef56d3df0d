/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/kubeconfig/exec.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/stamp.h"
#include "core/base/str.h"
#include "wire/base64.h"
#include "wire/json/json.h"
#include "wire/json/json_printf.h"

/* This file is holderctl's alone: karpenter-node-holder runs no plugin. */

/* --- input of the plugin -------------------------------------------------- */

static size_t
text_bytes(const char *s)
{
	return s == NULL ? 0 : 6 * strlen(s); /* a byte may become \u00XX */
}

size_t
exec_info_bytes(const struct exec_cluster *c)
{
	return 512 + text_bytes(c->server) + text_bytes(c->tls_server_name) +
	       (c->ca_pem == NULL ? 0 : BASE64_BYTES(strlen(c->ca_pem)));
}

void
exec_info(struct buf *b, const struct exec *x, const struct exec_cluster *c)
{
	json_printf(b, "{'kind':'ExecCredential','apiVersion':%s,'spec':{",
		    x->api_version);
	if (x->cluster_info) {
		json_printf(b, "'cluster':{'server':%s", c->server);
		if (c->tls_server_name != NULL)
			json_printf(b, ",'tls-server-name':%s",
				    c->tls_server_name);
		if (c->insecure)
			json_printf(b, ",'insecure-skip-tls-verify':true");
		if (c->ca_pem != NULL) {
			json_printf(b, ",'certificate-authority-data':'");
			base64_encode(b, c->ca_pem, strlen(c->ca_pem));
			buf_puts(b, "\"");
		}
		json_printf(b, ",'config':null}");
	}
	json_printf(b, ",'interactive':false}}");
}

/* --- output of the plugin ------------------------------------------------- */

void
exec_credential_done(struct exec_credential *c)
{
	str_wipe(c->token);
	free(c->token);
	*c = (struct exec_credential){.expires_ms = STAMP_NONE};
}

static int
check_head(const struct json *root, const char *api_version, struct err *e)
{
	const char *is = json_string(json_member(root, "apiVersion"));

	if (!json_says(root, "kind", "ExecCredential"))
		return err_set(e, ERR_INPUT, "kind: expected ExecCredential");
	if (is == NULL || strcmp(is, api_version) != 0)
		return err_set(e, ERR_INPUT,
			       "apiVersion: \"%.60s\", but the kubeconfig asks "
			       "for %s",
			       is == NULL ? "" : is, api_version);
	if (!json_is_object(json_member(root, "status")))
		return err_set(e, ERR_INPUT, "status: missing");
	return 0;
}

static bool
is_said(const struct json *v)
{
	const char *s = json_string(v);

	return !json_is_unset(v) && (s == NULL || s[0] != '\0');
}

static int
read_expiry(const struct json *status, int64_t *ms, struct err *e)
{
	const struct json *v = json_member(status, "expirationTimestamp");
	const char *s = json_string(v);

	if (json_is_unset(v))
		return 0;
	if (s == NULL || stamp_parse(s, ms))
		return err_set(e, ERR_INPUT,
			       "status.expirationTimestamp: expected a time of "
			       "RFC 3339");
	return 0;
}

static int
check_token(const char *s, struct err *e)
{
	if (s == NULL || *s == '\0')
		return err_set(e, ERR_INPUT, "status.token: missing");
	if (!exec_token_is_printable(s))
		return err_set(e, ERR_INPUT,
			       "status.token: expected printable ASCII "
			       "without spaces");
	return 0;
}

static int
read_status(const struct json *status, struct exec_credential *c, struct err *e)
{
	const char *token = json_string(json_member(status, "token"));

	if (is_said(json_member(status, "clientCertificateData")) ||
	    is_said(json_member(status, "clientKeyData")))
		return err_set(e, ERR_INPUT,
			       "status.clientCertificateData: client "
			       "certificates from exec are not in this "
			       "version, expected a token");
	if (check_token(token, e) || read_expiry(status, &c->expires_ms, e))
		return -1;
	c->token = strdup(token);
	return c->token != NULL ? 0 : err_set(e, ERR_SYSTEM, "out of memory");
}

/* Wipes the text in the tree, so that no secret stays behind in memory. */
static void
clear_member(const struct json *status, const char *name)
{
	const char *s = json_string(json_member(status, name));

	str_wipe((char *)(uintptr_t)s);
}

int
exec_credential_decode(const char *bytes, size_t n, const char *api_version,
		       struct exec_credential *out, struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_default, e);
	const struct json *status = json_member(root, "status");
	struct exec_credential c = {.expires_ms = STAMP_NONE};
	int rc;

	if (root == NULL)
		return -1;
	rc = check_head(root, api_version, e) || read_status(status, &c, e);
	clear_member(status, "token");
	clear_member(status, "clientKeyData");
	if (rc != 0)
		return -1;
	*out = c;
	return 0;
}
