/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/stamp.h"
#include "core/base/str.h"
#include "wire/api/meta.h"
#include "wire/doctor/facts.h"
#include "wire/json/json.h"

/*
 * Decodes the objects that make up the installation: Deployments, Pods, the
 * webhook's Service with its EndpointSlices, and PodDisruptionBudgets.  Each
 * function keeps only the members in the table above it, fills a struct of
 * facts (core/doctor/judge.h), and judges nothing.
 *
 * The objects come from the API server, which validates them.  So only what the
 * API server would not store is an error: an object without a name, or a name
 * or label that is too long or no text.  Anything else that is missing or
 * cannot be read counts as absent.  The judges then say less, and the command
 * goes on.
 */

#define APP_LABEL "app.kubernetes.io/name"
#define COMPONENT_LABEL "app.kubernetes.io/component"
#define VERSION_LABEL "app.kubernetes.io/version"
#define RELEASE_KEY "meta.helm.sh/release-name"

/* --- Deployments ---------------------------------------------------------- */

static const struct json_keep labels_keep[] = {{APP_LABEL, NULL},
					       {COMPONENT_LABEL, NULL},
					       {VERSION_LABEL, NULL},
					       {NULL, NULL}};
static const struct json_keep release_keep[] = {{RELEASE_KEY, NULL},
						{NULL, NULL}};
static const struct json_keep workload_keep[] = {
	{"name", NULL},		 {"namespace", NULL},
	{"generation", NULL},	 {"annotations", release_keep},
	{"labels", labels_keep}, {NULL, NULL}};
static const struct json_keep container_keep[] = {{"image", NULL},
						  {NULL, NULL}};
static const struct json_keep volume_keep[] = {
	{"configMap", NULL}, {"secret", NULL}, {NULL, NULL}};
static const struct json_keep account_keep[] = {{"serviceAccountName", NULL},
						{"containers", container_keep},
						{"volumes", volume_keep},
						{NULL, NULL}};
static const struct json_keep any_labels_keep[] = {{"labels", NULL},
						   {NULL, NULL}};
static const struct json_keep pods_keep[] = {
	{"metadata", any_labels_keep}, {"spec", account_keep}, {NULL, NULL}};
static const struct json_keep deployment_spec_keep[] = {
	{"replicas", NULL}, {"template", pods_keep}, {NULL, NULL}};
static const struct json_keep counts_keep[] = {
	{"observedGeneration", NULL}, {"updatedReplicas", NULL},
	{"readyReplicas", NULL},      {"availableReplicas", NULL},
	{"conditions", NULL},	      {NULL, NULL}};
static const struct json_keep deployment_keep[] = {
	{"metadata", workload_keep},
	{"spec", deployment_spec_keep},
	{"status", counts_keep},
	{NULL, NULL}};

static bool
condition_is(const struct json *status, const char *type, const char *value,
	     const struct json **out)
{
	const struct json *c = json_first(json_member(status, "conditions"));

	while (c != NULL && !json_says(c, "type", type))
		c = json_next(c);
	*out = c;
	return json_says(c, "status", value);
}

static const char *
text_or(const struct json *object, const char *key, const char *otherwise)
{
	const char *s = json_string(json_member(object, key));

	return s != NULL ? s : otherwise;
}

/* Reads the tag in REGISTRY:PORT/NAME:TAG@DIGEST. */
static void
tag_read(const char *image, struct version *out)
{
	char tag[VERSION_BYTES];
	const char *slash = image == NULL ? NULL : strrchr(image, '/');
	const char *colon =
		image == NULL ? NULL : strchr(slash ? slash : image, ':');
	size_t n;

	if (colon == NULL)
		return;
	n = strcspn(colon + 1, "@");
	if (n >= sizeof(tag))
		return;
	memcpy(tag, colon + 1, n);
	tag[n] = '\0';
	judge_version_parse(tag, out);
}

/* The condition Progressing gets this reason when the newest version has come
 * to run, and keeps it until the Deployment's template changes. */
static int64_t
rolled_read(const struct json *status)
{
	const struct json *progress;
	int64_t ms;
	const char *s;

	if (!condition_is(status, "Progressing", "True", &progress) ||
	    !json_says(progress, "reason", "NewReplicaSetAvailable"))
		return STAMP_NONE;
	s = json_string(json_member(progress, "lastUpdateTime"));
	return s == NULL || stamp_parse(s, &ms) ? STAMP_NONE : ms;
}

static void
counts_read(const struct json *root, struct deployment_facts *d)
{
	const struct json *status = json_member(root, "status");
	const struct json *meta = json_member(root, "metadata"), *failure;

	if (condition_is(status, "ReplicaFailure", "True", &failure))
		str_cut(d->failure, sizeof(d->failure),
			text_or(failure, "message", "for an unknown reason"));
	d->replicas = 1; /* the API server's default */
	(void)json_integer(json_member(json_member(root, "spec"), "replicas"),
			   &d->replicas);
	(void)json_integer(json_member(meta, "generation"), &d->generation);
	(void)json_integer(json_member(status, "observedGeneration"),
			   &d->observed);
	(void)json_integer(json_member(status, "updatedReplicas"), &d->updated);
	(void)json_integer(json_member(status, "readyReplicas"), &d->ready);
	(void)json_integer(json_member(status, "availableReplicas"),
			   &d->available);
	d->rolled_ms = rolled_read(status);
}

/* Reads the name of the first volume of this kind.  A name that does not fit
 * counts as missing. */
static void
volume_read(const struct json *volumes, const char *kind, const char *key,
	    char out[NAME_BYTES])
{
	for (const struct json *v = json_first(volumes); v; v = json_next(v)) {
		const char *name =
			json_string(json_member(json_member(v, kind), key));

		if (name != NULL && out[0] == '\0')
			(void)str_copy(out, NAME_BYTES, name);
	}
}

static void
labels_read(const struct json *map, char *out, size_t cap)
{
	size_t n = 1;

	(void)snprintf(out, cap, "\n");
	for (const struct json *v = json_first(map); v; v = json_next(v)) {
		const char *value = json_string(v);
		size_t need = strlen(json_key(v)) + 2;

		if (value == NULL || n + need + strlen(value) >= cap)
			continue;
		n += (size_t)snprintf(out + n, cap - n, "%s=%s\n", json_key(v),
				      value);
	}
}

int
facts_deployment_decode(const char *bytes, size_t n,
			struct deployment_facts *out, struct err *e)
{
	AUTO_JSON root =
		json_pick(bytes, n, deployment_keep, &json_bounds_stored, e);
	const struct json *meta = json_member(root, "metadata");
	const struct json *labels = json_member(meta, "labels");
	const struct json *template =
		json_member(json_member(root, "spec"), "template");
	const struct json *pod = json_member(template, "spec");
	const struct json *first = json_first(json_member(pod, "containers"));
	const char *version = json_string(json_member(labels, VERSION_LABEL));
	struct deployment_facts d = {.available = 0};

	if (root == NULL ||
	    meta_text_need(meta, "name", d.name, sizeof(d.name),
			   "metadata.name", e) ||
	    meta_text_need(meta, "namespace", d.namespace_,
			   sizeof(d.namespace_), "metadata.namespace", e) ||
	    meta_text_copy(labels, APP_LABEL, d.app, sizeof(d.app),
			   "label " APP_LABEL, e) ||
	    meta_text_copy(labels, COMPONENT_LABEL, d.component,
			   sizeof(d.component), "label " COMPONENT_LABEL, e) ||
	    meta_text_copy(json_member(meta, "annotations"), RELEASE_KEY,
			   d.release, sizeof(d.release),
			   "annotation " RELEASE_KEY, e) ||
	    meta_text_copy(pod, "serviceAccountName", d.account,
			   sizeof(d.account), "serviceAccountName", e))
		return -1;
	if (version != NULL)
		judge_version_parse(version, &d.version);
	if (!d.version.known)
		tag_read(json_string(json_member(first, "image")), &d.version);
	counts_read(root, &d);
	labels_read(json_member(json_member(template, "metadata"), "labels"),
		    d.labels, sizeof(d.labels));
	volume_read(json_member(pod, "volumes"), "configMap", "name",
		    d.config_map);
	volume_read(json_member(pod, "volumes"), "secret", "secretName",
		    d.secret);
	*out = d;
	return 0;
}

/* --- Pods ----------------------------------------------------------------- */

static const struct json_keep hold_keep[] = {{DEFAULT_HOLD_KEY, NULL},
					     {NULL, NULL}};
static const struct json_keep pod_meta_keep[] = {{"name", NULL},
						 {"deletionTimestamp", NULL},
						 {"labels", labels_keep},
						 {"annotations", hold_keep},
						 {NULL, NULL}};
static const struct json_keep ports_keep[] = {{"ports", NULL}, {NULL, NULL}};
static const struct json_keep pod_spec_keep[] = {
	{"nodeName", NULL}, {"containers", ports_keep}, {NULL, NULL}};
static const struct json_keep state_keep[] = {
	{"state", NULL}, {"lastState", NULL}, {NULL, NULL}};
static const struct json_keep pod_status_keep[] = {
	{"phase", NULL},
	{"conditions", NULL},
	{"containerStatuses", state_keep},
	{NULL, NULL}};
static const struct json_keep pod_keep[] = {{"metadata", pod_meta_keep},
					    {"spec", pod_spec_keep},
					    {"status", pod_status_keep},
					    {NULL, NULL}};

/* Appends the last line of the text.  The text may be the end of the
 * container's log, which the kubelet quotes.  The last line of a log gives the
 * reason. */
static void
put_last_line(struct buf *b, const char *text)
{
	size_t n = strlen(text), begin;

	while (n > 0 && text[n - 1] == '\n')
		n--;
	for (begin = n; begin > 0 && text[begin - 1] != '\n';)
		begin--;
	buf_printf(b, ": %.*s", n - begin < 120 ? (int)(n - begin) : 120,
		   text + begin);
}

/* Reads why the pod's container does not run.  The reason for which it last
 * ended is more useful than the reason for which it waits. */
static void
trouble_read(const struct json *status, char *out, size_t cap)
{
	const struct json *unscheduled;
	const struct json *one =
		json_first(json_member(status, "containerStatuses"));
	const struct json *waits =
		json_member(json_member(one, "state"), "waiting");
	const struct json *ended =
		json_member(json_member(one, "lastState"), "terminated");
	long long code = 0;
	struct buf b;

	buf_init(&b, out, cap);
	if (waits != NULL)
		buf_printf(&b, "%.40s", text_or(waits, "reason", "waiting"));
	if (waits != NULL && ended == NULL && json_member(waits, "message"))
		put_last_line(&b, text_or(waits, "message", ""));
	if (waits != NULL && ended != NULL) {
		(void)json_integer(json_member(ended, "exitCode"), &code);
		buf_printf(&b, ", %.30s with exit code %lld",
			   text_or(ended, "reason", "ended"), code);
	}
	if (waits != NULL && json_member(ended, "message") != NULL)
		put_last_line(&b, text_or(ended, "message", ""));
	if (condition_is(status, "PodScheduled", "False", &unscheduled))
		buf_printf(&b, "not scheduled: %.120s",
			   text_or(unscheduled, "message", ""));
}

static void
ports_read(const struct json *containers, struct pod_facts *p)
{
	const struct json *list = json_member(json_first(containers), "ports");
	struct buf b;

	buf_init(&b, p->ports, sizeof(p->ports));
	buf_puts(&b, " ");
	for (const struct json *v = json_first(list); v; v = json_next(v)) {
		long long number = 0;

		(void)json_integer(json_member(v, "containerPort"), &number);
		if (number < 1 || number > 65535)
			continue;
		buf_printf(&b, "%.15s %lld ", text_or(v, "name", "-"), number);
		if (json_says(v, "name", "metrics"))
			(void)snprintf(p->metrics_port, sizeof(p->metrics_port),
				       "%lld", number);
	}
}

int
facts_pod_decode(const char *bytes, size_t n, struct pod_facts *out,
		 struct err *e)
{
	AUTO_JSON root = json_pick(bytes, n, pod_keep, &json_bounds_stored, e);
	const struct json *meta = json_member(root, "metadata");
	const struct json *status = json_member(root, "status"), *condition;
	const struct json *spec = json_member(root, "spec");
	struct pod_facts p = {.kept = false};

	if (root == NULL ||
	    meta_text_need(meta, "name", p.name, sizeof(p.name),
			   "metadata.name", e) ||
	    meta_text_copy(json_member(meta, "labels"), COMPONENT_LABEL,
			   p.component, sizeof(p.component),
			   "label " COMPONENT_LABEL, e) ||
	    meta_text_copy(spec, "nodeName", p.node, sizeof(p.node),
			   "spec.nodeName", e))
		return -1;
	p.kept = json_says(json_member(meta, "annotations"), DEFAULT_HOLD_KEY,
			   "true");
	p.ready = condition_is(status, "Ready", "True", &condition);
	trouble_read(status, p.trouble, sizeof(p.trouble));
	ports_read(json_member(spec, "containers"), &p);
	*out = p;
	return !json_is_unset(json_member(meta, "deletionTimestamp")) ||
	       json_says(status, "phase", "Failed") ||
	       json_says(status, "phase", "Succeeded");
}

/* --- the Service ---------------------------------------------------------- */

/* Reads the target of the Service's port: the name or the number of a port of
 * the Pods, or by default the Service's own number. */
static void
target_read(const struct json *port, struct service_facts *out)
{
	const char *name = json_string(json_member(port, "targetPort"));
	long long number = 0;

	(void)json_integer(json_member(port, "port"), &number);
	(void)json_integer(json_member(port, "targetPort"), &number);
	if (name != NULL)
		str_cut(out->target, sizeof(out->target), name);
	else
		(void)snprintf(out->target, sizeof(out->target), "%lld",
			       number);
}

static void
selector_read(const struct json *selector, struct service_facts *out)
{
	static const char *const ours[][2] = {
		{APP_LABEL, "karpenter-node-holder"},
		{COMPONENT_LABEL, "controller"}};
	struct buf b;

	buf_init(&b, out->selector, sizeof(out->selector));
	for (const struct json *v = json_first(selector); v; v = json_next(v)) {
		const char *value = json_string(v);
		bool has = value == NULL;

		/* kustomize and Helm may add labels of their own to the
		 * selector and to the pods. */
		for (int i = 0; i < 2; i++)
			if (strcmp(json_key(v), ours[i][0]) == 0)
				has = has || strcmp(value, ours[i][1]) == 0;
		if (!has &&
		    (strcmp(json_key(v), "app.kubernetes.io/instance") &&
		     strcmp(json_key(v), "app.kubernetes.io/part-of")))
			buf_printf(&b, "%s%.70s=%.60s", b.len > 0 ? "," : "",
				   json_key(v), value);
	}
}

int
facts_service_decode(const char *bytes, size_t n, const struct webhook_facts *w,
		     struct service_facts *out, struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_stored, e);
	const struct json *spec = json_member(root, "spec");
	struct service_facts s = {.there = true};
	const struct json *v = json_first(json_member(spec, "ports"));

	if (root == NULL)
		return -1;
	for (; v != NULL; v = json_next(v)) {
		long long number = 0;

		(void)json_integer(json_member(v, "port"), &number);
		if (s.first_port == 0 || json_says(v, "name", "webhook"))
			s.first_port = number;
		if (number == w->port) {
			s.port = true;
			target_read(v, &s);
		}
	}
	selector_read(json_member(spec, "selector"), &s);
	*out = s;
	return 0;
}

int
facts_slice_decode(const char *bytes, size_t n, unsigned *ready, struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_stored, e);
	const struct json *v = json_first(json_member(root, "endpoints"));

	if (root == NULL)
		return -1;
	for (; v != NULL; v = json_next(v)) {
		const struct json *is =
			json_member(json_member(v, "conditions"), "ready");

		*ready += json_is_unset(is) || json_is_true(is);
	}
	return 0;
}

/* --- PodDisruptionBudgets ------------------------------------------------- */

/* Returns whether all pods of the budget are healthy, and none may be
 * evicted. */
static bool
blocks(const struct json *status)
{
	long long allowed = 0, healthy = 0, expected = 0;

	(void)json_integer(json_member(status, "disruptionsAllowed"), &allowed);
	(void)json_integer(json_member(status, "currentHealthy"), &healthy);
	(void)json_integer(json_member(status, "expectedPods"), &expected);
	return expected > 0 && healthy >= expected && allowed == 0;
}

/* Returns whether the labels have KEY=VALUE or, if the value is NULL, the
 * key. */
static bool
has_label(const char *labels, const char *key, const char *value)
{
	char text[2 * KEY_BYTES];
	int n = snprintf(text, sizeof(text), "\n%s=%s%s", key,
			 value == NULL ? "" : value, value == NULL ? "" : "\n");

	return n > 0 && (size_t)n < sizeof(text) &&
	       strstr(labels, text) != NULL;
}

/* An operator that we do not know selects nothing. */
static bool
expression_holds(const struct json *x, const char *labels)
{
	const char *key = text_or(x, "key", "");
	bool in = false, not = json_says(x, "operator", "NotIn");

	if (json_says(x, "operator", "Exists"))
		return has_label(labels, key, NULL);
	if (json_says(x, "operator", "DoesNotExist"))
		return !has_label(labels, key, NULL);
	for (const struct json *v = json_first(json_member(x, "values"));
	     v != NULL; v = json_next(v))
		in |= json_string(v) != NULL &&
		      has_label(labels, key, json_string(v));
	return not ? !in : in && json_says(x, "operator", "In");
}

/* Returns whether a LabelSelector selects pods with these labels.  One that is
 * empty selects all pods, and one that is missing selects none. */
static bool
selects(const struct json *selector, const char *labels)
{
	const struct json *all = json_member(selector, "matchLabels");
	const struct json *v;

	for (v = json_first(all); v != NULL; v = json_next(v))
		if (json_string(v) == NULL ||
		    !has_label(labels, json_key(v), json_string(v)))
			return false;
	all = json_member(selector, "matchExpressions");
	for (v = json_first(all); v != NULL; v = json_next(v))
		if (!expression_holds(v, labels))
			return false;
	return json_is_object(selector);
}

int
facts_budget_decode(const char *bytes, size_t n, const char *labels,
		    struct budget_facts *out, struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_stored, e);
	char name[NAME_BYTES];

	if (root == NULL ||
	    meta_text_need(json_member(root, "metadata"), "name", name,
			   sizeof(name), "metadata.name", e))
		return -1;
	if (!selects(json_member(json_member(root, "spec"), "selector"),
		     labels))
		return 0;
	if (out->first[0] == '\0')
		memcpy(out->first, name, sizeof(name));
	else if (out->second[0] == '\0')
		memcpy(out->second, name, sizeof(name));
	if (blocks(json_member(root, "status")))
		memcpy(out->blocks, name, sizeof(name));
	return 0;
}
