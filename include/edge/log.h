/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_LOG_H
#define EDGE_LOG_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Logs to stderr, one line each, written by one write(2): a stable phrase, then
 * key=value (docs/operations.md#log).  Any thread.  Only daemon/ and
 * edge/server's reaper log.
 *
 *   text  2026-01-02T03:04:05.678Z INFO held node="ip-10-0-0-1" reason="spread"
 *   json  {"ts":"2026-…","level":"info","msg":"held","node":"ip-10-0-0-1",…}
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
#define LS(k, v) ((struct log_field){.type = LOG_STR, .key = (k), .str = (v)})
#define LI(k, v) ((struct log_field){.type = LOG_INT, .key = (k), .num = (v)})

void log_fields(enum log_level level, const char *phrase,
		const struct log_field *fields);
#define LOG(level, phrase, ...)                                                \
	log_fields((level), (phrase),                                          \
		   (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, )(      \
			   struct log_field){.type = LOG_END}})

bool log_enabled(enum log_level level);

/* For what may repeat itself: returns true at most `burst` times a minute for
 * each phrase (a string literal).  After that it returns false.  When the
 * minute is over, the next thread that logs writes one line "repeats
 * suppressed" with phrase and count. */
bool log_ratelimit(const char *phrase, unsigned burst);

#endif
