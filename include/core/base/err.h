/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_ERR_H
#define CORE_BASE_ERR_H

/*
 * An error is a plain value without anything to free: a code for callers that
 * branch, and a sentence for people.  The sentence is one line: characters that
 * could end the line or control a terminal become '?' (utf8_shown).  A
 * sentence that is too long is cut and ends with "…".
 *
 * A function that can fail for more than one reason takes a `struct err *e` as
 * its last parameter and returns 0 or -1 (or a pointer or NULL).  On failure it
 * sets *e.  On success it leaves *e as it is.  e may be NULL, unless the
 * function's comment says otherwise.  Outputs are untouched on failure, unless
 * the function's comment says otherwise.  A function that can only run out of
 * memory returns -1 or NULL and takes no struct err.  A function that returns
 * an error does not log it; its caller does.
 */

enum err_code {
	ERR_NONE = 0,
	ERR_INPUT, /* The input is wrong, so a retry would not help. */
	ERR_LIMIT, /* The input exceeds a bound, mostly one of limits.h. */
	/* the operating system refused a file, a socket or memory */
	ERR_SYSTEM,
	ERR_TLS, /* a handshake failed, or a certificate or its name is wrong */
	ERR_TIMEOUT,   /* no answer in time */
	ERR_CUT,       /* the peer closed the connection too early */
	ERR_CANCELLED, /* somebody asked the process to stop */
};

struct err {
	enum err_code code;
	char text[240];
};

/* Sets *e (which may be NULL) and returns -1, so that callers can write `return
 * err_set(…)`. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts the formatted text and ": " before the sentence of an error that is
 * already set, keeps its code, and returns -1.  e may be NULL. */
int err_wrap(struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
