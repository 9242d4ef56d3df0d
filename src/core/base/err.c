/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"

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
	utf8_make_shown(e->text);
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
	utf8_make_shown(e->text);
	return -1;
}
