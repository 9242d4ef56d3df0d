/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WHATIF_CJSON_H
#define WHATIF_CJSON_H

#include <stddef.h>

/* What wire/json takes of cJSON: a string with escapes, which json_scan has
 * checked.  instead.c reads it. */
typedef struct cJSON {
	char *valuestring;
} cJSON;

cJSON *cJSON_ParseWithLengthOpts(const char *value, size_t n, const char **end,
				 int needs_nul);
void cJSON_Delete(cJSON *v);

#endif
