/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "wire/config/config.h"
#include "wire/kubeconfig/kubeconfig.h"

/*
 * The command line.  serve and check share options_parse; the other commands
 * walk their flags with flags_next.
 */

/* --- what serve and check are told --- */

#define OPTIONS_WARNINGS_MAX 12

struct options {
	struct config config;	/* defaults, file, environment, flags: valid */
	const char *config_file, *kubeconfig, *context;	/* NULL: not given */
	char warnings[OPTIONS_WARNINGS_MAX][240];	/* whole sentences */
	size_t warnings_n;
};

/* usage follows "Usage: PROGRAM "; the flags are listed after it.
 *  0  *o is complete
 *  1  --help was asked for and is printed: exit 0
 * -1  ERR_INPUT, ERR_LIMIT: exit 2; see fail_code */
int options_parse(int argc, char **argv, const char *usage, struct options *o,
		  struct err *e);

/* Reads and parses one kubeconfig file that was named by somebody: that it
 * cannot be read is ERR_INPUT. */
int options_kubeconfig(const char *file, const char *context,
		       struct kubeconfig *out, struct err *e);

/* --- flags: --name VALUE, --name=VALUE, -h, "--" --- */

struct flags {
	int argc;
	char **argv;
	int at;			/* 0 before the first flags_next */
	char name[64];		/* of the flag; "help" for -h */
	const char *inline_value;
};

/* 1: the next flag's name is in f->name; 0: the end; -1: no flag. */
int flags_next(struct flags *f, struct err *e);
/* The value of that flag. */
int flags_value(struct flags *f, const char **value, struct err *e);
/* For a flag that takes no value. */
int flags_no_value(const struct flags *f, struct err *e);
int flags_unknown(const struct flags *f, struct err *e);

/* --- what every command says --- */

/* "karpenter-node-holder", or "kubectl node-holder" when called by kubectl:
 * for usage texts. */
const char *program_name(void);

/* One line on stderr; the exit code for the error. */
int fail_code(const struct err *e);
void warn_line(const char *sentence);

/* After the last output on stdout: the exit code, 1 if it did not get out. */
int output_code(void);

#endif
