/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api/webhook_config.h"

#include <stdlib.h>
#include <string.h>

#include "wire/api/meta.h"
#include "wire/base64.h"
#include "wire/json/json.h"
#include "wire/json/json_printf.h"

void
webhook_config_done(struct webhooks *w)
{
	for (unsigned i = 0; i < w->n; i++)
		free(w->bundle[i]);
	*w = (struct webhooks){0};
}

/* Reads caBundle.  A bundle that cannot be decoded counts as missing, but a
 * lack of memory is an error. */
static int
bundle_read(const struct json *webhook, char **out, struct err *e)
{
	const struct json *client = json_member(webhook, "clientConfig");
	const char *s = json_string(json_member(client, "caBundle"));

	*out = NULL;
	if (s == NULL || strlen(s) > BASE64_BYTES(WEBHOOKS_BUNDLE_MAX))
		return 0;
	return base64_decode(s, out) ? err_set(e, ERR_SYSTEM, "out of memory")
				     : 0;
}

static int
read_webhooks(const struct json *list, struct webhooks *w, struct err *e)
{
	for (const struct json *v = json_first(list); v; v = json_next(v)) {
		if (w->n == WEBHOOKS_MAX)
			return err_set(e, ERR_LIMIT, "more than %d webhooks",
				       WEBHOOKS_MAX);
		if (bundle_read(v, &w->bundle[w->n++], e))
			return -1;
	}
	return 0;
}

int
webhook_config_decode(const char *bytes, size_t n, struct webhooks *out,
		      struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_stored, e);
	const struct json *list = json_member(root, "webhooks");
	struct webhooks w = {.rv = ""};

	if (root == NULL)
		return -1;
	if (!json_says(root, "kind", "MutatingWebhookConfiguration"))
		return err_set(e, ERR_INPUT,
			       "not a MutatingWebhookConfiguration");
	if (meta_version_read(json_member(root, "metadata"), w.rv, e))
		return -1;
	if (json_is_array(list) && read_webhooks(list, &w, e)) {
		webhook_config_done(&w);
		return -1;
	}
	*out = w;
	return 0;
}

void
webhook_config_patch(struct buf *b, const struct webhooks *w, const char *pem)
{
	json_printf(b,
		    "[{'op':'test','path':'/metadata/resourceVersion',"
		    "'value':%s}",
		    w->rv);
	for (unsigned i = 0; i < w->n; i++) {
		json_printf(b,
			    ",{'op':'add','path':"
			    "'/webhooks/%u/clientConfig/caBundle','value':'",
			    i);
		base64_encode(b, pem, strlen(pem));
		buf_puts(b, "\"}");
	}
	buf_puts(b, "]");
}
