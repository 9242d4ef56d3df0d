/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api/patch.h"

#include <stdio.h>
#include <string.h>

#include "core/base/stamp.h"
#include "core/base/str.h"
#include "core/rules/rules.h"
#include "wire/config/config.h"
#include "wire/json/json_printf.h"

#define ANNOTATIONS "/metadata/annotations"

/* This is enough for the path of any annotation. */
#define POINTER_BYTES (sizeof(ANNOTATIONS) + 1 + 2 * KEY_BYTES)

/* Appends a key as a token of a JSON pointer (RFC 6901 §3). */
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

/* Writes the path of one annotation. */
static const char *
annotation_path(const char *key, char out[POINTER_BYTES])
{
	struct buf path;

	buf_init(&path, out, POINTER_BYTES);
	buf_puts(&path, ANNOTATIONS "/");
	pointer_token(&path, key);
	return out;
}

static void
op_value(struct buf *b, const char *op, const char *key, const char *value)
{
	char path[POINTER_BYTES];

	json_printf(b, ",{'op':%s,'path':%s,'value':%s}", op,
		    annotation_path(key, path), value);
}

static void
op_remove(struct buf *b, const char *key)
{
	char path[POINTER_BYTES];

	json_printf(b, ",{'op':'remove','path':%s}",
		    annotation_path(key, path));
}

/* Formats the held-key.  Returns NULL for the default hold, which needs none.
 */
static const char *
held_key_format(const struct hold_key *hold, char out[HELD_KEY_BYTES])
{
	if (rules_hold_is_default(hold))
		return NULL;
	(void)snprintf(out, HELD_KEY_BYTES, "%s=%s", hold->key, hold->value);
	return out;
}

/* The API server refuses an object with an annotation that has a wrong key, and
 * the webhook would add the Lease's to every Node. */
int
patch_hold_parse(const char *text, struct hold_key *out)
{
	const char *eq = strchr(text, '=');
	struct hold_key k = {.key = ""};
	size_t n = eq == NULL ? 0 : (size_t)(eq - text);

	/* One of our own keys cannot be a hold. */
	if (eq == NULL || n >= sizeof(k.key) ||
	    strncmp(text, OWN_PREFIX, strlen(OWN_PREFIX)) == 0)
		return -1;
	memcpy(k.key, text, n);
	k.key[n] = '\0';
	if (!syntax_annotation(k.key) || !syntax_text(eq + 1) ||
	    str_copy(k.value, sizeof(k.value), eq + 1))
		return -1;
	*out = k;
	return 0;
}

void
patch_classify(struct buf *b, const char *replaces, const char *uid,
	       const char *rv)
{
	json_printf(b,
		    "{'metadata':{'resourceVersion':%s,'annotations':{"
		    "'" CLASS_KEY "':%s,'" CLASS_UID_KEY "':%s}}}",
		    rv, replaces, uid);
}

/* Unlike a JSON Patch, a merge patch may remove what does not exist. */
void
patch_declassify(struct buf *b, const char *uid)
{
	json_printf(b,
		    "{'metadata':{'uid':%s,'annotations':{"
		    "'" CLASS_KEY "':null,'" CLASS_UID_KEY "':null}}}",
		    uid);
}

void
patch_hold(struct buf *b, const struct hold_key *hold, const char *rv,
	   int64_t mark_ms)
{
	char mark[STAMP_BYTES], held[HELD_KEY_BYTES];

	stamp_format(mark_ms, mark);
	/* A person who has taken over a hold may have removed only the mark.
	 * The held-key that is left would make our new mark stand for another
	 * hold.  So the patch overwrites the held-key, or removes it with a
	 * null. */
	json_printf(b,
		    "{'metadata':{'resourceVersion':%s,'annotations':{%s:%s,"
		    "'" MARK_KEY "':%s,'" HELD_KEY_KEY "':%s}}}",
		    rv, hold->key, hold->value, mark,
		    held_key_format(hold, held));
}

void
patch_clear(struct buf *b, const struct patch_clear *c)
{
	char mark[STAMP_BYTES];

	json_printf(b, "[{'op':'test','path':'/metadata/uid','value':%s}",
		    c->uid);
	if (c->mark_exact) {
		stamp_format(c->mark_ms, mark);
		op_value(b, "test", MARK_KEY, mark);
	} else {
		json_printf(b,
			    ",{'op':'test','path':'/metadata/resourceVersion',"
			    "'value':%s}",
			    c->rv);
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
	char mark[STAMP_BYTES], storage[HELD_KEY_BYTES];
	const char *held = held_key_format(hold, storage);

	stamp_format(mark_ms, mark);
	if (!has_annotations) {
		json_printf(b,
			    "[{'op':'add','path':'" ANNOTATIONS "','value':{"
			    "%s:%s,'" MARK_KEY "':%s",
			    hold->key, hold->value, mark);
		if (held != NULL)
			json_printf(b, ",'" HELD_KEY_KEY "':%s", held);
		buf_puts(b, "}}]");
		return;
	}
	buf_puts(b, "[");
	op_value(b, "add", hold->key, hold->value);
	op_value(b, "add", MARK_KEY, mark);
	if (held != NULL)
		op_value(b, "add", HELD_KEY_KEY, held);
	else if (has_held_key)
		op_remove(b, HELD_KEY_KEY);
	buf_puts(b, "]");
}
