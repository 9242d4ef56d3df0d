/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KUBECONFIG_KUBECONFIG_FIELD_H
#define WIRE_KUBECONFIG_KUBECONFIG_FIELD_H

#include <stdbool.h>

#include "core/base/err.h"
#include "wire/yaml/yaml.h"

/*
 * Reads the fields of a kubeconfig's mappings.  A key that is missing, null or
 * "" leaves *out as it is; kubectl treats the three alike, too.  Unless said
 * otherwise the caller owns what is returned, and wipes what is secret.  The
 * functions return -1 on failure, and *e says where and why.
 */
/* Wipes s and frees it.  NULL is allowed. */
void field_wipe(char *s);

/* Returns the value of the key, or NULL if it is missing, null or "". */
const struct yaml *field_present(const struct yaml *map, const char *key);
/* Gets the text of a string.  The text belongs to the tree. */
int field_text(const struct yaml *v, const char **out, struct err *e);
int field_string(const struct yaml *map, const char *key, char **out,
		 struct err *e);
int field_bool(const struct yaml *map, const char *key, bool *out,
	       struct err *e);

/* Gets the name of a file, relative to dir unless it is absolute. */
int field_file(const struct yaml *map, const char *key, const char *dir,
	       char **out, struct err *e);

/* Gets the decoded text under KEY-data in *pem.  If there is none, gets the
 * file name under KEY in *file, as field_file does. */
int field_pem(const struct yaml *map, const char *key, const char *dir,
	      char **pem, char **file, struct err *e);

/* Fails if one of these keys (NULL ends them) has a value. */
int field_refuse(const struct yaml *map, const char *const *keys,
		 const char *expected, struct err *e);

#endif
