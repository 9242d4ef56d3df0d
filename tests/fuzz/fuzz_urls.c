/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "edge/kube/kube_parts.h"

static void
check(const char *server, const char *name)
{
	struct kube_url u = {.base = NULL};
	struct err e = {0};

	if (kube_url_init(&u, server, name, &e)) {
		promise_refused(&e);
		PROMISE(u.base == NULL);
		return;
	}
	PROMISE(strncmp(u.base, u.tls ? "https://" : "http://",
			u.tls ? 8 : 7) == 0);
	PROMISE(u.base[strlen(u.base) - 1] != '/');
	PROMISE(strpbrk(u.base, " \t\r\n?#@") == NULL);
	PROMISE(strchr(u.peer, ':') != NULL);
	/* Without TLS there is no name to verify. */
	PROMISE((u.connect_to != NULL) == (u.tls && name != NULL));
	kube_url_done(&u);
}

/* The address of an API server in the first line, and in the second the name
 * that its certificate has. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *s = text_of_input(data, n), *name = strchr(s, '\n');

	if (name != NULL)
		*name++ = '\0';
	check(s, NULL);
	if (name != NULL && *name != '\0')
		check(s, name);
	free(s);
	return 0;
}
