/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_STAMP_H
#define CORE_BASE_STAMP_H

#include <stdint.h>

/*
 * The two clocks, and times as text.  core/ never reads a clock: callers pass
 * the time.  All functions are pure; any thread may call them.
 *   server_ms  the API server's time, in milliseconds since 1970 (UTC).  It is
 *              used for comparisons with times on objects.  It may jump.
 *   boot_ms    CLOCK_BOOTTIME in milliseconds, for backoff and timeouts.  It
 *              never jumps and counts the time in which the host sleeps.
 */
struct now {
	int64_t server_ms;
	int64_t boot_ms;
};

#define STAMP_NONE INT64_MIN /* stands for "no time" */
#define STAMP_BYTES 24	     /* "2026-01-02T03:04:05Z" and its NUL */

/* Parses RFC 3339 with any offset and any fraction, which is cut to
 * milliseconds.  *ms is the time since 1970.  Returns -1, with *ms untouched,
 * if s is not in that form, or its year in UTC is not 0 to 9999. */
int stamp_parse(const char *s, int64_t *ms);

/* Writes RFC 3339 in UTC in whole seconds (the fraction is cut), as metav1.Time
 * is written. */
void stamp_format(int64_t ms, char out[STAMP_BYTES]);

#define STAMP_US_BYTES 32 /* "2026-01-02T03:04:05.678901Z" and its NUL */
/* Writes a time in microseconds since 1970 with six decimals, as
 * metav1.MicroTime is written. */
void stamp_format_us(int64_t us, char out[STAMP_US_BYTES]);

/* Parses the IMF-fixdate of RFC 9110 §5.6.7 ("Sun, 06 Nov 1994 08:49:37 GMT"),
 * the only form that a Go server sends.  Returns -1 if s is not in that form.
 */
int stamp_parse_http(const char *s, int64_t *ms);

#endif
