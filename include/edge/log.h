/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_LOG_H
#define EDGE_LOG_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Logs to stderr.  Each entry is one line: a stable phrase and then fields
 * (docs/operations.md#log).  Any thread may call the functions.  Only
 * src/daemon, src/cli/daemon/serve.c and src/edge/server log; all other code
 * returns a struct err.
 *
 * Logging never blocks.  If the reader of stderr is slow, bytes wait in a
 * buffer until the next line or log_flush writes them.  A line for which there
 * is no room is dropped and counted.
 *
 *   text  2026-01-02T03:04:05.678Z INFO held kind="Node" name="n0" …
 *   json  {"ts":"…","level":"info","msg":"held","kind":"Node","name":"n0",…}
 *
 * Control bytes are escaped, and strings over 512 bytes are cut with "…".
 * Fields that do not fit a line of PIPE_BUF bytes (which a pipe takes whole)
 * are left out, and cut=1 says so.
 */
enum log_level {
	LOG_ERROR,
	LOG_WARN,
	LOG_INFO,
	LOG_DEBUG,
};

enum log_format {
	LOG_JSON,
	LOG_TEXT,
};

/* Sets the format and the highest level that is written.  Entries of a level
 * above `level` are dropped.  Before this call the format is JSON and the level
 * LOG_INFO.  From this call on the process ignores SIGPIPE, so that it does not
 * end when the reader of stderr or the peer of a connection goes away. */
void log_open(enum log_format format, enum log_level level);

enum log_type {
	LOG_END,
	LOG_STR,
	LOG_INT,
};

struct log_field {
	enum log_type type;
	const char *key;
	const char *str;
	int64_t num;
};
/* LS makes a field with a string, where NULL counts as "".  LI makes a field
 * with an integer. */
#define LS(k, v) ((struct log_field){.type = LOG_STR, .key = (k), .str = (v)})
#define LI(k, v) ((struct log_field){.type = LOG_INT, .key = (k), .num = (v)})

/* Writes one entry; a field of type LOG_END ends the fields.  LOG is the usual
 * way to call it: LOG(LOG_INFO, "held", LS("node", name)). */
void log_fields(enum log_level level, const char *phrase,
		const struct log_field *fields);
#define LOG(level, phrase, ...)                                                \
	log_fields((level), (phrase),                                          \
		   (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, )(      \
			   struct log_field){.type = LOG_END}})

bool log_enabled(enum log_level level);

/* Writes waiting bytes without blocking.  When none is left, it logs how many
 * lines were dropped.  Returns false if bytes still wait.  Some thread has to
 * call it about once a second. */
bool log_flush(void);
/* Returns how many lines were dropped since the process began. */
uint64_t log_dropped(void);

/* Limits entries that may come in large numbers: returns whether an entry with
 * this phrase may be written now.  Each phrase may be written `burst` times a
 * minute.  The phrase is a string literal.  After that minute, the next thread
 * that logs anything writes one entry "repeats suppressed", with the phrase and
 * the number of entries that were not written. */
bool log_ratelimit(const char *phrase, unsigned burst);

#endif
