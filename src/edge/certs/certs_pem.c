/* SPDX-License-Identifier: Apache-2.0 */
#include "certs_pem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <openssl/err.h>
#include <openssl/pem.h>

void
certs_pem_wipe(char *bytes, size_t n)
{
	if (bytes != NULL)
		OPENSSL_cleanse(bytes, n);
	free(bytes);
}

void
certs_pem_chain_done(struct certs_chain *c)
{
	for (int i = 0; i < c->n; i++)
		X509_free(c->at[i]);
	c->n = 0;
}

/* Replaces OpenSSL's callback, which would ask for a passphrase on the
 * terminal. */
static int
no_passphrase(char *to, int cap, int writing, void *asked)
{
	(void)to, (void)cap, (void)writing;
	*(bool *)asked = true;
	return -1;
}

X509 *
certs_pem_read_x509(BIO *in)
{
	bool asked;

	return PEM_read_bio_X509(in, NULL, no_passphrase, &asked);
}

/* Returns the next certificate.  Returns NULL with *bad false at the end, and
 * NULL with *bad true if the certificate is broken. */
static X509 *
next_certificate(BIO *in, bool *bad)
{
	X509 *x = certs_pem_read_x509(in);
	unsigned long why = ERR_peek_last_error();

	*bad = x == NULL && !(ERR_GET_LIB(why) == ERR_LIB_PEM &&
			      ERR_GET_REASON(why) == PEM_R_NO_START_LINE);
	ERR_clear_error();
	return x;
}

int
certs_pem_chain(const char *file, const char *pem, size_t n,
		struct certs_chain *out, struct err *e)
{
	AUTO_BIO in = BIO_new_mem_buf(pem, (int)n);
	struct certs_chain c = {.n = 0};
	bool bad = in == NULL;
	X509 *x;

	while (!bad && (x = next_certificate(in, &bad)) != NULL) {
		if (c.n == CERTS_CHAIN_MAX) {
			X509_free(x);
			certs_pem_chain_done(&c);
			return err_set(e, ERR_LIMIT,
				       CERTS_FILE ": more than %d certificates",
				       file, CERTS_CHAIN_MAX);
		}
		c.at[c.n++] = x;
	}

	if (!bad && c.n > 0) {
		*out = c;
		return 0;
	}
	(void)err_set(e, ERR_INPUT,
		      bad ? CERTS_FILE ": certificate %d is cut or damaged, "
				       "expected PEM"
			  : CERTS_FILE ": no certificate in it, expected PEM",
		      file, c.n + 1);
	certs_pem_chain_done(&c);
	return -1;
}

int
certs_pem_key(const char *file, const char *pem, size_t n, EVP_PKEY **out,
	      struct err *e)
{
	AUTO_BIO in = BIO_new_mem_buf(pem, (int)n);
	bool asked = false;
	EVP_PKEY *key;

	key = in ? PEM_read_bio_PrivateKey(in, NULL, no_passphrase, &asked)
		 : NULL;
	ERR_clear_error();
	if (key == NULL)
		return err_set(e, ERR_INPUT,
			       asked ? CERTS_FILE ": the key has a passphrase, "
						  "expected one without"
				     : CERTS_FILE ": no private key in it, "
						  "expected PEM",
			       file);
	*out = key;
	return 0;
}

int64_t
certs_pem_time_ms(const ASN1_TIME *t)
{
	struct tm tm;

	if (ASN1_TIME_to_tm(t, &tm) != 1)
		return 0;
	return (int64_t)timegm(&tm) * 1000;
}

uint64_t
certs_pem_key_id(const ASN1_OCTET_STRING *id)
{
	uint64_t out = 0;

	if (id == NULL || ASN1_STRING_length(id) < 8)
		return 0;
	for (int i = 0; i < 8; i++)
		out = out << 8 | ASN1_STRING_get0_data(id)[i];
	return out;
}
