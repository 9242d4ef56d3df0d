/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "wire/api/meta.h"
#include "wire/api/object.h"
#include "wire/doctor/facts.h"
#include "wire/json/json.h"

/* --- Deployments and Pods -------------------------------------------------- */

#define APP_LABEL "app.kubernetes.io/name"
#define COMPONENT_LABEL "app.kubernetes.io/component"
#define VERSION_LABEL "app.kubernetes.io/version"

static const struct json_keep labels_keep[] = {{APP_LABEL, NULL},
					       {COMPONENT_LABEL, NULL},
					       {VERSION_LABEL, NULL},
					       {NULL, NULL}};
static const struct json_keep workload_keep[] = {{"name", NULL},
						 {"namespace", NULL},
						 {"labels", labels_keep},
						 {NULL, NULL}};
static const struct json_keep container_keep[] = {{"image", NULL},
						  {NULL, NULL}};
static const struct json_keep account_keep[] = {
	{"serviceAccountName", NULL},
	{"containers", container_keep},
	{NULL, NULL}};
static const struct json_keep pods_keep[] = {{"spec", account_keep},
					     {NULL, NULL}};
static const struct json_keep deployment_spec_keep[] = {
	{"template", pods_keep}, {NULL, NULL}};
static const struct json_keep available_keep[] = {
	{"availableReplicas", NULL}, {NULL, NULL}};
static const struct json_keep deployment_keep[] = {
	{"metadata", workload_keep},
	{"spec", deployment_spec_keep},
	{"status", available_keep},
	{NULL, NULL}};

/* The tag of REGISTRY:PORT/NAME:TAG@DIGEST. */
static void
tag_read(const char *image, struct version *out)
{
	char tag[VERSION_BYTES];
	const char *slash = image == NULL ? NULL : strrchr(image, '/');
	const char *colon = image == NULL ? NULL
					  : strchr(slash ? slash : image, ':');
	size_t n;

	if (colon == NULL)
		return;
	n = strcspn(colon + 1, "@");
	if (n >= sizeof(tag))
		return;
	memcpy(tag, colon + 1, n);
	tag[n] = '\0';
	version_parse(tag, out);
}

int
deployment_facts_decode(const char *bytes, size_t n,
			struct deployment_facts *out, struct err *e)
{
	AUTO_JSON root = json_pick(bytes, n, deployment_keep,
				   &json_bounds_stored, e);
	const struct json *meta = json_member(root, "metadata");
	const struct json *labels = json_member(meta, "labels");
	const struct json *pod = json_member(
		json_member(json_member(root, "spec"), "template"), "spec");
	const struct json *first = json_first(json_member(pod, "containers"));
	const char *version = json_string(json_member(labels, VERSION_LABEL));
	struct deployment_facts d = {.available = 0};

	if (root == NULL ||
	    text_need(meta, "name", d.name, sizeof(d.name), "metadata.name",
		      e) ||
	    text_need(meta, "namespace", d.namespace_, sizeof(d.namespace_),
		      "metadata.namespace", e) ||
	    text_copy(labels, APP_LABEL, d.app, sizeof(d.app),
		      "label " APP_LABEL, e) ||
	    text_copy(labels, COMPONENT_LABEL, d.component, sizeof(d.component),
		      "label " COMPONENT_LABEL, e) ||
	    text_copy(pod, "serviceAccountName", d.account, sizeof(d.account),
		      "serviceAccountName", e))
		return -1;
	if (version != NULL)
		version_parse(version, &d.version);
	if (!d.version.known)
		tag_read(json_string(json_member(first, "image")), &d.version);
	(void)json_integer(json_member(json_member(root, "status"),
				       "availableReplicas"),
			   &d.available);
	*out = d;
	return 0;
}

static const struct json_keep hold_keep[] = {{DEFAULT_HOLD_KEY, NULL},
					     {NULL, NULL}};
static const struct json_keep pod_meta_keep[] = {{"name", NULL},
						 {"deletionTimestamp", NULL},
						 {"annotations", hold_keep},
						 {NULL, NULL}};
static const struct json_keep pod_spec_keep[] = {{"nodeName", NULL},
						 {NULL, NULL}};
static const struct json_keep pod_status_keep[] = {{"phase", NULL},
						   {NULL, NULL}};
static const struct json_keep pod_keep[] = {{"metadata", pod_meta_keep},
					    {"spec", pod_spec_keep},
					    {"status", pod_status_keep},
					    {NULL, NULL}};

int
pod_facts_decode(const char *bytes, size_t n, struct pod_facts *out,
		 struct err *e)
{
	AUTO_JSON root = json_pick(bytes, n, pod_keep, &json_bounds_stored, e);
	const struct json *meta = json_member(root, "metadata");
	const struct json *status = json_member(root, "status");
	struct pod_facts p = {.kept = false};

	if (root == NULL ||
	    text_need(meta, "name", p.name, sizeof(p.name), "metadata.name",
		      e) ||
	    text_copy(json_member(root, "spec"), "nodeName", p.node,
		      sizeof(p.node), "spec.nodeName", e))
		return -1;
	p.kept = json_says(json_member(meta, "annotations"), DEFAULT_HOLD_KEY,
			   "true");
	*out = p;
	return !json_is_unset(json_member(meta, "deletionTimestamp")) ||
	       json_says(status, "phase", "Failed") ||
	       json_says(status, "phase", "Succeeded");
}

/* --- Nodes and NodeClaims --------------------------------------------------- */

#define CONSOLIDATE_KEY "karpenter.sh/do-not-consolidate"
#define EVICT_KEY "karpenter.sh/do-not-evict"

int
carried_decode(const char *bytes, size_t n, const struct hold_key *hold,
	       struct carried *out, struct err *e)
{
	const struct json_keep pool_keep[] = {{NODEPOOL_LABEL, NULL},
					      {NULL, NULL}};
	const struct json_keep own_keep[] = {{MARK_KEY, NULL},
					     {CONSOLIDATE_KEY, NULL},
					     {EVICT_KEY, NULL},
					     {hold->key, NULL},
					     {NULL, NULL}};
	const struct json_keep meta_keep[] = {{"name", NULL},
					      {"labels", pool_keep},
					      {"annotations", own_keep},
					      {NULL, NULL}};
	const struct json_keep keep[] = {{"metadata", meta_keep}, {NULL, NULL}};
	struct carried c = {.marked = false};
	const struct json *meta, *map;

	AUTO_JSON root = json_pick(bytes, n, keep, &json_bounds_stored, e);
	meta = json_member(root, "metadata");
	map = json_member(meta, "annotations");
	if (root == NULL ||
	    text_need(meta, "name", c.name, sizeof(c.name), "metadata.name",
		      e) ||
	    text_copy(json_member(meta, "labels"), NODEPOOL_LABEL, c.nodepool,
		      sizeof(c.nodepool), "label " NODEPOOL_LABEL, e))
		return -1;
	c.marked = json_member(map, MARK_KEY) != NULL;
	c.left[LEFT_CONSOLIDATE] = json_member(map, CONSOLIDATE_KEY) != NULL;
	c.left[LEFT_EVICT] = json_member(map, EVICT_KEY) != NULL;
	c.left[LEFT_HOLD] =
		!c.marked && json_says(map, hold->key, hold->value) &&
		hold_is_unowned(bytes, n, hold);
	*out = c;
	return 0;
}

/* --- the API server ---------------------------------------------------------- */

int
kubernetes_decode(const char *bytes, size_t n, struct version *out,
		  struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_small, e);
	const char *s = json_string(json_member(root, "gitVersion"));

	if (root == NULL)
		return -1;
	version_parse(s == NULL ? "" : s, out);
	return 0;
}

int
group_decode(const char *bytes, size_t n, struct karpenter_facts *out,
	     struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_small, e);
	const struct json *list = json_member(root, "versions");

	if (root == NULL)
		return -1;
	out->served = json_first(list) != NULL;
	for (const struct json *v = json_first(list); v; v = json_next(v))
		out->v1 |= json_says(v, "version", "v1");
	return 0;
}

int
group_resources_decode(const char *bytes, size_t n, struct karpenter_facts *out,
		       struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_small, e);
	const struct json *list = json_member(root, "resources");

	if (root == NULL)
		return -1;
	for (const struct json *r = json_first(list); r; r = json_next(r)) {
		out->claims |= json_says(r, "name", "nodeclaims");
		out->pools |= json_says(r, "name", "nodepools");
	}
	return 0;
}
