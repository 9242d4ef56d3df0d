/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api/patch.h"

#include <string.h>

#include "core/base/stamp.h"
#include "core/rules/admit.h"

#define ANNOTATIONS "/metadata/annotations"

/* Enough for any key as a JSON Pointer token, and for any held-key. */
#define TOKEN_BYTES (2 * KEY_BYTES)

/* RFC 6901 §3. */
static void
pointer_token(struct buf *b, const char *key)
{
	for (;; key++) {
		size_t plain = strcspn(key, "~/");

		buf_add(b, key, plain);
		key += plain;
		if (*key == '\0')
			break;
		buf_puts(b, *key == '~' ? "~0" : "~1");
	}
}

/* Writes the path of one annotation as a JSON string. */
static void
annotation_path(struct buf *b, const char *key)
{
	char storage[sizeof(ANNOTATIONS) + 1 + TOKEN_BYTES];
	struct buf path;

	buf_init(&path, storage, sizeof(storage));
	buf_puts(&path, ANNOTATIONS "/");
	pointer_token(&path, key);
	buf_json(b, storage);
}

/* Writes {"op":OP,"path":PATH.  The caller adds the value and the closing
 * brace. */
static void
op_open(struct buf *b, const char *op, const char *key)
{
	if (b->len > 0 && b->data[b->len - 1] != '[')
		buf_puts(b, ",");
	buf_puts(b, "{\"op\":\"");
	buf_puts(b, op);
	buf_puts(b, "\",\"path\":");
	annotation_path(b, key);
}

static void
op_value(struct buf *b, const char *op, const char *key, const char *value)
{
	op_open(b, op, key);
	buf_puts(b, ",\"value\":");
	buf_json(b, value);
	buf_puts(b, "}");
}

static void
op_remove(struct buf *b, const char *key)
{
	op_open(b, "remove", key);
	buf_puts(b, "}");
}

static void
held_key_format(const struct hold_key *hold, char out[HELD_KEY_BYTES])
{
	struct buf b;

	buf_init(&b, out, HELD_KEY_BYTES);
	buf_puts(&b, hold->key);
	buf_puts(&b, "=");
	buf_puts(&b, hold->value);
}

int
held_key_parse(const char *text, struct hold_key *out)
{
	const char *eq = strchr(text, '=');
	size_t n;

	/* One of our own keys cannot be a hold. */
	if (eq == NULL || eq == text ||
	    strncmp(text, OWN_PREFIX, strlen(OWN_PREFIX)) == 0)
		return -1;
	n = (size_t)(eq - text);
	if (n >= sizeof(out->key) || strlen(eq + 1) >= sizeof(out->value))
		return -1;
	memcpy(out->key, text, n);
	out->key[n] = '\0';
	return str_copy(out->value, sizeof(out->value), eq + 1);
}

/* Writes "key":"value" for the hold, the mark and, if needed, the held-key. */
static void
members(struct buf *b, const struct hold_key *hold, int64_t mark_ms)
{
	char mark[STAMP_BYTES], held[HELD_KEY_BYTES];

	stamp_format(mark_ms, mark);
	buf_json(b, hold->key);
	buf_puts(b, ":");
	buf_json(b, hold->value);
	buf_puts(b, ",\"" MARK_KEY "\":\"");
	buf_puts(b, mark);
	buf_puts(b, "\"");
	if (hold_key_is_default(hold))
		return;
	held_key_format(hold, held);
	buf_puts(b, ",\"" HELD_KEY_KEY "\":");
	buf_json(b, held);
}

/* `field` is a field of the metadata that must have this value. */
static void
merge_open(struct buf *b, const char *field, const char *value)
{
	buf_printf(b, "{\"metadata\":{\"%s\":", field);
	buf_json(b, value);
	buf_puts(b, ",\"annotations\":{");
}

void
patch_classify(struct buf *b, const char *replaces, const char *uid,
	       const char *rv)
{
	merge_open(b, "resourceVersion", rv);
	buf_puts(b, "\"" CLASS_KEY "\":");
	buf_json(b, replaces);
	buf_puts(b, ",\"" CLASS_UID_KEY "\":");
	buf_json(b, uid);
	buf_puts(b, "}}}");
}

/* Unlike a JSON Patch, a merge patch may remove what does not exist. */
void
patch_declassify(struct buf *b, const char *uid)
{
	merge_open(b, "uid", uid);
	buf_puts(b, "\"" CLASS_KEY "\":null,\"" CLASS_UID_KEY "\":null}}}");
}

static void
test_open(struct buf *b, const char *uid)
{
	buf_puts(b, "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":");
	buf_json(b, uid);
	buf_puts(b, "}");
}

void
patch_hold(struct buf *b, const struct hold_key *hold, const char *rv,
	   int64_t mark_ms)
{
	merge_open(b, "resourceVersion", rv);
	members(b, hold, mark_ms);
	/* A person may have taken over by removing the mark alone and left this
	 * annotation.  Beside our new mark it would name another hold. */
	if (hold_key_is_default(hold))
		buf_puts(b, ",\"" HELD_KEY_KEY "\":null");
	buf_puts(b, "}}}");
}

void
patch_clear(struct buf *b, const struct patch_clear *c)
{
	char mark[STAMP_BYTES];

	test_open(b, c->uid);
	if (c->mark_exact) {
		stamp_format(c->mark_ms, mark);
		op_value(b, "test", MARK_KEY, mark);
	} else {
		buf_puts(b, ",{\"op\":\"test\",\"path\":"
			    "\"/metadata/resourceVersion\",\"value\":");
		buf_json(b, c->rv);
		buf_puts(b, "}");
	}
	if (c->hold != NULL) {
		op_value(b, "test", c->hold->key, c->hold->value);
		op_remove(b, c->hold->key);
	}
	op_remove(b, MARK_KEY);
	if (c->has_held_key)
		op_remove(b, HELD_KEY_KEY);
	buf_puts(b, "]");
}

void
patch_admit(struct buf *b, const struct hold_key *hold, int64_t mark_ms,
	    bool has_annotations, bool has_held_key)
{
	char mark[STAMP_BYTES], held[HELD_KEY_BYTES];

	if (!has_annotations) {
		buf_puts(b, "[{\"op\":\"add\",\"path\":\"" ANNOTATIONS
			    "\",\"value\":{");
		members(b, hold, mark_ms);
		buf_puts(b, "}}]");
		return;
	}
	stamp_format(mark_ms, mark);
	buf_puts(b, "[");
	op_value(b, "add", hold->key, hold->value);
	op_value(b, "add", MARK_KEY, mark);
	if (!hold_key_is_default(hold)) {
		held_key_format(hold, held);
		op_value(b, "add", HELD_KEY_KEY, held);
	} else if (has_held_key) {
		op_remove(b, HELD_KEY_KEY);
	}
	buf_puts(b, "]");
}
