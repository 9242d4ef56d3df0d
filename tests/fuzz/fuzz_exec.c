/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <string.h>

#include "core/base/stamp.h"
#include "wire/kubeconfig/exec.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const versions[] = {
		"client.authentication.k8s.io/v1",
		"client.authentication.k8s.io/v1beta1",
	};
	unsigned good = 0;

	for (int i = 0; i < 2; i++) {
		struct exec_credential c = {.token = NULL};
		struct err e = {0};

		if (exec_credential_decode((const char *)data, n, versions[i],
					   &c, &e)) {
			promise_refused(&e);
			PROMISE(c.token == NULL);
			continue;
		}
		good++;
		PROMISE(c.token != NULL && c.token[0] != '\0');
		PROMISE(exec_token_is_printable(c.token));
		exec_credential_done(&c);
		PROMISE(c.token == NULL && c.expires_ms == STAMP_NONE);
	}
	PROMISE(good <= 1);
	return 0;
}
