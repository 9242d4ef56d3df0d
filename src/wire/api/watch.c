/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api/watch.h"

#include <limits.h>

#include "core/base/str.h"
#include "wire/api/meta.h"

static bool
status_read(const struct json *root, struct status *out)
{
	struct status st = {0};
	long long code;

	if (!json_says(root, "kind", "Status"))
		return false;
	if (json_integer(json_member(root, "code"), &code) == 0 && code > 0 &&
	    code < 1000)
		st.code = (int)code;
	str_cut(st.reason, sizeof(st.reason),
		json_string(json_member(root, "reason")));
	str_shorten(st.message, sizeof(st.message),
		    json_string(json_member(root, "message")));
	*out = st;
	return true;
}

bool
watch_status_decode(const char *bytes, size_t n, struct status *out)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_stored, NULL);

	return root != NULL && status_read(root, out);
}

static int
watch_type_read(const struct json *root, enum watch_type *out, struct err *e)
{
	static const char *const names[] = {
		[WATCH_ADDED] = "ADDED",     [WATCH_MODIFIED] = "MODIFIED",
		[WATCH_DELETED] = "DELETED", [WATCH_BOOKMARK] = "BOOKMARK",
		[WATCH_ERROR] = "ERROR",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (json_says(root, "type", names[i])) {
			*out = (enum watch_type)i;
			return 0;
		}
	}
	return err_set(e, ERR_INPUT, "a watch line of no known type");
}

int
watch_item_decode(const char *bytes, size_t n, const struct json_keep *keep,
		  const struct json_bounds *bounds, watch_object_fn *decode,
		  void *ctx, struct err *e)
{
	AUTO_JSON root = json_pick(bytes, n, keep, bounds, e);

	return root == NULL ? -1 : decode(ctx, root, e);
}

int
watch_line_decode(const char *bytes, size_t n, const struct json_keep *keep,
		  const struct json_bounds *bounds, enum watch_type *type,
		  int *status_code, char bookmark_rv[RV_BYTES],
		  watch_object_fn *decode, void *ctx, struct err *e)
{
	AUTO_JSON root = json_pick(bytes, n, keep, bounds, e);
	const struct json *object = json_member(root, "object");
	enum watch_type t = WATCH_ERROR;
	struct status st = {0};

	if (root == NULL || watch_type_read(root, &t, e))
		return -1;
	if (!json_is_object(object))
		return err_set(e, ERR_INPUT, "a watch line without an object");
	if (t == WATCH_BOOKMARK) {
		if (meta_text_need(json_member(object, "metadata"),
				   "resourceVersion", bookmark_rv, RV_BYTES,
				   "a bookmark's resourceVersion", e))
			return -1;
	} else if (t == WATCH_ERROR) {
		(void)status_read(object, &st);
		*status_code = st.code;
		(void)err_set(e, ERR_INPUT, "%s", st.message);
	} else if (decode(ctx, object, e)) {
		return -1;
	}
	*type = t;
	return 0;
}

int
watch_unread_decode(const char *bytes, size_t n, const struct json_keep *keep,
		    enum watch_type *type, watch_object_fn *decode, void *ctx)
{
	struct json_bounds bounds = json_bounds_stored;
	enum watch_type t = WATCH_ADDED;
	char rv[RV_BYTES];
	struct err e;
	int code;

	if (n > ITEM_BYTES_MAX)
		n = ITEM_BYTES_MAX;
	bounds.values_max = UINT_MAX;
	/* The metadata has to be whole: a person's hold may be at its end. */
	bounds.cut_depth = type == NULL ? 1 : 2;
	if (type == NULL)
		return watch_item_decode(bytes, n, keep, &bounds, decode, ctx,
					 &e);
	if (watch_line_decode(bytes, n, keep, &bounds, &t, &code, rv, decode,
			      ctx, &e) ||
	    t == WATCH_BOOKMARK || t == WATCH_ERROR)
		return -1;
	*type = t;
	return 0;
}
