/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Keeps an error on one line of a terminal, whatever it quotes. */
static void
one_line(char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = '?';
}

int
err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	if (e == NULL)
		return -1;
	e->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	one_line(e->text);
	return -1;
}

int
err_wrap(struct err *e, const char *fmt, ...)
{
	char inner[sizeof(e->text)];
	va_list ap;
	size_t used;

	if (e == NULL)
		return -1;
	memcpy(inner, e->text, sizeof(inner));
	va_start(ap, fmt);
	(void)vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	used = strlen(e->text);
	(void)snprintf(e->text + used, sizeof(e->text) - used, ": %s", inner);
	one_line(e->text);
	return -1;
}
