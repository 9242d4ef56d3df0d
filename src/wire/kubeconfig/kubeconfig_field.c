/* SPDX-License-Identifier: Apache-2.0 */
#include "kubeconfig_field.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "wire/base64.h"

void
field_wipe(char *s)
{
	str_wipe(s);
	free(s);
}

static int
no_memory(struct err *e)
{
	return err_set(e, ERR_SYSTEM, "out of memory");
}

/* As in kubectl, null and "" count as a missing value. */
const struct yaml *
field_present(const struct yaml *map, const char *key)
{
	const struct yaml *v = yaml_member(map, key);

	if (v == NULL || yaml_is_null(v))
		return NULL;
	return yaml_is_scalar(v) && yaml_text(v)[0] == '\0' ? NULL : v;
}

int
field_text(const struct yaml *v, const char **out, struct err *e)
{
	if (!yaml_is_scalar(v))
		return yaml_fail(v, e, "%s: expected a string", yaml_key(v));
	/* Errors do not show the value, which may be a token. */
	if (yaml_string(v) == NULL)
		return yaml_fail(v, e,
				 "%s: expected a string, put quotes "
				 "around it",
				 yaml_key(v));
	*out = yaml_text(v);
	return 0;
}

int
field_string(const struct yaml *map, const char *key, char **out, struct err *e)
{
	const struct yaml *v = field_present(map, key);
	const char *s;

	if (v == NULL)
		return 0;
	if (field_text(v, &s, e))
		return -1;
	for (const char *p = s; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return yaml_fail(v, e,
					 "%s: a control character, expected a "
					 "string on one line",
					 key);
	*out = strdup(s);
	return *out ? 0 : no_memory(e);
}

int
field_file(const struct yaml *map, const char *key, const char *dir, char **out,
	   struct err *e)
{
	char *name = NULL;
	size_t n;

	if (field_string(map, key, &name, e))
		return -1;
	if (name == NULL || name[0] == '/' || dir == NULL || dir[0] == '\0') {
		*out = name;
		return 0;
	}
	n = strlen(dir) + strlen(name) + 2;
	*out = malloc(n);
	if (*out != NULL)
		(void)snprintf(*out, n, "%s/%s", dir, name);
	free(name);
	return *out ? 0 : no_memory(e);
}

static int
get_data(const struct yaml *map, const char *key, char **out, struct err *e)
{
	const struct yaml *v = field_present(map, key);
	char *pem;

	if (v == NULL)
		return 0;
	if (!yaml_is_scalar(v))
		return yaml_fail(v, e, "%s: expected base64 of PEM", key);
	if (base64_decode(yaml_text(v), &pem))
		return no_memory(e);
	if (pem == NULL)
		return yaml_fail(v, e, "%s: not base64, expected base64 of PEM",
				 key);
	if (strstr(pem, "-----BEGIN ") == NULL) {
		field_wipe(pem);
		return yaml_fail(v, e,
				 "%s: no PEM in it, expected base64 of "
				 "PEM",
				 key);
	}
	*out = pem;
	return 0;
}

int
field_pem(const struct yaml *map, const char *key, const char *dir, char **pem,
	  char **file, struct err *e)
{
	char data_key[48];

	(void)snprintf(data_key, sizeof(data_key), "%s-data", key);
	if (get_data(map, data_key, pem, e))
		return -1;
	return *pem ? 0 : field_file(map, key, dir, file, e);
}

int
field_bool(const struct yaml *map, const char *key, bool *out, struct err *e)
{
	const struct yaml *v = field_present(map, key);
	const char *s = yaml_is_plain(v) ? yaml_text(v) : "";

	if (v == NULL)
		return 0;
	if (strcmp(s, "true") != 0 && strcmp(s, "false") != 0)
		return yaml_fail(v, e, "%s: expected true or false", key);
	*out = s[0] == 't';
	return 0;
}

int
field_refuse(const struct yaml *map, const char *const *keys,
	     const char *expected, struct err *e)
{
	const struct yaml *v = NULL;

	while (v == NULL && *keys != NULL)
		v = field_present(map, *keys++);
	if (v == NULL)
		return 0;
	return yaml_fail_key(v, e, "%s is not in this version, expected %s",
			     yaml_key(v), expected);
}
