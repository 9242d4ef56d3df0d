/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api/registration.h"

#include "wire/api/meta.h"
#include "wire/json/json.h"

int
registration_decode(const char *bytes, size_t n, struct registration *out,
		    struct err *e)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_stored, e);
	const struct json *hooks = json_member(root, "webhooks");
	struct registration r = {.ours = false};

	if (root == NULL ||
	    meta_text_need(json_member(root, "metadata"), "name", r.name,
			   sizeof(r.name), "metadata.name", e))
		return -1;
	for (const struct json *h = json_first(hooks); h; h = json_next(h)) {
		if (json_says(h, "name", REGISTRATION_WEBHOOK))
			r.ours = true;
		else
			r.others = true;
	}
	*out = r;
	return 0;
}
