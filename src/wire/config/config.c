/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "config_keys.h"
#include "wire/yaml/yaml.h"

/*
 * Reads the configuration from a file and from the environment.  The table of
 * keys (config_keys.c) says which keys there are and how each value is written.
 * The code here therefore names no key, except those that the environment may
 * set.
 *
 * config_file walks the tree of the YAML file.  Each key at the top is either a
 * key of the table or a section, whose members are keys of the table.
 * config_file and config_env work on a copy and store it when everything was
 * good, so an error leaves *c alone.  Errors name the place in the file, what
 * was found and what was expected.  For an unknown key they name the most
 * similar known key.
 */

#define API_VERSION "karpenter-node-holder.io/v1"
#define KIND "HolderConfig"
#define PATH_BYTES 96

/* --- the file ------------------------------------------------------------- */

static bool
needs_string(const struct config_key *k)
{
	switch (k->type) {
	case TYPE_TEXT:
	case TYPE_PATH:
	case TYPE_ANNOTATION:
	case TYPE_LABEL:
	case TYPE_NAME:
		return true;
	default:
		return false;
	}
}

static const char *
shape_name(const struct yaml *v)
{
	return yaml_is_map(v)	 ? "a mapping"
	       : yaml_is_list(v) ? "a list"
	       : yaml_is_null(v) ? "nothing"
				 : "a single value";
}

static int
unquoted(const struct yaml *v, const char *path, struct err *e)
{
	char shown[YAML_SHOW_BYTES];

	if (yaml_text(v)[0] == '\0')
		return yaml_fail(v, e, "%s: nothing, expected a string", path);
	return yaml_fail(v, e, "%s: expected a string, quote it: %s", path,
			 yaml_show(yaml_text(v), shown));
}

/* Returns whether the value must be without quotes, because YAML reads a number
 * or a boolean in quotes as a string.  A share such as 2% is a string even
 * without quotes. */
static bool
must_be_plain(const struct config_key *k, const char *text)
{
	return k->type == TYPE_COUNT || k->type == TYPE_BOOL ||
	       (k->type == TYPE_SHARE && strchr(text, '%') == NULL);
}

static int
read_scalar(struct config *c, const struct config_key *k, const struct yaml *v,
	    struct err *e)
{
	char shown[YAML_SHOW_BYTES];
	struct err why;

	if (!yaml_is_scalar(v))
		return yaml_fail(v, e, "%s: %s, expected %s", k->path,
				 shape_name(v), config_value_expected(k));
	if (needs_string(k) && yaml_string(v) == NULL)
		return unquoted(v, k->path, e);
	if (must_be_plain(k, yaml_text(v)) && !yaml_is_plain(v))
		return yaml_fail(v, e, "%s: %s in quotes, expected %s", k->path,
				 yaml_show(yaml_text(v), shown),
				 config_value_expected(k));
	if (config_value_set(c, k, yaml_text(v), &why))
		return yaml_fail(v, e, "%s: %s", k->path, why.text);
	return 0;
}

static int
read_list(struct config *c, const struct config_key *k, const struct yaml *list,
	  struct err *e)
{
	struct err why;

	if (!yaml_is_list(list))
		return yaml_fail(list, e, "%s: %s, expected %s", k->path,
				 shape_name(list), config_value_expected(k));
	if (k->offset != CONFIG_UNSTORED)
		((struct patterns *)((char *)c + k->offset))->n = 0;
	for (const struct yaml *v = yaml_first(list); v; v = yaml_next(v)) {
		if (!yaml_is_scalar(v))
			return yaml_fail(v, e, "%s: %s, expected a pattern",
					 k->path, shape_name(v));
		if (yaml_string(v) == NULL)
			return unquoted(v, k->path, e);
		if (config_value_add(c, k, yaml_text(v), &why))
			return yaml_fail(v, e, "%s: %s", k->path, why.text);
	}
	return 0;
}

/* Returns the most similar known path.  The last part of the path is also
 * compared alone, because a key in the wrong section is as likely as a typing
 * error. */
static const char *
nearest_path(const char *path)
{
	const char *best = NULL, *dot = strrchr(path, '.');
	unsigned least = ~0u;

	for (size_t i = 0; i < config_keys_n; i++) {
		const char *p = config_keys[i].path, *last = strrchr(p, '.');
		unsigned whole = str_distance(path, p);
		unsigned part = str_distance(dot ? dot + 1 : path,
					     last ? last + 1 : p) +
				1;

		whole = whole < part ? whole : part;
		if (whole < least) {
			least = whole;
			best = p;
		}
	}
	return best;
}

static int
read_key(struct config *c, const char *path, const struct yaml *v,
	 struct config_places *places, struct err *e)
{
	char shown[YAML_SHOW_BYTES];

	for (size_t i = 0; i < config_keys_n; i++) {
		const struct config_key *k = &config_keys[i];

		if (strcmp(k->path, path) != 0)
			continue;
		places->key[i].at = yaml_at(v);
		return k->type == TYPE_PATTERNS ? read_list(c, k, v, e)
						: read_scalar(c, k, v, e);
	}
	return yaml_fail_key(v, e, "%s: unknown key, expected one such as %s",
			     yaml_show(path, shown), nearest_path(path));
}

static bool
is_section(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < config_keys_n; i++)
		if (strncmp(config_keys[i].path, name, n) == 0 &&
		    config_keys[i].path[n] == '.')
			return true;
	return false;
}

static int
read_section(struct config *c, const struct yaml *section,
	     struct config_places *places, struct err *e)
{
	char path[PATH_BYTES];

	if (!yaml_is_map(section))
		return yaml_fail(section, e, "%s: %s, expected a mapping",
				 yaml_key(section), shape_name(section));
	for (const struct yaml *v = yaml_first(section); v; v = yaml_next(v)) {
		(void)snprintf(path, sizeof(path), "%s.%s", yaml_key(section),
			       yaml_key(v));
		if (read_key(c, path, v, places, e))
			return -1;
	}
	return 0;
}

static int
read_constant(const struct yaml *root, const char *key, const char *value,
	      struct err *e)
{
	const struct yaml *v = yaml_member(root, key);
	char shown[YAML_SHOW_BYTES];

	if (v == NULL)
		return yaml_fail(root, e, "%s: missing, expected %s", key,
				 value);
	if (!yaml_is_scalar(v))
		return yaml_fail(v, e, "%s: %s, expected %s", key,
				 shape_name(v), value);
	if (strcmp(yaml_text(v), value) != 0)
		return yaml_fail(v, e, "%s: %s, expected %s", key,
				 yaml_show(yaml_text(v), shown), value);
	return 0;
}

static int
read_root(struct config *c, const struct yaml *root,
	  struct config_places *places, struct err *e)
{
	if (!yaml_is_map(root))
		return yaml_fail(root, e, "%s, expected a mapping of keys",
				 shape_name(root));
	if (read_constant(root, "apiVersion", API_VERSION, e) ||
	    read_constant(root, "kind", KIND, e))
		return -1;
	for (const struct yaml *v = yaml_first(root); v; v = yaml_next(v)) {
		const char *key = yaml_key(v);

		if (strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0)
			continue;
		if (is_section(key) ? read_section(c, v, places, e)
				    : read_key(c, key, v, places, e))
			return -1;
	}
	return 0;
}

int
config_file(struct config *c, const char *file, const char *bytes, size_t n,
	    struct config_places *places, struct err *e)
{
	struct config_places found = {.file = file};
	struct config next = *c;
	AUTO_YAML root = yaml_tree_parse(file, bytes, n, e);

	if (root == NULL || read_root(&next, root, &found, e))
		return -1;
	*c = next;
	if (places != NULL)
		*places = found;
	return 0;
}

/* --- the environment ------------------------------------------------------ */

static const char *
env_value(char *(*get)(const char *), const char *name)
{
	const char *s = get(name);

	return s != NULL && s[0] != '\0' ? s : NULL;
}

static int
env_hold_duration(struct config *c, const char *value, struct err *e)
{
	const struct config_key *k = config_key_of_path("holdDuration");
	char minutes[16], shown[YAML_SHOW_BYTES];
	bool bare = value[strspn(value, "0123456789")] == '\0';

	if (bare)
		(void)snprintf(minutes, sizeof(minutes), "%.12sm", value);
	if (config_value_set(c, k, bare ? minutes : value, NULL))
		return err_set(e, ERR_INPUT,
			       "HOLD_DURATION: %s, expected minutes or a "
			       "duration above 0 such as 10m",
			       yaml_show(value, shown));
	return 0;
}

/* Reads the container's memory limit, which comes from the downward API.  A
 * limit that is too small only causes a warning, because a small cluster needs
 * less memory. */
static int
env_memory_limit(struct config *c, const char *value, config_warn *warn,
		 void *ctx, struct err *e)
{
	const struct config_key *k = config_key_of_path("memoryLimit");
	int64_t before = c->memory_limit;
	struct config defaults;
	char shown[YAML_SHOW_BYTES];

	if (value[strspn(value, "0123456789")] == '\0' && strlen(value) < 18 &&
	    strtoll(value, NULL, 10) < MEMORY_MIN) {
		if (warn != NULL)
			warn(ctx, "The container's memory limit is below 64Mi. "
				  "The bounds are those for 64Mi, so a flood "
				  "of requests can end the process.");
		c->memory_limit = MEMORY_MIN;
		return 0;
	}
	if (config_value_set(c, k, value, NULL))
		return err_set(e, ERR_INPUT, "MEMORY_LIMIT: %s, expected %s",
			       yaml_show(value, shown),
			       config_value_expected(k));
	config_defaults(&defaults);
	if (before != defaults.memory_limit && before != c->memory_limit &&
	    warn != NULL)
		warn(ctx,
		     "memoryLimit of the file has no effect: MEMORY_LIMIT, "
		     "which is the container's memory limit, counts "
		     "instead.");
	return 0;
}

int
config_env(struct config *c, char *(*get)(const char *), config_warn *warn,
	   void *ctx, struct err *e)
{
	const char *duration = env_value(get, "HOLD_DURATION");
	const char *annotation = env_value(get, "HOLD_ANNOTATION");
	const char *memory = env_value(get, "MEMORY_LIMIT");
	struct config next = *c;

	if (memory != NULL && env_memory_limit(&next, memory, warn, ctx, e))
		return -1;
	if (duration != NULL && env_hold_duration(&next, duration, e))
		return -1;
	if (annotation != NULL &&
	    config_value_set(&next, config_key_of_path("holdAnnotation.key"),
			     annotation, e))
		return err_wrap(e, "HOLD_ANNOTATION");
	if (env_value(get, "INITIAL_DELAY") != NULL && warn != NULL)
		warn(ctx, "INITIAL_DELAY is not needed: machines are held when "
			  "they are created. It has no effect.");
	*c = next;
	return 0;
}
