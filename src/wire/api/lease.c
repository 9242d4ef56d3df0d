/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api/lease.h"

#include <stdio.h>
#include <string.h>

#include "core/base/stamp.h"
#include "core/base/str.h"
#include "wire/api/meta.h"
#include "wire/json/json.h"
#include "wire/json/json_printf.h"

/* --- reading -------------------------------------------------------------- */

/* Returns the microseconds that stamp_parse cuts off: the fourth to the sixth
 * digit after the decimal point. */
static int
micros_of(const char *s)
{
	const char *point = strchr(s, '.');
	int us = 0;

	for (int i = 1, scale = 100; point != NULL && i <= 6; i++) {
		if (point[i] < '0' || point[i] > '9')
			break;
		if (i <= 3)
			continue;
		us += (point[i] - '0') * scale;
		scale /= 10;
	}
	return us;
}

static int
time_read(const struct json *spec, const char *key, int64_t *us, struct err *e)
{
	const struct json *v = json_member(spec, key);
	const char *s = json_string(v);
	int64_t ms;

	*us = STAMP_NONE;
	if (json_is_unset(v))
		return 0;
	if (s == NULL || stamp_parse(s, &ms))
		return err_set(e, ERR_INPUT, "spec.%s is no time", key);
	*us = ms * 1000 + micros_of(s);
	return 0;
}

static int
int_read(const struct json *spec, const char *key, int32_t *out, struct err *e)
{
	const struct json *v = json_member(spec, key);
	long long n = 0;

	if (!json_is_unset(v) &&
	    (json_integer(v, &n) || n < INT32_MIN || n > INT32_MAX))
		return err_set(e, ERR_INPUT, "spec.%s is no 32-bit number",
			       key);
	*out = (int32_t)n;
	return 0;
}

/* Reads the holder's name.  The name of another holder may have any length.  If
 * it does not fit, it is cut at a whole character, and holder_cut is set. */
static int
holder_read(const struct json *spec, struct lease_record *r, struct err *e)
{
	const struct json *v = json_member(spec, "holderIdentity");
	const char *s = json_is_unset(v) ? "" : json_string(v);

	if (s == NULL)
		return err_set(e, ERR_INPUT,
			       "spec.holderIdentity is no string");
	r->holder_cut = strlen(s) >= sizeof(r->holder);
	str_cut(r->holder, sizeof(r->holder), s);
	return 0;
}

/* Returns the key of the annotation with the state.  Leaders that observe and
 * leaders that enforce have an annotation each. */
static const char *
state_key(bool observes)
{
	return observes ? LEASE_OBSERVED_KEY : LEASE_STATE_KEY;
}

static void
state_read(const struct json *annotations, struct lease_record *r)
{
	const struct json *v = json_member(annotations, state_key(r->observes));
	const char *s = json_string(v);

	r->state_other = !json_is_unset(
		json_member(annotations, state_key(!r->observes)));
	r->state_bad = !json_is_unset(v) &&
		       (s == NULL || str_copy(r->state, sizeof(r->state), s));
	s = json_string(json_member(annotations, LEASE_HISTORY_KEY));
	if (s != NULL)
		(void)str_copy(r->history, sizeof(r->history), s);
	s = json_string(json_member(annotations, LEASE_HOLD_KEY));
	if (s != NULL)
		(void)patch_hold_parse(s, &r->hold);
}

static int
record_read(const struct json *root, bool observes, struct lease_record *out,
	    struct err *e)
{
	const struct json *meta, *spec, *annotations;
	struct lease_record r = {.present = true, .observes = observes};

	if (meta_map_read(root, "metadata", "metadata", &meta, e) ||
	    meta_map_read(root, "spec", "spec", &spec, e) ||
	    meta_map_read(meta, "annotations", "annotations", &annotations, e))
		return -1;
	if (meta_version_read(meta, r.rv, e) || holder_read(spec, &r, e) ||
	    int_read(spec, "leaseDurationSeconds", &r.duration_s, e) ||
	    int_read(spec, "leaseTransitions", &r.transitions, e) ||
	    time_read(spec, "acquireTime", &r.acquire_us, e) ||
	    time_read(spec, "renewTime", &r.renew_us, e))
		return -1;
	state_read(annotations, &r);
	*out = r;
	return 0;
}

int
lease_decode(const char *bytes, size_t n, bool observes,
	     struct lease_record *out, struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_stored, e);

	if (root == NULL)
		return -1;
	if (!json_says(root, "kind", "Lease"))
		return err_set(e, ERR_INPUT, "not a Lease");
	return record_read(root, observes, out, e);
}

int
lease_item_decode(const char *bytes, size_t n, char namespace_name[64],
		  struct lease_record *out, struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_stored, e);

	if (root == NULL || record_read(root, false, out, e))
		return -1;
	return meta_text_copy(json_member(root, "metadata"), "namespace",
			      namespace_name, 64, "metadata.namespace", e);
}

/* --- writing -------------------------------------------------------------- */

/* Returns the time as text, or NULL if it is not set.  json_printf writes NULL
 * as null, as Go does for a time that is not set. */
static const char *
time_text(int64_t us, char out[STAMP_US_BYTES])
{
	if (us == STAMP_NONE)
		return NULL;
	stamp_format_us(us, out);
	return out;
}

static void
put_spec(struct buf *b, const struct lease_record *r)
{
	char acquired[STAMP_US_BYTES], renewed[STAMP_US_BYTES];

	json_printf(b,
		    ",'spec':{'holderIdentity':%s,'leaseDurationSeconds':%d,"
		    "'acquireTime':%s,'renewTime':%s,'leaseTransitions':%d}",
		    r->holder, (int)r->duration_s,
		    time_text(r->acquire_us, acquired),
		    time_text(r->renew_us, renewed), (int)r->transitions);
}

/* Writes a member of annotations.  If the text is "", a patch gets null, which
 * removes the annotation, and a new object gets no such member. */
static void
put_text(struct buf *b, const char *key, const char *text, bool patch)
{
	if (text[0] != '\0')
		json_printf(b, ",%s:%s", key, text);
	else if (patch)
		json_printf(b, ",%s:null", key);
}

static void
put_annotations(struct buf *b, const struct lease_record *r, bool patch,
		bool with_state)
{
	char hold[HELD_KEY_BYTES] = "";

	if (r->hold.key[0] != '\0')
		(void)snprintf(hold, sizeof(hold), "%s=%s", r->hold.key,
			       r->hold.value);
	json_printf(b, ",'annotations':{");
	put_text(b, LEASE_HOLD_KEY, hold, patch);
	if (with_state) {
		put_text(b, state_key(r->observes), r->state, patch);
		put_text(b, LEASE_HISTORY_KEY, r->history, patch);
	}
	if (with_state && r->state_other && patch)
		put_text(b, state_key(!r->observes), "", patch);
	buf_puts(b, "}");
}

void
lease_create(struct buf *b, const char *namespace_name, const char *name,
	     const struct lease_record *r)
{
	bool empty = r->holder[0] == '\0' && r->renew_us == STAMP_NONE;

	json_printf(b,
		    "{'apiVersion':'coordination.k8s.io/v1','kind':'Lease',"
		    "'metadata':{'namespace':%s,'name':%s",
		    namespace_name, name);
	put_annotations(b, r, false, true);
	buf_puts(b, "}");
	if (empty)
		json_printf(b, ",'spec':{}");
	else
		put_spec(b, r);
	buf_puts(b, "}");
}

void
lease_update(struct buf *b, const struct lease_record *r, bool with_spec,
	     bool with_state)
{
	json_printf(b, "{'metadata':{'resourceVersion':%s", r->rv);
	put_annotations(b, r, true, with_state);
	buf_puts(b, "}");
	if (with_spec)
		put_spec(b, r);
	buf_puts(b, "}");
}
