/* SPDX-License-Identifier: Apache-2.0 */
#include "core/protocol/renewal.h"

#include <assert.h>
#include <string.h>

/*
 * Each view of the cluster is judged anew.  The first of CA, caBundle and
 * serving pair that has a fault is written.  After each write everything is
 * read again, so each write is based on the latest resourceVersions.
 *
 * Two things are remembered from view to view.  trusted_ms says since when the
 * CA has been in caBundle, because a pair may be written only when all API
 * servers have had time to trust its CA.  wrote_ms says when each kind of write
 * was last done, so that we do not race with somebody who undoes our writes.
 * The one caller is the thread of daemon/cert_renewer.
 */

#define NEVER (INT64_MIN / 2)
#define READ_MS 30000	   /* longest read_ms of renewal_config */
#define SETTLE_MS 10000	   /* longest settle_ms of renewal_config */
#define LEAST_MS 50	   /* shortest wait, whatever the configuration says */
#define RETRY_MS 500	   /* shortest backoff after a failure */
#define RETRY_MAX_MS 30000 /* longest backoff, before jitter */

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t
most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

struct renewal_config
renewal_config(int64_t ca_ms, int64_t leaf_ms)
{
	return (struct renewal_config){
		.ca_ms = ca_ms,
		.leaf_ms = leaf_ms,
		.read_ms = most(LEAST_MS, least(READ_MS, leaf_ms / 20)),
		.settle_ms = most(LEAST_MS, least(SETTLE_MS, leaf_ms / 10)),
	};
}

void
renewal_init(struct renewal *r, const struct renewal_config *c, uint64_t seed)
{
	*r = (struct renewal){.config = *c, .not_before_ms = NEVER};
	for (int i = 0; i <= RENEWAL_LEAF; i++)
		r->wrote_ms[i] = NEVER;
	pace_init(&r->pace, seed);
}

static bool
renewal_check(const struct renewal *r)
{
	return (r->state == RENEWAL_UNDER_WAY) == (r->step != RENEWAL_WAIT) &&
	       r->view.bundle_n <= RENEWAL_BUNDLE_MAX;
}

/* --- what is known of a certificate --------------------------------------- */

static bool
same(const struct renewal_cert *a, const struct renewal_cert *b)
{
	return memcmp(a->id, b->id, sizeof(a->id)) == 0;
}

/* Returns when we made the certificate.  A certificate that somebody else made
 * may be older than that. */
static int64_t
born_ms(const struct renewal_cert *c)
{
	int64_t ms = c->not_before_ms + RENEWAL_BACKDATE_MS;

	return ms < c->not_after_ms ? ms : c->not_before_ms;
}

static bool
valid(const struct renewal_cert *c, int64_t server_ms)
{
	return c->not_before_ms <= server_ms && server_ms < c->not_after_ms;
}

/* Returns whether the certificate becomes valid soon.  The caller then waits
 * and does not replace the certificate, because the clock of its maker may be
 * ahead of the API server's, and because the Date header has only whole
 * seconds. */
static bool
soon(bool there, const struct renewal_cert *c, int64_t server_ms,
     struct renewal_todo *t)
{
	int64_t ms = c->not_before_ms - server_ms;

	if (!there || ms <= 0 || ms > RENEWAL_AHEAD_MS)
		return false;
	t->wait_ms = least(t->wait_ms, ms);
	return true;
}

/* Returns why the certificate has to be replaced, or NULL if it need not be. */
static const char *
fault_of(bool there, const struct renewal_cert *c, int64_t server_ms)
{
	int64_t life_ms = c->not_after_ms - born_ms(c);

	if (!there)
		return "missing";
	if (!valid(c, server_ms))
		return "not valid";
	return server_ms < born_ms(c) + life_ms - life_ms / 3 ? NULL : "due";
}

/* --- caBundle ------------------------------------------------------------- */

/* Returns the certificate's place in the bundle, or bundle_n if it is not
 * there. */
static unsigned
cert_find(const struct renewal_view *v, const struct renewal_cert *c)
{
	unsigned i = 0;

	while (i < v->bundle_n && !same(&v->bundle[i], c))
		i++;
	return i;
}

/* Returns the place of the oldest certificate that is kept, or bundle_n if none
 * is kept. */
static unsigned
oldest(const struct renewal_view *v, const bool *keep)
{
	unsigned at = v->bundle_n;

	for (unsigned i = 0; i < v->bundle_n; i++)
		if (keep[i] &&
		    (at == v->bundle_n ||
		     v->bundle[i].not_before_ms < v->bundle[at].not_before_ms))
			at = i;
	return at;
}

/* Returns whether no certificate of an earlier CA is served any more.  A person
 * may have put an old CA into the Secret only now.  Therefore it also matters
 * how long the CA has been seen in caBundle, and how old its serving
 * certificate is. */
static bool
alone(const struct renewal *r, struct now now)
{
	const struct renewal_view *v = &r->view;
	int64_t spread_ms = r->config.leaf_ms / RENEWAL_SPREAD;

	return now.server_ms >= born_ms(&v->ca) + r->config.leaf_ms &&
	       r->trusted && now.boot_ms >= r->trusted_ms + spread_ms &&
	       v->has_leaf && now.server_ms >= born_ms(&v->leaf) + spread_ms;
}

/* Chooses which other certificates of the bundle stay besides the CA.  Returns
 * how many are removed. */
static unsigned
choose(const struct renewal *r, struct now now, bool *keep)
{
	const struct renewal_view *v = &r->view;
	bool retire = alone(r, now);
	unsigned gone = 0, kept = 0;

	for (unsigned i = 0; i < v->bundle_n; i++) {
		const struct renewal_cert *c = &v->bundle[i];

		keep[i] = !same(c, &v->ca) && now.server_ms < c->not_after_ms &&
			  !(retire && c->not_before_ms <= v->ca.not_before_ms);
		kept += keep[i];
		gone += !keep[i] && !same(&v->bundle[i], &v->ca);
	}
	if (kept == RENEWAL_BUNDLE_MAX) { /* make room for the CA */
		keep[oldest(v, keep)] = false;
		gone++;
	}
	return gone;
}

/* --- what to do ----------------------------------------------------------- */

static const char *
bundle_fault(const struct renewal *r, struct now now, bool *keep)
{
	const struct renewal_view *v = &r->view;
	unsigned gone = choose(r, now, keep);

	if (!v->has_webhooks)
		return NULL;
	if (cert_find(v, &v->ca) == v->bundle_n)
		return "CA missing";
	if (v->bundle_differs)
		return "not the same everywhere";
	return gone > 0 ? "retired" : NULL;
}

/* Asks for a write in *t and returns true, unless there is no reason for it, or
 * the same kind of write was done less than settle_ms ago.  So if somebody
 * undoes each write, we do not race with them. */
static bool
ask(const struct renewal *r, enum renewal_step step, const char *reason,
    int64_t life_ms, struct now now, struct renewal_todo *t)
{
	if (reason == NULL)
		return false;
	t->wait_ms = least(t->wait_ms, r->wrote_ms[step] + r->config.settle_ms -
					       now.boot_ms);
	if (now.boot_ms < r->wrote_ms[step] + r->config.settle_ms)
		return false;
	t->step = step;
	t->reason = reason;
	t->life_ms = life_ms;
	return true;
}

/* Returns the boot time from which on a certificate of this CA may be written,
 * or INT64_MAX if that time is not known. */
static int64_t
settled_ms(const struct renewal *r, int64_t boot_ms)
{
	const struct renewal_view *v = &r->view;
	bool known = r->trusted && memcmp(r->trusted_id, v->ca.id,
					  sizeof(r->trusted_id)) == 0;

	/* With a partial view: an API server that trusts the present
	 * certificate trusts the next one as well.  Without a webhook: no API
	 * server verifies who signed the certificate. */
	if (r->partly ? v->has_leaf : !v->has_webhooks)
		return boot_ms;
	return known ? r->trusted_ms + r->config.settle_ms : INT64_MAX;
}

static struct renewal_todo
decide(const struct renewal *r, struct now now)
{
	struct renewal_todo t = {.step = RENEWAL_WAIT,
				 .wait_ms = r->config.read_ms};
	const struct renewal_view *v = &r->view;
	const char *leaf;
	int64_t from_ms;

	if (soon(v->has_ca, &v->ca, now.server_ms, &t))
		return t;
	if (!r->partly &&
	    ask(r, RENEWAL_CA, fault_of(v->has_ca, &v->ca, now.server_ms),
		r->config.ca_ms, now, &t))
		return t;

	if (!v->has_ca || !valid(&v->ca, now.server_ms))
		return t;
	if (!r->partly &&
	    ask(r, RENEWAL_BUNDLE, bundle_fault(r, now, t.keep), 0, now, &t))
		return t;

	if (soon(v->has_leaf, &v->leaf, now.server_ms, &t))
		return t;

	leaf = fault_of(v->has_leaf, &v->leaf, now.server_ms);
	from_ms = settled_ms(r, now.boot_ms);
	if (leaf != NULL && now.boot_ms < from_ms) {
		t.wait_ms = least(t.wait_ms, from_ms - now.boot_ms);
		return t;
	}

	(void)ask(r, RENEWAL_LEAF, leaf, r->config.leaf_ms, now, &t);
	return t;
}

struct renewal_todo
renewal_next(struct renewal *r, struct now now)
{
	struct renewal_todo t = {.step = RENEWAL_READ};

	assert(renewal_check(r));
	if (r->state == RENEWAL_KNOWN) {
		t = decide(r, now);
		r->state = RENEWAL_IDLE;
		if (t.step == RENEWAL_WAIT && !r->partly) {
			t.wait_ms = most(t.wait_ms, 1);
			r->not_before_ms = now.boot_ms + t.wait_ms;
			r->failures = 0;
		} else if (t.step == RENEWAL_WAIT) {
			t.wait_ms = most(r->not_before_ms - now.boot_ms, 1);
		}
	} else if (now.boot_ms < r->not_before_ms) {
		t.step = RENEWAL_WAIT;
		t.wait_ms = r->not_before_ms - now.boot_ms;
	}
	if (t.step != RENEWAL_WAIT) {
		r->state = RENEWAL_UNDER_WAY;
		r->step = t.step;
	}
	return t;
}

/* --- the outcome of a step ------------------------------------------------ */

/* Records since when caBundle has contained this CA, as far as we have seen. */
static void
trust(struct renewal *r, int64_t boot_ms)
{
	const struct renewal_view *v = &r->view;
	bool there = v->has_ca && cert_find(v, &v->ca) < v->bundle_n &&
		     !v->bundle_differs;

	if (there && (!r->trusted || memcmp(r->trusted_id, v->ca.id,
					    sizeof(r->trusted_id)) != 0)) {
		memcpy(r->trusted_id, v->ca.id, sizeof(r->trusted_id));
		r->trusted_ms = boot_ms;
	}
	r->trusted = there;
}

void
renewal_done(struct renewal *r, const struct renewal_outcome *o, struct now now)
{
	bool read = r->step == RENEWAL_READ &&
		    (o->code == RENEWAL_OK || o->code == RENEWAL_PARTLY);
	int64_t pause_ms;

	assert(r->state == RENEWAL_UNDER_WAY);
	r->state = read ? RENEWAL_KNOWN : RENEWAL_IDLE;
	if (read) {
		assert(o->view->bundle_n <= RENEWAL_BUNDLE_MAX);
		r->view = *o->view;
		r->partly = o->code == RENEWAL_PARTLY;
	}

	if (o->code != RENEWAL_OK) {
		r->failures++;
		pause_ms = pace_backoff(&r->pace, r->failures,
					least(RETRY_MS, r->config.read_ms),
					least(RETRY_MAX_MS, r->config.read_ms));
		r->not_before_ms =
			now.boot_ms + most(pause_ms, o->retry_after_ms);
	} else if (read) {
		trust(r, now.boot_ms);
	} else {
		/* A partial view has counted as a failure, and a write after it
		 * does not reset the count. */
		if (!r->partly)
			r->failures = 0;
		r->wrote_ms[r->step] = now.boot_ms;
	}

	r->step = RENEWAL_WAIT;
	assert(renewal_check(r));
}
