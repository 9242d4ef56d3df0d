/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_OUTPUT_H
#define EDGE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * The output of a command.  A reader that reads nothing (a pager, a terminal
 * that ^S has stopped, a full pipe) must not delay the work or the end of the
 * command.  Bytes that cannot be written at once wait in memory and are written
 * later, in order.  After a write has failed, nothing more is written.  Not
 * thread-safe.
 */
struct output {
	int fd, given; /* bytes go to fd; `given` is the fd of output_init */
	char *bytes;
	size_t first, n, room; /* n bytes wait, from bytes[first] on */
	int error;	       /* errno of a failed write, ENOMEM, or 0 */
};

void output_init(struct output *o, int fd);
void output_done(struct output *o);

/* output_add adds n bytes.  output_line adds one line of text: it replaces
 * characters that could control a terminal by '?', and cuts the line to
 * OUTPUT_LINE_MAX bytes. */
void output_add(struct output *o, const char *bytes, size_t n);
void output_line(struct output *o, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Writes as many bytes as the reader takes now. */
void output_flush(struct output *o);

/* Returns whether OUTPUT_WAITING_MAX bytes or more wait.  The caller should
 * then add no more until some of them have been written. */
bool output_is_full(const struct output *o);

/* Waits until no more than `most` bytes wait.  Returns -1 with ERR_CANCELLED if
 * one of the signals that the caller has blocked is pending (edge/signals.h).
 * Returns -1 with ERR_TIMEOUT if the reader has taken nothing for stall_ms
 * (INT64_MAX: it may take any time), and with ERR_SYSTEM if a write has
 * failed. */
int output_wait(struct output *o, size_t most, int64_t stall_ms, struct err *e);

/* Formats a line as output_line does, and prints it on stderr through the log's
 * buffer (edge/log.h).  It does not wait.  Any thread. */
void output_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Call this at the end.  It waits for the reader of stderr, for LOG_END_MS at
 * most. */
void output_tell_end(void);

#endif
