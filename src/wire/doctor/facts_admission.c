/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "wire/api/meta.h"
#include "wire/api/registration.h"
#include "wire/base64.h"
#include "wire/doctor/facts.h"
#include "wire/json/json.h"

/* --- the rules of a webhook ----------------------------------------------- */

static bool
has(const struct json *list, const char *text)
{
	for (const struct json *v = json_first(list); v; v = json_next(v)) {
		const char *s = json_string(v);

		if (s != NULL && (strcmp(s, text) == 0 || strcmp(s, "*") == 0))
			return true;
	}
	return false;
}

static bool
has_only(const struct json *list, const char *text)
{
	bool any = false;

	for (const struct json *v = json_first(list); v; v = json_next(v)) {
		const char *s = json_string(v);

		if (s == NULL || strcmp(s, text) != 0)
			return false;
		any = true;
	}
	return any;
}

static bool
names(const struct json *rule, const char *group, const char *resource)
{
	const char *scope = json_string(json_member(rule, "scope"));
	const struct json *resources = json_member(rule, "resources");

	return has(json_member(rule, "apiGroups"), group) &&
	       has(json_member(rule, "apiVersions"), "v1") &&
	       has(json_member(rule, "operations"), "CREATE") &&
	       (has(resources, resource) || has(resources, "*/*")) &&
	       (scope == NULL || strcmp(scope, "Namespaced") != 0);
}

static bool
names_only(const struct json *rule, const char *group, const char *resource)
{
	return has_only(json_member(rule, "apiGroups"), group) &&
	       has_only(json_member(rule, "operations"), "CREATE") &&
	       has_only(json_member(rule, "resources"), resource);
}

static void
rules_read(const struct json *rules, struct webhook_facts *w)
{
	for (const struct json *r = json_first(rules); r; r = json_next(r)) {
		w->nodes |= names(r, "", "nodes");
		w->claims |= names(r, "karpenter.sh", "nodeclaims");
		w->others |= !names_only(r, "", "nodes") &&
			     !names_only(r, "karpenter.sh", "nodeclaims");
	}
}

/* --- what is registered by others ---------------------------------------- */

/* Returns whether a rule names writes of Nodes or NodeClaims. */
static bool
names_machines(const struct json *rules)
{
	static const char *const at[][2] = {{"", "nodes"},
					    {"karpenter.sh", "nodeclaims"}};

	for (const struct json *r = json_first(rules); r; r = json_next(r)) {
		const struct json *operations = json_member(r, "operations");
		const struct json *resources = json_member(r, "resources");

		if (!has(operations, "CREATE") && !has(operations, "UPDATE"))
			continue;
		for (int i = 0; i < 2; i++)
			if (has(json_member(r, "apiGroups"), at[i][0]) &&
			    (has(resources, at[i][1]) || has(resources, "*/*")))
				return true;
	}
	return false;
}

int
facts_foreign_decode(const char *bytes, size_t n, char name[NAME_BYTES],
		     struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_stored, e);
	const struct json *meta = json_member(root, "metadata");
	const struct json *hook = json_first(json_member(root, "webhooks"));
	const struct json *policy =
		json_member(json_member(root, "spec"), "matchConstraints");

	if (root == NULL ||
	    meta_text_need(meta, "name", name, NAME_BYTES, "metadata.name", e))
		return -1;
	for (; hook != NULL; hook = json_next(hook))
		if (!json_says(hook, "name", REGISTRATION_WEBHOOK) &&
		    names_machines(json_member(hook, "rules")))
			return 1;
	return !json_says(json_member(meta, "labels"), "app.kubernetes.io/name",
			  "karpenter-node-holder") &&
	       names_machines(json_member(policy, "resourceRules"));
}

/* --- the rest of a webhook ------------------------------------------------ */

/* Copies the expression with each run of white space as one blank.  If it does
 * not fit, *out is "". */
static void
expression_copy(const char *s, char out[WEBHOOK_CONDITION_BYTES])
{
	static const char blanks[] = " \t\r\n";
	size_t n = 0;

	s += strspn(s, blanks);
	while (*s != '\0') {
		bool blank = strchr(blanks, *s) != NULL;

		if (blank)
			s += strspn(s, blanks);
		if (blank && *s == '\0')
			break;
		if (n + 1 >= WEBHOOK_CONDITION_BYTES) {
			n = 0;
			break;
		}
		out[n++] = blank ? ' ' : *s++;
	}
	out[n] = '\0';
}

static void
conditions_read(const struct json *list, struct webhook_facts *w)
{
	const char *s;

	for (const struct json *c = json_first(list); c; c = json_next(c)) {
		s = json_string(json_member(c, "expression"));
		if (w->conditions++ == 0 && s != NULL)
			expression_copy(s, w->condition);
	}
}

static bool
is_empty(const struct json *selector)
{
	return json_first(selector) == NULL;
}

static int
address_read(const struct json *client, struct webhook_facts *w, struct err *e)
{
	const struct json *service = json_member(client, "service");
	const char *url = json_string(json_member(client, "url"));
	const char *path = json_string(json_member(service, "path"));
	int n;

	w->port = 443;

	if (url != NULL) {
		if (str_copy(w->url, sizeof(w->url), url))
			w->url[0] = '\0';
		return 0;
	}
	if (!json_is_object(service))
		return 0;
	if (meta_text_need(service, "name", w->service, sizeof(w->service),
			   "clientConfig.service.name", e) ||
	    meta_text_need(service, "namespace", w->namespace_,
			   sizeof(w->namespace_),
			   "clientConfig.service.namespace", e))
		return -1;
	(void)json_integer(json_member(service, "port"), &w->port);
	n = snprintf(w->url, sizeof(w->url), "https://%s.%s.svc:%lld%s%s",
		     w->service, w->namespace_, w->port,
		     path == NULL || path[0] == '/' ? "" : "/",
		     path == NULL ? "/" : path);
	if (n < 0 || (size_t)n >= sizeof(w->url))
		w->url[0] = '\0';
	return 0;
}

static int
hook_read(const struct json *hook, struct webhook_facts *w, char **bundle,
	  struct err *e)
{
	const struct json *client = json_member(hook, "clientConfig");
	const char *pem = json_string(json_member(client, "caBundle"));

	rules_read(json_member(hook, "rules"), w);
	conditions_read(json_member(hook, "matchConditions"), w);
	w->narrowed = !is_empty(json_member(hook, "namespaceSelector")) ||
		      !is_empty(json_member(hook, "objectSelector"));
	w->fails = !json_says(hook, "failurePolicy", "Ignore");
	w->exact = json_says(hook, "matchPolicy", "Exact");
	w->once = !json_says(hook, "reinvocationPolicy", "IfNeeded");
	w->timeout_s = 10; /* the API server's default */
	(void)json_integer(json_member(hook, "timeoutSeconds"), &w->timeout_s);
	if (address_read(client, w, e))
		return -1;
	if (pem == NULL || strlen(pem) > BASE64_BYTES(WEBHOOKS_BUNDLE_MAX))
		return 0;
	return base64_decode(pem, bundle)
		       ? err_set(e, ERR_SYSTEM, "out of memory")
		       : 0;
}

int
facts_webhook_decode(const char *bytes, size_t n, struct webhook_facts *out,
		     char **bundle, struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_stored, e);
	const struct json *meta = json_member(root, "metadata"), *hook;
	struct webhook_facts w = {.nodes = false};

	*bundle = NULL;
	if (root == NULL ||
	    meta_text_need(meta, "name", w.configuration,
			   sizeof(w.configuration), "metadata.name", e))
		return -1;
	w.injected = json_member(json_member(meta, "annotations"),
				 "cert-manager.io/inject-ca-from") != NULL;
	hook = json_first(json_member(root, "webhooks"));
	for (; hook != NULL && !json_says(hook, "name", REGISTRATION_WEBHOOK);
	     hook = json_next(hook))
		w.index++;
	if (hook == NULL)
		return 0;
	if (hook_read(hook, &w, bundle, e))
		return -1;
	*out = w;
	return 1;
}
