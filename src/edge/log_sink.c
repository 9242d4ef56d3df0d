/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two locks, so that a thread that logs never waits for one that writes.  The
 * lock of the buffer is held while bytes are copied, never across a system
 * call.  The lock of the writer is only ever tried: whoever gets it writes for
 * all.  A pipe that poll(2) reports as writable has room for PIPE_BUF bytes, so
 * that write(2) does not block.
 */
#include "log_sink.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "core/base/limits.h"

#define PIECES_MAX (2 * LOG_WAITING_BYTES_MAX / PIPE_BUF)

static pthread_mutex_t writer_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t waiting_lock = PTHREAD_MUTEX_INITIALIZER;

/* Everything below is protected by waiting_lock.  Only the thread that holds
 * writer_lock moves `first`, so it may write from the buffer without holding
 * waiting_lock. */
static char waiting[LOG_WAITING_BYTES_MAX];
static size_t first, waiting_bytes;
static uint64_t dropped;

static bool
waiting_add(const char *line, size_t n)
{
	size_t at, head;

	if (n > sizeof(waiting) - waiting_bytes)
		return false;
	at = (first + waiting_bytes) % sizeof(waiting);
	head = sizeof(waiting) - at;
	if (head > n)
		head = n;
	memcpy(waiting + at, line, head);
	memcpy(waiting, line + head, n - head);
	waiting_bytes += n;
	return true;
}

static bool
waiting_any(void)
{
	bool any;

	pthread_mutex_lock(&waiting_lock);
	any = waiting_bytes > 0;
	pthread_mutex_unlock(&waiting_lock);
	return any;
}

/* Finds the bytes to write next: whole lines if there is a newline among them.
 * Returns 0 if nothing waits.  The caller holds writer_lock. */
static size_t
waiting_next(const char **bytes)
{
	const char *newline;
	size_t n;

	pthread_mutex_lock(&waiting_lock);
	if (waiting_bytes == 0)
		first = 0;
	*bytes = waiting + first;
	n = sizeof(waiting) - first;
	if (n > waiting_bytes)
		n = waiting_bytes;
	if (n > PIPE_BUF)
		n = PIPE_BUF;
	pthread_mutex_unlock(&waiting_lock);

	newline = memrchr(*bytes, '\n', n);
	return newline != NULL ? (size_t)(newline - *bytes) + 1 : n;
}

static void
waiting_remove(size_t n)
{
	pthread_mutex_lock(&waiting_lock);
	first = (first + n) % sizeof(waiting);
	waiting_bytes -= n;
	pthread_mutex_unlock(&waiting_lock);
}

/* Nobody will ever read what waits. */
static void
waiting_lose(void)
{
	pthread_mutex_lock(&waiting_lock);
	for (size_t i = 0; i < waiting_bytes; i++)
		dropped += waiting[(first + i) % sizeof(waiting)] == '\n';
	first = waiting_bytes = 0;
	pthread_mutex_unlock(&waiting_lock);
}

/* Writes one piece.  Returns false if the reader takes nothing now. */
static bool
write_piece(void)
{
	struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};
	const char *bytes;
	size_t n = waiting_next(&bytes);
	ssize_t done;

	if (n == 0)
		return true;
	if (poll(&p, 1, 0) <= 0)
		return false;
	done = write(STDERR_FILENO, bytes, n);
	if (done >= 0)
		waiting_remove((size_t)done);
	else if (errno == EAGAIN || errno == EINTR)
		return false;
	else
		waiting_lose();
	return true;
}

bool
log_sink_flush(void)
{
	bool taken = true;

	/* Look again after each unlock, for a line that came while another
	 * thread still held the lock.  The bound is for a thread that would
	 * otherwise write for all others without end. */
	for (unsigned i = 0; i < PIECES_MAX && taken && waiting_any(); i++) {
		if (pthread_mutex_trylock(&writer_lock) != 0)
			return false;
		taken = write_piece();
		pthread_mutex_unlock(&writer_lock);
	}
	return !waiting_any();
}

void
log_sink_put(const char *line, size_t n)
{
	bool kept;

	pthread_mutex_lock(&waiting_lock);
	kept = waiting_add(line, n);
	dropped += !kept;
	pthread_mutex_unlock(&waiting_lock);
	(void)log_sink_flush();
}

uint64_t
log_sink_dropped(void)
{
	uint64_t n;

	pthread_mutex_lock(&waiting_lock);
	n = dropped;
	pthread_mutex_unlock(&waiting_lock);
	return n;
}
