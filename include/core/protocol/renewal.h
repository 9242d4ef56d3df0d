/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_RENEWAL_H
#define CORE_PROTOCOL_RENEWAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/pace.h"
#include "core/base/stamp.h"

/*
 * When the leader mints a CA and a serving certificate of our own, and what
 * the API server is to trust meanwhile.  All that counts stands in the Secret
 * and in caBundle and is read again before each write, so that whoever leads
 * next goes on from there:
 *
 *	no CA, or 2/3 of its life over	-> a new CA and its key in the Secret
 *	it is valid in a few minutes	-> wait for it, and for a pair of it
 *	the CA is not in caBundle	-> caBundle: it, and those before it
 *	no certificate of that CA, or 2/3 of its life over
 *		-> a new one, once the CA has been seen in caBundle for
 *		   settle_ms: no API server may still go by an older one
 *
 * What stands in caBundle, whosever it is, stays until it expires, or until
 * the CA is older than a serving certificate lives: then none is left of an
 * earlier one.  A younger one stays: somebody put this CA there, and what is
 * served may be the younger one's.  A certificate never outlives its CA
 * (edge/certs/certs_own.h).
 *
 * Where the webhooks cannot be read, a certificate is renewed all the same if
 * its CA was trusted before, and nothing else is done.
 *
 * Times of certificates are the API server's.  One thread; no allocation.
 */
#define RENEWAL_ID_BYTES 32	/* SHA-256 of the certificate */
#define RENEWAL_BUNDLE_MAX 16	/* the CA itself, and the youngest others */
#define RENEWAL_SPREAD 6	/* of a life: every replica has the new pair */
#define RENEWAL_AHEAD_MS 300000	/* what is not valid yet is waited for */
#define RENEWAL_BACKDATE_MS 3600000	/* NotBefore lies before the birth */

struct renewal_config {
	int64_t ca_ms, leaf_ms;		/* lives */
	int64_t read_ms;		/* how often all is looked at */
	int64_t settle_ms;
};

struct renewal_cert {
	unsigned char id[RENEWAL_ID_BYTES];
	int64_t not_before_ms, not_after_ms;
};

/* What was read. */
struct renewal_view {
	bool has_ca;		/* a CA with its key */
	struct renewal_cert ca;
	bool has_leaf;		/* a pair of that CA for all our names */
	struct renewal_cert leaf;
	bool has_webhooks;	/* where a caBundle could be */
	bool bundle_differs;	/* between them; or there is more than this */
	unsigned bundle_n;
	struct renewal_cert bundle[RENEWAL_BUNDLE_MAX];
};

enum renewal_step {
	RENEWAL_WAIT,	/* wait_ms */
	RENEWAL_READ,
	RENEWAL_CA,	/* mint and write, life_ms */
	RENEWAL_BUNDLE,	/* write: the CA, and `keep` of the view's bundle */
	RENEWAL_LEAF,	/* mint and write, life_ms */
};

struct renewal_todo {
	enum renewal_step step;
	int64_t wait_ms, life_ms;
	const char *reason;	/* of a write */
	bool keep[RENEWAL_BUNDLE_MAX];
};

enum renewal_outcome {
	RENEWAL_OK,
	RENEWAL_PARTLY,		/* a READ, all but the webhooks */
	RENEWAL_CONFLICT,	/* it has changed since it was read */
	RENEWAL_FAILED,
};

struct renewal {
	struct renewal_config config;
	struct pace pace;
	struct renewal_view view;
	enum renewal_step step;		/* the last one given out */
	bool fresh;			/* the view has not been acted on */
	bool partly;			/* it is without webhooks */
	int64_t not_before_ms;		/* boot: nothing is done until then */
	int64_t wrote_ms[RENEWAL_LEAF + 1];	/* boot: with success */
	bool trusted;			/* this CA stands in caBundle … */
	unsigned char trusted_id[RENEWAL_ID_BYTES];
	int64_t trusted_ms;		/* … since, boot */
	unsigned failures;		/* in a row */
};

/* Lives as configured; the rest follows from that of the serving certificate,
 * so that a third of it is always enough for all there is to wait for. */
struct renewal_config renewal_config(int64_t ca_ms, int64_t leaf_ms);

/* Also at the begin of each lead: of what was, nothing counts. */
void renewal_init(struct renewal *r, const struct renewal_config *c,
		  uint64_t seed);

struct renewal_todo renewal_next(struct renewal *r, struct now now);

/* What came of the last step but a wait.  view: of a READ that is OK,
 * or PARTLY.  retry_after_ms: of one that is not OK; -1: none. */
void renewal_done(struct renewal *r, enum renewal_outcome outcome,
		  const struct renewal_view *view, int64_t retry_after_ms,
		  struct now now);

#endif
