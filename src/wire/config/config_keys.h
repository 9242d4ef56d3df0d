/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_CONFIG_CONFIG_KEYS_H
#define WIRE_CONFIG_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/config/config.h"

/* The table of keys, shared by the files that make up wire/config.  The
 * comments on the types name the C type of the field or, for strings, what is
 * allowed. */

enum config_type {
	TYPE_DURATION, /* int64_t, ms */
	TYPE_COUNT,    /* unsigned */
	TYPE_SHARE,    /* two unsigned: count and percentage; 2% has count 1 */
	TYPE_BYTES,    /* int64_t */
	TYPE_BOOL,
	TYPE_WORD,	 /* bool or int: the index in `words` */
	TYPE_TEXT,	 /* any printable text */
	TYPE_PATH,	 /* not empty */
	TYPE_ADDRESS,	 /* host:port */
	TYPE_ANNOTATION, /* an annotation key */
	TYPE_LABEL,	 /* a DNS label, or empty */
	TYPE_NAME,	 /* a DNS subdomain */
	TYPE_PATTERNS,	 /* a list of shell patterns; has no flag */
};

#define CONFIG_UNSTORED SIZE_MAX

struct config_key {
	const char *path; /* such as "webhook.certFile" */
	const char *flag; /* such as "webhook-cert-file", or NULL */
	enum config_type type;
	/* Offset and size of the field in struct config.  If the value is not
	 * stored, offset is CONFIG_UNSTORED, and bytes is 0. */
	size_t offset, bytes;
	/* The default as text; for a list, its only element. */
	const char *def;
	/* Whether the feature is left to a later version: config_value_set then
	 * accepts only the value that means off, and config_value_add accepts
	 * nothing. */
	bool off_only;
	/* The range of a count, a share or a duration (in ms).  A duration
	 * without a maximum has 0 here.  Bytes have only a minimum. */
	int64_t min, max;
	/* For TYPE_WORD and TYPE_BOOL the words, such as "json|text".  For
	 * numbers the range as text for people. */
	const char *words;
	const char *help;
};

extern const struct config_key config_keys[];
extern const size_t config_keys_n;

/* Returns the key of this path, which must be in the table. */
const struct config_key *config_key_of_path(const char *path);

/* Sets one scalar from its text.  Errors read "…, expected …".  The caller adds
 * key and place. */
int config_value_set(struct config *c, const struct config_key *k,
		     const char *text, struct err *e);

/* Adds one element to a list.  Errors have the same form as those of
 * config_value_set. */
int config_value_add(struct config *c, const struct config_key *k,
		     const char *text, struct err *e);

/* Writes the value of a scalar as config_value_set reads it. */
void config_value_get(const struct config *c, const struct config_key *k,
		      struct buf *out);

/* Returns what follows the word "expected", such as "a duration such as
 * 10m". */
const char *config_value_expected(const struct config_key *k);

bool syntax_address(const char *s);

#endif
