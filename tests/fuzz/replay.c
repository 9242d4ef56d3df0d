/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"

/*
 * Runs one target over files, for compilers without libFuzzer:
 *   cc … tests/fuzz/{fuzz_json,fuzz,replay}.c … && ./a.out FILE|FOLDER…
 */
#define REPLAY_BYTES_MAX (16u << 20)

static int
replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *all = malloc(REPLAY_BYTES_MAX), *exact;
	size_t n;

	if (f == NULL || all == NULL) {
		(void)fprintf(stderr, "cannot read %s\n", path);
		exit(2);
	}
	n = fread(all, 1, REPLAY_BYTES_MAX, f);
	(void)fclose(f);
	/* A copy of its exact size, so that ASan sees one byte too many. */
	exact = malloc(n > 0 ? n : 1);
	memcpy(exact, all, n);
	free(all);
	(void)LLVMFuzzerTestOneInput(exact, n);
	free(exact);
	return 1;
}

static int
replay(const char *path)
{
	DIR *d = opendir(path);
	char file[1024];
	int n = 0;

	if (d == NULL)
		return replay_file(path);
	for (struct dirent *i; (i = readdir(d)) != NULL;) {
		if (i->d_name[0] == '.')
			continue;
		(void)snprintf(file, sizeof(file), "%s/%s", path, i->d_name);
		n += replay_file(file);
	}
	(void)closedir(d);
	return n;
}

int
main(int argc, char **argv)
{
	int n = 0;

	for (int i = 1; i < argc; i++)
		n += replay(argv[i]);
	if (n == 0) {
		(void)fprintf(stderr, "nothing to replay\n");
		return 2;
	}
	(void)printf("%s: %d inputs\n", argv[0], n);
	return 0;
}
