/* SPDX-License-Identifier: Apache-2.0 */
#include "arena.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u
#define ARENA_BYTES (256u << 20)
#define PAGES (ARENA_BYTES / PAGE)
#define CLASSES 29	/* blocks of 16 bytes << class */

/* At the start of the region, so that it is saved with the rest. */
struct head {
	size_t top;
	void *free[CLASSES];
};

struct block {
	uint64_t class, pad;
};

struct snapshot {
	unsigned pages;
	char *at;
};

static char *region;
static bool on;
static uint32_t touched[PAGES];	/* in the order of their first touch */
static bool is_touched[PAGES], is_read[PAGES];
static unsigned touched_n;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
void *__real_memset(void *p, int c, size_t n);
void *__wrap_memset(void *p, int c, size_t n);
void *__real_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);

/* --- pages ------------------------------------------------------------------------ */

static void
touch(int number, siginfo_t *info, void *context)
{
	char *at = info->si_addr;
	size_t page;

	(void)context;
	if (number != SIGSEGV || region == NULL || at < region ||
	    at >= region + ARENA_BYTES) {
		signal(SIGSEGV, SIG_DFL);	/* it happens again, for good */
		return;
	}
	page = (size_t)(at - region) / PAGE;
	/* The first time it may be to read: nothing but zeros is there. */
	if (mprotect(region + page * PAGE, PAGE,
		     is_read[page] ? PROT_READ | PROT_WRITE : PROT_READ))
		_Exit(3);
	if (!is_read[page]) {
		is_read[page] = true;
		return;
	}
	is_touched[page] = true;
	touched[touched_n++] = (uint32_t)page;
}

static void *
reserve(size_t bytes, int access)
{
	void *p = mmap(NULL, bytes, access,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	(void)madvise(p, bytes, MADV_NOHUGEPAGE);
	return p;
}

void
arena_new(void)
{
	struct sigaction a = {.sa_sigaction = touch,
			      .sa_flags = SA_SIGINFO | SA_NODEFER};

	sigemptyset(&a.sa_mask);
	sigaction(SIGSEGV, &a, NULL);
	region = reserve(ARENA_BYTES, PROT_NONE);
	((struct head *)region)->top = (sizeof(struct head) + 15) & ~(size_t)15;
}

void
arena_on(bool be)
{
	on = be;
}

size_t
arena_bytes(void)
{
	return (size_t)touched_n * PAGE;
}

static bool
is_zero(const char *page)
{
	const uint64_t *word = (const uint64_t *)page;

	for (size_t i = 0; i < PAGE / sizeof(*word); i++)
		if (word[i] != 0)
			return false;
	return true;
}

void
arena_sift(void)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < touched_n; i++) {
		char *page = region + (size_t)touched[i] * PAGE;

		if (!is_zero(page)) {
			touched[kept++] = touched[i];
			continue;
		}
		is_touched[touched[i]] = is_read[touched[i]] = false;
		if (madvise(page, PAGE, MADV_DONTNEED) ||
		    mprotect(page, PAGE, PROT_NONE))
			exit(2);
	}
	touched_n = kept;
}

/* --- snapshots -------------------------------------------------------------------- */

struct snapshot *
snapshot_new(void)
{
	struct snapshot *s = __real_calloc(1, sizeof(*s));

	if (s == NULL)
		exit(2);
	s->at = reserve(ARENA_BYTES, PROT_READ | PROT_WRITE);
	return s;
}

void
snapshot_save(struct snapshot *s)
{
	s->pages = touched_n;
	for (unsigned i = 0; i < touched_n; i++)
		__real_memcpy(s->at + (size_t)i * PAGE,
			      region + (size_t)touched[i] * PAGE, PAGE);
}

void
snapshot_restore(const struct snapshot *s)
{
	for (unsigned i = 0; i < s->pages; i++)
		__real_memcpy(region + (size_t)touched[i] * PAGE,
			      s->at + (size_t)i * PAGE, PAGE);
	for (unsigned i = s->pages; i < touched_n; i++)
		__real_memset(region + (size_t)touched[i] * PAGE, 0, PAGE);
}

/* --- blocks ----------------------------------------------------------------------- */

static bool
is_inside(const void *p)
{
	return region != NULL && (const char *)p >= region &&
	       (const char *)p < region + ARENA_BYTES;
}

/* Untouched pages are zero, and stay untouched. */
static void
clear(char *p, size_t n)
{
	char *end = p + n;

	while (p < end) {
		size_t page = (size_t)(p - region) / PAGE;
		char *next = region + (page + 1) * PAGE;
		size_t part = (size_t)((next < end ? next : end) - p);

		if (is_touched[page])
			__real_memset(p, 0, part);
		p += part;
	}
}

static void *
take(size_t n)
{
	struct head *h = (struct head *)region;
	struct block *b;
	uint64_t class = 0;

	while (((size_t)16 << class) < n)
		class++;
	b = h->free[class];
	if (b != NULL) {
		h->free[class] = *(void **)(b + 1);
	} else {
		b = (struct block *)(region + h->top);
		h->top += sizeof(*b) + ((size_t)16 << class);
		if (h->top > ARENA_BYTES) {
			fprintf(stderr, "explore: the arena is full\n");
			exit(2);
		}
	}
	b->class = class;
	clear((char *)(b + 1), n);
	return b + 1;
}

void *
__wrap_calloc(size_t n, size_t size)
{
	return on ? take(n * size) : __real_calloc(n, size);
}

void *
__wrap_malloc(size_t n)
{
	return on ? take(n) : __real_malloc(n);
}

void
__wrap_free(void *p)
{
	struct head *h = (struct head *)region;
	struct block *b = (struct block *)p - 1;

	if (!is_inside(p)) {
		__real_free(p);
		return;
	}
	*(void **)p = h->free[b->class];
	h->free[b->class] = b;
}

void *
__wrap_realloc(void *p, size_t n)
{
	struct block *b = (struct block *)p - 1;
	void *to;

	if (!on || (p != NULL && !is_inside(p)))
		return __real_realloc(p, n);
	if (p != NULL && ((size_t)16 << b->class) >= n)
		return p;
	to = take(n);
	if (p != NULL) {
		memcpy(to, p, (size_t)16 << b->class);
		__wrap_free(p);
	}
	return to;
}

/* A Lease's state is 64 KiB, several times over, and mostly empty. */
void *
__wrap_memset(void *p, int c, size_t n)
{
	if (c != 0 || n < PAGE || !is_inside(p))
		return __real_memset(p, c, n);
	clear(p, n);
	return p;
}

static bool
is_blank(const char *p, size_t n)
{
	size_t first = (size_t)(p - region) / PAGE;
	size_t last = (size_t)(p + n - 1 - region) / PAGE;

	return !is_touched[first] && !is_touched[last];
}

void *
__wrap_memcpy(void *to, const void *from, size_t n)
{
	char *a = to;
	const char *b = from;

	if (n < PAGE || !is_inside(to) || !is_inside(from))
		return __real_memcpy(to, from, n);
	while (n > 0) {
		size_t part = PAGE - (size_t)(a - region) % PAGE;

		part = part < n ? part : n;
		if (!is_blank(a, part) || !is_blank(b, part))
			__real_memcpy(a, b, part);
		a += part;
		b += part;
		n -= part;
	}
	return to;
}
