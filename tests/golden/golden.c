/* SPDX-License-Identifier: Apache-2.0 */
#include "golden/golden.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *
golden_read(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *data = malloc(1u << 20);

	ck_assert_msg(f != NULL && data != NULL, "cannot read %s", path);
	*n = fread(data, 1, (1u << 20) - 1, f);
	data[*n] = '\0';
	(void)fclose(f);
	return data;
}

static void
golden_one(const char *folder, const char *name, golden_fn *fn)
{
	static char got[1u << 16];
	char path[512], *bytes, *want;
	size_t n, want_n;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s.json", folder, name);
	bytes = golden_read(path, &n);
	/* A copy of its exact size, so that ASan sees one byte too many. */
	want = malloc(n > 0 ? n : 1);
	memcpy(want, bytes, n);
	free(bytes);
	fn(want, n, got, sizeof(got));
	free(want);
	(void)snprintf(path, sizeof(path), "%s/%s.want", folder, name);
	if (getenv("GOLDEN_WRITE") != NULL) {
		f = fopen(path, "wb");
		ck_assert(f != NULL && fputs(got, f) >= 0);
		(void)fclose(f);
		return;
	}
	want = golden_read(path, &want_n);
	ck_assert_msg(strcmp(want, got) == 0, "%s/%s: wanted\n%s\ngot\n%s",
		      folder, name, want, got);
	free(want);
}

void
golden_folder(const char *folder, golden_fn *fn)
{
	DIR *d = opendir(folder);
	unsigned seen = 0;

	ck_assert_msg(d != NULL, "no folder %s", folder);
	for (struct dirent *i; (i = readdir(d)) != NULL;) {
		char name[256];
		char *dot = strrchr(i->d_name, '.');

		if (dot == NULL || strcmp(dot, ".json") != 0)
			continue;
		(void)snprintf(name, sizeof(name), "%.*s",
			       (int)(dot - i->d_name), i->d_name);
		golden_one(folder, name, fn);
		seen++;
	}
	(void)closedir(d);
	ck_assert_msg(seen > 0, "nothing in %s", folder);
}
