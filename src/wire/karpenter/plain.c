/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "parts.h"

/* The member that names a pair: CloudWatch's "field", OpenTelemetry's "key". */
static const char *
pair_key(const struct json *v)
{
	static const char *const keys[] = {"key", "field", "name"};
	const char *s = NULL;

	for (int i = 0; i < 3 && s == NULL; i++)
		s = json_string(json_member(v, keys[i]));
	return json_member(v, "value") == NULL ? NULL : s;
}

static bool
is_pairs(const struct json *v)
{
	const struct json *pair = json_is_array(v) ? json_first(v) : NULL;

	if (pair == NULL)
		return false;
	while (pair != NULL && pair_key(pair) != NULL)
		pair = json_next(pair);
	return pair == NULL;
}

/* Returns what an OpenTelemetry value stands for, or NULL for another value. */
static const struct json *
any_value(const struct json *v)
{
	static const char *const kinds[] = {"stringValue", "intValue",
					    "doubleValue", "boolValue",
					    "kvlistValue", "arrayValue"};
	const struct json *in = json_is_object(v) ? json_first(v) : NULL;
	int i = 0;

	if (in == NULL || json_next(in) != NULL)
		return NULL;
	while (i < 6 && strcmp(json_key(in), kinds[i]) != 0)
		i++;
	if (i == 6)
		return NULL;
	return i < 4 ? in : json_member(in, "values");
}

bool
plain_wanted(const struct json *v)
{
	if (is_pairs(v))
		return true;
	if (!json_is_object(v))
		return false;
	for (const struct json *in = json_first(v); in != NULL;
	     in = json_next(in))
		if (is_pairs(in) || any_value(in) != NULL)
			return true;
	return false;
}

static bool
is_number_text(const struct json *v)
{
	const char *s = json_string(v), *key = json_key(v);
	size_t n = s == NULL ? 0 : strspn(s + (*s == '-'), "0123456789");

	return n > 0 && n < 20 && s[n + (*s == '-')] == '\0' &&
	       (n == 1 || s[*s == '-'] != '0') && key != NULL &&
	       strcmp(key, "intValue") == 0;
}

static void
write_scalar(struct buf *b, const struct json *v)
{
	double number;

	if (json_string(v) != NULL)
		buf_json(b, json_string(v));
	else if (json_number(v, &number) == 0)
		buf_printf(b, "%.17g", number);
	else
		buf_puts(b, json_is_true(v)    ? "true"
			    : json_is_false(v) ? "false"
					       : "null");
}

/* The depth is that of a parsed value, which is bounded. */
void
plain_write(struct buf *b, const struct json *v)
{
	const struct json *any = any_value(v), *in;
	bool pairs = is_pairs(v), object = pairs || json_is_object(v);

	if (any != NULL) {
		/* OpenTelemetry writes whole numbers as strings. */
		if (is_number_text(any))
			buf_puts(b, json_string(any));
		else
			plain_write(b, any);
		return;
	}
	if (!object && !json_is_array(v)) {
		write_scalar(b, v);
		return;
	}
	buf_puts(b, object ? "{" : "[");
	for (in = json_first(v); in != NULL; in = json_next(in)) {
		if (in != json_first(v))
			buf_puts(b, ",");
		if (object) {
			buf_json(b, pairs ? pair_key(in) : json_key(in));
			buf_puts(b, ":");
		}
		plain_write(b, pairs ? json_member(in, "value") : in);
	}
	buf_puts(b, object ? "}" : "]");
}
