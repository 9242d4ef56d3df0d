/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_LOG_SINK_H
#define EDGE_LOG_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Writes lines to stderr without ever waiting for their reader.  Bytes that the
 * reader does not take wait in a buffer of LOG_WAITING_BYTES_MAX and are
 * written later, in order.  A line for which the buffer has no room is dropped
 * and counted.  Any thread may call these functions.
 */

/* Takes a line of at most PIPE_BUF bytes, its newline included. */
void log_sink_put(const char *line, size_t n);

/* Writes as many waiting bytes as the reader takes.  Returns true if none is
 * left. */
bool log_sink_flush(void);

/* Returns the number of lines that were dropped since the process began. */
uint64_t log_sink_dropped(void);

#endif
