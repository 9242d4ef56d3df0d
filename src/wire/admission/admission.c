/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/admission/admission.h"

#include <stdint.h>
#include <string.h>

#include "wire/base64.h"
#include "wire/api/object.h"
#include "wire/api/patch.h"
#include "wire/json/json.h"

/* Missing or null. */
static bool
is_unset(const struct json *v)
{
	return v == NULL || json_is_null(v);
}

static int
uid_read(const struct json *request, const char **out, struct err *e)
{
	const struct json *v = json_member(request, "uid");
	const char *uid = json_string(v);

	if (is_unset(v))
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
	if (is_unset(v))
		return err_set(e, ERR_INPUT, "request is missing");
	if (!json_is_object(v))
		return err_set(e, ERR_INPUT, "request is no object");
	*request = v;
	return uid_read(v, uid, e);
}

/* The resource decides; any version of it, as matchPolicy Equivalent would
 * convert one to another. */
static bool
kind_read(const struct json *request, enum kind *out)
{
	const struct json *r = json_member(request, "resource");

	if (json_says(r, "resource", "nodes") &&
	    (is_unset(json_member(r, "group")) || json_says(r, "group", ""))) {
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
	       (is_unset(sub) || json_says(request, "subResource", ""));
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

/* Whether the map is one at all, or unset. */
static bool
is_map(const struct json *v)
{
	return is_unset(v) || json_is_object(v);
}

/* Keys and values together are bounded: with ours added a fuller map would be
 * refused, and with it the Node. */
static bool
is_full(const struct json *annotations)
{
	size_t bytes = 0;

	for (const struct json *a = json_first(annotations); a;
	     a = json_next(a)) {
		const char *value = json_string(a);

		bytes += strlen(json_key(a));
		bytes += value != NULL ? strlen(value) : 0;
	}
	return bytes > ANNOTATIONS_BYTES_MAX - ANNOTATIONS_ROOM;
}

/*
 * The hold that counts: beside a mark the one that the mark stands for, which
 * without a held-key is the default.  Where that one is gone it is today's:
 * a patch would overwrite it, and it may be a person's.
 */
static int
annotations_read(const struct json *annotations, const struct hold_key *today,
		 struct review *v)
{
	struct hold_key stands_for = {DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE};
	const char *mark = NULL, *held = NULL;
	enum hold hold = HOLD_ABSENT;

	v->has_annotations = json_is_object(annotations);
	v->full = v->has_annotations && is_full(annotations);
	if (annotation_read(annotations, MARK_KEY, &mark, NULL) ||
	    annotation_read(annotations, HELD_KEY_KEY, &held, NULL) ||
	    hold_read(annotations, today, &v->hold, NULL))
		return -1;
	v->has_mark = mark != NULL;
	v->has_held_key = held != NULL;
	if (mark == NULL || (held != NULL && held_key_parse(held, &stands_for)))
		return 0;
	if (hold_read(annotations, &stands_for, &hold, NULL))
		return -1;
	if (hold != HOLD_ABSENT)
		v->hold = hold;
	return 0;
}

static int
labels_read(const struct json *labels, struct review *v)
{
	const char *pool = NULL;

	if (annotation_read(labels, POOL_LABEL, &pool, NULL))
		return -1;
	v->karpenter = pool != NULL;
	return pool == NULL ? 0 : str_copy(v->pool, sizeof(v->pool), pool);
}

static int
object_read(const struct json *object, const struct hold_key *today,
	    struct review *v)
{
	const struct json *meta = json_member(object, "metadata");
	const struct json *labels = json_member(meta, "labels");
	const struct json *annotations = json_member(meta, "annotations");

	if (!json_is_object(meta) || !is_map(labels) || !is_map(annotations) ||
	    labels_read(labels, v) || annotations_read(annotations, today, v))
		return -1;
	if (v->kind == KIND_NODECLAIM || has_unregistered_taint(object))
		v->karpenter = true;
	return 0;
}

static void
review_read(const struct json *request, const struct admission_terms *t,
	    struct admission_fact *f)
{
	static const char *const metadata_name[] = {"object", "metadata",
						    "name"};
	const char *name = json_string(json_member(request, "name"));

	f->review.create = is_creation(request);
	f->review.kind_known = kind_read(request, &f->review.kind);
	f->review.dry_run = json_is_true(json_member(request, "dryRun"));
	if (name == NULL || name[0] == '\0')
		name = json_string(json_path(request, metadata_name, 3));
	if (name != NULL)
		(void)str_copy(f->name, sizeof(f->name), name);
	if (f->review.create && f->review.kind_known &&
	    object_read(json_member(request, "object"), &t->rules->hold,
			&f->review))
		f->review.malformed = true;
	f->review.disabled = t->disabled != NULL &&
			     t->disabled(t->ctx, f->review.pool);
	f->verdict = admit_decide(t->rules, &f->review);
}

static void
reply_write(struct buf *b, const struct rules *r, const char *uid,
	    const struct admission_fact *f, int64_t now_ms)
{
	char storage[PATCH_BYTES];
	struct buf patch;

	buf_puts(b, "{\"kind\":\"AdmissionReview\","
		    "\"apiVersion\":\"admission.k8s.io/v1\","
		    "\"response\":{\"uid\":");
	buf_json(b, uid);
	buf_puts(b, ",\"allowed\":true,\"auditAnnotations\":{\"held\":\"");
	buf_puts(b, f->verdict.held ? "true" : "false");
	buf_puts(b, "\",\"reason\":\"");
	buf_puts(b, reason_name(f->verdict.reason));
	buf_puts(b, "\"}");
	if (f->verdict.patch) {
		buf_init(&patch, storage, sizeof(storage));
		patch_admit(&patch, &r->hold, now_ms, f->review.has_annotations,
			    f->review.has_held_key);
		b->full |= patch.full;
		buf_puts(b, ",\"patchType\":\"JSONPatch\",\"patch\":\"");
		base64_encode(b, patch.data, patch.len);
		buf_puts(b, "\"");
	}
	buf_puts(b, "}}");
}

int
admission_answer(const struct admission_terms *t, const char *body, size_t n,
		 struct buf *reply, struct admission_fact *fact, struct err *e)
{
	struct admission_fact f = {0};
	const struct json *request = NULL;
	const char *uid = NULL;
	size_t before = reply->len;

	if (n == 0)
		return err_set(e, ERR_INPUT, "empty body");

	AUTO_JSON root = json_parse(body, n, &json_bounds_default, e);

	if (root == NULL || request_read(root, &request, &uid, e))
		return -1;
	review_read(request, t, &f);
	reply_write(reply, t->rules, uid, &f, t->now_ms);
	if (reply->full) {
		reply->data[reply->len = before] = '\0';
		return err_set(e, ERR_SYSTEM, "the answer is over %zu bytes",
			       reply->cap - 1);
	}
	*fact = f;
	return 0;
}
