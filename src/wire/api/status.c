/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api/object.h"

#include "core/base/buf.h"

bool
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
	str_cut(st.message, sizeof(st.message),
		 json_string(json_member(root, "message")));
	*out = st;
	return true;
}

bool
status_decode(const char *bytes, size_t n, struct status *out)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_stored, NULL);

	return root != NULL && status_read(root, out);
}
