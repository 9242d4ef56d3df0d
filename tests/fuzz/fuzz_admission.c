/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <string.h>

#include "fuzz/rules.h"
#include "wire/admission/admission.h"
#include "wire/json/json.h"

static void
check(const struct rules *r, const uint8_t *data, size_t n)
{
	static const char *const allowed[] = {"response", "allowed"};
	static const char *const patch[] = {"response", "patch"};
	char reply[ADMISSION_REPLY_BYTES];
	struct admission_request q;
	struct verdict v;
	struct err e = {0};
	struct buf b;

	buf_init(&b, reply, sizeof(reply));
	if (admission_decode((const char *)data, n, &r->hold, &q, &e)) {
		promise_refused(&e);
		return;
	}
	v = admit_decide(r, &q.review);
	PROMISE(admission_encode(&b, &q, &v, &r->hold, 0, &e) == 0);

	AUTO_JSON root = json_parse(reply, b.len, &json_bounds_default, NULL);

	PROMISE(json_says(root, "kind", "AdmissionReview"));
	PROMISE(json_is_true(json_path(root, allowed, 2)));
	PROMISE(v.patch == (json_path(root, patch, 2) != NULL));
	PROMISE(!v.patch || (v.held && q.review.kind_known));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	check(&rules[0], data, n);
	check(&rules[1], data, n);
	return 0;
}
