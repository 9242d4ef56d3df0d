/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FLAGS_H
#define CLI_FLAGS_H

#include "core/base/err.h"

/*
 * Walks the flags of a command line.  The forms are --name VALUE, --name=VALUE,
 * -h, -o VALUE, and a "--" at the end.
 */

struct flags {
	int argc;
	char **argv;
	/* Index of the current argument.  0 before the first flags_next. */
	int at;
	/* Name of the current flag.  It is "help" for -h and "output" for
	 * -o. */
	char name[64];
	const char *inline_value;
};

/* Moves to the next flag.  Returns 1 if there is one, and f->name is then its
 * name.  Returns 0 at the end, and -1 if the argument is not a flag. */
int flags_next(struct flags *f, struct err *e);
/* Sets *value to the value of the current flag, which points into argv.
 * Returns -1 if the flag has no value. */
int flags_value(struct flags *f, const char **value, struct err *e);
/* Checks a flag that takes no value.  Returns -1 if the command line gives it a
 * value. */
int flags_no_value(const struct flags *f, struct err *e);
/* Sets the error for a flag that the command does not have.  Returns -1. */
int flags_unknown(const struct flags *f, struct err *e);

#endif
