/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FLAGS_H
#define CLI_FLAGS_H

#include "core/base/err.h"

/*
 * Walks the flags of a command line: --name VALUE, --name=VALUE, -h, -o VALUE,
 * "--".
 */

struct flags {
	int argc;
	char **argv;
	int at;	       /* 0 before the first flags_next */
	char name[64]; /* of the flag; "help" for -h, "output" for
				   -o */
	const char *inline_value;
};

/* Returns 1 if there is another flag and f->name is its name, 0 at the end, and
 * -1 if the argument is no flag. */
int flags_next(struct flags *f, struct err *e);
/* Gets the value of the current flag, which points into argv.  It returns -1 if
 * there is none. */
int flags_value(struct flags *f, const char **value, struct err *e);
/* For a flag that takes no value: returns -1 if it has one. */
int flags_no_value(const struct flags *f, struct err *e);
/* Sets the error for a flag that the command does not have.  Returns -1. */
int flags_unknown(const struct flags *f, struct err *e);

#endif
