/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "wire/api/secret.h"
#include "wire/base64.h"

static bool
same(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* Promises that a pair that is written into a Secret is read from it. */
static void
check_pair(const struct secret_pair *names, const char *cert, const char *key)
{
	size_t cap = 2048 + BASE64_BYTES(strlen(cert) + 2) +
		     BASE64_BYTES(strlen(key) + 2);
	struct secret_pair p = *names;
	char *body = malloc(cap);
	struct buf b;

	PROMISE(body != NULL);
	p.cert = cert;
	p.key = key;
	buf_init(&b, body, cap);
	secret_create(&b, "namespace", "name", &p);
	PROMISE(!b.full);
	promise_json(body, b.len);
	buf_init(&b, body, cap);
	secret_update(&b, "1", &p);
	/* An update lacks nothing of a Secret but its kind. */
	PROMISE(!b.full && body[b.len - 1] == '}');
	b.len--;
	buf_puts(&b, ",\"kind\":\"Secret\"}");

	struct secret again;
	struct err e = {0};

	PROMISE(secret_decode(body, b.len, &again, &e) == 0);
	PROMISE(strcmp(again.rv, "1") == 0);
	if (names == &secret_ca)
		PROMISE(same(again.ca_cert, cert) && same(again.ca_key, key));
	else
		PROMISE(same(again.cert, cert) && same(again.key, key));
	secret_done(&again);
	free(body);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct secret s = {.rv = ""};
	struct err e = {0};

	if (secret_decode((const char *)data, n, &s, &e)) {
		promise_refused(&e);
		return 0;
	}
	PROMISE(s.rv[0] != '\0');
	PROMISE(s.cert == NULL || strlen(s.cert) <= SECRET_PEM_MAX);
	if (s.ca_cert != NULL && s.ca_key != NULL)
		check_pair(&secret_ca, s.ca_cert, s.ca_key);
	if (s.cert != NULL && s.key != NULL)
		check_pair(&secret_tls, s.cert, s.key);
	secret_done(&s);
	PROMISE(s.key == NULL);
	return 0;
}
