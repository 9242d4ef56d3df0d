/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"
#include "wire/json/json.h"

void
promise_broken(const char *file, int line, const char *promise)
{
	(void)fprintf(stderr, "%s:%d: broken: %s\n", file, line, promise);
	abort();
}

void
promise_refused(const struct err *e)
{
	PROMISE(e->code == ERR_INPUT || e->code == ERR_LIMIT);
	PROMISE(e->text[0] != '\0');
	PROMISE(strchr(e->text, '\n') == NULL);
}

void
promise_utf8(const char *text)
{
	for (size_t left = strlen(text); left > 0;) {
		size_t n = utf8_len(text, left);

		PROMISE(n > 0);
		text += n;
		left -= n;
	}
}

void
promise_json(const char *bytes, size_t n)
{
	AUTO_JSON root = json_parse(bytes, n, &json_bounds_default, NULL);

	PROMISE(root != NULL);
}

char *
text_of_input(const uint8_t *data, size_t n)
{
	char *s = strndup((const char *)data, n);

	PROMISE(s != NULL);
	return s;
}
