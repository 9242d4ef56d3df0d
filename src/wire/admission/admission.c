/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/admission/admission.h"

#include <stdint.h>
#include <string.h>

#include "core/base/str.h"
#include "wire/base64.h"
#include "wire/api/object.h"
#include "wire/api/patch.h"
#include "wire/json/json.h"
#include "wire/json/json_printf.h"

/*
 * Decodes an AdmissionReview and encodes the answer.  The request comes from
 * the API server, but anybody may have written the object in it.  json_pick
 * therefore keeps only the members in the tables below, within its bounds.
 *
 * A review whose own form is wrong is an error, and the server answers 400.  An
 * object whose form is wrong is no error.  The review is then `malformed`, and
 * the answer allows the object as it is, because the API server validates it
 * after us.  Only the tree is allocated, and admission_decode frees it.
 */

/* The members that are read.  They are a small part of a Node. */
static const struct json_keep resource_keep[] = {
	{"group", NULL}, {"resource", NULL}, {NULL, NULL}};
static const struct json_keep labels_keep[] = {{NODEPOOL_LABEL, NULL},
					       {NULL, NULL}};
static const struct json_keep metadata_keep[] = {{"name", NULL},
						 {"labels", labels_keep},
						 {"annotations", NULL},
						 {NULL, NULL}};
static const struct json_keep taint_keep[] = {{"key", NULL}, {NULL, NULL}};
static const struct json_keep spec_keep[] = {{"taints", taint_keep},
					     {NULL, NULL}};
static const struct json_keep object_keep[] = {
	{"metadata", metadata_keep}, {"spec", spec_keep}, {NULL, NULL}};
static const struct json_keep request_keep[] = {
	{"uid", NULL},		 {"resource", resource_keep},
	{"subResource", NULL},	 {"name", NULL},
	{"operation", NULL},	 {"dryRun", NULL},
	{"object", object_keep}, {NULL, NULL}};
static const struct json_keep review_keep[] = {{"kind", NULL},
					       {"apiVersion", NULL},
					       {"request", request_keep},
					       {NULL, NULL}};

/* --- decode --------------------------------------------------------------- */

static int
uid_read(const struct json *request, const char **out, struct err *e)
{
	const struct json *v = json_member(request, "uid");
	const char *uid = json_string(v);

	if (json_is_unset(v))
		return err_set(e, ERR_INPUT, "request.uid is missing");
	if (uid == NULL)
		return err_set(e, ERR_INPUT, "request.uid is no string");
	if (uid[0] == '\0')
		return err_set(e, ERR_INPUT, "request.uid is empty");
	if (strlen(uid) >= REVIEW_UID_BYTES)
		return err_set(e, ERR_INPUT, "request.uid is over %d bytes",
			       REVIEW_UID_BYTES - 1);
	*out = uid;
	return 0;
}

static int
request_read(const struct json *root, const struct json **request,
	     const char **uid, struct err *e)
{
	const struct json *v = json_member(root, "request");

	if (!json_says(root, "kind", "AdmissionReview") ||
	    !json_says(root, "apiVersion", "admission.k8s.io/v1"))
		return err_set(e, ERR_INPUT,
			       "not an admission.k8s.io/v1 AdmissionReview");
	if (json_is_unset(v))
		return err_set(e, ERR_INPUT, "request is missing");
	if (!json_is_object(v))
		return err_set(e, ERR_INPUT, "request is no object");
	*request = v;
	return uid_read(v, uid, e);
}

/* Reads the kind.  The kind follows from the resource alone, whatever its
 * version, because with matchPolicy Equivalent the API server may convert the
 * object to another version. */
static bool
kind_read(const struct json *request, enum kind *out)
{
	const struct json *r = json_member(request, "resource");

	if (json_says(r, "resource", "nodes") &&
	    (json_is_unset(json_member(r, "group")) ||
	     json_says(r, "group", ""))) {
		*out = KIND_NODE;
		return true;
	}
	if (json_says(r, "resource", "nodeclaims") &&
	    json_says(r, "group", "karpenter.sh")) {
		*out = KIND_NODECLAIM;
		return true;
	}
	return false;
}

static bool
is_creation(const struct json *request)
{
	const struct json *sub = json_member(request, "subResource");

	return json_says(request, "operation", "CREATE") &&
	       (json_is_unset(sub) || json_says(request, "subResource", ""));
}

static bool
has_unregistered_taint(const struct json *object)
{
	const struct json *taints =
		json_member(json_member(object, "spec"), "taints");

	if (!json_is_array(taints))
		return false;
	for (const struct json *t = json_first(taints); t; t = json_next(t))
		if (json_says(t, "key", UNREGISTERED_TAINT))
			return true;
	return false;
}

/* Returns whether the value is a map, or unset. */
static bool
is_map(const struct json *v)
{
	return json_is_unset(v) || json_is_object(v);
}

static size_t
bytes_of(const struct json *annotations)
{
	size_t bytes = 0;

	for (const struct json *a = json_first(annotations); a;
	     a = json_next(a)) {
		const char *value = json_string(a);

		bytes += strlen(json_key(a));
		bytes += value != NULL ? strlen(value) : 0;
	}
	return bytes;
}

static int
annotations_read(const struct json *annotations, const struct hold_key *hold,
		 struct admission_request *q)
{
	struct review *v = &q->review;
	struct object o;

	q->has_annotations = json_is_object(annotations);
	if (!q->has_annotations)
		return 0;
	v->annotations_bytes = bytes_of(annotations);
	if (object_marks_read(annotations, hold, &o, NULL))
		return -1;
	v->hold = o.hold;
	v->has_mark = o.mark != MARK_ABSENT;
	q->has_held_key = o.has_held_key;
	return 0;
}

static int
labels_read(const struct json *labels, struct review *v)
{
	const char *nodepool = NULL;

	if (object_annotation_read(labels, NODEPOOL_LABEL, &nodepool, NULL))
		return -1;
	v->has_nodepool = nodepool != NULL;
	return nodepool == NULL
		       ? 0
		       : str_copy(v->nodepool, sizeof(v->nodepool), nodepool);
}

static int
object_read(const struct json *object, const struct hold_key *today,
	    struct admission_request *q)
{
	const struct json *meta = json_member(object, "metadata");
	const struct json *labels = json_member(meta, "labels");
	const struct json *annotations = json_member(meta, "annotations");

	if (!json_is_object(meta) || !is_map(labels) || !is_map(annotations) ||
	    labels_read(labels, &q->review) ||
	    annotations_read(annotations, today, q))
		return -1;
	q->review.unregistered = has_unregistered_taint(object);
	return 0;
}

/* Reads the name.  If the API server has not named the object yet
 * (generateName), request.name is empty.  In this case metadata.name counts if
 * there is one. */
static void
name_read(const struct json *request, char out[NAME_BYTES])
{
	static const char *const metadata_name[] = {"object", "metadata",
						    "name"};
	const char *name = json_string(json_member(request, "name"));

	if (name == NULL || name[0] == '\0')
		name = json_string(json_path(request, metadata_name, 3));
	if (name != NULL)
		(void)str_copy(out, NAME_BYTES, name);
}

int
admission_decode(const char *body, size_t n, const struct hold_key *today,
		 struct admission_request *out, struct err *e)
{
	const struct json *request = NULL;
	struct review *v = &out->review;
	const char *uid = NULL;

	if (n == 0)
		return err_set(e, ERR_INPUT, "empty body");

	AUTO_JSON root =
		json_pick(body, n, review_keep, &json_bounds_default, e);

	if (root == NULL || request_read(root, &request, &uid, e))
		return -1;
	*out = (struct admission_request){0};
	(void)str_copy(out->uid, sizeof(out->uid), uid);
	name_read(request, out->name);
	out->dry_run = json_is_true(json_member(request, "dryRun"));
	v->create = is_creation(request);
	v->kind_known = kind_read(request, &v->kind);
	if (v->create && v->kind_known)
		v->malformed = object_read(json_member(request, "object"),
					   today, out) != 0;
	return 0;
}

/* --- encode --------------------------------------------------------------- */

static void
put_patch(struct buf *b, const struct admission_request *q,
	  const struct hold_key *hold, int64_t mark_ms)
{
	char storage[PATCH_BYTES];
	struct buf patch;

	buf_init(&patch, storage, sizeof(storage));
	patch_admit(&patch, hold, mark_ms, q->has_annotations, q->has_held_key);
	b->full |= patch.full;
	json_printf(b, ",'patchType':'JSONPatch','patch':'");
	base64_encode(b, patch.data, patch.len);
	buf_puts(b, "\"");
}

int
admission_encode(struct buf *b, const struct admission_request *q,
		 const struct verdict *v, const struct hold_key *hold,
		 int64_t mark_ms, struct err *e)
{
	size_t before = b->len;

	json_printf(b,
		    "{'kind':'AdmissionReview',"
		    "'apiVersion':'admission.k8s.io/v1','response':{"
		    "'uid':%s,'allowed':true,"
		    "'auditAnnotations':{'held':%s,'reason':%s}",
		    q->uid, v->held ? "true" : "false",
		    admit_reason_name(v->reason));
	if (v->patch)
		put_patch(b, q, hold, mark_ms);
	buf_puts(b, "}}");
	if (!b->full)
		return 0;
	b->data[b->len = before] = '\0';
	return err_set(e, ERR_SYSTEM, "the answer is over %zu bytes",
		       b->cap - 1);
}
