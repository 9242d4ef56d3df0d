/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line is built on the stack and handed to log_sink, which never blocks.  A
 * line has PIPE_BUF bytes at most, so a pipe never mixes lines.  The lock of
 * the rate limiter protects only its table.
 */
#include "edge/log.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/stamp.h"
#include "core/base/utf8.h"
#include "edge/clock.h"
#include "edge/repeat.h"
#include "log_sink.h"

#define STR_SHOWN 512	   /* maximum size of a string in a line */
#define CUT "\xe2\x80\xa6" /* … */
#define TAIL_BYTES 16	   /* Room for cut=1, the brace and the newline. */

static pthread_mutex_t repeats_lock = PTHREAD_MUTEX_INITIALIZER;
static struct repeats repeats = REPEATS_INIT;
static _Atomic int format_now = LOG_JSON;
static _Atomic int level_now = LOG_INFO;

static const char *const level_names[][2] = {
	[LOG_ERROR] = {"error", "ERROR"},
	[LOG_WARN] = {"warn", "WARN"},
	[LOG_INFO] = {"info", "INFO"},
	[LOG_DEBUG] = {"debug", "DEBUG"},
};

void
log_open(enum log_format format, enum log_level level)
{
	(void)signal(SIGPIPE, SIG_IGN);
	atomic_store(&format_now, (int)format);
	atomic_store(&level_now, (int)level);
}

bool
log_enabled(enum log_level level)
{
	return (int)level <=
	       atomic_load_explicit(&level_now, memory_order_relaxed);
}

/* Adds a quoted string.  A long string is cut after a whole character and ends
 * with an ellipsis. */
static void
add_string(struct buf *b, const char *s)
{
	char cut[STR_SHOWN + sizeof(CUT)];
	size_t n = 0, step;

	if (s == NULL)
		s = "";
	if (strnlen(s, STR_SHOWN + 1) <= STR_SHOWN) {
		buf_json(b, s);
		return;
	}
	for (;;) {
		step = utf8_len(s + n, STR_SHOWN - n);
		if (step == 0)
			step = 1; /* Not UTF-8; buf_json replaces the byte. */
		if (n + step > STR_SHOWN - 3)
			break;
		n += step;
	}
	memcpy(cut, s, n);
	memcpy(cut + n, CUT, sizeof(CUT));
	buf_json(b, cut);
}

static void
add_key(struct buf *b, bool json, const char *key)
{
	if (json) {
		buf_puts(b, ",");
		buf_json(b, key);
		buf_puts(b, ":");
	} else {
		buf_printf(b, " %s=", key);
	}
}

static void
add_head(struct buf *b, bool json, enum log_level level, const char *phrase)
{
	int64_t ms = clock_wall_ms();
	char stamp[STAMP_BYTES];

	stamp_format(ms, stamp);
	buf_printf(b,
		   json ? "{\"ts\":\"%.19s.%03dZ\",\"level\":\"%s\",\"msg\":"
			: "%.19s.%03dZ %s ",
		   stamp, (int)(ms % 1000), level_names[level][!json]);
	if (json)
		add_string(b, phrase);
	else
		buf_puts(b, phrase);
}

static void
add_field(struct buf *b, bool json, const struct log_field *f)
{
	add_key(b, json, f->key);
	if (f->type == LOG_STR)
		add_string(b, f->str);
	else
		buf_printf(b, "%lld", (long long)f->num);
}

/* Adds the fields.  A field that does not fit completely is left out, and cut=1
 * then says so. */
static void
add_fields(struct buf *b, bool json, const struct log_field *f)
{
	size_t left_out = 0;

	for (; f->type != LOG_END; f++) {
		size_t len = b->len;

		add_field(b, json, f);
		if (!b->full)
			continue;
		b->full = false;
		b->len = len;
		b->data[len] = '\0';
		left_out++;
	}
	b->cap += TAIL_BYTES;
	if (left_out > 0) {
		add_key(b, json, "cut");
		buf_puts(b, "1");
	}
}

static void
write_line(enum log_level level, const char *phrase,
	   const struct log_field *fields)
{
	bool json = atomic_load(&format_now) == LOG_JSON;
	char line[PIPE_BUF + 1];
	struct buf b;

	buf_init(&b, line, sizeof(line) - TAIL_BYTES);
	add_head(&b, json, level, phrase);
	add_fields(&b, json, fields);
	buf_puts(&b, json ? "}\n" : "\n");
	log_sink_put(b.data, b.len);
}

static bool
take_report(int64_t now_ms, const char **phrase, unsigned *kept_back)
{
	bool found;

	pthread_mutex_lock(&repeats_lock);
	found = repeats_report(&repeats, now_ms, phrase, kept_back);
	pthread_mutex_unlock(&repeats_lock);
	return found;
}

static void
report_repeats(int64_t now_ms)
{
	const char *phrase;
	unsigned kept_back;

	while (take_report(now_ms, &phrase, &kept_back))
		if (log_enabled(LOG_WARN))
			write_line(LOG_WARN, "repeats suppressed",
				   (const struct log_field[]){
					   LS("phrase", phrase),
					   LI("count", kept_back),
					   {.type = LOG_END}});
}

bool
log_ratelimit(const char *phrase, unsigned burst)
{
	int64_t now_ms = clock_boot_ms();
	bool allow;

	report_repeats(now_ms);
	pthread_mutex_lock(&repeats_lock);
	allow = repeats_allow(&repeats, phrase, burst, now_ms);
	pthread_mutex_unlock(&repeats_lock);
	return allow;
}

void
log_fields(enum log_level level, const char *phrase,
	   const struct log_field *fields)
{
	if (!log_enabled(level))
		return;
	report_repeats(clock_boot_ms());
	write_line(level, phrase, fields);
}

uint64_t
log_dropped(void)
{
	return log_sink_dropped();
}

bool
log_flush(void)
{
	static _Atomic uint64_t reported;
	uint64_t before = atomic_load(&reported), dropped;

	if (!log_sink_flush())
		return false;
	dropped = log_sink_dropped();
	if (dropped == before ||
	    !atomic_compare_exchange_strong(&reported, &before, dropped))
		return true;
	write_line(LOG_WARN, "log lines dropped",
		   (const struct log_field[]){
			   LI("count", (int64_t)(dropped - before)),
			   {.type = LOG_END}});
	return log_sink_flush();
}
