/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that logs never waits for a thread that writes.  The lock of the
 * buffer is held while bytes are copied, but not during a system call.  Only
 * one thread at a time writes, and it writes the lines of all threads: the
 * thread that has set `writing`.
 */
#include "log_sink.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "core/base/limits.h"
#include "unblocked.h"

/* Maximum number of pieces that one flush writes. */
#define PIECES (2 * LOG_WAITING_BYTES_MAX / PIPE_BUF)

static atomic_flag writing = ATOMIC_FLAG_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The lock protects these four variables.  Only the thread that has set
 * `writing` moves `first`, so that thread may write from the buffer without the
 * lock. */
static char waiting[LOG_WAITING_BYTES_MAX];
static size_t first, waiting_bytes;
static uint64_t dropped;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int out_fd = STDERR_FILENO;

static void
open_out(void)
{
	if (isatty(STDERR_FILENO))
		out_fd = unblocked_open(STDERR_FILENO);
}

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

	pthread_mutex_lock(&lock);
	any = waiting_bytes > 0;
	pthread_mutex_unlock(&lock);
	return any;
}

/* Finds the bytes to write next.  Returns 0 if nothing waits.  The caller has
 * set `writing`. */
static size_t
waiting_next(const char **bytes)
{
	size_t n;

	pthread_mutex_lock(&lock);
	if (waiting_bytes == 0)
		first = 0;
	*bytes = waiting + first;
	n = sizeof(waiting) - first;
	if (n > waiting_bytes)
		n = waiting_bytes;
	pthread_mutex_unlock(&lock);
	return n;
}

static void
waiting_remove(size_t n)
{
	pthread_mutex_lock(&lock);
	first = (first + n) % sizeof(waiting);
	waiting_bytes -= n;
	pthread_mutex_unlock(&lock);
}

/* Drops the waiting lines, which nobody will ever read, and counts them. */
static void
waiting_lose(void)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < waiting_bytes; i++)
		dropped += waiting[(first + i) % sizeof(waiting)] == '\n';
	first = waiting_bytes = 0;
	pthread_mutex_unlock(&lock);
}

/* Writes one piece.  Returns false if the reader takes nothing now. */
static bool
write_piece(void)
{
	const char *bytes;
	size_t n = waiting_next(&bytes);
	ssize_t done;

	if (n == 0)
		return true;
	done = unblocked_write(out_fd, bytes, n);
	if (done < 0) /* Try again: the line may say why the process ends. */
		done = unblocked_write(out_fd, bytes, n);
	if (done < 0)
		waiting_lose();
	else
		waiting_remove((size_t)done);
	return done != 0;
}

bool
log_sink_flush(void)
{
	bool taken = true;

	(void)pthread_once(&once, open_out);
	/* Another thread may have added a line while this thread had set
	 * `writing`, and left it to this thread.  Each round therefore checks
	 * again whether bytes wait.  The number of rounds is bounded, because
	 * otherwise one thread might write the lines of all others for ever. */
	for (unsigned i = 0; i < PIECES && taken && waiting_any(); i++) {
		if (atomic_flag_test_and_set(&writing))
			return false;
		taken = write_piece();
		atomic_flag_clear(&writing);
	}
	return !waiting_any();
}

void
log_sink_put(const char *line, size_t n)
{
	bool kept;

	pthread_mutex_lock(&lock);
	kept = waiting_add(line, n);
	dropped += !kept;
	pthread_mutex_unlock(&lock);
	(void)log_sink_flush();
}

uint64_t
log_sink_dropped(void)
{
	uint64_t n;

	pthread_mutex_lock(&lock);
	n = dropped;
	pthread_mutex_unlock(&lock);
	return n;
}
