/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/str.h"
#include "wire/kubeconfig/exec.h"

#include <stdlib.h>

void
exec_free(struct exec *x)
{
	if (x == NULL)
		return;
	for (char **p = x->args; *p != NULL; p++)
		free(*p);
	for (char **p = x->env; *p != NULL; p++) {
		str_wipe(*p);
		free(*p);
	}
	free(x->command);
	free(x->install_hint);
	free(x->place);
	free(x);
}

bool
exec_token_is_printable(const char *s)
{
	while (*s > ' ' && *s <= '~')
		s++;
	return *s == '\0';
}
