/* SPDX-License-Identifier: Apache-2.0 */
/* What the command has from the system and from libraries, as a page has it:
 * files that the browser has read and unpacked, and one file to write. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "edge/file.h"

#define WRITTEN 3 /* the descriptor of the file that is written */

#define PAGE(name) __attribute__((import_module("page"), import_name(name)))

/* Returns the number of the file with that name, or -1. */
PAGE("open") int page_open(const char *name, size_t n);
/* Returns how many bytes were read; 0 at the end, or zlib's code where the file
 * is damaged. */
PAGE("read") int page_read(int file, void *to, size_t n);

/* --- zlib ------------------------------------------------------------------- */

struct page_file {
	int number, code;
};

gzFile
gzopen(const char *name, const char *mode)
{
	int number = page_open(name, strlen(name));
	gzFile file;

	(void)mode;
	if (number < 0) {
		errno = ENOENT;
		return NULL;
	}
	file = malloc(sizeof(*file));
	if (file != NULL)
		*file = (struct page_file){.number = number};
	return file;
}

int
gzread(gzFile file, void *to, unsigned n)
{
	int got = page_read(file->number, to, n);

	if (got >= 0)
		return got;
	file->code = got;
	return -1;
}

const char *
gzerror(gzFile file, int *code)
{
	*code = file->code;
	return "";
}

int
gzbuffer(gzFile file, unsigned n)
{
	(void)file;
	(void)n;
	return 0;
}

int
gzclose(gzFile file)
{
	free(file);
	return Z_OK;
}

/* A page has no stdin. */
int
dup(int fd)
{
	(void)fd;
	errno = EBADF;
	return -1;
}

gzFile
gzdopen(int fd, const char *mode)
{
	(void)fd;
	(void)mode;
	return NULL;
}

/* --- edge/file: the picture ---------------------------------------------------- */

int
file_draft(struct file_draft *d, int dir, const char *name, mode_t mode,
	   struct err *e)
{
	(void)mode;
	(void)e;
	*d = (struct file_draft){.dir = dir, .name = name};
	return WRITTEN;
}

int
file_draft_move(struct file_draft *d, struct err *e)
{
	(void)d;
	(void)e;
	return 0;
}

void
file_draft_done(struct file_draft *d)
{
	(void)d;
}

int
file_place(const char *path, const char *const *others, size_t n,
	   struct err *e)
{
	(void)path;
	(void)others;
	(void)n;
	(void)e;
	return 0;
}

bool
file_same_place(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

int
file_read(const char *path, size_t bytes_max, char **out, size_t *n,
	  struct err *e)
{
	(void)bytes_max;
	(void)out;
	(void)n;
	return err_set(e, ERR_SYSTEM, "%s: not in a browser", path);
}

mode_t
umask(mode_t mask)
{
	return mask;
}

/* --- cJSON: a string with escapes ------------------------------------------------ */

static unsigned
hex4(const char *p)
{
	char digits[5] = {0};

	memcpy(digits, p, 4);
	return (unsigned)strtoul(digits, NULL, 16);
}

/* Called behind a \u.  Leaves *p behind the escape, or behind the pair. */
static char *
put_unicode(const char **p, char *to)
{
	unsigned c = hex4(*p), lead = 0;
	int rest = 0;

	*p += 4;
	if (c >= 0xd800 && c < 0xdc00) {
		c = 0x10000 + ((c & 0x3ff) << 10) + (hex4(*p + 2) & 0x3ff);
		*p += 6;
	}
	if (c >= 0x80) {
		rest = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
		lead = (0xff00u >> (rest + 1)) & 0xff;
	}
	*to++ = (char)(lead | c >> (6 * rest));
	while (rest-- > 0)
		*to++ = (char)(0x80 | (c >> (6 * rest) & 0x3f));
	return to;
}

cJSON *
cJSON_ParseWithLengthOpts(const char *p, size_t n, const char **end,
			  int needs_nul)
{
	static const char named[] = "b\bf\fn\nr\rt\t";
	cJSON *v = malloc(sizeof(*v));
	char *to = malloc(n);

	(void)needs_nul;
	if (v == NULL || to == NULL) {
		free(v);
		free(to);
		return NULL;
	}
	v->valuestring = to;
	for (p++; *p != '"';) {
		const char *is;

		if (*p != '\\') {
			*to++ = *p++;
		} else if (p[1] == 'u') {
			p += 2;
			to = put_unicode(&p, to);
		} else {
			is = strchr(named, p[1]);
			*to++ = is != NULL ? is[1] : p[1];
			p += 2;
		}
	}
	*to = '\0';
	*end = p + 1;
	return v;
}

void
cJSON_Delete(cJSON *v)
{
	free(v->valuestring);
	free(v);
}
