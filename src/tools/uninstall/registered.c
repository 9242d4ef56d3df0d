/* SPDX-License-Identifier: Apache-2.0 */
#include "registered.h"

#include <stdio.h>

#include "edge/kube/answer.h"
#include "wire/api/registration.h"

#define GROUP "/apis/admissionregistration.k8s.io/"

static void
add(struct registered *r, enum registered_kind kind, const char *base,
    const char *name, bool shared)
{
	unsigned i = r->n;

	/* The registrations for which there is no room are found by a later
	 * call of registered_look. */
	if (i >= REGISTERED_MAX)
		return;
	r->at[i].kind = kind;
	r->at[i].shared = shared;
	(void)snprintf(r->at[i].path, sizeof(r->at[i].path), "%s/%s", base,
		       name);
	(void)snprintf(r->at[i].name, sizeof(r->at[i].name), "%s", name);
	r->n++;
}

static int
take_webhook(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct registration g;

	if (n > ITEM_BYTES_MAX)
		return err_set(e, ERR_LIMIT, "one of %zu bytes is too large",
			       n);
	if (registration_decode(bytes, n, &g, e))
		return -1;
	if (g.ours)
		add(ctx, REGISTERED_WEBHOOK, REGISTRATION_PATH, g.name,
		    g.others);
	return 0;
}

static void
registered_begin(void *ctx)
{
	((struct registered *)ctx)->n = 0;
}

/* Looks for the policy or the binding, in the version that the API server
 * serves.  They are looked up separately, because a binding without its policy
 * may be left over. */
static int
look_policy(struct session *l, enum registered_kind kind, const char *resource,
	    struct registered *out, struct err *e)
{
	static const char *const versions[] = {"v1", "v1beta1", "v1alpha1"};
	char base[100], path[200], text[ANSWER_TEXT];
	struct kube_request q = {.method = "GET", .path = path};
	struct kube_reply r;

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		(void)snprintf(base, sizeof(base), GROUP "%s/%s", versions[i],
			       resource);
		(void)snprintf(path, sizeof(path), "%s/" POLICY_NAME, base);
		if (session_ask(l, &q, &r, e))
			return err_wrap(e, "get %s", resource);
		if (answer_unserved(&r))
			continue;
		if (r.status == 200)
			add(out, kind, base, POLICY_NAME, false);
		else if (r.status != 404)
			return err_set(e, ERR_SYSTEM, "get %s: %d: %s",
				       resource, r.status,
				       answer_text(&r, text));
		return 0;
	}
	return 0;
}

int
registered_look(struct session *l, struct registered *out, struct err *e)
{
	struct session_list list = {.path = REGISTRATION_PATH,
				    .begin = registered_begin,
				    .item = take_webhook,
				    .ctx = out};

	int rc = session_list(l, &list, e);

	if (rc == 1)
		(void)err_set(e, ERR_SYSTEM, "404: not served");
	if (rc != 0)
		return err_wrap(e, "list mutatingwebhookconfigurations");
	if (look_policy(l, REGISTERED_BINDING,
			"mutatingadmissionpolicybindings", out, e) ||
	    look_policy(l, REGISTERED_POLICY, "mutatingadmissionpolicies", out,
			e))
		return -1;
	return 0;
}

const char *
registered_text(const struct registered *r, unsigned i,
		char text[64 + NAME_BYTES])
{
	static const char *const names[] = {
		[REGISTERED_WEBHOOK] = "mutatingwebhookconfiguration",
		[REGISTERED_BINDING] = "mutatingadmissionpolicybinding",
		[REGISTERED_POLICY] = "mutatingadmissionpolicy",
	};

	(void)snprintf(text, 64 + NAME_BYTES, "%s/%s", names[r->at[i].kind],
		       r->at[i].name);
	return text;
}

int
registered_remove(struct session *l, const struct registered *r,
		  struct output *out, struct err *e)
{
	char name[64 + NAME_BYTES], text[ANSWER_TEXT];
	struct kube_request q = {.method = "DELETE"};
	struct kube_reply reply;

	for (unsigned i = 0; i < r->n; i++) {
		(void)registered_text(r, i, name);
		if (r->at[i].shared)
			return err_set(
				e, ERR_SYSTEM,
				"%s has other webhooks, too: take " REGISTRATION_WEBHOOK
				" out of it by "
				"hand",
				name);
		q.path = r->at[i].path;
		if (session_ask(l, &q, &reply, e))
			return err_wrap(e, "delete %s", name);
		if (reply.status / 100 != 2 && reply.status != 404)
			return err_set(e, ERR_SYSTEM, "delete %s: %d: %s", name,
				       reply.status, answer_text(&reply, text));
		output_line(out, "%s deleted", name);
	}
	return 0;
}
