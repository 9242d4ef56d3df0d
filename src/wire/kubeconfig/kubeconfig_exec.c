/* SPDX-License-Identifier: Apache-2.0 */
#include "kubeconfig_exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kubeconfig_field.h"

/*
 * Reads the section `exec` of a kubeconfig's user: the program that prints a
 * token.  The number and the length of its arguments and variables are bounded.
 * Two things are not supported, and are errors: a plugin that has to ask a
 * person, and an extension that the plugin would get as spec.cluster.config.
 *
 * Values of arguments and variables may be secret, so no error shows one.  *out
 * is set only when everything was good.  Nothing is run here: edge/exec runs
 * the program.
 */

#define GROUP "client.authentication.k8s.io/"

static int
no_memory(struct err *e)
{
	return err_set(e, ERR_SYSTEM, "out of memory");
}

static int
too_long(const struct yaml *v, const char *what, struct err *e)
{
	return yaml_fail(v, e, "%s: expected at most %d bytes", what,
			 EXEC_TEXT_MAX);
}

static int
read_version(const struct yaml *exec, const char **out, struct err *e)
{
	static const char *const known[] = {GROUP "v1", GROUP "v1beta1"};
	const struct yaml *v = field_present(exec, "apiVersion");
	const char *text = yaml_text(v);
	char shown[YAML_SHOW_BYTES];

	for (size_t i = 0; text != NULL && i < 2; i++)
		if (strcmp(text, known[i]) == 0) {
			*out = known[i];
			return 0;
		}
	if (v == NULL)
		return yaml_fail(exec, e,
				 "apiVersion: missing, expected %s or %s",
				 known[0], known[1]);
	return yaml_fail(v, e, "apiVersion: %s, expected %s or v1beta1",
			 text == NULL ? "no string" : yaml_show(text, shown),
			 known[0]);
}

/* Reads the command.  A command without a '/' is looked up in $PATH. */
static int
read_command(const struct yaml *exec, const char *dir, char **out,
	     struct err *e)
{
	const struct yaml *v = field_present(exec, "command");
	const char *text;

	if (v == NULL)
		return yaml_fail(exec, e,
				 "command: missing, expected a program");
	if (field_text(v, &text, e))
		return -1;
	if (strlen(text) > EXEC_TEXT_MAX)
		return too_long(v, "command", e);
	return strchr(text, '/') == NULL
		       ? field_string(exec, "command", out, e)
		       : field_file(exec, "command", dir, out, e);
}

/* Gets the list under the key and checks its length.  If there is none, *out is
 * NULL, which counts as an empty list. */
static int
get_list(const struct yaml *exec, const char *key, unsigned max,
	 const struct yaml **out, struct err *e)
{
	const struct yaml *v = field_present(exec, key);
	unsigned n = 0;

	if (v != NULL && !yaml_is_list(v))
		return yaml_fail(v, e, "%s: expected a list", key);
	for (const struct yaml *i = yaml_first(v); i; i = yaml_next(i))
		if (++n > max)
			return yaml_fail(i, e, "%s: expected at most %u", key,
					 max);
	*out = v;
	return 0;
}

/* Reads the text of an item.  Errors do not show the value, which may be
 * secret. */
static int
item_text(const struct yaml *v, const char *what, const char **out,
	  struct err *e)
{
	const char *s = yaml_string(v);

	if (s == NULL)
		return yaml_fail(v, e,
				 "%s: expected a string, put quotes around it",
				 what);
	if (strlen(s) > EXEC_TEXT_MAX)
		return too_long(v, what, e);
	*out = s;
	return 0;
}

static int
read_args(const struct yaml *exec, char **out, struct err *e)
{
	const struct yaml *list;
	const char *s;

	if (get_list(exec, "args", EXEC_ARGS_MAX, &list, e))
		return -1;
	for (const struct yaml *v = yaml_first(list); v; v = yaml_next(v)) {
		if (item_text(v, "args", &s, e))
			return -1;
		*out = strdup(s);
		if (*out++ == NULL)
			return no_memory(e);
	}
	return 0;
}

static int
read_variable(const struct yaml *entry, char **out, struct err *e)
{
	const struct yaml *v = field_present(entry, "value");
	const char *name, *value = "";
	size_t n;

	if (!yaml_is_map(entry) || field_present(entry, "name") == NULL)
		return yaml_fail(entry, e,
				 "env: expected entries with a name and a "
				 "value");
	if (item_text(yaml_member(entry, "name"), "env: name", &name, e) ||
	    (v != NULL && item_text(v, "env: value", &value, e)))
		return -1;
	if (strchr(name, '=') != NULL)
		return yaml_fail(yaml_member(entry, "name"), e,
				 "env: name: expected none with a \"=\"");
	n = strlen(name) + strlen(value) + 2;
	*out = malloc(n);
	if (*out == NULL)
		return no_memory(e);
	(void)snprintf(*out, n, "%s=%s", name, value);
	return 0;
}

static int
read_env(const struct yaml *exec, char **out, struct err *e)
{
	const struct yaml *list;

	if (get_list(exec, "env", EXEC_ENV_MAX, &list, e))
		return -1;
	for (const struct yaml *v = yaml_first(list); v; v = yaml_next(v))
		if (read_variable(v, out++, e))
			return -1;
	return 0;
}

/* Reads the install hint, and joins its lines with one space between words.
 * kubelogin's hint has several lines. */
static int
read_hint(const struct yaml *exec, char **out, struct err *e)
{
	const struct yaml *v = field_present(exec, "installHint");
	const char *s;
	char *to;

	if (v == NULL)
		return 0;
	if (item_text(v, "installHint", &s, e))
		return -1;
	*out = to = malloc(strlen(s) + 1);
	if (to == NULL)
		return no_memory(e);
	for (; *s != '\0'; s++)
		if (strchr(" \t\r\n", *s) == NULL)
			*to++ = *s;
		else if (to > *out && to[-1] != ' ')
			*to++ = ' ';
	while (to > *out && to[-1] == ' ')
		to--;
	*to = '\0';
	return 0;
}

/* Checks interactiveMode.  In v1beta1 its default is IfAvailable; v1 requires
 * the field. */
static int
check_mode(const struct yaml *exec, const char *version, struct err *e)
{
	const struct yaml *v = field_present(exec, "interactiveMode");
	const char *mode = yaml_text(v);

	if (v == NULL && strcmp(version, GROUP "v1beta1") == 0)
		return 0;
	if (v == NULL)
		return yaml_fail(exec, e,
				 "interactiveMode: missing, expected Never or "
				 "IfAvailable");
	if (mode != NULL && strcmp(mode, "Always") == 0)
		return yaml_fail(v, e,
				 "interactiveMode: Always needs a terminal, "
				 "which is not in this version, expected Never "
				 "or IfAvailable");
	if (mode == NULL ||
	    (strcmp(mode, "Never") != 0 && strcmp(mode, "IfAvailable") != 0))
		return yaml_fail(v, e,
				 "interactiveMode: expected Never or "
				 "IfAvailable");
	return 0;
}

/* Refuses an extension that the plugin would get as spec.cluster.config.  We do
 * not pass it on, and the plugin may depend on it. */
static int
check_extensions(const struct yaml *cluster, struct err *e)
{
	const struct yaml *list = field_present(cluster, "extensions");
	const char *name;

	for (const struct yaml *v = yaml_first(list); v; v = yaml_next(v)) {
		name = yaml_text(yaml_member(v, "name"));
		if (name != NULL && strcmp(name, GROUP "exec") == 0)
			return yaml_fail(v, e,
					 "extensions: " GROUP "exec is not in "
					 "this version, expected none");
	}
	return 0;
}

static int
read_exec(const struct yaml *exec, const struct yaml *cluster, const char *dir,
	  struct exec *x, struct err *e)
{
	if (!yaml_is_map(exec))
		return yaml_fail(exec, e, "exec: expected a mapping");
	if (read_version(exec, &x->api_version, e) ||
	    read_command(exec, dir, &x->command, e) ||
	    read_args(exec, x->args, e) || read_env(exec, x->env, e) ||
	    read_hint(exec, &x->install_hint, e) ||
	    field_bool(exec, "provideClusterInfo", &x->cluster_info, e) ||
	    check_mode(exec, x->api_version, e))
		return -1;
	return x->cluster_info ? check_extensions(cluster, e) : 0;
}

/* Stores the text with which errors about the exec section begin, for
 * edge/exec. */
static int
note_place(const struct yaml *context, const struct yaml *exec, char **out,
	   struct err *e)
{
	const char *name = yaml_text(yaml_member(context, "user"));
	char shown[YAML_SHOW_BYTES];
	struct err place;

	(void)yaml_fail(exec, &place, "user %s", yaml_show(name, shown));
	*out = strdup(place.text);
	return *out == NULL ? no_memory(e) : 0;
}

int
kubeconfig_exec(const struct yaml *context, const struct yaml *user,
		const struct yaml *cluster, const char *dir, struct exec **out,
		struct err *e)
{
	const struct yaml *exec = field_present(user, "exec");
	struct exec *x;

	if (exec == NULL)
		return 0;
	x = calloc(1, sizeof(*x));
	if (x == NULL)
		return no_memory(e);
	if (read_exec(exec, cluster, dir, x, e) ||
	    note_place(context, exec, &x->place, e)) {
		exec_free(x);
		return -1;
	}
	*out = x;
	return 0;
}
