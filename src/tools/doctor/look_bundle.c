/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "edge/certs/certs_own.h"
#include "look.h"
#include "tools/client.h"

/* Splits https://HOST:PORT/PATH?QUERY into "https://HOST:PORT" and
 * "/PATH?QUERY".  Returns -1 if the text has another form. */
static int
split_url(const char *url, char **server, const char **path)
{
	size_t host = 8;

	if (strncmp(url, "https://", host) != 0)
		return -1;
	host += strcspn(url + host, "/?#");
	*server = strndup(url, host);
	*path = url[host] == '/' ? url + host : "/";
	return *server == NULL ? -1 : 0;
}

/* Finds out from the error text of edge/kube or libcurl why a handshake failed.
 * An unknown text means that no certificate was received. */
static enum served
served_refused(const char *why)
{
	static const struct {
		const char *words;
		enum served served;
	} at[] = {
		{"expired", SERVED_DATES},
		{"not yet valid", SERVED_DATES},
		{"subject name", SERVED_NAME},
		{"certificate problem", SERVED_REFUSED},
	};

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		if (strstr(why, at[i].words) != NULL)
			return at[i].served;
	return SERVED_CUT;
}

/* Connects to the webhook and returns what came of it (enum served).  Any HTTP
 * answer, even an error, means that the certificate was verified. */
static enum served
connect_once(struct doctor *d, struct kubeconfig *access, const char *path,
	     struct err *e)
{
	struct kube_request q = {.method = "GET",
				 .path = path,
				 .timeout_ms = d->timing->call_ms};
	struct kube *k = client_new(access, NULL, d->timing, e);
	struct kube_stream *s = k == NULL ? NULL : kube_stream_new(k, e);
	struct kube_reply r = {.status = 0};
	enum served served = SERVED_UNREACHED;
	int rc;

	if (s != NULL) {
		rc = kube_stream_run(s, &q, NULL, NULL, NULL, &r, e);
		if (rc == 0 || r.status != 0)
			served = SERVED_VERIFIED;
	}
	if (served != SERVED_VERIFIED &&
	    (e->code == ERR_TLS || e->code == ERR_CUT))
		served = served_refused(e->text);
	kube_stream_free(s);
	kube_free(k);
	return served;
}

static void
look_served(struct doctor *d, const struct webhook_facts *w, const char *pem)
{
	struct kubeconfig access = {0};
	enum served served = SERVED_UNREACHED;
	const char *path = "/";
	struct err e = {0};

	(void)err_set(&e, ERR_INPUT, "no https:// URL");
	if (split_url(w->url, &access.server, &path) == 0) {
		access.ca_pem = strdup(pem);
		if (access.ca_pem != NULL)
			served = connect_once(d, &access, path, &e);
	}
	kubeconfig_done(&access);
	if (served == SERVED_UNREACHED && d->authority != 0 &&
	    !certs_own_signed_by(pem, d->authority))
		served = SERVED_UNSIGNED;
	/* After the semicolon the error gives advice about a kubeconfig, but
	 * this connection uses none. */
	e.text[strcspn(e.text, ";")] = '\0';
	judge_served(w, served, e.text, d->setup->in_cluster, &d->place, d->f);
}

static void
bundle_facts_read(const char *pem, struct bundle_facts *b)
{
	struct renewal_cert at[RENEWAL_BUNDLE_MAX];

	b->present = pem != NULL;
	b->latest_ms = INT64_MIN;
	if (pem == NULL)
		return;
	b->readable = certs_own_bundle_read(pem, at, &b->certificates);
	for (unsigned i = 0; i < b->certificates; i++)
		if (at[i].not_after_ms > b->latest_ms)
			b->latest_ms = at[i].not_after_ms;
}

void
look_bundle(struct doctor *d)
{
	int64_t now_ms = clock_now(d->clock).server_ms;

	for (unsigned i = 0; i < d->hooks_n; i++) {
		struct bundle_facts b = {.present = false};

		bundle_facts_read(d->bundles[i], &b);
		judge_bundle(&d->hooks[i], &b, &d->place, now_ms, d->f);
		if (b.certificates > 0 && b.latest_ms > now_ms)
			look_served(d, &d->hooks[i], d->bundles[i]);
	}
}
