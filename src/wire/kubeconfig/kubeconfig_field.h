/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KUBECONFIG_KUBECONFIG_FIELD_H
#define WIRE_KUBECONFIG_KUBECONFIG_FIELD_H

#include <stdbool.h>

#include "core/base/err.h"
#include "wire/yaml/yaml.h"

/*
 * The fields of a kubeconfig's mappings.  A key that is missing, null or ""
 * leaves *out as it is, as it does for kubectl.  What is returned is owned by
 * the caller; wipe what is secret.
 */
void field_wipe(char *s);	/* and free it */

const struct yaml *field_present(const struct yaml *map, const char *key);
int field_text(const struct yaml *v, const char **out, struct err *e);
int field_string(const struct yaml *map, const char *key, char **out,
		 struct err *e);
int field_bool(const struct yaml *map, const char *key, bool *out,
	       struct err *e);

/* A file's name, from dir if it is relative. */
int field_file(const struct yaml *map, const char *key, const char *dir,
	       char **out, struct err *e);

/* KEY-data, decoded, in *pem, or else the file KEY. */
int field_pem(const struct yaml *map, const char *key, const char *dir,
	      char **pem, char **file, struct err *e);

/* An error if one of the keys (NULL at the end) is there. */
int field_refuse(const struct yaml *map, const char *const *keys,
		 const char *expected, struct err *e);

#endif
