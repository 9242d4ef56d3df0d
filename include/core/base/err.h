/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_ERR_H
#define CORE_BASE_ERR_H

/*
 * An error is a value: a code for callers that branch, and a sentence for
 * people.  The sentence is one line, and control bytes in what it quotes are
 * shown as '?'.
 *
 * Functions that can fail end with `struct err *e` and return 0 or -1.  They
 * leave their outputs untouched on failure.  Nothing below daemon/ logs what it
 * returns.
 */

enum err_code {
	ERR_NONE = 0,
	ERR_INPUT,	/* our input is wrong; trying again won't help */
	ERR_LIMIT,	/* beyond a bound of limits.h */
	ERR_SYSTEM,	/* the machine refused: file, socket, memory */
	ERR_TLS,	/* handshake, certificate, name */
	ERR_TIMEOUT,	/* no answer in time */
	ERR_CUT,	/* the peer closed in the middle */
	ERR_CANCELLED,	/* we were asked to stop */
};

struct err {
	enum err_code code;
	char text[240];
};

/* Sets *e (which may be NULL) and returns -1, so that callers can write `return
 * err_set(…)`. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "context: " before the text, keeps the code, and returns -1. */
int err_wrap(struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
