/* SPDX-License-Identifier: Apache-2.0 */
/* What edge/kube frees has no token and no Secret in it any more.  free and
 * realloc of this program are the test's own (Makefile). */
#include <check.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/str.h"
#include "edge/kube/kube_call.h"
#include "edge/kube/kube_parts.h"
#include "suite.h"

#define SECRET "planted-token-to-be-wiped"

/* Blocks that were freed with the secret in them; gcc takes it that free changes
 * nothing. */
static volatile unsigned left;

void __real_free(void *p);
void __wrap_free(void *p);
void *__wrap_realloc(void *p, size_t n);

void
__wrap_free(void *p)
{
	if (p != NULL && memmem(p, malloc_usable_size(p), SECRET,
				strlen(SECRET)) != NULL)
		left++;
	__real_free(p);
}

/* Always moves, as it may. */
void *
__wrap_realloc(void *p, size_t n)
{
	void *to = malloc(n);
	size_t had = p != NULL ? malloc_usable_size(p) : 0;

	if (to == NULL)
		abort();
	if (had > 0)
		memcpy(to, p, had < n ? had : n);
	__wrap_free(p);
	return to;
}

static void
write_file(const char *path, const char *bytes, size_t n)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fwrite(bytes, 1, n, f), n);
	ck_assert_int_eq(fclose(f), 0);
}

#define FILE_OF(text) {text, sizeof(text) - 1}

static const struct {
	const char *bytes;
	size_t n;
} files[] = {
	FILE_OF(SECRET),
	FILE_OF(SECRET "\n"),
	FILE_OF("                                " SECRET "\n\n"),
	FILE_OF("bad " SECRET),
	FILE_OF(SECRET "\0" SECRET),
	FILE_OF(SECRET SECRET SECRET SECRET SECRET),
};

START_TEST(token_file)
{
	char path[] = "/tmp/wipe-XXXXXX", *out = NULL;
	int fd = mkstemp(path);
	struct err e;

	ck_assert_int_ge(fd, 0);
	(void)close(fd);
	write_file(path, files[_i].bytes, files[_i].n);
	left = 0;
	/* The last one is longer than is allowed here. */
	(void)kube_file_read(path, 4 * strlen(SECRET), &out, &e);
	(void)unlink(path);
	ck_assert_uint_eq(left, 0);
	str_wipe(out);
	free(out);
	ck_assert_uint_eq(left, 0);
}
END_TEST

/* The same token, another one, none, and one that is no token. */
START_TEST(token_changes)
{
	char path[] = "/tmp/wipe-XXXXXX";
	int fd = mkstemp(path);
	struct kubeconfig access = {.token_file = path};
	struct kube_token t;
	const char *token;
	struct err e;

	ck_assert_int_ge(fd, 0);
	(void)close(fd);
	left = 0;
	kube_token_init(&t, &access, 0, NULL, NULL);
	for (size_t i = 0; i < 2 * sizeof(files) / sizeof(files[0]); i++) {
		size_t k = i / 2;

		write_file(path, files[k].bytes, files[k].n);
		ck_assert_int_eq(kube_token_get(&t, (int64_t)i, &token, &e), 0);
	}
	write_file(path, "another", 7);
	ck_assert_int_eq(kube_token_get(&t, 99, &token, &e), 0);
	ck_assert_str_eq(token, "another");
	write_file(path, SECRET, strlen(SECRET));
	ck_assert_int_eq(kube_token_get(&t, 100, &token, &e), 0);
	kube_token_done(&t);
	(void)unlink(path);
	ck_assert_uint_eq(left, 0);
}
END_TEST

/* The answer comes in pieces, and what there is moves to more room. */
START_TEST(answer_grows)
{
	static char bytes[100000];
	struct kube k = {0};
	struct kube_request q = {.method = "GET", .path = "/"};
	struct kube_call c;

	k.url.base = "http://127.0.0.1";
	ck_assert_int_eq(kube_call_init(&c, &k, &q), 0);
	c.head.status = 200;
	memset(bytes, 'x', sizeof(bytes));
	memcpy(bytes, SECRET, strlen(SECRET));
	left = 0;
	for (size_t n = 0; n < sizeof(bytes); n += 1000)
		ck_assert_int_eq(kube_call_take_body(&c, bytes + n, 1000), 0);
	ck_assert_mem_eq(c.body, bytes, sizeof(bytes));
	kube_call_done(&c);
	ck_assert_uint_eq(left, 0);
}
END_TEST

/* The test itself sees what is left. */
START_TEST(what_is_left_is_seen)
{
	char *volatile s = strdup(SECRET);	/* else gcc leaves both out */

	left = 0;
	free(s);
	ck_assert_uint_eq(left, 1);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/kube_wipe");
	TCase *t = tcase_create("wipe");

	tcase_add_loop_test(t, token_file, 0, sizeof(files) / sizeof(files[0]));
	tcase_add_test(t, token_changes);
	tcase_add_test(t, answer_grows);
	tcase_add_test(t, what_is_left_is_seen);
	suite_add_tcase(s, t);
	return suite_run(s);
}
