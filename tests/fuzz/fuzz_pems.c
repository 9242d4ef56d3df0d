/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "edge/certs/certs.h"
#include "edge/certs/certs_own.h"

#define NOW INT64_C(1767323045000) /* 2026-01-02T03:04:05Z */
#define YEAR (365 * INT64_C(86400000))
#define TEXT_BYTES 16384

/* A CA and a pair, made when the program starts: no corpus has a key. */
static struct certs_own ca, leaf;
static const struct certs_names names = {.dns = {"a.svc"}, .dns_n = 1};

static void
make_pairs(void)
{
	struct err e = {0};

	if (ca.cert != NULL)
		return;
	PROMISE(certs_own_ca(NOW, YEAR, &ca, &e) == 0);
	PROMISE(certs_own_leaf(ca.cert, ca.key, &names, NOW, YEAR / 2, &leaf,
			       &e) == 0);
}

/* --- an input is a few changes to one of the texts -------------------------- */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "abcdefghijklmnopqrstuvwxyz0123456789+/";

/* Changes 6 bits of what the base64 in the text stands for. */
static void
change_digit(char *text, size_t at, uint8_t value)
{
	if (strchr("\n-=", text[at]) == NULL)
		text[at] = digits[value % 64];
}

static void
change(char *text, size_t cap, const uint8_t op[4])
{
	size_t n = strlen(text), at = n > 0 ? (op[1] * 256u + op[2]) % n : 0;

	switch (op[0] % 5) {
	case 0:
		if (n > 0)
			change_digit(text, at, op[3]);
		break;
	case 1:		/* one byte */
		if (n > 0 && op[3] != '\0')
			text[at] = (char)op[3];
		break;
	case 2:		/* some bytes go */
		if (at + op[3] < n)
			memmove(text + at, text + at + op[3],
				n - at - op[3] + 1);
		break;
	case 3:		/* the end goes */
		text[at] = '\0';
		break;
	default:	/* the text once more, from there */
		if (n + (n - at) < cap)
			memmove(text + n, text + at, n - at + 1);
	}
}

/* The first byte says which of the texts is changed.  With its highest bit the
 * input itself is that text. */
static void
make_texts(const uint8_t *data, size_t n, char cert[TEXT_BYTES],
	   char key[TEXT_BYTES])
{
	char *text = data[0] & 1 ? key : cert;
	bool of_ca = data[0] & 2;

	strcpy(cert, of_ca ? ca.cert : leaf.cert);
	strcpy(key, of_ca ? ca.key : leaf.key);
	if (data[0] & 4)
		strcat(cert, ca.cert);
	if (data[0] & 0x80) {
		n = n - 1 < TEXT_BYTES - 1 ? n - 1 : TEXT_BYTES - 1;
		memcpy(text, data + 1, n);
		text[n] = '\0';
		return;
	}
	for (size_t i = 1; i + 4 <= n; i += 4)
		change(text, TEXT_BYTES, data + i);
}

/* --- what is promised -------------------------------------------------------- */

/* Makes a file of the text, without a place in any folder. */
static int
file_of(const char *text, char path[32])
{
	int fd = memfd_create("pem", 0);
	size_t n = strlen(text);

	PROMISE(fd >= 0 && write(fd, text, n) == (ssize_t)n);
	(void)snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

static void
check_files(const char *cert, const char *key)
{
	static char text[CERTS_INSPECT_BYTES];
	char cert_file[32], key_file[32];
	int c = file_of(cert, cert_file), k = file_of(key, key_file);
	struct certs_pair p = {.cert_pem = NULL};
	struct err e = {0};
	struct buf b;
	int rc = certs_load(cert_file, key_file, NOW, &p, &e);

	PROMISE(rc == 0 || e.text[0] != '\0');
	PROMISE(rc == 0 || strstr(e.text, "PRIVATE") == NULL);
	if (rc == 0) {
		PROMISE(strcmp(p.cert_pem, cert) == 0);
		PROMISE(p.not_before_ms <= NOW && NOW <= p.not_after_ms);
		PROMISE(p.names[0] != '\0' && p.serial[0] != '\0');
	}
	certs_pair_done(&p);
	buf_init(&b, text, sizeof(text));
	PROMISE((certs_inspect(cert_file, key_file, NOW, &b, &e) == 0) ==
		(rc == 0));
	(void)close(c);
	(void)close(k);
}

static void
check_bundle(const char *cert)
{
	static char text[2 * TEXT_BYTES];
	struct renewal_cert at[RENEWAL_BUNDLE_MAX];
	unsigned n = 0;

	(void)certs_own_bundle_read(cert, at, &n);
	PROMISE(n <= RENEWAL_BUNDLE_MAX);
	for (unsigned i = 0; i < n; i++) {
		struct renewal_cert again[RENEWAL_BUNDLE_MAX];
		unsigned one = 0;
		struct buf b;

		buf_init(&b, text, sizeof(text));
		PROMISE(certs_own_bundle_pick(cert, &at[i], &b) && !b.full);
		PROMISE(certs_own_bundle_read(text, again, &one) && one == 1);
		PROMISE(memcmp(again[0].id, at[i].id, sizeof(at[i].id)) == 0);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static char cert[TEXT_BYTES], key[TEXT_BYTES];
	struct renewal_cert facts;

	if (n == 0)
		return 0;
	make_pairs();
	make_texts(data, n, cert, key);
	/* A CA that is good for us signs, and what it signs is good. */
	if (certs_own_is_ca(cert, key, &facts)) {
		struct certs_own own;
		struct err e = {0};

		if (certs_own_leaf(cert, key, &names, NOW, YEAR / 2, &own,
				   &e) == 0) {
			PROMISE(certs_own_is_leaf(own.cert, own.key, cert, &names,
					      &facts));
			certs_own_done(&own);
		}
	}
	(void)certs_own_is_leaf(cert, key, ca.cert, &names, &facts);
	(void)certs_own_is_leaf(leaf.cert, leaf.key, cert, &names, &facts);
	check_bundle(cert);
	check_files(cert, key);
	return 0;
}
