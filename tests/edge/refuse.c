/* SPDX-License-Identifier: Apache-2.0 */
#include "refuse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACES (1u << 16)
#define CALLERS 8192u
#define GONE ((void *)1)	/* a place that was in use */

const char *const refuse_names[REFUSE_KINDS] = {"memory", "files", "threads"};

static _Thread_local struct {
	bool on, done;
	enum refuse kind;
	unsigned left;	/* calls, the one that fails included; 0: none fails */
} plan;

/* The blocks that are not freed, by their address. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *kept[PLACES];
static size_t kept_n;

void
refuse_begin(enum refuse kind, unsigned nth)
{
	pthread_mutex_lock(&lock);
	memset(kept, 0, sizeof(kept));
	kept_n = 0;
	pthread_mutex_unlock(&lock);
	plan.kind = kind;
	plan.left = nth;
	plan.done = false;
	plan.on = true;
}

bool
refuse_end(void)
{
	plan.on = false;
	return plan.done;
}

size_t
refuse_kept(void)
{
	size_t n;

	pthread_mutex_lock(&lock);
	n = kept_n;
	pthread_mutex_unlock(&lock);
	return n;
}

/* --- at each place -------------------------------------------------------- */

static struct refuse_places places;	/* parts 0: not begun */
static pthread_t beginner;
static struct {
	uintptr_t at;
	unsigned calls;
} called[CALLERS];
static unsigned failed;

void
refuse_places(const struct refuse_places *p)
{
	beginner = pthread_self();
	places = *p;
}

unsigned
refuse_places_failed(void)
{
	unsigned n;

	pthread_mutex_lock(&lock);
	n = failed;
	pthread_mutex_unlock(&lock);
	return n;
}

/* Counts a call from `at`, and returns how many there were. */
static unsigned
count_call(uintptr_t at)
{
	size_t i = at % CALLERS;

	while (called[i].at != at && called[i].at != 0)
		i = (i + 1) % CALLERS;
	called[i].at = at;
	return ++called[i].calls;
}

static bool
refused_at_place(enum refuse kind, const void *from)
{
	/* The program may be at another address each time. */
	uintptr_t at = (uintptr_t)from - (uintptr_t)refuse_places;
	bool yes;

	if (places.parts == 0 || places.kind != kind ||
	    (at * UINT64_C(0x9e3779b97f4a7c15) >> 32) % places.parts !=
		    places.part ||
	    (pthread_equal(beginner, pthread_self()) == 0) != places.others)
		return false;
	pthread_mutex_lock(&lock);
	yes = count_call(at) == places.nth;
	failed += yes;
	pthread_mutex_unlock(&lock);
	return yes;
}

static bool
refused(enum refuse kind, int why, const void *from)
{
	bool yes = refused_at_place(kind, from);

	if (!yes && plan.on && plan.kind == kind && plan.left > 0 &&
	    --plan.left == 0)
		yes = plan.done = true;
	if (yes)
		errno = why;
	return yes;
}

/* Returns the place of p, or the first one that is free for it. */
static void **
place(const void *p)
{
	size_t i = (uintptr_t)p / 16 * UINT64_C(0x9e3779b97f4a7c15) >> 48;
	void **gone = NULL;

	for (; kept[i % PLACES] != NULL; i++) {
		if (kept[i % PLACES] == p)
			return &kept[i % PLACES];
		if (kept[i % PLACES] == GONE && gone == NULL)
			gone = &kept[i % PLACES];
	}
	return gone != NULL ? gone : &kept[i % PLACES];
}

static void
drop(void *p)
{
	void **at;

	if (p == NULL)
		return;
	pthread_mutex_lock(&lock);
	at = place(p);
	if (*at == p) {
		*at = GONE;
		kept_n--;
	}
	pthread_mutex_unlock(&lock);
}

static void *
keep(void *p)
{
	if (p == NULL || !plan.on)
		return p;
	pthread_mutex_lock(&lock);
	*place(p) = p;
	kept_n++;
	pthread_mutex_unlock(&lock);
	return p;
}

#define HERE __builtin_return_address(0)

/* --- in the place of libc's functions ---------------------------------------- */

/* One that fails with `failed` and errno `why`. */
#define INSTEAD(ret, name, params, args, kind, failed, why)                    \
	ret refused_##name params;                                              \
	ret refused_##name params                                               \
	{                                                                      \
		return refused(kind, why, HERE) ? (failed) : name args;     \
	}
#define FILES(ret, name, params, args, failed, why)                            \
	INSTEAD(ret, name, params, args, REFUSE_FILES, failed, why)

#define ALLOC(name, params, args)                                              \
	void *refused_##name params;                                            \
	void *refused_##name params                                             \
	{                                                                      \
		return refused(REFUSE_MEMORY, ENOMEM, HERE)                          \
			       ? NULL                                          \
			       : keep(name args);                     \
	}

ALLOC(malloc, (size_t n), (n))
ALLOC(calloc, (size_t n, size_t size), (n, size))
ALLOC(strdup, (const char *s), (s))
ALLOC(strndup, (const char *s, size_t n), (s, n))

void *refused_realloc(void *p, size_t n);
void *
refused_realloc(void *p, size_t n)
{
	if (refused(REFUSE_MEMORY, ENOMEM, HERE))
		return NULL;
	drop(p);
	return keep(realloc(p, n));
}

void refused_free(void *p);
void
refused_free(void *p)
{
	drop(p);
	free(p);
}

int refused_asprintf(char **out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int refused_asprintf_chk(char **out, int flag, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int
print(char **out, const char *fmt, va_list ap, const void *from)
{
	int n;

	if (refused(REFUSE_MEMORY, ENOMEM, from))
		return -1;
	n = vasprintf(out, fmt, ap);
	if (n >= 0)
		(void)keep(*out);
	return n;
}

int
refused_asprintf(char **out, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = print(out, fmt, ap, HERE);
	va_end(ap);
	return n;
}

int
refused_asprintf_chk(char **out, int flag, const char *fmt, ...)
{
	va_list ap;
	int n;

	(void)flag;
	va_start(ap, fmt);
	n = print(out, fmt, ap, HERE);
	va_end(ap);
	return n;
}

int refused_open(const char *path, int flags, mode_t mode);
int
refused_open(const char *path, int flags, mode_t mode)
{
	return refused(REFUSE_FILES, EMFILE, HERE) ? -1
					     : open(path, flags, mode);
}

int refused_openat(int dir, const char *path, int flags, mode_t mode);
int
refused_openat(int dir, const char *path, int flags, mode_t mode)
{
	return refused(REFUSE_FILES, EMFILE, HERE)
		       ? -1
		       : openat(dir, path, flags, mode);
}

FILES(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n), -1, EIO)

/* What read is with _FORTIFY_SOURCE. */
ssize_t refused_read_chk(int fd, void *to, size_t n, size_t room);
ssize_t
refused_read_chk(int fd, void *to, size_t n, size_t room)
{
	(void)room;
	return refused(REFUSE_FILES, EIO, HERE) ? -1 : read(fd, to, n);
}

FILES(ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n), -1,
      ENOSPC)
FILES(int, fsync, (int fd), (fd), -1, EIO)
FILES(int, fchmod, (int fd, mode_t mode), (fd, mode), -1, EPERM)
FILES(int, renameat, (int from, const char *a, int to, const char *b),
      (from, a, to, b), -1, EIO)
FILES(int, mkdir, (const char *path, mode_t mode), (path, mode), -1, ENOSPC)
FILES(DIR *, opendir, (const char *path), (path), NULL, EMFILE)
FILES(int, socket, (int domain, int type, int protocol),
      (domain, type, protocol), -1, EMFILE)
FILES(int, bind, (int fd, const struct sockaddr *at, socklen_t n), (fd, at, n),
      -1, EADDRINUSE)
FILES(int, listen, (int fd, int n), (fd, n), -1, EADDRINUSE)
FILES(int, eventfd, (unsigned n, int flags), (n, flags), -1, EMFILE)
FILES(int, pipe2, (int fds[2], int flags), (fds, flags), -1, EMFILE)
FILES(ssize_t, getrandom, (void *to, size_t n, unsigned flags), (to, n, flags),
      -1, EIO)

INSTEAD(int, pthread_create,
	(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *arg),
	(t, a, f, arg), REFUSE_THREADS, EAGAIN, EAGAIN)
INSTEAD(int, posix_spawnp,
	(pid_t *pid, const char *file, const posix_spawn_file_actions_t *fa,
	 const posix_spawnattr_t *at, char *const argv[], char *const env[]),
	(pid, file, fa, at, argv, env), REFUSE_THREADS, ENOMEM, ENOMEM)
