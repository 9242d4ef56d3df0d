/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "wire/kubeconfig/kubeconfig.h"

static void
check_exec(const struct kubeconfig *k)
{
	const struct exec_cluster c = {
		.server = k->server,
		.tls_server_name = k->tls_server_name,
		.ca_pem = k->ca_pem,
		.insecure = k->insecure,
	};
	size_t cap = exec_info_bytes(&c);
	char *text = malloc(cap);
	struct buf b;

	PROMISE(text != NULL && k->exec->command[0] != '\0');
	for (char **p = k->exec->env; *p != NULL; p++)
		PROMISE(strchr(*p, '=') != NULL && **p != '=');
	buf_init(&b, text, cap);
	exec_info(&b, k->exec, &c);
	PROMISE(!b.full);
	promise_json(text, b.len);
	free(text);
}

static void
check(const uint8_t *data, size_t n, const char *dir, const char *context)
{
	struct kubeconfig k = {.server = NULL};
	struct err e = {0};

	if (kubeconfig_parse("file", dir, (const char *)data, n, context, &k,
			     &e)) {
		promise_refused(&e);
		PROMISE(k.server == NULL);
		return;
	}
	PROMISE(strncmp(k.server, "http", 4) == 0);
	PROMISE(k.server[strlen(k.server) - 1] != '/');
	PROMISE(k.ca_pem == NULL || k.ca_file == NULL);
	PROMISE(k.token == NULL || exec_token_is_printable(k.token));
	if (k.exec != NULL)
		check_exec(&k);
	kubeconfig_done(&k);
	PROMISE(k.server == NULL && k.exec == NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	check(data, n, NULL, NULL);
	check(data, n, "/folder", "c");
	return 0;
}
