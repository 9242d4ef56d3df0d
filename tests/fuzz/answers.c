/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/rules.h"
#include "wire/admission/admission.h"

/*
 * Answers the reviews in the files of folders, for patches.py: a line for each
 * file and each of the rules, with the number of the rules, the file and the
 * reply, between tabs.  A body that is no review has no line.
 */
#define NOW INT64_C(1767323045000) /* 2026-01-02T03:04:05Z */

static char body[8u << 20];

static void
answer(int which, const char *path, size_t n)
{
	static char reply[ADMISSION_REPLY_BYTES];
	const struct rules *r = &rules[which];
	struct admission_request q;
	struct verdict v;
	struct err e = {0};
	struct buf b;

	if (admission_decode(body, n, &r->hold, &q, &e))
		return;
	v = admit_decide(r, &q.review);
	buf_init(&b, reply, sizeof(reply));
	if (admission_encode(&b, &q, &v, &r->hold, NOW, &e)) {
		(void)fprintf(stderr, "%s: %s\n", path, e.text);
		exit(1);
	}
	(void)printf("%d\t%s\t%s\n", which, path, reply);
}

static void
answer_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	size_t n;

	if (f == NULL) {
		(void)fprintf(stderr, "cannot read %s\n", path);
		exit(2);
	}
	n = fread(body, 1, sizeof(body), f);
	(void)fclose(f);
	for (int i = 0; i < (int)(sizeof(rules) / sizeof(rules[0])); i++)
		answer(i, path, n);
}

int
main(int argc, char **argv)
{
	char path[1024];

	for (int i = 1; i < argc; i++) {
		DIR *d = opendir(argv[i]);

		if (d == NULL) {
			(void)fprintf(stderr, "cannot read %s\n", argv[i]);
			return 2;
		}
		for (struct dirent *f; (f = readdir(d)) != NULL;) {
			if (f->d_name[0] == '.')
				continue;
			(void)snprintf(path, sizeof(path), "%s/%s", argv[i],
				       f->d_name);
			answer_file(path);
		}
		(void)closedir(d);
	}
	return 0;
}
