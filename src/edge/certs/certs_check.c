/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/certs/certs.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "certs_pem.h"
#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "core/base/str.h"
#include "edge/file.h"

/*
 * Checks a certificate pair before it is served, and describes a pair for
 * --inspect.  A struct candidate owns what has been read from the files.  A
 * candidate declared with AUTO_PAIR is wiped and freed when its function
 * returns.  certs_load gives the texts to its caller only if all checks have
 * passed.
 *
 * Each check_… function looks at one property.  If the property is wrong, it
 * returns -1 with a sentence that names the file and says what was expected.
 * check_times comes last, so that ERR_TLS means that only the time is wrong.
 * Such a pair may become valid later.
 */

#define DAY_MS ((int64_t)86400000)

/* A certificate pair that is being checked. */
struct candidate {
	const char *cert_file, *key_file;
	char *cert_pem, *key_pem;
	size_t cert_bytes, key_bytes;
	struct certs_chain chain;
	EVP_PKEY *key;
};

static void
pair_done(struct candidate *p)
{
	certs_pem_wipe(p->cert_pem, p->cert_bytes);
	certs_pem_wipe(p->key_pem, p->key_bytes);
	certs_pem_chain_done(&p->chain);
	EVP_PKEY_free(p->key);
	ERR_clear_error();
}
#define AUTO_PAIR __attribute__((cleanup(pair_done))) struct candidate

static int
read_chain(struct candidate *p, struct err *e)
{
	if (file_read(p->cert_file, CERT_BYTES_MAX, &p->cert_pem,
		      &p->cert_bytes, e))
		return -1;
	return certs_pem_chain(p->cert_file, p->cert_pem, p->cert_bytes,
			       &p->chain, e);
}

static int
read_key(struct candidate *p, struct err *e)
{
	if (file_read(p->key_file, CERT_BYTES_MAX, &p->key_pem, &p->key_bytes,
		      e))
		return -1;
	return certs_pem_key(p->key_file, p->key_pem, p->key_bytes, &p->key, e);
}

/* --- checks --------------------------------------------------------------- */

static int
check_match(const struct candidate *p, struct err *e)
{
	const struct certs_chain *c = &p->chain;

	if (X509_check_private_key(c->at[0], p->key) == 1)
		return 0;
	for (int i = 1; i < c->n; i++)
		if (X509_check_private_key(c->at[i], p->key) == 1)
			return err_set(e, ERR_INPUT,
				       CERTS_FILE
				       ": the key belongs to certificate %d, "
				       "expected that one first",
				       p->cert_file, i + 1);
	return err_set(e, ERR_INPUT,
		       CERTS_FILE ": not the key of the certificate, expected "
				  "the one that " CERTS_FILE " was made for",
		       p->key_file, p->cert_file);
}

static int
check_order(const struct candidate *p, struct err *e)
{
	const struct certs_chain *c = &p->chain;

	for (int i = 0; i + 1 < c->n; i++)
		if (X509_check_issued(c->at[i + 1], c->at[i]) != X509_V_OK ||
		    X509_verify(c->at[i], X509_get0_pubkey(c->at[i + 1])) != 1)
			return err_set(e, ERR_INPUT,
				       CERTS_FILE
				       ": certificate %d is not signed by "
				       "certificate %d, expected the leaf "
				       "first and each signed by the next",
				       p->cert_file, i + 1, i + 2);
	return 0;
}

static int
check_times(const struct candidate *p, int64_t now_ms, struct err *e)
{
	char stamp[STAMP_BYTES];

	for (int i = 0; i < p->chain.n; i++) {
		const X509 *x = p->chain.at[i];
		int64_t from = certs_pem_time_ms(X509_get0_notBefore(x));
		int64_t until = certs_pem_time_ms(X509_get0_notAfter(x));

		if (now_ms >= from && now_ms <= until)
			continue;
		stamp_format(now_ms < from ? from : until, stamp);
		return err_set(e, ERR_TLS,
			       CERTS_FILE ": certificate %d %s %s, expected "
					  "one that is valid now",
			       p->cert_file, i + 1,
			       now_ms < from ? "is not valid before"
					     : "has expired at",
			       stamp);
	}
	return 0;
}

static int
check_use(const struct candidate *p, struct err *e)
{
	X509 *leaf = p->chain.at[0];
	const char *expected = NULL;

	if (!(X509_get_key_usage(leaf) & X509v3_KU_DIGITAL_SIGNATURE))
		expected = "has a key usage without digitalSignature, which "
			   "TLS needs";
	else if (!(X509_get_extended_key_usage(leaf) &
		   (XKU_SSL_SERVER | XKU_ANYEKU)))
		expected = "is not for servers, expected extended key usage "
			   "serverAuth";
	if (expected == NULL)
		return 0;
	return err_set(e, ERR_INPUT, CERTS_FILE ": the certificate %s",
		       p->cert_file, expected);
}

static int
check_strength(const struct candidate *p, struct err *e)
{
	int type = EVP_PKEY_get_base_id(p->key);
	int bits = EVP_PKEY_get_bits(p->key);

	if ((type == EVP_PKEY_RSA && bits >= 2048) ||
	    (type == EVP_PKEY_EC && bits >= 256) || type == EVP_PKEY_ED25519)
		return 0;
	return err_set(e, ERR_INPUT,
		       CERTS_FILE ": a key of %d bits, expected RSA of 2048, "
				  "EC of 256 or more, or Ed25519",
		       p->key_file, bits);
}

/* --- names ---------------------------------------------------------------- */

static bool
is_plain_name(const char *s, int n)
{
	for (int i = 0; i < n; i++)
		if (s[i] <= ' ' || s[i] > '~' || s[i] == ',')
			return false;
	return n > 0;
}

static bool
add_name(const GENERAL_NAME *name, struct buf *out)
{
	char text[280] = "", ip[INET6_ADDRSTRLEN];
	struct buf one;
	const unsigned char *at;
	int n;

	buf_init(&one, text, sizeof(text));
	if (name->type == GEN_DNS) {
		at = ASN1_STRING_get0_data(name->d.dNSName);
		n = ASN1_STRING_length(name->d.dNSName);
		if (is_plain_name((const char *)at, n))
			buf_printf(&one, "DNS:%.*s", n, (const char *)at);
	} else if (name->type == GEN_IPADD) {
		at = ASN1_STRING_get0_data(name->d.iPAddress);
		n = ASN1_STRING_length(name->d.iPAddress);
		if ((n == 4 || n == 16) &&
		    inet_ntop(n == 4 ? AF_INET : AF_INET6, at, ip, sizeof(ip)))
			buf_printf(&one, "IP:%s", ip);
	}
	if (one.full || one.len == 0)
		return false;
	if (out->len + one.len + 2 < out->cap) {
		buf_puts(out, out->len ? ", " : "");
		buf_puts(out, text);
	}
	return true;
}

/* Returns the number of SANs that a client could ask for.  Writes as many of
 * them to out as fit. */
static int
list_names(const X509 *leaf, struct buf *out)
{
	GENERAL_NAMES *all =
		X509_get_ext_d2i(leaf, NID_subject_alt_name, NULL, NULL);
	int n = 0;

	for (int i = 0; i < sk_GENERAL_NAME_num(all); i++)
		n += add_name(sk_GENERAL_NAME_value(all, i), out);
	GENERAL_NAMES_free(all);
	return n;
}

static int
check_names(const struct candidate *p, struct err *e)
{
	char storage[8];
	struct buf none;

	buf_init(&none, storage, sizeof(storage));
	if (list_names(p->chain.at[0], &none) > 0)
		return 0;
	return err_set(e, ERR_INPUT,
		       CERTS_FILE ": the certificate has no DNS name or IP "
				  "address in subjectAltName, expected one",
		       p->cert_file);
}

/* --- a whole pair --------------------------------------------------------- */

static int
check_pair(const struct candidate *p, int64_t now_ms, struct err *e)
{
	if (check_match(p, e) || check_order(p, e) || check_use(p, e) ||
	    check_names(p, e) || check_strength(p, e) ||
	    check_times(p, now_ms, e))
		return -1;
	return 0;
}

static bool
is_ca(const struct candidate *p)
{
	return X509_get_extension_flags(p->chain.at[0]) & EXFLAG_CA;
}

static void
write_serial(X509 *x, char *out, size_t cap)
{
	BIGNUM *n = ASN1_INTEGER_to_BN(X509_get0_serialNumber(x), NULL);
	char *hex = n ? BN_bn2hex(n) : NULL;

	if (hex == NULL || str_copy(out, cap, hex))
		(void)str_copy(out, cap, "?");
	OPENSSL_free(hex);
	BN_free(n);
}

/* Returns the key identifier of the CA that has signed x, or 0 if it is not
 * known.  A self-signed certificate may lack the authority key identifier.  In
 * this case its own subject key identifier is returned. */
static uint64_t
authority_of(X509 *x)
{
	uint64_t id = certs_pem_key_id(X509_get0_authority_key_id(x));

	if (id == 0 && X509_NAME_cmp(X509_get_subject_name(x),
				     X509_get_issuer_name(x)) == 0)
		id = certs_pem_key_id(X509_get0_subject_key_id(x));
	return id;
}

int
certs_load(const char *cert_file, const char *key_file, int64_t now_ms,
	   struct certs_pair *out, struct err *e)
{
	AUTO_PAIR p = {.cert_file = cert_file, .key_file = key_file};
	struct buf names;

	if (read_chain(&p, e) || read_key(&p, e) || check_pair(&p, now_ms, e))
		return -1;
	*out = (struct certs_pair){
		.cert_pem = p.cert_pem,
		.key_pem = p.key_pem,
		.cert_bytes = p.cert_bytes,
		.key_bytes = p.key_bytes,
		.not_before_ms =
			certs_pem_time_ms(X509_get0_notBefore(p.chain.at[0])),
		.not_after_ms =
			certs_pem_time_ms(X509_get0_notAfter(p.chain.at[0])),
		.is_ca = is_ca(&p),
		.authority = authority_of(p.chain.at[p.chain.n - 1]),
	};
	p.cert_pem = p.key_pem = NULL;
	write_serial(p.chain.at[0], out->serial, sizeof(out->serial));
	buf_init(&names, out->names, sizeof(out->names));
	(void)list_names(p.chain.at[0], &names);
	return 0;
}

void
certs_pair_done(struct certs_pair *p)
{
	certs_pem_wipe(p->key_pem, p->key_bytes);
	free(p->cert_pem);
	*p = (struct certs_pair){0};
}

/* --- inspection ----------------------------------------------------------- */

/* Adds a line with the name in the form of RFC 2253, which escapes the
 * characters that could change the state of a terminal. */
static void
describe_name(const char *what, const X509_NAME *name, struct buf *out)
{
	AUTO_BIO mem = BIO_new(BIO_s_mem());
	char *text = NULL;
	long n = 0;

	if (mem != NULL &&
	    X509_NAME_print_ex(mem, name, 0, XN_FLAG_RFC2253) >= 0)
		n = BIO_get_mem_data(mem, &text);
	buf_printf(out, "%s%.*s\n", what, n > 200 ? 200 : (int)n,
		   n > 0 ? text : "");
}

static void
describe_times(const X509 *x, int64_t now_ms, struct buf *out)
{
	int64_t from = certs_pem_time_ms(X509_get0_notBefore(x));
	int64_t until = certs_pem_time_ms(X509_get0_notAfter(x));
	char a[STAMP_BYTES], b[STAMP_BYTES];

	stamp_format(from, a);
	stamp_format(until, b);
	buf_printf(out, "valid:     %s to %s", a, b);
	if (until >= now_ms)
		buf_printf(out, " (%" PRId64 " days left)\n",
			   (until - now_ms) / DAY_MS);
	else
		buf_puts(out, " (expired)\n");
}

static void
describe(const struct candidate *p, int64_t now_ms, struct buf *out)
{
	X509 *leaf = p->chain.at[0];
	EVP_PKEY *key = X509_get0_pubkey(leaf);
	const char *type = key ? EVP_PKEY_get0_type_name(key) : NULL;
	char text[1024];
	struct buf names;

	describe_name("subject:   ", X509_get_subject_name(leaf), out);
	describe_name("issuer:    ", X509_get_issuer_name(leaf), out);
	buf_init(&names, text, sizeof(text));
	(void)list_names(leaf, &names);
	buf_printf(out, "names:     %s\n", names.len ? text : "none");
	write_serial(leaf, text, sizeof(text));
	buf_printf(out, "serial:    %s\n", text);
	describe_times(leaf, now_ms, out);
	buf_printf(out, "key:       %s, %d bits\n", type ? type : "unknown",
		   key ? EVP_PKEY_get_bits(key) : 0);
	buf_printf(out, "chain:     %d certificate%s\n", p->chain.n,
		   p->chain.n == 1 ? "" : "s");
}

int
certs_inspect(const char *cert_file, const char *key_file, int64_t now_ms,
	      struct buf *out, struct err *e)
{
	AUTO_PAIR p = {.cert_file = cert_file, .key_file = key_file};

	if (read_chain(&p, e))
		return -1;
	describe(&p, now_ms, out);
	if (read_key(&p, e) || check_pair(&p, now_ms, e))
		return -1;
	buf_puts(out, "good for:  serving these names\n");
	if (is_ca(&p))
		buf_puts(out, "warning:   it " CERTS_CA_ADVICE "\n");
	return 0;
}
