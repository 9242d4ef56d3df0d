/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/whole.h"
#include "golden/golden.h"
#include "suite.h"

/*
 * Golden files, the corpora of the fuzz targets, and ROUNDS mutations of each:
 * keeping a part of a text loses nothing (fuzz/whole.h).
 */
#define ROUNDS 40
#define ROOM 32768

static unsigned long long dice;

static size_t
roll(size_t sides)
{
	dice = dice * 6364136223846793005ull + 1442695040888963407ull;
	return (size_t)(dice >> 33) % sides;
}

/* Puts n bytes in the place of `out` bytes at `at`. */
static void
splice(char *text, size_t *len, size_t at, size_t out, const char *in, size_t n)
{
	if (at > *len || out > *len - at || *len - out + n > ROOM)
		return;
	memmove(text + at + n, text + at + out, *len - at - out);
	memcpy(text + at, in, n);
	*len += n - out;
}

static void
replace_byte(char *text, size_t *len)
{
	static const char bytes[] = "{}[],:\"\\ 0-1.eEtfnu\n\xc3\x01";

	splice(text, len, roll(*len), 1, bytes + roll(sizeof(bytes)), 1);
}

static void
remove_span(char *text, size_t *len)
{
	splice(text, len, roll(*len), roll(16), "", 0);
}

static void
copy_span(char *text, size_t *len)
{
	char span[256];
	size_t at = roll(*len), n = roll(sizeof(span));

	if (n > *len - at)
		n = *len - at;
	memcpy(span, text + at, n);
	splice(text, len, roll(*len), 0, span, n);
}

/* Most bytes are part of a key or string. */
static void
escape_byte(char *text, size_t *len)
{
	size_t at = roll(*len);
	char escape[8];

	(void)snprintf(escape, sizeof(escape), "\\u%04X",
		       (unsigned char)text[at]);
	splice(text, len, at, 1, escape, 6);
}

/* Returns the place after a byte of this kind, from anywhere on. */
static size_t
after(const char *text, size_t len, char c)
{
	size_t from = roll(len);
	const char *p = memchr(text + from, c, len - from);

	return p == NULL ? len : (size_t)(p - text) + 1;
}

/* Another value for a key, whose own goes to the key "x". */
static void
replace_value(char *text, size_t *len)
{
	static const char *const values[] = {
		"null", " [ ] ", "{\"name\":{}}", "\"\"", "true", "false",
		"\"\\ud83d\\ude00 \\\"\\\\\\/\"", "-0.5e+3", "17", "1e999",
		"[{\"type\":\"Launched\",\"status\":\"True\"},7]",
		"123456789012345678901234567890123456789012345678901234567890"
		"123456789012345678901234567890"};
	char in[200];
	int n = snprintf(in, sizeof(in), "%s,\"x\":",
			 values[roll(sizeof(values) / sizeof(values[0]))]);

	splice(text, len, after(text, *len, ':'), 0, in, (size_t)n);
}

/* A second member of the same name, in front of or after the first. */
static void
repeat_key(char *text, size_t *len)
{
	static const char *const keys[] = {
		"name", "uid", "metadata", "annotations", "labels", "object",
		"request", "type", "status", "karpenter.sh/nodepool",
		"spec", "renewTime", "holderIdentity", "n\\u0061me"};
	char in[200];
	int n = snprintf(in, sizeof(in), "\"%s\":\"again\",",
			 keys[roll(sizeof(keys) / sizeof(keys[0]))]);

	splice(text, len, after(text, *len, roll(2) ? '{' : ','), 0, in,
	       (size_t)n);
}

static unsigned seen, decoded;

static void
promise(const char *text, size_t n)
{
	/* A copy of its exact size, so that ASan sees one byte too many. */
	char *exact = malloc(n > 0 ? n : 1);

	memcpy(exact, text, n);
	seen++;
	decoded += whole_promise(exact, n) > 0;
	free(exact);
}

static void
promise_mutations(const char *text, size_t n)
{
	static void (*const mutate[])(char *, size_t *) = {
		replace_byte, remove_span,   copy_span, escape_byte,
		escape_byte,  replace_value, repeat_key};
	static char work[ROOM];

	for (int i = 0; i < ROUNDS; i++) {
		size_t len = n, times = 1 + roll(3);

		memcpy(work, text, n);
		for (size_t k = 0; k < times && len > 0; k++)
			mutate[roll(sizeof(mutate) / sizeof(mutate[0]))](
				work, &len);
		promise(work, len);
	}
}

static void
promise_file(const char *path)
{
	size_t n;
	char *text = golden_read(path, &n);

	promise(text, n);
	if (n <= ROOM)
		promise_mutations(text, n);
	free(text);
}

static const char *const folders[] = {
	"tests/golden/admission",     "tests/golden/admission-custom",
	"tests/golden/nodes",	      "tests/golden/nodeclaims",
	"tests/golden/nodepools",     "tests/golden/events",
	"tests/golden/tickets",
	"tests/fuzz/corpus/json",
	"tests/fuzz/corpus/admission", "tests/fuzz/corpus/objects",
	"tests/fuzz/corpus/nodepools", "tests/fuzz/corpus/events",
	"tests/fuzz/corpus/tickets",
	"tests/fuzz/corpus/whole"};

START_TEST(test_whole)
{
	DIR *d = opendir(folders[_i]);

	ck_assert_msg(d != NULL, "no folder %s", folders[_i]);
	dice = (unsigned long long)_i;
	seen = decoded = 0;
	for (struct dirent *i; (i = readdir(d)) != NULL;) {
		char path[512];

		(void)snprintf(path, sizeof(path), "%s/%s", folders[_i],
			       i->d_name);
		if (i->d_name[0] != '.')
			promise_file(path);
	}
	(void)closedir(d);
	/* Most texts are broken in a way that all decoders refuse.  The corpus
	 * of json has no objects of ours. */
	ck_assert_uint_gt(seen, 100);
	ck_assert_msg(strstr(folders[_i], "/json") != NULL || decoded > 50,
		      "%s: %u of %u could be decoded", folders[_i], decoded,
		      seen);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/whole");
	TCase *tc = tcase_create("whole");

	tcase_add_loop_test(tc, test_whole, 0,
			    sizeof(folders) / sizeof(folders[0]));
	suite_add_tcase(s, tc);
	return suite_run(s);
}
