/* SPDX-License-Identifier: Apache-2.0 */
#include "serving_cert.h"

#include <string.h>

#include "core/base/str.h"
#include "edge/certs/certs.h"
#include "edge/log.h"

/* The files are read again after this time even if stat shows no change.  A
 * pair that was refused as "not yet valid" may have become valid, and stat can
 * miss a change within one tick of the file system's clock. */
#define PAIR_AGAIN_MS 10000
/* The Date header has whole seconds, so the API server's time may be up to a
 * second later than our clock says.  With this allowance, a pair that was
 * issued within this second counts as valid. */
#define DATE_MS 1000

void
serving_cert_init(struct serving_cert *p, const struct config *c,
		  struct clock *clock, struct counters *counters,
		  struct server *server)
{
	*p = (struct serving_cert){.cert_file = c->webhook.cert_file,
				   .key_file = c->webhook.key_file,
				   .clock = clock,
				   .counters = counters,
				   .server = server,
				   .read_ms = INT64_MIN / 2};
}

static bool
same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Returns whether stat shows a change.  stat follows symlinks, so if the
 * kubelet has swapped the symlink ..data, the inode is another one. */
static bool
changed(struct serving_cert *p)
{
	struct stat cert = {0}, key = {0};
	bool same;

	(void)stat(p->cert_file, &cert);
	(void)stat(p->key_file, &key);
	same = same_file(&cert, &p->cert_stat) && same_file(&key, &p->key_stat);
	p->cert_stat = cert;
	p->key_stat = key;
	return !same;
}

static void
refuse_pair(struct serving_cert *p, const struct err *e)
{
	bool again = strcmp(p->refused, e->text) == 0;

	if (!again)
		counter_add(p->counters, COUNTER_CERT_ERRORS);
	LOG(again ? LOG_DEBUG : LOG_ERROR, "certificate not usable",
	    LS("err", e->text),
	    LS("serving", p->serial[0] != '\0' ? p->serial : "none"));
	(void)str_copy(p->refused, sizeof(p->refused), e->text);
}

/* The digest of both files.  It differs for a new pair even if its serial
 * number is that of the old pair. */
static uint64_t
digest_of(const struct certs_pair *c)
{
	return str_digest(
		str_digest(STR_DIGEST_NONE, c->cert_pem, c->cert_bytes),
		c->key_pem, c->key_bytes);
}

static void
commit(struct serving_cert *p, const struct certs_pair *c)
{
	char until[STAMP_BYTES];
	struct err e;

	if (server_rotate(p->server, c->cert_pem, c->cert_bytes, c->key_pem,
			  c->key_bytes, &e)) {
		refuse_pair(p, &e);
		return;
	}
	counter_add(p->counters, COUNTER_CERT_READS);
	(void)str_copy(p->serial, sizeof(p->serial), c->serial);
	p->digest = digest_of(c);
	p->refused[0] = '\0';
	atomic_store(&p->not_before_ms, c->not_before_ms);
	atomic_store(&p->not_after_ms, c->not_after_ms);
	atomic_store(&p->authority, c->authority);
	stamp_format(c->not_after_ms, until);
	LOG(LOG_INFO, "certificate served", LS("serial", c->serial),
	    LS("names", c->names), LS("notAfter", until));
	if (c->is_ca)
		LOG(LOG_WARN, "certificate is a CA", LS("serial", c->serial),
		    LS("advice", "the certificate " CERTS_CA_ADVICE));
}

/* Reads the pair.  If the files were replaced after one of them had been read,
 * certificate and key do not match.  After a failure this function therefore
 * reads both files again if stat shows a change. */
static int
load(struct serving_cert *p, int64_t now_ms, struct certs_pair *c,
     struct err *e)
{
	int rc = certs_load(p->cert_file, p->key_file, now_ms, c, e);

	return rc != 0 && changed(p)
		       ? certs_load(p->cert_file, p->key_file, now_ms, c, e)
		       : rc;
}

/* Call this if the files contain the served pair.  If they contained an
 * unusable pair before, logs that they are usable again. */
static void
back(struct serving_cert *p)
{
	if (p->refused[0] == '\0')
		return;
	p->refused[0] = '\0';
	LOG(LOG_INFO, "certificate usable again", LS("serial", p->serial));
}

void
serving_cert_look(struct serving_cert *p)
{
	struct now now = clock_now(p->clock);
	struct certs_pair c = {0};
	struct err e = {0};

	if (!changed(p) && now.boot_ms - p->read_ms < PAIR_AGAIN_MS)
		return;
	p->read_ms = now.boot_ms;
	if (load(p, now.server_ms + DATE_MS, &c, &e)) {
		refuse_pair(p, &e);
		return;
	}
	if (p->serial[0] == '\0' || digest_of(&c) != p->digest)
		commit(p, &c);
	else
		back(p);
	certs_pair_done(&c);
}

bool
serving_cert_valid(struct serving_cert *p)
{
	int64_t now_ms = clock_now(p->clock).server_ms;

	return atomic_load(&p->not_before_ms) <= now_ms + DATE_MS &&
	       now_ms < atomic_load(&p->not_after_ms);
}
