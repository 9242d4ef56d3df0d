/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "wire/api/registration.h"
#include "wire/api/webhook_config.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char pem[] = "-----BEGIN\n\"\\\xff";
	static char body[16384];
	struct registration r = {.name = ""};
	struct webhooks w = {.rv = ""};
	struct err e = {0};
	struct buf b;

	if (registration_decode((const char *)data, n, &r, &e))
		promise_refused(&e);
	else
		PROMISE(r.name[0] != '\0');
	if (webhook_config_decode((const char *)data, n, &w, &e)) {
		promise_refused(&e);
		PROMISE(w.n == 0);
		return 0;
	}
	PROMISE(w.rv[0] != '\0' && w.n <= WEBHOOKS_MAX);
	for (unsigned i = 0; i < w.n; i++)
		PROMISE(w.bundle[i] == NULL ||
			strlen(w.bundle[i]) <= WEBHOOKS_BUNDLE_MAX);
	buf_init(&b, body, sizeof(body));
	webhook_config_patch(&b, &w, pem);
	PROMISE(!b.full);
	promise_json(body, b.len);
	webhook_config_done(&w);
	PROMISE(w.n == 0);
	return 0;
}
