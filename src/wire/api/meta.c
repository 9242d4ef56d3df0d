/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api/meta.h"

#include <string.h>

#include "core/base/str.h"

int
meta_text_copy(const struct json *map, const char *key, char *dst, size_t cap,
	       const char *what, struct err *e)
{
	const struct json *v = json_member(map, key);
	const char *s = json_is_unset(v) ? "" : json_string(v);

	if (s == NULL)
		return err_set(e, ERR_INPUT, "%s is no string", what);
	if (str_copy(dst, cap, s))
		return err_set(e, ERR_INPUT, "%s is over %zu bytes", what,
			       cap - 1);
	return 0;
}

int
meta_text_need(const struct json *map, const char *key, char *dst, size_t cap,
	       const char *what, struct err *e)
{
	if (meta_text_copy(map, key, dst, cap, what, e))
		return -1;
	return dst[0] != '\0' ? 0
			      : err_set(e, ERR_INPUT, "%s is missing", what);
}

int
meta_map_read(const struct json *object, const char *key, const char *what,
	      const struct json **out, struct err *e)
{
	const struct json *v = json_member(object, key);

	if (!json_is_unset(v) && !json_is_object(v))
		return err_set(e, ERR_INPUT, "%s is no object", what);
	*out = v;
	return 0;
}

bool
meta_reference_is_claim(const struct json *ref)
{
	static const char group[] = "karpenter.sh/";
	const char *v = json_string(json_member(ref, "apiVersion"));

	return json_says(ref, "kind", "NodeClaim") && v != NULL &&
	       strncmp(v, group, strlen(group)) == 0;
}

int
meta_version_read(const struct json *meta, char rv[RV_BYTES], struct err *e)
{
	const char *s = json_string(json_member(meta, "resourceVersion"));

	if (s == NULL || s[0] == '\0' || str_copy(rv, RV_BYTES, s))
		return err_set(e, ERR_INPUT,
			       "metadata.resourceVersion is missing or no "
			       "short string");
	return 0;
}
