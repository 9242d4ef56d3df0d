/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/duration.h"
#include "core/base/str.h"
#include "wire/api/nodepool.h"
#include "wire/doctor/facts.h"
#include "wire/json/json.h"

/* The reasons for which Karpenter disrupts a machine. */
#define REASONS 3
#define ALL_REASONS ((1u << REASONS) - 1)
static const char *const reasons[REASONS] = {"Underutilized", "Empty",
					     "Drifted"};

/* Returns the set of reasons that this budget blocks at all times.  Only a
 * budget of 0 nodes without a schedule does so.  A budget without reasons
 * applies to all reasons. */
static unsigned
blocks(const struct json *budget)
{
	const char *nodes = json_string(json_member(budget, "nodes"));
	const struct json *list = json_member(budget, "reasons");
	size_t zeros = nodes == NULL ? 0 : strspn(nodes, "0");
	unsigned blocked = 0;

	if (zeros == 0 || (nodes[zeros] != '\0' && nodes[zeros] != '%') ||
	    !json_is_unset(json_member(budget, "schedule")))
		return 0;
	if (json_first(list) == NULL)
		return ALL_REASONS;
	for (const struct json *v = json_first(list); v; v = json_next(v))
		for (unsigned i = 0; i < REASONS; i++)
			if (json_string(v) != NULL &&
			    strcmp(json_string(v), reasons[i]) == 0)
				blocked |= 1u << i;
	return blocked;
}

/* Copies the string `key` of a nodeClassRef.  Leaves *dst unchanged if the
 * string is missing or does not fit. */
static void
class_copy(const struct json *ref, const char *key, char *dst, size_t cap)
{
	const char *s = json_string(json_member(ref, key));

	if (s != NULL)
		(void)str_copy(dst, cap, s);
}

static void
spec_read_facts(const struct json *spec, const struct hold_key *hold,
		struct nodepool_facts *out)
{
	const struct json *disruption = json_member(spec, "disruption");
	const struct json *budgets = json_member(disruption, "budgets");
	const struct json *template = json_member(spec, "template");
	const struct json *meta = json_member(template, "metadata");
	const struct json *machine = json_member(template, "spec");
	const struct json *ref = json_member(machine, "nodeClassRef");
	const char *quiet =
		json_string(json_member(disruption, "consolidateAfter"));
	const char *after = json_string(json_member(machine, "expireAfter"));
	unsigned blocked = 0;
	long long replicas;

	out->fixed =
		json_integer(json_member(spec, "replicas"), &replicas) == 0;
	out->never = json_says(disruption, "consolidateAfter", "Never");
	out->only_empty =
		json_says(disruption, "consolidationPolicy", "WhenEmpty");
	if (quiet == NULL || duration_parse(quiet, &out->consolidate_ms))
		out->consolidate_ms = -1;
	out->template_holds = json_member(json_member(meta, "annotations"),
					  hold->key) != NULL;
	for (const struct json *b = json_first(budgets); b; b = json_next(b))
		blocked |= blocks(b);
	out->blocked = blocked == ALL_REASONS;
	if (after == NULL || duration_parse(after, &out->expire_ms))
		out->expire_ms = -1;
	out->grace =
		!json_is_unset(json_member(machine, "terminationGracePeriod"));
	class_copy(ref, "group", out->class.group, sizeof(out->class.group));
	class_copy(ref, "kind", out->class.kind, sizeof(out->class.kind));
	class_copy(ref, "name", out->class.name, sizeof(out->class.name));
}

/* Keeps the keys that look like ours and are none.  In a label or in the
 * template, ours is none either. */
static void
strange_read(const struct json *map, enum strange_where where,
	     const struct json *annotations, struct nodepool_facts *out)
{
	size_t n = 0;

	while (n < DOCTOR_STRANGE_MAX && out->strange[n].key[0] != '\0')
		n++;
	for (const struct json *v = json_first(map);
	     v != NULL && n < DOCTOR_STRANGE_MAX; v = json_next(v)) {
		const char *key = json_key(v), *meant = nodepool_key_meant(key);
		struct strange_key *s = &out->strange[n];

		if (meant == NULL ||
		    (where == STRANGE_ANNOTATION && strcmp(meant, key) == 0))
			continue;
		n++;
		str_cut(s->key, sizeof(s->key), key);
		s->meant = meant;
		s->where = where;
		s->beside = meant[0] != '\0' &&
			    json_member(annotations, meant) != NULL;
		s->bare = json_first(annotations) == NULL;
	}
}

int
facts_nodepool_decode(const char *bytes, size_t n, const struct hold_key *hold,
		      struct nodepool_facts *out, struct err *e)
{
	const struct json_keep own_keep[] = {
		{"annotations", NULL}, {"labels", NULL}, {NULL, NULL}};
	const struct json_keep machine_keep[] = {
		{"expireAfter", NULL},
		{"terminationGracePeriod", NULL},
		{"nodeClassRef", NULL},
		{NULL, NULL}};
	const struct json_keep template_keep[] = {
		{"metadata", own_keep}, {"spec", machine_keep}, {NULL, NULL}};
	const struct json_keep disruption_keep[] = {
		{"consolidateAfter", NULL},
		{"consolidationPolicy", NULL},
		{"budgets", NULL},
		{NULL, NULL}};
	const struct json_keep spec_keep[] = {{"replicas", NULL},
					      {"disruption", disruption_keep},
					      {"template", template_keep},
					      {NULL, NULL}};
	const struct json_keep keep[] = {
		{"metadata", own_keep}, {"spec", spec_keep}, {NULL, NULL}};
	AUTO_JSON root = json_pick(bytes, n, keep, &json_bounds_stored, e);
	const struct json *map,
		*template = json_member(json_member(root, "spec"), "template");
	struct nodepool_facts facts = {.fixed = false};

	if (root == NULL || nodepool_decode(bytes, n, &facts.pool, e))
		return -1;
	spec_read_facts(json_member(root, "spec"), hold, &facts);
	map = json_member(json_member(root, "metadata"), "annotations");
	strange_read(map, STRANGE_ANNOTATION, map, &facts);
	strange_read(json_member(json_member(root, "metadata"), "labels"),
		     STRANGE_LABEL, map, &facts);
	strange_read(
		json_member(json_member(template, "metadata"), "annotations"),
		STRANGE_TEMPLATE, map, &facts);
	*out = facts;
	return 0;
}
