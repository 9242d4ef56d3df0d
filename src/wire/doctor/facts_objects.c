/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "wire/api/meta.h"
#include "wire/api/object.h"
#include "wire/doctor/facts.h"
#include "wire/json/json.h"

/* --- Nodes and NodeClaims ------------------------------------------------- */

#define CONSOLIDATE_KEY "karpenter.sh/do-not-consolidate"
#define EVICT_KEY "karpenter.sh/do-not-evict"

int
facts_carried_decode(const char *bytes, size_t n, const struct hold_key *hold,
		     struct carried *out, struct err *e)
{
	const struct json_keep pool_keep[] = {{NODEPOOL_LABEL, NULL},
					      {NULL, NULL}};
	const struct json_keep own_keep[] = {
		{MARK_KEY, NULL},	 {HELD_KEY_KEY, NULL},
		{CONSOLIDATE_KEY, NULL}, {EVICT_KEY, NULL},
		{hold->key, NULL},	 {NULL, NULL}};
	const struct json_keep meta_keep[] = {{"name", NULL},
					      {"labels", pool_keep},
					      {"annotations", own_keep},
					      {NULL, NULL}};
	const struct json_keep keep[] = {{"metadata", meta_keep}, {NULL, NULL}};
	struct carried c = {.marked = false};
	struct object o;
	const struct json *meta, *map;

	AUTO_JSON root = json_pick(bytes, n, keep, &json_bounds_stored, e);
	meta = json_member(root, "metadata");
	map = json_member(meta, "annotations");
	if (root == NULL ||
	    meta_text_need(meta, "name", c.name, sizeof(c.name),
			   "metadata.name", e) ||
	    meta_text_copy(json_member(meta, "labels"), NODEPOOL_LABEL,
			   c.nodepool, sizeof(c.nodepool),
			   "label " NODEPOOL_LABEL, e) ||
	    object_marks_read(map, hold, &o, e))
		return -1;
	c.other = o.is_other;
	c.marked = json_member(map, MARK_KEY) != NULL;
	c.left[LEFT_CONSOLIDATE] = json_member(map, CONSOLIDATE_KEY) != NULL;
	c.left[LEFT_EVICT] = json_member(map, EVICT_KEY) != NULL;
	c.left[LEFT_HOLD] = !c.marked &&
			    json_says(map, hold->key, hold->value) &&
			    object_hold_is_unowned(bytes, n, hold);
	*out = c;
	return 0;
}

/* --- namespaces ----------------------------------------------------------- */

int
facts_namespace_decode(const char *bytes, size_t n, enum tickets_place *out,
		       struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_stored, e);

	if (root == NULL)
		return -1;
	*out = json_is_unset(json_member(json_member(root, "metadata"),
					 "deletionTimestamp"))
		       ? TICKETS_THERE
		       : TICKETS_ENDING;
	return 0;
}

/* --- the API server ------------------------------------------------------- */

int
facts_kubernetes_decode(const char *bytes, size_t n, struct version *out,
			struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_small, e);
	const char *s = json_string(json_member(root, "gitVersion"));

	if (root == NULL)
		return -1;
	judge_version_parse(s == NULL ? "" : s, out);
	return 0;
}

int
facts_group_decode(const char *bytes, size_t n, struct karpenter_facts *out,
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
facts_group_resources_decode(const char *bytes, size_t n,
			     struct karpenter_facts *out, struct err *e)
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
