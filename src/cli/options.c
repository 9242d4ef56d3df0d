/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/duration.h"
#include "core/base/limits.h"
#include "core/base/str.h"
#include "edge/file.h"
#include "say.h"

static void
keep_warning(void *ctx, const char *sentence)
{
	struct options *o = ctx;

	if (o->warnings_n < OPTIONS_WARNINGS_MAX)
		(void)snprintf(o->warnings[o->warnings_n++],
			       sizeof(o->warnings[0]), "%s", sentence);
}

static void
print_flag(const char *name, const char *def, const char *help)
{
	(void)printf("    --%s=%s:\n        %s\n", name, def, help);
}

static void
print_help(const char *usage)
{
	const char *name, *help;
	char def[64];

	(void)printf("Usage: %s %s\nFlags:\n", say_program(), usage);
	print_flag("config", "''",
		   "the configuration file (HolderConfig, YAML)");
	print_flag("kubeconfig", "''", OPTIONS_KUBECONFIG_HELP);
	print_flag("context", "''", OPTIONS_CONTEXT_HELP);
	for (size_t i = 0; config_flag_help(i, &name, &help, def); i++)
		print_flag(name, def[0] ? def : "''", help);
	(void)printf(
		"    -h, --help:\n        print this text\n\n"
		"Flags override the environment (HOLD_DURATION, "
		"HOLD_ANNOTATION, MEMORY_LIMIT), which\noverrides the file, "
		"which overrides the defaults.\n");
}

/* Returns where *o keeps the value of --config, --kubeconfig or --context.
 * Returns NULL for any other flag. */
static const char **
own_flag(struct options *o, const char *name)
{
	return strcmp(name, "config") == 0	 ? &o->config_file
	       : strcmp(name, "kubeconfig") == 0 ? &o->kubeconfig
	       : strcmp(name, "context") == 0	 ? &o->context
						 : NULL;
}

static bool
is_known(struct options *o, const char *flag)
{
	const char *name, *help;
	char def[64];

	if (own_flag(o, flag) != NULL || strcmp(flag, "help") == 0)
		return true;
	for (size_t i = 0; config_flag_help(i, &name, &help, def); i++)
		if (strcmp(name, flag) == 0)
			return true;
	return false;
}

/* Looks for --help, and takes --config, --kubeconfig and --context.  The other
 * flags are applied later, because they override the configuration file, which
 * must be read first.  Returns 1 for --help. */
static int
scan(struct flags f, struct options *o, struct err *e)
{
	const char *value = NULL, **own;
	int rc;

	while ((rc = flags_next(&f, e)) > 0) {
		if (strcmp(f.name, "help") == 0)
			return 1;
		if (!is_known(o, f.name))
			return flags_unknown(&f, e);
		if (flags_value(&f, &value, e))
			return -1;
		own = own_flag(o, f.name);
		if (own != NULL)
			*own = value;
	}
	return rc;
}

static int
read_config(struct options *o, struct config_places *places, struct err *e)
{
	char *bytes;
	size_t n;
	int rc;

	if (o->config_file == NULL)
		return 0;
	if (file_read(o->config_file, CONFIG_BYTES_MAX, &bytes, &n, e)) {
		e->code = ERR_INPUT;
		return err_wrap(e, "--config");
	}
	rc = config_file(&o->config, o->config_file, bytes, n, places, e);
	o->config.file = o->config_file;
	o->config.file_digest = str_digest(STR_DIGEST_NONE, bytes, n);
	free(bytes);
	return rc;
}

static int
apply(struct flags f, struct options *o, struct config_places *places,
      struct err *e)
{
	const char *value = NULL;
	bool known;
	int rc;

	while ((rc = flags_next(&f, e)) > 0) {
		if (flags_value(&f, &value, e))
			return -1;
		if (own_flag(o, f.name) == NULL &&
		    config_flag(&o->config, f.name, value, places, &known, e))
			return -1;
	}
	return rc;
}

int
options_parse(int argc, char **argv, const char *usage, struct options *o,
	      struct err *e)
{
	struct flags f = {.argc = argc, .argv = argv};
	struct config_places places = {.file = NULL};
	int rc;

	*o = (struct options){.warnings_n = 0};
	config_defaults(&o->config);
	rc = scan(f, o, e);
	if (rc == 1)
		print_help(usage);
	if (rc != 0)
		return rc;
	if (read_config(o, &places, e) ||
	    config_env(&o->config, getenv, keep_warning, o, e) ||
	    apply(f, o, &places, e) || config_validate(&o->config, &places, e))
		return -1;
	config_advise(&o->config, keep_warning, o);
	return 0;
}

int
options_namespace(struct flags *f, const char **name, struct err *e)
{
	if (flags_value(f, name, e))
		return -1;
	if ((*name)[0] == '\0' || syntax_label(*name))
		return 1;
	return err_set(
		e, ERR_INPUT,
		"--namespace: \"%.80s\", expected the name of a namespace",
		*name);
}

int
options_duration(struct flags *f, const char *example, int64_t *ms,
		 struct err *e)
{
	const char *value = NULL;

	if (flags_value(f, &value, e))
		return -1;
	if (duration_parse(value, ms) == 0)
		return 1;
	return err_set(e, ERR_INPUT,
		       "--%s: \"%.60s\", expected a duration such as %s",
		       f->name, value, example);
}

int
options_parse_with(int argc, char **argv, const char *usage, options_own *own,
		   void *ctx, struct options *o, struct err *e)
{
	struct flags f = {.argc = argc, .argv = argv};
	char **rest = calloc((size_t)argc + 1, sizeof(*rest));
	const char *value;
	int n = 0, rc, first;

	if (rest == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	rest[n++] = argv[0];
	while ((rc = flags_next(&f, e)) > 0) {
		first = f.at;
		rc = own(ctx, &f, e);
		if (rc < 0)
			break;
		if (rc > 0)
			continue;
		rc = !is_known(o, f.name)	   ? flags_unknown(&f, e)
		     : strcmp(f.name, "help") == 0 ? 0
						   : flags_value(&f, &value, e);
		if (rc < 0)
			break;
		while (first <= f.at)
			rest[n++] = argv[first++];
	}
	if (rc == 0)
		rc = options_parse(n, rest, usage, o, e);
	free(rest);
	return rc;
}

int
options_kubeconfig(const char *file, const char *context,
		   struct kubeconfig *out, struct err *e)
{
	const char *slash = strrchr(file, '/');
	char *bytes, *dir;
	size_t n;
	int rc;

	if (file_read(file, CONFIG_BYTES_MAX, &bytes, &n, e)) {
		e->code = ERR_INPUT;
		return -1;
	}
	dir = strndup(file, slash ? (size_t)(slash - file) + 1 : 0);
	rc = dir ? kubeconfig_parse(file, dir, bytes, n, context, out, e)
		 : err_set(e, ERR_SYSTEM, "out of memory");
	explicit_bzero(bytes, n);
	free(bytes);
	free(dir);
	return rc;
}
