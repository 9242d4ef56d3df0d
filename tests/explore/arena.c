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
#define PLACE ((void *)0x200000000000)	/* the same address in each run */
#define CLASSES 29	/* sizes of blocks: 16 bytes << class */

/* The head is at the start of the region, so that it is saved with the rest. */
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

static char *region, *base;
static bool on;
static uint32_t written[PAGES];	/* the pages written to since the base, in the
				   order of the first write */
static bool is_written[PAGES];
static bool is_blank[PAGES];	/* the page was all zero in the base */
static unsigned written_n;

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

/* --- pages ---------------------------------------------------------------- */

static void
write_begins(int number, siginfo_t *info, void *context)
{
	char *at = info->si_addr;
	size_t page;

	(void)context;
	(void)number;
	if (region == NULL || at < region ||
	    at >= region + ARENA_BYTES) {
		abort();	/* the handler of explore.c says how it came to
				   that */
	}
	page = (size_t)(at - region) / PAGE;
	if (mprotect(region + page * PAGE, PAGE, PROT_READ | PROT_WRITE))
		_Exit(3);
	is_written[page] = true;
	written[written_n++] = (uint32_t)page;
}

static void *
reserve(void *at, size_t bytes)
{
	void *p = mmap(at, bytes, PROT_READ | PROT_WRITE,
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
	struct sigaction a = {.sa_sigaction = write_begins,
			      .sa_flags = SA_SIGINFO | SA_NODEFER};

	sigemptyset(&a.sa_mask);
	sigaction(SIGSEGV, &a, NULL);
	region = reserve(PLACE, ARENA_BYTES);
	base = reserve(NULL, ARENA_BYTES);
	arena_clear();
}

void
arena_clear(void)
{
	if (mprotect(region, ARENA_BYTES, PROT_READ | PROT_WRITE) ||
	    madvise(region, ARENA_BYTES, MADV_DONTNEED) ||
	    madvise(base, ARENA_BYTES, MADV_DONTNEED))
		exit(2);
	__real_memset(is_written, 0, sizeof(is_written));
	__real_memset(is_blank, 0, sizeof(is_blank));
	written_n = 0;
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
	return (size_t)written_n * PAGE;
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
arena_base(void)
{
	size_t used = ((struct head *)region)->top;

	for (size_t i = 0; i < PAGES; i++) {
		is_blank[i] = i * PAGE >= used || is_zero(region + i * PAGE);
		if (!is_blank[i])
			__real_memcpy(base + i * PAGE, region + i * PAGE, PAGE);
	}
	if (mprotect(region, ARENA_BYTES, PROT_READ))
		exit(2);
}

/* --- snapshots ------------------------------------------------------------ */

struct snapshot *
snapshot_new(void)
{
	struct snapshot *s = __real_calloc(1, sizeof(*s));

	if (s == NULL)
		exit(2);
	s->at = reserve(NULL, ARENA_BYTES);
	return s;
}

void
snapshot_save(struct snapshot *s)
{
	s->pages = written_n;
	for (unsigned i = 0; i < written_n; i++)
		__real_memcpy(s->at + (size_t)i * PAGE,
			      region + (size_t)written[i] * PAGE, PAGE);
}

void
snapshot_restore(const struct snapshot *s)
{
	for (unsigned i = 0; i < s->pages; i++)
		__real_memcpy(region + (size_t)written[i] * PAGE,
			      s->at + (size_t)i * PAGE, PAGE);
	/* Pages that were first written to after the snapshot get the bytes of
	 * the base. */
	for (unsigned i = s->pages; i < written_n; i++)
		__real_memcpy(region + (size_t)written[i] * PAGE,
			      base + (size_t)written[i] * PAGE, PAGE);
}

/* --- blocks --------------------------------------------------------------- */

static bool
is_inside(const void *p)
{
	return region != NULL && (const char *)p >= region &&
	       (const char *)p < region + ARENA_BYTES;
}

static bool
is_still_blank(size_t page)
{
	return is_blank[page] && !is_written[page];
}

/* Does not write to pages that are zero already. */
static void
clear(char *p, size_t n)
{
	char *end = p + n;

	while (p < end) {
		size_t page = (size_t)(p - region) / PAGE;
		char *next = region + (page + 1) * PAGE;
		size_t part = (size_t)((next < end ? next : end) - p);

		if (!is_still_blank(page))
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
	struct block *b;

	if (!is_inside(p)) {
		__real_free(p);
		return;
	}
	b = (struct block *)p - 1;
	*(void **)p = h->free[b->class];
	h->free[b->class] = b;
}

void *
__wrap_realloc(void *p, size_t n)
{
	size_t had;
	void *to;

	if (!on || (p != NULL && !is_inside(p)))
		return __real_realloc(p, n);
	if (p == NULL)
		return take(n);
	had = (size_t)16 << ((struct block *)p - 1)->class;
	if (had >= n)
		return p;
	to = take(n);
	memcpy(to, p, had);
	__wrap_free(p);
	return to;
}

/* The memory of a Lease's state has 64 KiB, several times over, and is mostly
 * empty. */
void *
__wrap_memset(void *p, int c, size_t n)
{
	if (c != 0 || n < PAGE || !is_inside(p))
		return __real_memset(p, c, n);
	clear(p, n);
	return p;
}

static bool
are_blank(const char *p, size_t n)
{
	return is_still_blank((size_t)(p - region) / PAGE) &&
	       is_still_blank((size_t)(p + n - 1 - region) / PAGE);
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
		if (!are_blank(a, part) || !are_blank(b, part))
			__real_memcpy(a, b, part);
		a += part;
		b += part;
		n -= part;
	}
	return to;
}
