/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_CONFIG_CONFIG_H
#define WIRE_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/rules/admit.h"

/*
 * The configuration (README.md#configuration): defaults, then file,
 * environment, flags.  Bytes in, struct out.  It is a plain struct, immutable
 * once serve has it.  Every key stands once in a table
 * (src/wire/config/config_keys.c), which drives file, flags, help and print.
 * Stateless; any thread.
 */
#define CONFIG_PATH_BYTES 512
#define CONFIG_ADDRESS_BYTES 300
#define CONFIG_PRINT_BYTES 65536	/* enough for any configuration */

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
	bool log_text;
	int log_level;		/* 0 error … 3 debug, as enum log_level */
};

void config_defaults(struct config *c);

/* Reads YAML into *c.  Errors read "FILE:LINE:COL: KEY: …, expected …". */
int config_file(struct config *c, const char *file, const char *bytes, size_t n,
		struct err *e);

/* Called with each warning, which is a whole sentence. */
typedef void config_warn(void *ctx, const char *sentence);

/* Reads HOLD_DURATION, HOLD_ANNOTATION and INITIAL_DELAY through get (getenv).
 * An empty variable counts as not set. */
int config_env(struct config *c, char *(*get)(const char *), config_warn *warn,
	       void *ctx, struct err *e);

/* Sets one scalar by its flag name: "hold-duration", "10m".  ERR_INPUT also for
 * a name that does not exist (*known = false). */
int config_flag(struct config *c, const char *name, const char *value,
		bool *known, struct err *e);

/* Gives the i-th flag with its one-line help and default, for --help.  Returns
 * false at the end. */
bool config_flag_help(size_t i, const char **name, const char **help,
		      char def[64]);

/* Is s an RFC 1123 label, such as the name of a namespace? */
bool syntax_label(const char *s);

/* Check the rules between keys, and give the settings that fight each other as
 * warnings. */
int config_validate(const struct config *c, struct err *e);
void config_advise(const struct config *c, config_warn *warn, void *ctx);

/* Writes the effective configuration as YAML that config_file reads back. */
void config_print(const struct config *c, struct buf *out);

#endif
