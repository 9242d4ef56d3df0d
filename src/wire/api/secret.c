/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api/secret.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "wire/api/meta.h"
#include "wire/base64.h"
#include "wire/json/json.h"
#include "wire/json/json_printf.h"

const struct secret_pair secret_ca = {"ca.crt", "ca.key", NULL, NULL};
const struct secret_pair secret_tls = {"tls.crt", "tls.key", NULL, NULL};

void
secret_done(struct secret *s)
{
	str_wipe(s->ca_key);
	str_wipe(s->key);
	free(s->ca_key);
	free(s->key);
	free(s->ca_cert);
	free(s->cert);
	*s = (struct secret){0};
}

/* --- reading -------------------------------------------------------------- */

/* Decodes the text and wipes it in the tree, so that no secret stays behind in
 * memory.  *out is NULL if there is no text, or none that can be used.  Returns
 * -1 if there is no memory. */
static int
text_read(const struct json *data, const char *name, char **out)
{
	const char *s = json_string(json_member(data, name));
	int rc = 0;

	*out = NULL;
	if (s == NULL)
		return 0;
	if (strlen(s) <= BASE64_BYTES(SECRET_PEM_MAX))
		rc = base64_decode(s, out);
	str_wipe((char *)(uintptr_t)s);
	return rc;
}

/* Reads all four texts, even after a failure, because reading wipes them. */
static int
texts_read(const struct json *data, struct secret *s)
{
	int rc = text_read(data, secret_ca.cert_name, &s->ca_cert);

	rc |= text_read(data, secret_ca.key_name, &s->ca_key);
	rc |= text_read(data, secret_tls.cert_name, &s->cert);
	rc |= text_read(data, secret_tls.key_name, &s->key);
	return rc;
}

int
secret_decode(const char *bytes, size_t n, struct secret *out, struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_stored, e);
	const struct json *data = json_member(root, "data");
	struct secret s = {.rv = ""};

	if (root == NULL)
		return -1;
	if (!json_says(root, "kind", "Secret"))
		return err_set(e, ERR_INPUT, "not a Secret");
	if (meta_version_read(json_member(root, "metadata"), s.rv, e))
		return -1;
	/* A lack of memory must not look like a missing CA, or the leader would
	 * make another CA. */
	if (texts_read(data, &s)) {
		secret_done(&s);
		return err_set(e, ERR_SYSTEM, "out of memory");
	}
	*out = s;
	return 0;
}

/* --- writing -------------------------------------------------------------- */

static void
put(struct buf *b, const char *name, const char *pem)
{
	json_printf(b, ",%s:'", name);
	base64_encode(b, pem, strlen(pem));
	buf_puts(b, "\"");
}

void
secret_create(struct buf *b, const char *namespace_name, const char *name,
	      const struct secret_pair *p)
{
	json_printf(
		b,
		"{'apiVersion':'v1','kind':'Secret',"
		"'type':'kubernetes.io/tls',"
		"'metadata':{'namespace':%s,'name':%s,"
		"'labels':{'app.kubernetes.io/name':'karpenter-node-holder',"
		"'app.kubernetes.io/managed-by':'karpenter-node-holder'}},"
		"'data':{",
		namespace_name, name);
	/* A Secret of this type must have these two keys.  The serving pair is
	 * written later than the CA. */
	if (strcmp(p->cert_name, secret_tls.cert_name) != 0)
		json_printf(b, "'tls.crt':'','tls.key':''");
	put(b, p->cert_name, p->cert);
	put(b, p->key_name, p->key);
	buf_puts(b, "}}");
}

void
secret_update(struct buf *b, const char *rv, const struct secret_pair *p)
{
	json_printf(b, "{'metadata':{'resourceVersion':%s},'data':{", rv);
	put(b, p->cert_name, p->cert);
	put(b, p->key_name, p->key);
	buf_puts(b, "}}");
}
