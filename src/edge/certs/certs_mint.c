/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/certs/certs.h"

#include <stdlib.h>
#include <unistd.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "certs_issue.h"
#include "certs_pem.h"
#include "certs_save.h"
#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "edge/file.h"

#define DAY_MS ((int64_t)86400000)

static void
text_freep(char **s)
{
	free(*s);
}
#define AUTO_TEXT __attribute__((cleanup(text_freep))) char *

/* --- an existing CA ------------------------------------------------------- */

static char *
path_in(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static int
read_ca_cert(const char *path, X509 **out, struct err *e)
{
	struct certs_chain chain;
	char *pem;
	size_t n;
	int rc;

	if (file_read(path, CERT_BYTES_MAX, &pem, &n, e))
		return -1;
	rc = certs_pem_chain(path, pem, n, &chain, e);
	certs_pem_wipe(pem, n);
	if (rc)
		return -1;
	*out = chain.at[0];
	X509_up_ref(*out);
	certs_pem_chain_done(&chain);
	return 0;
}

static int
read_ca_key(const char *path, EVP_PKEY **out, struct err *e)
{
	char *pem;
	size_t n;
	int rc;

	if (file_read(path, CERT_BYTES_MAX, &pem, &n, e))
		return -1;
	rc = certs_pem_key(path, pem, n, out, e);
	certs_pem_wipe(pem, n);
	return rc;
}

static int
check_signer(const struct certs_signer *s, int64_t now_ms, int days,
	     struct err *e)
{
	char until[STAMP_BYTES];
	int64_t until_ms = certs_pem_time_ms(X509_get0_notAfter(s->cert));

	if (X509_check_private_key(s->cert, s->key) != 1) {
		ERR_clear_error();
		return err_set(e, ERR_INPUT,
			       "ca.key is not the key of ca.crt, expected a "
			       "pair, or a new CA (--new-ca)");
	}
	if (!(X509_get_extension_flags(s->cert) & EXFLAG_CA))
		return err_set(e, ERR_INPUT,
			       "ca.crt is no CA, expected one, or a new CA "
			       "(--new-ca)");
	if (until_ms >= now_ms + days * DAY_MS)
		return 0;
	stamp_format(until_ms, until);
	return err_set(e, ERR_INPUT,
		       "ca.crt ends at %s, before the new certificate would; "
		       "expected fewer --days, or a new CA (--new-ca)",
		       until);
}

/* Reads the CA in dir.  If dir has no CA or new_ca is set, it issues a new CA
 * instead and sets *fresh to true. */
static int
get_signer(const char *dir, bool new_ca, int64_t now_ms, int days,
	   struct certs_signer *out, bool *fresh, struct err *e)
{
	AUTO_TEXT crt = path_in(dir, "ca.crt");
	AUTO_TEXT key = path_in(dir, "ca.key");
	bool has_crt, has_key;

	if (crt == NULL || key == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	has_crt = access(crt, F_OK) == 0;
	has_key = access(key, F_OK) == 0;
	*fresh = new_ca || (!has_crt && !has_key);
	if (*fresh)
		return certs_issue(NULL, CERTS_CA_NAME, NULL, now_ms,
				   now_ms + days * 10 * DAY_MS, out, e);
	if (!has_crt || !has_key)
		return err_set(e, ERR_INPUT,
			       "%s without %s, expected both, or a new CA "
			       "(--new-ca)",
			       has_crt ? "ca.crt" : "ca.key",
			       has_crt ? "ca.key" : "ca.crt");
	if (read_ca_cert(crt, &out->cert, e) || read_ca_key(key, &out->key, e))
		return -1;
	return check_signer(out, now_ms, days, e);
}

/* --- CA and serving pair -------------------------------------------------- */

static struct certs_file
file_of(const char *name, mode_t mode, BIO *pem)
{
	char *bytes = NULL;
	long n = BIO_get_mem_data(pem, &bytes);

	return (struct certs_file){name, mode, bytes, (size_t)n};
}

/* Saves the files.  If ca is NULL, the CA's files stay as they are. */
static int
save(const char *dir, const struct certs_signer *ca,
     const struct certs_signer *leaf, struct err *e)
{
	AUTO_BIO ca_key = BIO_new(BIO_s_mem());
	AUTO_BIO ca_crt = BIO_new(BIO_s_mem());
	AUTO_BIO key = BIO_new(BIO_s_mem());
	AUTO_BIO crt = BIO_new(BIO_s_mem());
	struct certs_file files[4];
	size_t n = 0;

	if ((ca != NULL && certs_issue_write(ca, ca_key, ca_crt, e)) ||
	    certs_issue_write(leaf, key, crt, e))
		return -1;
	if (ca != NULL) {
		files[n++] = file_of("ca.key", 0600, ca_key);
		files[n++] = file_of("ca.crt", 0644, ca_crt);
	}
	files[n++] = file_of("tls.key", 0600, key);
	files[n++] = file_of("tls.crt", 0644, crt);
	return certs_save(dir, files, n, e);
}

int
certs_mint(const char *dir, const struct certs_names *names, int days,
	   bool new_ca, int64_t now_ms, struct err *e)
{
	AUTO_SIGNER ca = {0};
	AUTO_SIGNER leaf = {0};
	char san[CERTS_SAN_BYTES];
	struct buf b;
	bool fresh = false;

	if (days < 1 || days > CERTS_DAYS_MAX)
		return err_set(e, ERR_INPUT, "%d days, expected 1 to %d", days,
			       CERTS_DAYS_MAX);
	buf_init(&b, san, sizeof(san));
	if (certs_issue_san(names, &b, e) ||
	    get_signer(dir, new_ca, now_ms, days, &ca, &fresh, e) ||
	    certs_issue(&ca, certs_issue_cn(names), san, now_ms,
			now_ms + days * DAY_MS, &leaf, e))
		return -1;
	return save(dir, fresh ? &ca : NULL, &leaf, e);
}
