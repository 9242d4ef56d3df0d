/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_CONFIG_CONFIG_H
#define WIRE_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/rules/rules.h"
#include "wire/yaml/yaml.h"

/*
 * The configuration (docs/configuration.md).  A caller starts with
 * config_defaults, applies the file, the environment and the flags in this
 * order, so that a later one wins, and ends with config_validate.  struct
 * config is a plain value without anything to free.  It does not change once
 * `serve` runs.  The table in src/wire/config/config_keys.c has each key once;
 * the file, the flags, --help and config_print all use it.  The functions keep
 * no state; any thread may call them.
 */
#define CONFIG_PATH_BYTES 512
#define CONFIG_ADDRESS_BYTES 300
#define CONFIG_PRINT_BYTES 65536 /* enough for any configuration */

struct config {
	struct rules rules;
	struct {
		char address[CONFIG_ADDRESS_BYTES];
		char cert_file[CONFIG_PATH_BYTES];
		char key_file[CONFIG_PATH_BYTES];
		int64_t drain_ms;
	} webhook;
	char metrics_address[CONFIG_ADDRESS_BYTES];
	struct {
		bool enabled;
		char namespace_[64];
		char name[NAME_BYTES];
		int64_t lease_ms, renew_ms, retry_ms;
	} leader;
	struct {
		bool enabled;
		char secret[NAME_BYTES], configuration[NAME_BYTES];
		char service[64];
		int64_t ca_ms, leaf_ms;
	} self_signed;
	unsigned patch_concurrency;
	int64_t memory_limit; /* bytes */
	bool log_text;
	int log_level; /* as enum log_level: 0 error to 3 debug */
	/* The file that was read, and the digest (str_digest) of its content;
	 * NULL: none was read.  The caller of config_file sets them. */
	const char *file;
	uint64_t file_digest;
};

void config_defaults(struct config *c);

/* Where each key was set, for the messages of config_validate.  In a zeroed
 * struct no key was set.  `file` is the string that was passed to config_file,
 * and has to outlive the struct.  Callers of config_file and config_flag that
 * need no places pass NULL. */
#define CONFIG_KEY_ROOM 40 /* at least the number of keys */
struct config_places {
	const char *file; /* the file's name, or NULL if none */
	struct {
		/* The key's place in the file; line 0: not there. */
		struct yaml_place at;
		/* The flag that set the key and so overrides the file, or
		 * NULL. */
		const char *flag;
	} key[CONFIG_KEY_ROOM];
};

/* Reads YAML into *c; keys that the YAML does not have stay as they are.
 * Errors read "FILE:LINE:COL: KEY: …, expected …", and *c is then untouched. */
int config_file(struct config *c, const char *file, const char *bytes, size_t n,
		struct config_places *places, struct err *e);

/* The caller's function for warnings.  `sentence` is a whole sentence and valid
 * during the call only. */
typedef void config_warn(void *ctx, const char *sentence);

/* Reads the variables HOLD_DURATION, HOLD_ANNOTATION and MEMORY_LIMIT into *c,
 * and warns if INITIAL_DELAY is set, which has no effect.  `get` is getenv or,
 * in tests, a function like it.  An empty variable counts as not set.  On
 * failure *c is untouched.  warn may be NULL. */
int config_env(struct config *c, char *(*get)(const char *), config_warn *warn,
	       void *ctx, struct err *e);

/* Sets one scalar by the name of its flag, such as "hold-duration" to "10m".
 * If there is no such flag, it fails with ERR_INPUT and sets *known to false;
 * otherwise it sets *known to true. */
int config_flag(struct config *c, const char *name, const char *value,
		struct config_places *places, bool *known, struct err *e);

/* Gets the i-th flag with its one-line help and its default, for --help.  *name
 * and *help are static.  Returns false if there are no more than i flags. */
bool config_flag_help(size_t i, const char **name, const char **help,
		      char def[64]);

/* Return whether s is an RFC 1123 label, such as the name of a namespace; an
 * RFC 1123 subdomain, such as the name of a Lease; UTF-8 without control
 * characters; or a qualified name of Kubernetes, such as an annotation's key.
 */
bool syntax_label(const char *s);
bool syntax_subdomain(const char *s);
bool syntax_text(const char *s);
bool syntax_annotation(const char *s);

/* Returns whether the shell pattern s (fnmatch without flags) can match the
 * name of a NodePool, which is a DNS subdomain.  In doubt it returns true. */
bool config_pattern_can_match(const char *s);

/* config_validate checks the rules between keys, and fails with ERR_INPUT if
 * one is broken.  If `places` (which may be NULL) has the place of one of the
 * keys, the error begins with it: "FILE:LINE:COL: KEY: …" or "--FLAG: KEY: …".
 * config_advise warns of settings that are allowed, but have no effect or an
 * unwanted one. */
int config_validate(const struct config *c, const struct config_places *places,
		    struct err *e);
void config_advise(const struct config *c, config_warn *warn, void *ctx);

/* Writes the effective configuration as YAML that config_file reads back. */
void config_print(const struct config *c, struct buf *out);

#endif
