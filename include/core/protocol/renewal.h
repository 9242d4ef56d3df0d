/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_RENEWAL_H
#define CORE_PROTOCOL_RENEWAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/pace.h"
#include "core/base/stamp.h"

/*
 * Decides when the leader makes a CA and a serving certificate of our own, and
 * which CAs the API server is to trust meanwhile
 * (docs/operations.md#certificates-of-its-own).  Everything that counts is in
 * the Secret and in caBundle, and is read again before each write, so that the
 * next leader goes on from there.  The first line that applies says what to do:
 *
 *	what was read				what to do
 *	the CA will be valid in a few minutes	wait for it
 *	the CA is missing or not valid, or 2/3	write a new CA and its key to
 *	of its life are over			the Secret
 *	caBundle does not have the CA, is not	write caBundle
 *	the same everywhere, or has a CA that
 *	may go
 *	the serving certificate will be valid	wait for it
 *	in a few minutes
 *	a certificate by the CA is missing or	write a new one, but not before
 *	not valid, or 2/3 of its life are over	the CA has been in caBundle for
 *						settle_ms: by then every API
 *						server trusts it
 *
 * A CA may go from caBundle, whoever put it there,
 *
 *  1. when it has expired, or
 *  2. when it is not younger than ours and no certificate by it is served any
 *     more.  That is so when our CA is older than a serving certificate lives,
 *     has been seen in caBundle for leaf_ms / RENEWAL_SPREAD, and its serving
 *     certificate is that old, or
 *  3. when there is no room for ours and it is the oldest.
 *
 * A CA that is younger than ours stays otherwise: somebody may have put our CA
 * into the Secret while a certificate by the younger one is served.  A
 * certificate never outlives its CA (edge/certs/certs_own.h).
 *
 * If the webhooks cannot be read, a certificate is still renewed if its CA was
 * trusted before, and nothing else is done.
 *
 * A step machine (docs/architecture.md#step-machines): renewal_next says what
 * to do or for how long to wait, and renewal_done is told what came of it.  One
 * step is under way at a time.  The times of certificates are server_ms, all
 * others are boot_ms.  One thread uses it, and it owns no memory.
 */
#define RENEWAL_ID_BYTES 32   /* SHA-256 of the certificate */
#define RENEWAL_BUNDLE_MAX 16 /* the CA itself and the youngest older CAs */
/* a new pair has reached every replica after the life of a serving
 * certificate, divided by this */
#define RENEWAL_SPREAD 6
/* how long we wait for a certificate that is not valid yet; a certificate that
 * becomes valid later than that is replaced */
#define RENEWAL_AHEAD_MS 300000
/* a certificate's NotBefore lies this long before we made the certificate */
#define RENEWAL_BACKDATE_MS 3600000

struct renewal_config {
	int64_t ca_ms, leaf_ms; /* how long a CA and a serving
					   certificate live */
	int64_t read_ms;	/* how often everything is read */
	int64_t settle_ms;	/* how long after a change of caBundle
					   every API server goes by it; also the
					   least time between two equal
					   writes */
};

struct renewal_cert {
	unsigned char id[RENEWAL_ID_BYTES];
	int64_t not_before_ms, not_after_ms;
};

/* What a READ has read. */
struct renewal_view {
	bool has_ca; /* the Secret has a CA and its key */
	struct renewal_cert ca;
	bool has_leaf; /* the Secret has a pair by that CA for all our
				   names */
	struct renewal_cert leaf;
	bool has_webhooks;   /* there are webhooks, which may have a
				   caBundle */
	bool bundle_differs; /* the webhooks have different caBundles, or one
				   has more than `bundle` shows */
	unsigned bundle_n;
	struct renewal_cert bundle[RENEWAL_BUNDLE_MAX];
};

enum renewal_step {
	RENEWAL_WAIT,
	RENEWAL_READ,
	RENEWAL_CA, /* make a CA that lives for life_ms, and write it to the
			   Secret */
	/* Write the CA to the caBundle of each webhook, together with the first
	 * `keep` CAs of the view's bundle. */
	RENEWAL_BUNDLE,
	RENEWAL_LEAF, /* make a serving pair that lives for life_ms, and write
			   it to the Secret */
};

struct renewal_todo {
	enum renewal_step step;
	int64_t wait_ms;    /* WAIT: for how long; INT64_MAX: until another
			       function is called */
	int64_t life_ms;    /* CA, LEAF: how long the certificate is to live */
	const char *reason; /* CA, BUNDLE, LEAF: why, for the log; static */
	bool keep[RENEWAL_BUNDLE_MAX]; /* BUNDLE: which certificates of
					  view.bundle stay, by place */
};

enum renewal_code {
	RENEWAL_OK,
	RENEWAL_PARTLY,	  /* READ: everything but the webhooks was read */
	RENEWAL_CONFLICT, /* the object has changed since it was read */
	RENEWAL_FAILED,
};

struct renewal_outcome {
	enum renewal_code code;
	const struct renewal_view *view; /* READ that is OK or PARTLY:
						   what was read; it is
						   copied */
	int64_t retry_after_ms;		 /* not OK: the answer's Retry-After;
					    -1: it has none */
};

/*
 *	IDLE ── it is time to read ────────────▶ UNDER_WAY
 *	UNDER_WAY ── it was read ──────────────▶ KNOWN
 *	UNDER_WAY ── it is written, or failed ─▶ IDLE
 *	KNOWN ── something is to be written ───▶ UNDER_WAY
 *	KNOWN ── nothing is ───────────────────▶ IDLE
 *
 * renewal_done makes the transitions from UNDER_WAY, and renewal_next the
 * others.
 */
enum renewal_state {
	RENEWAL_IDLE,
	RENEWAL_UNDER_WAY, /* the step `step` is under way */
	RENEWAL_KNOWN, /* the view was read, and nothing has been decided by it
			   yet */
};

/* The members are private. */
struct renewal {
	struct renewal_config config;
	struct pace pace;
	struct renewal_view view;
	enum renewal_state state;
	enum renewal_step step; /* the step under way; WAIT: none */
	bool partly;		/* the view is without webhooks */
	int64_t not_before_ms;	/* boot time before which nothing is done */
	int64_t wrote_ms[RENEWAL_LEAF + 1]; /* boot time of each step's last
					       success */
	/* Whether caBundle has our CA, which one that is, and the boot time
	 * since when we have seen it there. */
	bool trusted;
	unsigned char trusted_id[RENEWAL_ID_BYTES];
	int64_t trusted_ms;
	unsigned failures; /* failures in a row */
};

/* Returns a configuration with these lives.  The other times follow from
 * leaf_ms, so that a third of it is enough to wait for a new CA and then for a
 * new pair. */
struct renewal_config renewal_config(int64_t ca_ms, int64_t leaf_ms);

/* Makes *r ready for its first READ.  Call it at the start of each lead:
 * nothing that this replica saw before counts.  c is copied.  seed: of all
 * jitter. */
void renewal_init(struct renewal *r, const struct renewal_config *c,
		  uint64_t seed);

/* Returns whether the state is consistent.  For assert. */
bool renewal_check(const struct renewal *r);
struct renewal_todo renewal_next(struct renewal *r, struct now now);
void renewal_done(struct renewal *r, const struct renewal_outcome *o,
		  struct now now);

#endif
