/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_RENEWAL_H
#define CORE_PROTOCOL_RENEWAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/pace.h"
#include "core/base/stamp.h"

/*
 * Decides when the leader makes a CA and a serving certificate of our own, and
 * which CAs are in caBundle (docs/operations.md#certificates-of-its-own).  All
 * lasting state is in the Secret and in caBundle, so that the next leader can
 * continue.  Both are read again before each write.  The first line of the
 * table that applies says what to do:
 *
 *	what was read				what to do
 *	the CA will be valid in a few minutes	wait for it
 *	the CA is missing or not valid, or 2/3	write a new CA and its key to
 *	of its life are over			the Secret
 *	a caBundle lacks the CA, differs from	write caBundle
 *	the others, or has a CA that may be
 *	removed
 *	the serving certificate will be valid	wait for it
 *	in a few minutes
 *	the serving certificate is missing or	write a new one, but only when
 *	not valid, or 2/3 of its life are over	the CA has been in caBundle for
 *						settle_ms, so that every API
 *						server trusts the CA
 *
 * A CA may be removed from caBundle, whoever put it there, in three cases:
 *
 *  1. It has expired.
 *  2. It is not younger than our CA, and no certificate that it signed is
 *     served any more.  We assume this when our CA is older than the life of a
 *     serving certificate, we have seen our CA in caBundle for
 *     leaf_ms / RENEWAL_SPREAD, and our serving certificate is at least
 *     leaf_ms / RENEWAL_SPREAD old.
 *  3. There is no room for our CA, and this CA is the oldest.
 *
 * In all other cases a CA that is younger than ours stays.  Somebody may have
 * put our CA into the Secret while a certificate that the younger CA signed is
 * still served.  A certificate never outlives its CA (edge/certs/certs_own.h).
 *
 * If the webhooks cannot be read, only the serving certificate is renewed, and
 * only if its CA was trusted before.
 *
 * This is a step machine (docs/architecture.md#step-machines): renewal_next
 * returns the next step or the time to wait, and renewal_done receives the
 * step's outcome.  The caller runs one step at a time.  The times of
 * certificates are server_ms, all others are boot_ms.  A struct renewal is used
 * by one thread and owns no memory.
 */
#define RENEWAL_ID_BYTES 32 /* SHA-256 of the certificate */
/* Maximum number of CAs in caBundle: our CA and the youngest of the others. */
#define RENEWAL_BUNDLE_MAX 16
/* A new pair is assumed to have reached every replica after
 * leaf_ms / RENEWAL_SPREAD. */
#define RENEWAL_SPREAD 6
/* How long we wait for a certificate that is not valid yet.  A certificate that
 * becomes valid later than this is replaced. */
#define RENEWAL_AHEAD_MS 300000
/* The NotBefore of our certificates is this long before we made them. */
#define RENEWAL_BACKDATE_MS 3600000

struct renewal_config {
	/* Lives of a CA and of a serving certificate. */
	int64_t ca_ms, leaf_ms;
	int64_t read_ms; /* time between two READs */
	/* How long after a change of caBundle every API server uses the new
	 * caBundle.  Also the shortest time between two writes of the same
	 * step. */
	int64_t settle_ms;
};

struct renewal_cert {
	unsigned char id[RENEWAL_ID_BYTES];
	int64_t not_before_ms, not_after_ms;
};

/* The result of a READ. */
struct renewal_view {
	bool has_ca; /* the Secret has a CA and its key */
	struct renewal_cert ca;
	/* The Secret has a serving pair that this CA signed for all our
	 * names. */
	bool has_leaf;
	struct renewal_cert leaf;
	/* Webhooks exist.  Each may have a caBundle. */
	bool has_webhooks;
	/* The webhooks have different caBundles, or a caBundle has more than
	 * `bundle` shows. */
	bool bundle_differs;
	unsigned bundle_n;
	struct renewal_cert bundle[RENEWAL_BUNDLE_MAX];
};

enum renewal_step {
	RENEWAL_WAIT,
	RENEWAL_READ,
	/* Make a CA that lives for life_ms, and write it to the Secret. */
	RENEWAL_CA,
	/* Write the caBundle of each webhook: our CA, and the certificates of
	 * view.bundle that `keep` selects. */
	RENEWAL_BUNDLE,
	/* Make a serving pair that lives for life_ms, and write it to the
	 * Secret. */
	RENEWAL_LEAF,
};

struct renewal_todo {
	enum renewal_step step;
	/* WAIT: the longest time to wait, or INT64_MAX to wait for another call
	 * of a renewal function. */
	int64_t wait_ms;
	int64_t life_ms; /* CA, LEAF: how long the certificate is to live */
	/* CA, BUNDLE, LEAF: the reason, for the log.  Static. */
	const char *reason;
	/* BUNDLE: by place in view.bundle, whether the certificate stays. */
	bool keep[RENEWAL_BUNDLE_MAX];
};

enum renewal_code {
	RENEWAL_OK,
	RENEWAL_PARTLY,	  /* READ: everything but the webhooks was read */
	RENEWAL_CONFLICT, /* the object has changed since it was read */
	RENEWAL_FAILED,
};

struct renewal_outcome {
	enum renewal_code code;
	/* READ, with OK or PARTLY: what was read.  It is copied. */
	const struct renewal_view *view;
	/* All codes except OK: the reply's Retry-After, or -1 if it has
	 * none. */
	int64_t retry_after_ms;
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
	/* The view was read, and renewal_next has not yet used it. */
	RENEWAL_KNOWN,
};

/* The members are private. */
struct renewal {
	struct renewal_config config;
	struct pace pace;
	struct renewal_view view;
	enum renewal_state state;
	enum renewal_step step; /* the step under way, or RENEWAL_WAIT */
	bool partly;		/* the webhooks could not be read */
	int64_t not_before_ms;	/* boot time before which nothing is done */
	int64_t wrote_ms[RENEWAL_LEAF + 1]; /* boot time of each step's last
					       success */
	/* `trusted` says whether caBundle has our CA.  trusted_id is the id of
	 * that CA, and trusted_ms the boot time since which we have seen it
	 * there. */
	bool trusted;
	unsigned char trusted_id[RENEWAL_ID_BYTES];
	int64_t trusted_ms;
	unsigned failures; /* failures in a row */
};

/* Returns a configuration with these lives.  The other times are derived from
 * leaf_ms, so that a third of leaf_ms is enough to wait for a new CA and then
 * for a new pair. */
struct renewal_config renewal_config(int64_t ca_ms, int64_t leaf_ms);

/* Makes *r ready for its first READ.  Call it at the start of each lead,
 * because what this replica saw before no longer counts.  *c is copied.  `seed`
 * is the seed of all jitter. */
void renewal_init(struct renewal *r, const struct renewal_config *c,
		  uint64_t seed);

struct renewal_todo renewal_next(struct renewal *r, struct now now);
void renewal_done(struct renewal *r, const struct renewal_outcome *o,
		  struct now now);

#endif
