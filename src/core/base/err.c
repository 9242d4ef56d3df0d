/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/err.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/str.h"
#include "core/base/utf8.h"

static void
set_text(struct err *e, const char *text)
{
	str_shorten(e->text, sizeof(e->text), text);
	utf8_make_shown(e->text);
}

int
err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
	char whole[sizeof(e->text) + 1];
	va_list ap;

	if (e == NULL)
		return -1;
	e->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(whole, sizeof(whole), fmt, ap);
	va_end(ap);
	set_text(e, whole);
	return -1;
}

int
err_wrap(struct err *e, const char *fmt, ...)
{
	char context[sizeof(e->text)], whole[2 * sizeof(e->text) + 2];
	va_list ap;

	if (e == NULL)
		return -1;
	va_start(ap, fmt);
	(void)vsnprintf(context, sizeof(context), fmt, ap);
	va_end(ap);
	(void)snprintf(whole, sizeof(whole), "%s: %s", context, e->text);
	set_text(e, whole);
	return -1;
}
