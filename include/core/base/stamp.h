/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_STAMP_H
#define CORE_BASE_STAMP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The two clocks.  Policy never reads one; it is told.
 *   server_ms  the API server's time, milliseconds since 1970 (UTC): whatever
 *              is compared with a stamp on an object
 *   boot_ms    CLOCK_BOOTTIME: backoff, timeouts, pace
 */
struct now {
	int64_t server_ms;
	int64_t boot_ms;
};

#define STAMP_NONE INT64_MIN	/* no such moment */
#define STAMP_BYTES 24		/* "2026-01-02T03:04:05Z" and its NUL */

/* RFC 3339 with any offset and fraction (truncated to ms).  -1 if s is none. */
int stamp_parse(const char *s, int64_t *ms);

/* RFC 3339 in UTC, whole seconds (fraction cut), as metav1.Time is written. */
void stamp_format(int64_t ms, char out[STAMP_BYTES]);

#define STAMP_US_BYTES 32	/* "2026-01-02T03:04:05.678901Z" and its NUL */
/* The same with six decimals, always, as metav1.MicroTime is written. */
void stamp_format_us(int64_t us, char out[STAMP_US_BYTES]);

/* IMF-fixdate of RFC 9110 §5.6.7 ("Sun, 06 Nov 1994 08:49:37 GMT"), the only
 * form a Go server sends.  -1 if s is none. */
int stamp_parse_http(const char *s, int64_t *ms);

/* Go durations without sign: "95s", "1h30m", "1.5h", "500ms", "0".  Units h,
 * m, s, ms.  -1 if s is none or over 10 years. */
int duration_parse(const char *s, int64_t *ms);

#define DURATION_MS_MAX (3650 * (int64_t)86400000)
#define DURATION_BYTES 40
/* The shortest form that duration_parse reads back: "10m", "1h30m", "0s". */
void duration_format(int64_t ms, char out[DURATION_BYTES]);

#endif
