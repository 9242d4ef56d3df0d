/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/wire/applier.h"

#include <check.h>
#include <string.h>

#include "wire/json/json.h"

static int
base64_value(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *p = strchr(digits, c);

	ck_assert_msg(c != '\0' && p != NULL, "no base64: %c", c);
	return (int)(p - digits);
}

void
applier_base64(const char *s, struct buf *out)
{
	size_t n = strlen(s);

	ck_assert_uint_eq(n % 4, 0);
	for (; n > 0; n -= 4, s += 4) {
		size_t pad = n == 4 ? (size_t)(s[3] == '=') + (s[2] == '=') : 0;
		unsigned v = 0;
		char bytes[3];

		for (size_t i = 0; i < 4; i++)
			v = v << 6 |
			    (i < 4 - pad ? (unsigned)base64_value(s[i]) : 0);
		bytes[0] = (char)(v >> 16);
		bytes[1] = (char)(v >> 8);
		bytes[2] = (char)v;
		buf_add(out, bytes, 3 - pad);
	}
}

void
map_set(struct map *m, const char *key, const char *value)
{
	size_t i = 0;

	while (i < m->n && strcmp(m->at[i].key, key) != 0)
		i++;
	m->n += i == m->n;
	strcpy(m->at[i].key, key);
	strcpy(m->at[i].value, value);
}

const char *
map_get(const struct map *m, const char *key)
{
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->at[i].key, key) == 0)
			return m->at[i].value;
	return NULL;
}

void
map_remove(struct map *m, const char *key)
{
	size_t i = 0;

	while (i < m->n && strcmp(m->at[i].key, key) != 0)
		i++;
	ck_assert_msg(i < m->n, "remove of %s, which is not there", key);
	m->at[i] = m->at[--m->n];
}

bool
map_same(const struct map *a, const struct map *b)
{
	if (a->is_object != b->is_object || a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const char *v = map_get(b, a->at[i].key);

		if (v == NULL || strcmp(v, a->at[i].value) != 0)
			return false;
	}
	return true;
}

/* Writes the last token of /metadata/annotations/TOKEN.  False if there is
 * none. */
static bool
pointer_key(const char *path, char key[KEY_BYTES])
{
	static const char root[] = "/metadata/annotations";

	ck_assert_msg(strncmp(path, root, strlen(root)) == 0, "%s", path);
	path += strlen(root);
	if (*path == '\0')
		return false;
	ck_assert_int_eq(*path++, '/');
	for (; *path != '\0'; path++, key++) {
		ck_assert_int_ne(*path, '/');
		*key = *path;
		if (*path == '~')
			*key = *++path == '0' ? '~' : '/';
	}
	*key = '\0';
	return true;
}

static void
apply_op(struct map *m, const struct json *op)
{
	const char *path = json_string(json_member(op, "path"));
	const struct json *value = json_member(op, "value");
	char key[KEY_BYTES];

	if (!pointer_key(path, key)) {
		ck_assert(json_says(op, "op", "add") && json_is_object(value));
		*m = (struct map){.is_object = true};
		for (const struct json *v = json_first(value); v != NULL;
		     v = json_next(v))
			map_set(m, json_key(v), json_string(v));
		return;
	}
	ck_assert_msg(m->is_object, "no map for %s", path);
	if (json_says(op, "op", "add"))
		map_set(m, key, json_string(value));
	else if (json_says(op, "op", "remove"))
		map_remove(m, key);
	else
		ck_abort_msg("unknown op");
}

void
applier_patch(struct map *m, const char *patch, size_t n)
{
	AUTO_JSON ops = json_parse(patch, n, &json_bounds_default, NULL);

	ck_assert(json_is_array(ops));
	for (const struct json *o = json_first(ops); o; o = json_next(o))
		apply_op(m, o);
}
