/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/yaml/yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/utf8.h"
#include "yaml_node.h"

/* Bytes of a file's name and of a value that an error shows.  err.text has 240
 * bytes for everything. */
#define FILE_SHOWN 100
#define VALUE_SHOWN 40

void
yaml_nodes_done(struct yaml_tree *t)
{
	struct yaml *v = t->made;

	while (v != NULL) {
		struct yaml *before = v->made_before;

		free(v->key);
		free(v->text);
		free(v);
		v = before;
	}
	free(t->file);
	free(t);
}

void
yaml_tree_free(struct yaml *root)
{
	if (root != NULL)
		yaml_nodes_done(root->tree);
}

void
yaml_tree_freep(struct yaml **root)
{
	yaml_tree_free(*root);
}

bool
yaml_is_map(const struct yaml *v)
{
	return v != NULL && v->shape == SHAPE_MAP;
}

bool
yaml_is_list(const struct yaml *v)
{
	return v != NULL && v->shape == SHAPE_LIST;
}

bool
yaml_is_scalar(const struct yaml *v)
{
	return v != NULL && v->shape == SHAPE_SCALAR;
}

bool
yaml_is_plain(const struct yaml *v)
{
	return yaml_is_scalar(v) && v->plain;
}

const struct yaml *
yaml_member(const struct yaml *map, const char *key)
{
	if (!yaml_is_map(map))
		return NULL;
	for (const struct yaml *v = map->first; v != NULL; v = v->next)
		if (strcmp(v->key, key) == 0)
			return v;
	return NULL;
}

const struct yaml *
yaml_first(const struct yaml *map_or_list)
{
	return map_or_list ? map_or_list->first : NULL;
}

const struct yaml *
yaml_next(const struct yaml *value)
{
	return value ? value->next : NULL;
}

const char *
yaml_key(const struct yaml *member)
{
	return member ? member->key : NULL;
}

const char *
yaml_text(const struct yaml *v)
{
	return yaml_is_scalar(v) ? v->text : NULL;
}

static bool
is_one_of(const char *s, const char *const *words)
{
	for (; *words != NULL; words++)
		if (strcasecmp(s, *words) == 0)
			return true;
	return false;
}

bool
yaml_is_null(const struct yaml *v)
{
	static const char *const nulls[] = {"", "~", "null", NULL};

	return yaml_is_plain(v) && is_one_of(v->text, nulls);
}

/* Returns whether a YAML 1.1 reader may take the text for a number.  In doubt
 * it returns true, because needless quotes do no harm. */
static bool
looks_numeric(const char *s)
{
	char *end;

	s += *s == '+' || *s == '-';
	if (strcasecmp(s, ".inf") == 0 || strcasecmp(s, ".nan") == 0)
		return true;
	if (s[0] == '0' && (s[1] == 'o' || s[1] == 'b'))
		return s[2] != '\0' &&
		       s[2 + strspn(s + 2, "01234567_")] == '\0';
	s += *s == '.' && s[1] != '\0';
	if (*s < '0' || *s > '9')
		return false;
	if (s[strspn(s, "0123456789_")] == '\0')
		return true;
	(void)strtod(s, &end);
	return *end == '\0';
}

const char *
yaml_string(const struct yaml *v)
{
	static const char *const bools[] = {"true", "false", "yes", "no", "on",
					    "off",  "y",     "n",   NULL};

	if (!yaml_is_scalar(v))
		return NULL;
	if (v->plain && (yaml_is_null(v) || is_one_of(v->text, bools) ||
			 looks_numeric(v->text)))
		return NULL;
	return v->text;
}

struct yaml_place
yaml_at(const struct yaml *v)
{
	return v->at;
}

int
yaml_fail_at(const char *file, struct yaml_place at, struct err *e,
	     const char *text)
{
	size_t n = strlen(file);
	bool cut = n > FILE_SHOWN;

	return err_set(e, ERR_INPUT, "%s%s:%zu:%zu: %s", cut ? "…" : "",
		       cut ? file + n - FILE_SHOWN : file, at.line, at.col,
		       text);
}

int
yaml_fail(const struct yaml *v, struct err *e, const char *fmt, ...)
{
	char text[sizeof(e->text)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return yaml_fail_at(v->tree->file, v->at, e, text);
}

int
yaml_fail_key(const struct yaml *member, struct err *e, const char *fmt, ...)
{
	char text[sizeof(e->text)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return yaml_fail_at(member->tree->file, member->key_at, e, text);
}

const char *
yaml_show(const char *s, char out[YAML_SHOW_BYTES])
{
	char head[VALUE_SHOWN + 8];
	struct buf b;
	size_t n = strlen(s), keep = 0, step;

	while (keep < n && keep < VALUE_SHOWN) {
		step = utf8_len(s + keep, n - keep);
		keep += step ? step : 1;
	}
	memcpy(head, s, keep);
	memcpy(head + keep, keep < n ? "…" : "", keep < n ? 4 : 1);
	buf_init(&b, out, YAML_SHOW_BYTES);
	buf_json(&b, head);
	return out;
}
