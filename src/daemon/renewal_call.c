/* SPDX-License-Identifier: Apache-2.0 */
#include "renewal_call.h"

#include <stdio.h>
#include <string.h>

#include "edge/certs/certs_own.h"
#include "edge/log.h"
#include "wire/api/patch.h"

/*
 * The steps of core/protocol/renewal as calls: one step reads the Secret and
 * the webhook configuration, the others write the CA or the pair into the
 * Secret, or CAs into caBundle.  A leader's call ends before its lead does, so
 * that it does not overlap with a call of the next leader.  A replica that acts
 * without the lead uses the usual timeout.
 */
#define MANAGER "?fieldManager=karpenter-node-holder"
#define PATH_CAP (sizeof(WEBHOOKS_PATH) + 3 * NAME_BYTES)

/* The result of a call that was not sent. */
static const struct renewal_call_result none = {
	.outcome = {.code = RENEWAL_FAILED, .retry_after_ms = -1},
	.answer = ANSWER_FAILED,
};

/* --- calls ---------------------------------------------------------------- */

/* Makes a call.  `body` is a JSON body in r->body, or NULL for no body. */
static void
call_json(struct renewal_call *r, struct kube_request *q,
	  const struct buf *body, struct renewal_call_result *c)
{
	int64_t left_ms = r->stands_in ? r->call_ms : state_lead_ms(r->shared);

	*c = none;
	/* A leader's call must end before another replica can lead. */
	q->timeout_ms = left_ms < r->call_ms ? left_ms : r->call_ms;
	q->answer_max = RENEWAL_ANSWER_MAX;
	if (left_ms <= 0) {
		(void)err_set(&c->err, ERR_CANCELLED, "the lead is over");
		return;
	}
	if (body != NULL) {
		q->body = body->data;
		q->body_bytes = body->len;
	}
	if (kube_stream_run(r->stream, q, NULL, NULL, NULL, &c->reply, &c->err))
		return;
	c->err = (struct err){0};
	c->status = c->reply.status;
	c->outcome.retry_after_ms = c->reply.retry_after_ms;
	c->answer = answer_class(&c->reply);
	if (c->answer == ANSWER_OK)
		c->outcome.code = RENEWAL_OK;
}

/* --- reading -------------------------------------------------------------- */

void
renewal_call_forget(struct renewal_call *r)
{
	secret_done(&r->secret);
	webhook_config_done(&r->webhooks);
}

static void
read_secret(struct renewal_call *r, struct renewal_call_result *c)
{
	char path[PATH_CAP];
	struct kube_request q = {.method = "GET", .path = path};

	(void)snprintf(path, sizeof(path), SECRET_ITEM_PATH, r->namespace_name,
		       r->config->self_signed.secret);
	call_json(r, &q, NULL, c);
	if (c->outcome.code == RENEWAL_OK &&
	    secret_decode(c->reply.body, c->reply.body_bytes, &r->secret,
			  &c->err))
		c->outcome.code = RENEWAL_FAILED;
	else if (c->answer == ANSWER_GONE)
		c->outcome.code = RENEWAL_OK;
}

static void
read_webhooks(struct renewal_call *r, struct renewal_call_result *c)
{
	char path[PATH_CAP];
	struct kube_request q = {.method = "GET", .path = path};

	(void)snprintf(path, sizeof(path), WEBHOOKS_PATH,
		       r->config->self_signed.configuration);
	call_json(r, &q, NULL, c);
	if (c->outcome.code == RENEWAL_OK &&
	    webhook_config_decode(c->reply.body, c->reply.body_bytes,
				  &r->webhooks, &c->err))
		c->outcome.code = RENEWAL_FAILED;
	else if (c->answer == ANSWER_GONE)
		c->outcome.code = RENEWAL_OK;
}

static bool
differs(const struct webhooks *w, unsigned i)
{
	return strcmp(w->bundle[i] != NULL ? w->bundle[i] : "",
		      w->bundle[0] != NULL ? w->bundle[0] : "") != 0;
}

static void
look(struct renewal_call *r)
{
	const struct secret *s = &r->secret;
	const struct webhooks *w = &r->webhooks;
	struct renewal_view *v = &r->view;

	*v = (struct renewal_view){.has_webhooks = w->n > 0};
	v->has_ca = certs_own_is_ca(s->ca_cert, s->ca_key, &v->ca);
	v->has_leaf =
		v->has_ca && certs_own_is_leaf(s->cert, s->key, s->ca_cert,
					       &r->names, &v->leaf);
	for (unsigned i = 0; i < w->n; i++) {
		v->bundle_differs |= differs(w, i);
		if (w->bundle[i] != NULL &&
		    !certs_own_bundle_read(w->bundle[i], v->bundle,
					   &v->bundle_n))
			v->bundle_differs = true;
	}
}

static void
read_everything(struct renewal_call *r, struct renewal_call_result *c)
{
	renewal_call_forget(r);
	read_secret(r, c);
	if (c->outcome.code != RENEWAL_OK)
		return;
	read_webhooks(r, c);
	if (c->outcome.code != RENEWAL_OK && c->err.code != ERR_CANCELLED)
		c->outcome.code = RENEWAL_PARTLY;
	if (c->outcome.code == RENEWAL_FAILED)
		return;
	look(r);
	c->outcome.view = &r->view;
}

/* --- writing -------------------------------------------------------------- */

static void
write_secret(struct renewal_call *r, struct secret_pair p,
	     const struct certs_own *own, struct renewal_call_result *c)
{
	const char *name = r->config->self_signed.secret;
	char path[PATH_CAP];
	struct kube_request q = {.method = "PATCH",
				 .path = path,
				 .content_type = PATCH_MERGE_TYPE};
	struct buf body;

	p.cert = own->cert;
	p.key = own->key;
	buf_init(&body, r->body, sizeof(r->body));
	if (r->secret.rv[0] == '\0') {
		q.method = "POST";
		q.content_type = "application/json";
		(void)snprintf(path, sizeof(path), SECRET_PATH MANAGER,
			       r->namespace_name);
		secret_create(&body, r->namespace_name, name, &p);
	} else {
		(void)snprintf(path, sizeof(path), SECRET_ITEM_PATH MANAGER,
			       r->namespace_name, name);
		secret_update(&body, r->secret.rv, &p);
	}
	call_json(r, &q, &body, c);
	explicit_bzero(r->body, body.len);
	/* Somebody created, changed or deleted the Secret after it was read. */
	if (c->answer == ANSWER_EXISTS || c->answer == ANSWER_CONFLICT ||
	    (c->answer == ANSWER_GONE && r->secret.rv[0] != '\0'))
		c->outcome.code = RENEWAL_CONFLICT;
}

static void
write_pair(struct renewal_call *r, const struct renewal_todo *todo,
	   struct renewal_call_result *c)
{
	int64_t now_ms = clock_now(r->shared->clock).server_ms;
	bool ca = todo->step == RENEWAL_CA;
	char until[STAMP_BYTES];
	struct certs_own own;

	*c = none;
	if (ca ? certs_own_ca(now_ms, todo->life_ms, &own, &c->err)
	       : certs_own_leaf(r->secret.ca_cert, r->secret.ca_key, &r->names,
				now_ms, todo->life_ms, &own, &c->err))
		return;
	write_secret(r, ca ? secret_ca : secret_tls, &own, c);
	if (c->outcome.code == RENEWAL_OK) {
		stamp_format(own.facts.not_after_ms, until);
		counter_add(&r->shared->counters,
			    ca ? COUNTER_RENEWAL_CA : COUNTER_RENEWAL_LEAF);
		LOG(LOG_INFO, "certificate minted",
		    LS("what", ca ? "CA" : "serving"),
		    LS("reason", todo->reason), LS("notAfter", until));
	}
	certs_own_done(&own);
}

/* Looks for the certificate `which` in the caBundles of all webhooks and adds
 * it to *out.  Returns 1, or 0 if the certificate was not found or does not
 * fit. */
static unsigned
add_to_bundle(const struct webhooks *w, const struct renewal_cert *which,
	      struct buf *out)
{
	char storage[SECRET_PEM_MAX];
	struct buf one;

	buf_init(&one, storage, sizeof(storage));
	for (unsigned i = 0; i < w->n && one.len == 0; i++)
		if (w->bundle[i] != NULL)
			(void)certs_own_bundle_pick(w->bundle[i], which, &one);
	if (one.len == 0 || one.full || one.len >= out->cap - out->len)
		return 0;
	buf_puts(out, storage);
	return 1;
}

static void
write_bundle(struct renewal_call *r, const struct renewal_todo *todo,
	     struct renewal_call_result *c)
{
	char path[PATH_CAP];
	struct kube_request q = {.method = "PATCH",
				 .path = path,
				 .content_type = PATCH_JSON_TYPE};
	unsigned n = 1;
	struct buf pem, body;

	buf_init(&pem, r->pem, sizeof(r->pem));
	buf_init(&body, r->body, sizeof(r->body));
	(void)certs_own_bundle_pick(r->secret.ca_cert, &r->view.ca, &pem);
	for (unsigned i = 0; i < r->view.bundle_n; i++)
		if (todo->keep[i])
			n += add_to_bundle(&r->webhooks, &r->view.bundle[i],
					   &pem);
	(void)snprintf(path, sizeof(path), WEBHOOKS_PATH MANAGER,
		       r->config->self_signed.configuration);
	webhook_config_patch(&body, &r->webhooks, r->pem);
	call_json(r, &q, &body, c);
	/* The API server answers 422 if the JSON patch's test of the version
	 * fails. */
	if (c->answer == ANSWER_CONFLICT || c->answer == ANSWER_INVALID ||
	    c->answer == ANSWER_EXISTS || c->answer == ANSWER_GONE)
		c->outcome.code = RENEWAL_CONFLICT;
	if (c->outcome.code != RENEWAL_OK)
		return;
	counter_add(&r->shared->counters, COUNTER_RENEWAL_BUNDLE);
	LOG(LOG_INFO, "caBundle written", LS("reason", todo->reason),
	    LI("certificates", n));
}

void
renewal_call_step(struct renewal_call *r, const struct renewal_todo *todo,
		  struct renewal_call_result *out)
{
	if (todo->step == RENEWAL_READ)
		read_everything(r, out);
	else if (todo->step == RENEWAL_BUNDLE)
		write_bundle(r, todo, out);
	else
		write_pair(r, todo, out);
}

void
renewal_call_names(struct renewal_call *r)
{
	const char *service = r->config->self_signed.service;

	(void)snprintf(r->names_text[0], sizeof(r->names_text[0]), "%s.%s.svc",
		       service, r->namespace_name);
	(void)snprintf(r->names_text[1], sizeof(r->names_text[1]),
		       "%s.%s.svc.cluster.local", service, r->namespace_name);
	r->names = (struct certs_names){
		.dns = {r->names_text[0], r->names_text[1]},
		.dns_n = 2,
	};
}
