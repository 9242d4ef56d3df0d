/* SPDX-License-Identifier: Apache-2.0 */
#include "flags.h"

#include <stdio.h>
#include <string.h>

#include "say.h"

int
flags_next(struct flags *f, struct err *e)
{
	const char *arg, *equals;
	size_t n;

	if (++f->at >= f->argc)
		return 0;
	arg = f->argv[f->at];
	f->inline_value = NULL;
	if (strcmp(arg, "-h") == 0)
		arg = "--help";
	if (strncmp(arg, "-o", 2) == 0) { /* Also -ojson and -o=json. */
		(void)snprintf(f->name, sizeof(f->name), "output");
		f->inline_value = arg[2] == '\0'  ? NULL
				  : arg[2] == '=' ? arg + 3
						  : arg + 2;
		return 1;
	}
	if (strcmp(arg, "--") == 0 && f->at + 1 == f->argc)
		return 0;
	if (strncmp(arg, "--", 2) != 0 || arg[2] == '\0' || arg[2] == '=')
		return err_set(e, ERR_INPUT,
			       "unexpected argument \"%.60s\"; see '%s %s "
			       "--help'",
			       arg, say_program(), f->argv[0]);
	arg += 2;
	equals = strchr(arg, '=');
	n = equals ? (size_t)(equals - arg) : strlen(arg);
	(void)snprintf(f->name, sizeof(f->name), "%.*s", (int)n, arg);
	if (n >= sizeof(f->name))
		return flags_unknown(f, e);
	f->inline_value = equals ? equals + 1 : NULL;
	return 1;
}

int
flags_value(struct flags *f, const char **value, struct err *e)
{
	if (f->inline_value != NULL) {
		*value = f->inline_value;
		return 0;
	}
	if (f->at + 1 >= f->argc)
		return err_set(e, ERR_INPUT, "--%s: missing, expected a value",
			       f->name);
	*value = f->argv[++f->at];
	return 0;
}

int
flags_no_value(const struct flags *f, struct err *e)
{
	if (f->inline_value == NULL)
		return 0;
	return err_set(e, ERR_INPUT, "--%s: \"%.60s\", expected no value",
		       f->name, f->inline_value);
}

int
flags_unknown(const struct flags *f, struct err *e)
{
	return err_set(e, ERR_INPUT, "unknown flag --%s; see '%s %s --help'",
		       f->name, say_program(), f->argv[0]);
}
