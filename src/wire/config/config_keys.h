/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_CONFIG_CONFIG_KEYS_H
#define WIRE_CONFIG_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/config/config.h"

/* The table of keys, for the files that make up wire/config/config. */

enum config_type {
	TYPE_DURATION,	/* int64_t, ms */
	TYPE_COUNT,	/* unsigned */
	TYPE_BOOL,
	TYPE_WORD,	/* bool or int: the place in `words` */
	TYPE_TEXT,	/* any printable text */
	TYPE_PATH,	/* not empty */
	TYPE_ADDRESS,	/* host:port */
	TYPE_ANNOTATION,	/* an annotation key */
	TYPE_LABEL,	/* a DNS label, or empty */
	TYPE_NAME,	/* a DNS subdomain */
	TYPE_PATTERNS,	/* a list of shell patterns; has no flag */
};

#define CONFIG_UNSTORED SIZE_MAX

struct config_key {
	const char *path;	/* "webhook.certFile" */
	const char *flag;	/* "webhook-cert-file"; NULL: none */
	enum config_type type;
	size_t offset, bytes;	/* in struct config, or CONFIG_UNSTORED */
	const char *def;	/* as written; of a list, its only element */
	bool off_only;		/* works in a later version: def or nothing */
	int64_t min, max;	/* of a duration (ms) or count; max 0: none */
	const char *words;	/* "json|text"; of a count, its range for people */
	const char *help;
};

extern const struct config_key config_keys[];
extern const size_t config_keys_n;

/* Sets one scalar from its text.  Errors read "…, expected …", without key
 * and place. */
int config_set(struct config *c, const struct config_key *k, const char *text,
	       struct err *e);

/* Adds one element to a list. */
int config_add(struct config *c, const struct config_key *k, const char *text,
	       struct err *e);

/* The value of a scalar as config_set reads it. */
void config_get(const struct config *c, const struct config_key *k,
		struct buf *out);

/* "a duration such as 10m", after the word "expected". */
const char *config_expected(const struct config_key *k);

/* Syntax (src/wire/config_syntax.c). */
bool syntax_text(const char *s);	/* UTF-8 without control characters */
bool syntax_address(const char *s);
bool syntax_annotation(const char *s);	/* qualified name of Kubernetes */
bool syntax_subdomain(const char *s);

#endif
