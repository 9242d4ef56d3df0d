/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api/object.h"

#include <string.h>

#include "core/base/str.h"
#include "wire/api/meta.h"
#include "wire/api/patch.h"
#include "wire/api/watch.h"

/*
 * Reads a Node or NodeClaim.  Of the JSON, only the members in the tables below
 * are kept.  object_read is the one decoder for list items, answers to a GET
 * and watch lines.  It fills a local struct and copies it at the end, so a
 * failure leaves *out alone.
 *
 * A fault in what the API server validates (name, uid, creation) is an error,
 * and the object is left out.  A fault in a text that anybody may write (values
 * of annotations, references, times of conditions) is no error, so that nobody
 * can keep an object out of the table.  object.h and the functions below say
 * what such a faulty text means.
 */

int
object_annotation_read(const struct json *map, const char *key,
		       const char **out, struct err *e)
{
	const struct json *v = json_member(map, key);
	const char *s = json_string(v);

	if (v != NULL && s == NULL)
		return err_set(e, ERR_INPUT, "%s is no string", key);
	*out = s;
	return 0;
}

static bool
is_own_stamp(const char *s, int64_t *ms)
{
	char again[STAMP_BYTES];

	if (stamp_parse(s, ms))
		return false;
	stamp_format(*ms, again);
	return strcmp(s, again) == 0;
}

static enum hold
hold_state(const char *value, const struct hold_key *k)
{
	if (value == NULL)
		return HOLD_ABSENT;
	return strcmp(value, k->value) == 0 ? HOLD_SAME : HOLD_OTHER;
}

/* Returns whether the mark stands for *hold.  If it does not, sets *o to what
 * that means.  `held` is the text of the held-key, or NULL. */
static bool
is_our_mark(const char *held, const struct hold_key *hold, struct object *o)
{
	struct hold_key k = {DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE};

	if (held != NULL && patch_hold_parse(held, &k))
		k = (struct hold_key){.key = ""};
	if (object_hold_compare(&k, hold) == 0)
		return true;
	o->is_other = true;
	o->other_hold = k;
	o->hold = HOLD_OTHER;
	return false;
}

int
object_marks_read(const struct json *annotations, const struct hold_key *hold,
		  struct object *o, struct err *e)
{
	const char *value = NULL, *mark = NULL, *held = NULL;
	int64_t ms;

	if (object_annotation_read(annotations, hold->key, &value, e) ||
	    object_annotation_read(annotations, MARK_KEY, &mark, e) ||
	    object_annotation_read(annotations, HELD_KEY_KEY, &held, e))
		return -1;
	o->hold = hold_state(value, hold);
	o->mark = MARK_ABSENT;
	o->mark_ms = STAMP_NONE;
	o->has_held_key = held != NULL;
	o->is_other = false;
	if (mark == NULL || !is_our_mark(held, hold, o))
		return 0;
	o->mark = MARK_ODD;
	if (is_own_stamp(mark, &ms)) {
		o->mark = MARK_TIME;
		o->mark_ms = ms;
	}
	return 0;
}

static int
created_read(const struct json *meta, int64_t *out, struct err *e)
{
	const char *s = json_string(json_member(meta, "creationTimestamp"));

	if (s == NULL || stamp_parse(s, out))
		return err_set(e, ERR_INPUT,
			       "metadata.creationTimestamp is no time");
	return 0;
}

/* Copies a name or uid of another object.  Returns -1 if it is missing or too
 * long.  The object is not refused for this: nobody validates these fields, and
 * a bad reference must not keep the object out of the table. */
static int
reference_copy(const struct json *map, const char *key, char *dst, size_t cap)
{
	const char *s = json_string(json_member(map, key));

	return s == NULL || *s == '\0' ? -1 : str_copy(dst, cap, s);
}

static void
owner_read(const struct json *meta, struct object *o)
{
	const struct json *refs = json_member(meta, "ownerReferences");

	for (const struct json *r = json_first(refs); r; r = json_next(r)) {
		if (!meta_reference_is_claim(r))
			continue;
		o->karpenter = true;
		if (reference_copy(r, "name", o->owner_name,
				   sizeof(o->owner_name)) ||
		    reference_copy(r, "uid", o->owner_uid,
				   sizeof(o->owner_uid)))
			o->owner_name[0] = o->owner_uid[0] = '\0';
		return;
	}
}

/* Returns when the condition changed.  A time that cannot be read counts as the
 * creation of the NodeClaim. */
static int64_t
transition_read(const struct json *c, const struct object *o)
{
	const char *s = json_string(json_member(c, "lastTransitionTime"));
	int64_t ms;

	return s == NULL || stamp_parse(s, &ms) ? o->created_ms : ms;
}

/* Returns whether Karpenter (since 1.15) may delete the NodeClaim before it
 * creates a new one.  If the capacity reservation has no room for both
 * NodeClaims, Karpenter does so, and names no replacement. */
static bool
terminates_first(const struct json *reason, bool reserved)
{
	return reserved && (json_says(reason, "reason", "Drifted") ||
			    json_says(reason, "reason", "Unhealthy"));
}

/* Reads a condition.  Sets *rebooted_ms to when the condition Rebooting became
 * False; Initialized becomes True some time after that (sigs.k8s.io/karpenter
 * pkg/controllers/nodeclaim/reboot).  As long as a machine has never been
 * ready, its condition Initialized has the time of the NodeClaim's creation,
 * even during a reboot. */
static void
condition_read(const struct json *c, bool reserved, struct object *o,
	       int64_t *rebooted_ms)
{
	bool is_true = json_says(c, "status", "True");

	if (json_says(c, "type", "Launched")) {
		o->launch_known = true;
		o->launched |= is_true;
	} else if (json_says(c, "type", "Initialized") && is_true) {
		o->ready_ms = transition_read(c, o);
	} else if (json_says(c, "type", "Initialized")) {
		o->rebooted |= json_says(c, "reason", "Rebooting") &&
			       transition_read(c, o) > o->created_ms;
	} else if (json_says(c, "type", "Rebooting") &&
		   json_says(c, "status", "False")) {
		*rebooted_ms = transition_read(c, o);
	} else if (json_says(c, "type", "DisruptionReason") && is_true) {
		o->disrupted = !terminates_first(c, reserved);
		o->repaired = json_says(c, "reason", "Unhealthy");
		if (!json_says(c, "reason", "Empty"))
			o->disrupted_ms = transition_read(c, o);
	} else if (json_says(c, "type", "Consolidatable") ||
		   json_says(c, "type", "Drifted")) {
		o->exposed |= is_true;
		o->drifted |= is_true && json_says(c, "type", "Drifted");
	}
}

/* Reads the class.  The class does not count if its annotations have the UID of
 * another object, from which they were copied. */
static int
class_read(const struct json *annotations, struct object *o, struct err *e)
{
	const char *class = NULL, *uid = NULL;

	if (object_annotation_read(annotations, CLASS_KEY, &class, e) ||
	    object_annotation_read(annotations, CLASS_UID_KEY, &uid, e))
		return -1;
	o->has_class = class != NULL || uid != NULL;
	if (class != NULL && uid != NULL && strcmp(uid, o->uid) == 0)
		str_cut(o->replaces, sizeof(o->replaces), class);
	return 0;
}

static void
deletion_read(const struct json *meta, struct object *o)
{
	const struct json *v = json_member(meta, "deletionTimestamp");
	const char *s = json_string(v);
	int64_t ms;

	o->deleting = !json_is_unset(v);
	if (s != NULL && stamp_parse(s, &ms) == 0)
		o->deleted_ms = ms;
}

static void
claim_read(const struct json *root, const struct json *labels, struct object *o)
{
	bool reserved = json_says(labels, CAPACITY_LABEL, "reserved");
	const struct json *status = json_member(root, "status");
	const struct json *list = json_member(status, "conditions");
	const char *provider = json_string(json_member(status, "providerID"));
	int64_t rebooted_ms = INT64_MAX;

	o->karpenter = true;
	o->launched = provider != NULL && provider[0] != '\0';
	for (const struct json *c = json_first(list); c; c = json_next(c))
		condition_read(c, reserved, o, &rebooted_ms);
	o->rebooted |= rebooted_ms <= o->ready_ms;
	o->repaired &= o->ready_ms == STAMP_NONE && !o->rebooted;
	o->disrupted &= !o->repaired;
	(void)reference_copy(status, "nodeName", o->node_name,
			     sizeof(o->node_name));
	o->registered = o->node_name[0] != '\0';
}

static int
meta_read(const struct json *meta, struct object *o, struct err *e)
{
	if (!json_is_object(meta))
		return err_set(e, ERR_INPUT, "metadata is missing");
	if (meta_text_need(meta, "name", o->name, sizeof(o->name),
			   "metadata.name", e) ||
	    meta_text_need(meta, "uid", o->uid, sizeof(o->uid), "metadata.uid",
			   e) ||
	    meta_text_need(meta, "resourceVersion", o->rv, sizeof(o->rv),
			   "metadata.resourceVersion", e))
		return -1;
	return created_read(meta, &o->created_ms, e);
}

struct reading {
	enum kind kind;
	const struct hold_key *hold;
	struct object *out;
};

static int
object_read(void *ctx, const struct json *root, struct err *e)
{
	const struct reading *r = ctx;
	const struct json *meta = json_member(root, "metadata");
	const struct json *labels = NULL, *annotations = NULL;
	struct object o = {
		.kind = r->kind,
		.deleted_ms = STAMP_NONE,
		.ready_ms = STAMP_NONE,
		.disrupted_ms = STAMP_NONE,
	};

	if (meta_read(meta, &o, e) ||
	    meta_map_read(meta, "labels", "metadata.labels", &labels, e) ||
	    meta_map_read(meta, "annotations", "metadata.annotations",
			  &annotations, e) ||
	    meta_text_copy(labels, NODEPOOL_LABEL, o.nodepool,
			   sizeof(o.nodepool), "label " NODEPOOL_LABEL, e) ||
	    object_marks_read(annotations, r->hold, &o, e) ||
	    class_read(annotations, &o, e))
		return err_wrap(e, "%s %s", object_kind_name(r->kind),
				o.name[0] != '\0' ? o.name : "?");

	deletion_read(meta, &o);
	o.karpenter = json_member(labels, NODEPOOL_LABEL) != NULL ||
		      o.mark != MARK_ABSENT;

	if (r->kind == KIND_NODE) {
		o.registered = json_says(labels, REGISTERED_LABEL, "true");
		owner_read(meta, &o);
	} else {
		claim_read(root, labels, &o);
	}

	*r->out = o;
	return 0;
}

/* The members that are read of a Node or NodeClaim. */
static const struct json_keep labels_keep[] = {{NODEPOOL_LABEL, NULL},
					       {CAPACITY_LABEL, NULL},
					       {REGISTERED_LABEL, NULL},
					       {NULL, NULL}};
static const struct json_keep owner_keep[] = {{"apiVersion", NULL},
					      {"kind", NULL},
					      {"name", NULL},
					      {"uid", NULL},
					      {NULL, NULL}};
static const struct json_keep condition_keep[] = {{"type", NULL},
						  {"status", NULL},
						  {"reason", NULL},
						  {"lastTransitionTime", NULL},
						  {NULL, NULL}};
static const struct json_keep status_keep[] = {{"providerID", NULL},
					       {"nodeName", NULL},
					       {"conditions", condition_keep},
					       {NULL, NULL}};

/* The tables that depend on the hold.  Of the annotations only our own and the
 * holds are kept, so that nobody can keep an object out of the table by
 * thousands of others. */
struct keeps {
	struct json_keep annotations[6], metadata[9], object[3], line_object[8];
	struct json_keep line[3];
};

static void
keeps_init(struct keeps *k, const struct hold_key *hold)
{
	static const struct keeps empty = {
		.annotations = {{MARK_KEY, NULL},
				{HELD_KEY_KEY, NULL},
				{CLASS_KEY, NULL},
				{CLASS_UID_KEY, NULL}},
		.metadata = {{"name", NULL},
			     {"uid", NULL},
			     {"resourceVersion", NULL},
			     {"creationTimestamp", NULL},
			     {"deletionTimestamp", NULL},
			     {"labels", labels_keep},
			     {"annotations", NULL},
			     {"ownerReferences", owner_keep}},
		.object = {{"metadata", NULL}, {"status", status_keep}},
		.line_object = {{"metadata", NULL},
				{"status", status_keep},
				WATCH_STATUS_KEEP},
		.line = {WATCH_LINE_KEEP(NULL)},
	};

	*k = empty;
	k->annotations[4].key = hold->key;
	k->metadata[6].members = k->annotations;
	k->object[0].members = k->line_object[0].members = k->metadata;
	k->line[1].members = k->line_object;
}

int
object_decode(const char *bytes, size_t n, enum kind kind,
	      const struct hold_key *hold, struct object *out, struct err *e)
{
	struct reading ctx = {kind, hold, out};
	struct keeps k;

	keeps_init(&k, hold);
	return watch_item_decode(bytes, n, k.object, &json_bounds_stored,
				 object_read, &ctx, e);
}

int
object_watch_decode(const char *bytes, size_t n, enum kind kind,
		    const struct hold_key *hold, enum watch_type *type,
		    struct object *out, int *status_code, struct err *e)
{
	struct object o = {.kind = kind};
	struct reading ctx = {kind, hold, &o};
	char rv[RV_BYTES];
	struct keeps k;
	int rc;

	keeps_init(&k, hold);
	rc = watch_line_decode(bytes, n, k.line, &json_bounds_stored, type,
			       status_code, rv, object_read, &ctx, e);
	if (rc != 0 || *type == WATCH_ERROR)
		return rc;
	if (*type == WATCH_BOOKMARK)
		memcpy(o.rv, rv, sizeof(o.rv));
	*out = o;
	return 0;
}

int
object_unread_decode(const char *bytes, size_t n, const struct hold_key *hold,
		     enum watch_type *type, struct object *out)
{
	struct object o;
	struct reading ctx = {KIND_NODECLAIM, hold, &o};
	struct keeps k;

	keeps_init(&k, hold);
	k.object[1] = k.line_object[1] = (struct json_keep){NULL, NULL};
	if (watch_unread_decode(bytes, n, type == NULL ? k.object : k.line,
				type, object_read, &ctx))
		return -1;
	o.unread = true;
	*out = o;
	return 0;
}

int
object_list_meta_decode(const char *bytes, size_t n, char rv[RV_BYTES],
			char cont[CONTINUE_BYTES], struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_stored, e);
	const struct json *meta = json_member(root, "metadata"),
			  *items = json_member(root, "items");
	char version[RV_BYTES];

	if (root == NULL ||
	    meta_text_need(meta, "resourceVersion", version, sizeof(version),
			   "a list's resourceVersion", e) ||
	    meta_text_copy(meta, "continue", cont, CONTINUE_BYTES,
			   "a list's continue token", e) ||
	    (!json_is_array(items) && !json_is_null(items) &&
	     err_set(e, ERR_INPUT, "a list without items")))
		return -1;
	memcpy(rv, version, sizeof(version));
	return 0;
}

/* --- who wrote the hold --------------------------------------------------- */

/* Field managers that are not persons.  If an object has more than ten entries,
 * the API server merges the oldest ones into "ancient-changes", whose writer
 * may be anybody. */
static const char *const no_persons[] = {"karpenter-node-holder", "karpenter",
					 "ancient-changes"};

static bool
is_person(const struct json *entry)
{
	bool person = true;

	for (size_t i = 0; i < sizeof(no_persons) / sizeof(*no_persons); i++)
		person &= !json_says(entry, "manager", no_persons[i]);
	return person || !json_says(entry, "operation", "Update");
}

bool
object_hold_is_unowned(const char *bytes, size_t n, const struct hold_key *k)
{
	char field[KEY_BYTES + 2] = "f:";
	const char *const path[] = {"fieldsV1", "f:metadata", "f:annotations",
				    field};
	const struct json_keep field_keep[] = {{field, NULL}, {NULL, NULL}};
	const struct json_keep map_keep[] = {{"f:annotations", field_keep},
					     {NULL, NULL}};
	const struct json_keep fields_keep[] = {{"f:metadata", map_keep},
						{NULL, NULL}};
	const struct json_keep entry_keep[] = {{"manager", NULL},
					       {"operation", NULL},
					       {"fieldsV1", fields_keep},
					       {NULL, NULL}};
	const struct json_keep meta_keep[] = {{"managedFields", entry_keep},
					      {NULL, NULL}};
	const struct json_keep keep[] = {{"metadata", meta_keep}, {NULL, NULL}};
	struct err e;
	AUTO_JSON root = NULL;
	const struct json *entries;

	(void)str_copy(field + 2, sizeof(field) - 2, k->key);
	root = json_pick(bytes, n, keep, &json_bounds_stored, &e);
	entries = json_member(json_member(root, "metadata"), "managedFields");
	for (const struct json *m = json_first(entries); m; m = json_next(m))
		if (json_path(m, path, 4) != NULL && is_person(m))
			return false;
	return true;
}
