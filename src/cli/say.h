/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SAY_H
#define CLI_SAY_H

#include "core/base/err.h"

/* Messages and exit codes of every command. */

#define CMD_OK 0
#define CMD_FAILED 1 /* the work failed */
#define CMD_USAGE 2  /* the input was wrong */

/* Sets the program's name.  Call it before the other functions. */
void say_as(const char *program);
const char *say_program(void);

/* Prints the error as one line on stderr and returns the exit code for it. */
int say_failure(const struct err *e);
void say_warning(const char *sentence);

/* Call this after the last output.  It flushes stdout and returns the exit
 * code: CMD_OK, or CMD_FAILED if the output could not be written. */
int say_flushed(void);

#endif
