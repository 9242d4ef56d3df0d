/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_RENEWAL_H
#define CORE_PROTOCOL_RENEWAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/pace.h"
#include "core/base/stamp.h"

/*
 * When the leader mints a CA and a serving certificate of our own, and what the
 * API server is to trust meanwhile
 * (docs/operations.md#certificates-of-its-own).  Everything that counts is in
 * the Secret and in caBundle, and is read again before each write, so that the
 * next leader goes on from there:
 *
 *	no CA, or 2/3 of its life over	-> a new CA and its key in the Secret
 *	it is valid in a few minutes	-> wait for it, and for a pair of it
 *	the CA is not in caBundle	-> caBundle: it, and those before it
 *	no certificate of that CA, or 2/3 of its life over
 *		-> a new one, once the CA has been seen in caBundle for
 *		   settle_ms: no API server may still go by an older one
 *
 * A CA in caBundle, whosever it is, stays until it expires, or until our CA is
 * older than a serving certificate lives: then no certificate of an earlier CA
 * is left.  A CA in caBundle that is younger than ours stays: somebody put our
 * CA there, and the certificate that is served may be the younger one's.  A
 * certificate never outlives its CA (edge/certs/certs_own.h).
 *
 * If the webhooks cannot be read, a certificate is renewed all the same if its
 * CA was trusted before, and nothing else is done.
 *
 * A step machine (docs/architecture.md#step-machines): renewal_next says what
 * to do or for how long to wait, and renewal_done is told what came of it.  One
 * step is under way at a time.  The times of certificates are the API server's.
 * One thread; no allocation.
 */
#define RENEWAL_ID_BYTES 32	/* SHA-256 of the certificate */
#define RENEWAL_BUNDLE_MAX 16	/* the CA itself, and the youngest others */
#define RENEWAL_SPREAD 6	/* one part in so many of a life: by then every
				   replica has the new pair */
#define RENEWAL_AHEAD_MS 300000	/* how long we wait for what is not valid yet */
#define RENEWAL_BACKDATE_MS 3600000	/* NotBefore lies this long before the
					   birth */

struct renewal_config {
	int64_t ca_ms, leaf_ms;		/* lives */
	int64_t read_ms;		/* how often everything is read */
	int64_t settle_ms;
};

struct renewal_cert {
	unsigned char id[RENEWAL_ID_BYTES];
	int64_t not_before_ms, not_after_ms;
};

/* What a READ has read. */
struct renewal_view {
	bool has_ca;		/* a CA with its key */
	struct renewal_cert ca;
	bool has_leaf;		/* a pair of that CA for all our names */
	struct renewal_cert leaf;
	bool has_webhooks;	/* there are webhooks, which may have a
				   caBundle */
	bool bundle_differs;	/* it differs between them, or there is more
				   than this */
	unsigned bundle_n;
	struct renewal_cert bundle[RENEWAL_BUNDLE_MAX];
};

enum renewal_step {
	RENEWAL_WAIT,
	RENEWAL_READ,
	RENEWAL_CA,	/* mint one that lives for life_ms, and write it */
	RENEWAL_BUNDLE,	/* write the CA, and `keep` of the view's bundle */
	RENEWAL_LEAF,	/* the same for the serving certificate */
};

struct renewal_todo {
	enum renewal_step step;
	int64_t wait_ms;	/* WAIT; INT64_MAX: until another call */
	int64_t life_ms;	/* CA, LEAF */
	const char *reason;	/* of a write */
	bool keep[RENEWAL_BUNDLE_MAX];	/* BUNDLE */
};

enum renewal_code {
	RENEWAL_OK,
	RENEWAL_PARTLY,		/* READ: all but the webhooks */
	RENEWAL_CONFLICT,	/* the object has changed since it was read */
	RENEWAL_FAILED,
};

struct renewal_outcome {
	enum renewal_code code;
	const struct renewal_view *view;	/* READ that is OK or PARTLY:
						   what it has read */
	int64_t retry_after_ms;	/* not OK: the answer's; -1: none */
};

struct renewal {
	struct renewal_config config;
	struct pace pace;
	struct renewal_view view;
	enum renewal_step step;		/* the last step given out */
	bool fresh;			/* nobody has acted on the view yet */
	bool partly;			/* the view is without webhooks */
	int64_t not_before_ms;		/* boot time: nothing is done before */
	int64_t wrote_ms[RENEWAL_LEAF + 1];	/* boot time of the last
						   success */
	bool trusted;			/* this CA stands in caBundle … */
	unsigned char trusted_id[RENEWAL_ID_BYTES];
	int64_t trusted_ms;		/* … since then, boot time */
	unsigned failures;		/* in a row */
};

/* The lives as configured.  The rest follows from the serving certificate's
 * life, so that a third of it is always enough for everything there is to wait
 * for. */
struct renewal_config renewal_config(int64_t ca_ms, int64_t leaf_ms);

/* Begins anew, also at the start of each lead: nothing that was before
 * counts. */
void renewal_init(struct renewal *r, const struct renewal_config *c,
		  uint64_t seed);

struct renewal_todo renewal_next(struct renewal *r, struct now now);
void renewal_done(struct renewal *r, const struct renewal_outcome *o,
		  struct now now);

#endif
