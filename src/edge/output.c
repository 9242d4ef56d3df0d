/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/output.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/limits.h"
#include "core/base/utf8.h"
#include "edge/clock.h"
#include "edge/signals.h"
#include "log_sink.h"
#include "unblocked.h"

#define LOOK_MS 50 /* how often a wait checks for signals */

void
output_init(struct output *o, int fd)
{
	*o = (struct output){.fd = unblocked_open(fd), .given = fd};
}

void
output_done(struct output *o)
{
	if (o->fd != o->given)
		(void)close(o->fd);
	free(o->bytes);
	*o = (struct output){.fd = o->given, .given = o->given};
}

/* Makes room for n more bytes.  Waiting bytes are moved to the front only if at
 * least as many bytes as wait are free before them.  So on average each byte is
 * moved at most once. */
static bool
has_room(struct output *o, size_t n)
{
	size_t room = 2 * (o->n + n);
	char *more;

	if (o->first > 0 && o->first >= o->n && o->n + n <= o->room) {
		memmove(o->bytes, o->bytes + o->first, o->n);
		o->first = 0;
	}
	if (o->first + o->n + n <= o->room)
		return true;
	more = malloc(room);
	if (more == NULL)
		return false;
	if (o->n > 0)
		memcpy(more, o->bytes + o->first, o->n);
	free(o->bytes);
	o->bytes = more;
	o->first = 0;
	o->room = room;
	return true;
}

void
output_add(struct output *o, const char *bytes, size_t n)
{
	if (o->error != 0 || n == 0)
		return;
	if (!has_room(o, n)) {
		o->error = ENOMEM;
		return;
	}
	memcpy(o->bytes + o->first + o->n, bytes, n);
	o->n += n;
	output_flush(o);
}

/* Formats a line.  Returns its length with the newline. */
static size_t
make_line(char line[OUTPUT_LINE_MAX], const char *format, va_list args)
{
	size_t n;

	(void)vsnprintf(line, OUTPUT_LINE_MAX - 1, format, args);
	utf8_make_shown(line);
	n = strlen(line);
	line[n] = '\n';
	return n + 1;
}

void
output_line(struct output *o, const char *format, ...)
{
	char line[OUTPUT_LINE_MAX];
	va_list args;
	size_t n;

	va_start(args, format);
	n = make_line(line, format, args);
	va_end(args);
	output_add(o, line, n);
}

void
output_flush(struct output *o)
{
	ssize_t done = 1;

	while (o->error == 0 && o->n > 0 && done > 0) {
		done = unblocked_write(o->fd, o->bytes + o->first, o->n);
		if (done < 0) {
			o->error = errno;
		} else {
			o->first += (size_t)done;
			o->n -= (size_t)done;
		}
	}
	if (o->error != 0)
		o->n = 0;
}

bool
output_is_full(const struct output *o)
{
	return o->n >= OUTPUT_WAITING_MAX;
}

int
output_wait(struct output *o, size_t most, int64_t stall_ms, struct err *e)
{
	struct pollfd p = {.fd = o->fd, .events = POLLOUT};
	int64_t last_ms = clock_boot_ms();
	size_t before;

	output_flush(o);
	while (o->n > most) {
		if (signals_pending())
			return err_set(e, ERR_CANCELLED, "cancelled");
		if (clock_boot_ms() - last_ms >= stall_ms)
			return err_set(e, ERR_TIMEOUT,
				       "stdout: nobody reads it");
		before = o->n;
		(void)poll(&p, 1, LOOK_MS);
		output_flush(o);
		if (o->n < before)
			last_ms = clock_boot_ms();
	}
	return o->error == 0 ? 0
			     : err_set(e, ERR_SYSTEM, "stdout: %s",
				       strerror(o->error));
}

void
output_tell(const char *format, ...)
{
	char line[OUTPUT_LINE_MAX];
	va_list args;
	size_t n;

	va_start(args, format);
	n = make_line(line, format, args);
	va_end(args);
	log_sink_put(line, n);
}

void
output_tell_end(void)
{
	int64_t until_ms = clock_boot_ms() + LOG_END_MS;

	while (!log_sink_flush() && clock_boot_ms() < until_ms)
		(void)poll(NULL, 0, 10);
}
