/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api/nodepool.h"

#include <string.h>

#include "wire/api/meta.h"
#include "wire/api/object.h"
#include "wire/json/json.h"

static int
annotations_read(const struct json *meta, struct nodepool *p, struct err *e)
{
	const struct json *map;
	const char *value;

	if (meta_map_read(meta, "annotations", "metadata.annotations", &map, e))
		return -1;
	for (int k = 0; k < NODEPOOL_KEY_COUNT; k++) {
		value = NULL;
		if (object_annotation_read(
			    map, nodepool_key_name((enum nodepool_key)k),
			    &value, e))
			return -1;
		nodepool_set(p, (enum nodepool_key)k, value);
	}
	value = NULL;
	if (object_annotation_read(map, NODEPOOL_REASON_KEY, &value, e))
		return -1;
	nodepool_set_reason(p, value);
	return 0;
}

/* Reads the generation, and whether the spec makes the NodePool inert (struct
 * nodepool).  A field of a wrong type, which no API server would store, counts
 * as missing. */
static void
spec_read(const struct json *root, const struct json *meta, struct nodepool *p)
{
	const struct json *spec = json_member(root, "spec");
	long long replicas;

	(void)json_integer(json_member(meta, "generation"), &p->generation);
	p->spec_known = json_is_object(spec);
	p->inert =
		json_integer(json_member(spec, "replicas"), &replicas) == 0 ||
		json_says(json_member(spec, "disruption"), "consolidateAfter",
			  "Never");
}

static int
nodepool_read(void *out, const struct json *root, struct err *e)
{
	const struct json *meta = json_member(root, "metadata");
	struct nodepool p;

	nodepool_init(&p);
	if (!json_is_object(meta))
		return err_set(e, ERR_INPUT, "NodePool ?: metadata is missing");
	if (meta_text_need(meta, "name", p.name, sizeof(p.name),
			   "metadata.name", e) ||
	    meta_text_need(meta, "uid", p.uid, sizeof(p.uid), "metadata.uid",
			   e) ||
	    meta_text_need(meta, "resourceVersion", p.rv, sizeof(p.rv),
			   "metadata.resourceVersion", e) ||
	    annotations_read(meta, &p, e))
		return err_wrap(e, "NodePool %s",
				p.name[0] != '\0' ? p.name : "?");
	spec_read(root, meta, &p);
	*(struct nodepool *)out = p;
	return 0;
}

/* The members that are read.  Other annotations may be large: kubectl apply
 * keeps a copy of the whole object in an annotation. */
static const struct json_keep annotations_keep[] = {
#define X(name_, key_, expected_) {key_, NULL},
	NODEPOOL_KEYS(X)
#undef X
		{NODEPOOL_REASON_KEY, NULL},
	{NULL, NULL}};
static const struct json_keep metadata_keep[] = {
	{"name", NULL},
	{"uid", NULL},
	{"resourceVersion", NULL},
	{"generation", NULL},
	{"annotations", annotations_keep},
	{NULL, NULL}};
static const struct json_keep disruption_keep[] = {{"consolidateAfter", NULL},
						   {NULL, NULL}};
static const struct json_keep spec_keep[] = {
	{"replicas", NULL}, {"disruption", disruption_keep}, {NULL, NULL}};
static const struct json_keep nodepool_keep[] = {
	{"metadata", metadata_keep}, {"spec", spec_keep}, {NULL, NULL}};
static const struct json_keep line_object_keep[] = {WATCH_STATUS_KEEP,
						    {"metadata", metadata_keep},
						    {"spec", spec_keep},
						    {NULL, NULL}};
static const struct json_keep line_keep[] = {WATCH_LINE_KEEP(line_object_keep),
					     {NULL, NULL}};

int
nodepool_decode(const char *bytes, size_t n, struct nodepool *out,
		struct err *e)
{
	return watch_item_decode(bytes, n, nodepool_keep, &json_bounds_small,
				 nodepool_read, out, e);
}

int
nodepool_watch_decode(const char *bytes, size_t n, enum watch_type *type,
		      struct nodepool *out, int *status_code, struct err *e)
{
	char rv[RV_BYTES];

	if (watch_line_decode(bytes, n, line_keep, &json_bounds_small, type,
			      status_code, rv, nodepool_read, out, e))
		return -1;
	if (*type == WATCH_BOOKMARK) {
		nodepool_init(out);
		memcpy(out->rv, rv, sizeof(out->rv));
	}
	return 0;
}

static const struct json_keep unread_keep[] = {{"metadata", metadata_keep},
					       {NULL, NULL}};
static const struct json_keep unread_line_keep[] = {
	WATCH_LINE_KEEP(unread_keep), {NULL, NULL}};

int
nodepool_unread_decode(const char *bytes, size_t n, enum watch_type *type,
		       struct nodepool *out)
{
	if (watch_unread_decode(bytes, n,
				type == NULL ? unread_keep : unread_line_keep,
				type, nodepool_read, out))
		return -1;
	out->unread = true;
	return 0;
}
