/* SPDX-License-Identifier: Apache-2.0 */
#include "renewer.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/protocol/renewal.h"

#define CA_MS 2400000
#define LEAF_MS 600000
#define SERVER_LAG_MS 8000	/* an API server goes by a caBundle as old as
				   that; less than settle_ms */
#define REPLICA_LAG_MS 90000	/* a replica serves a pair that is as old as
				   that; less than LEAF_MS / RENEWAL_SPREAD */
#define CALM_MS 300000		/* a lead that is as old has renewed all */
#define STEPS_MAX 100000	/* of one call; more is a busy loop */

struct pair {
	unsigned ca;		/* who signed it; 0: there is none */
	struct renewal_cert cert;
	int64_t gone_at;	/* by then no replica serves it */
};

struct certs {
	struct dice dice;
	unsigned ids;
	uint64_t secret_rv, hooks_rv;
	/* the Secret */
	bool has_ca;
	struct renewal_cert ca;
	struct pair pairs[2];	/* and the one that was there before */
	/* caBundle, and when each CA came to be in it */
	unsigned bundle_n;
	struct renewal_cert bundle[RENEWAL_BUNDLE_MAX];
	int64_t since[RENEWAL_BUNDLE_MAX];
	bool odd;			/* a clock was wrong */
};

struct renewer {
	struct renewal core;
	unsigned lead;		/* of its replica; 0: none yet */
	int64_t at, wake_at;
	bool under_way;
	int64_t answer_at;
	uint64_t seed;
	struct renewal_todo todo;
	struct renewal_outcome outcome;
	struct renewal_view view;
	uint64_t secret_rv, hooks_rv;	/* as read */
};

struct certs *
certs_new(uint64_t seed)
{
	struct certs *c = calloc(1, sizeof(*c));

	if (c == NULL)
		abort();
	c->dice.state = (seed + 1) * 0x9e3779b97f4a7c15u | 1;
	return c;
}

void
certs_free(struct certs *c)
{
	free(c);
}

struct renewer *
renewer_new(uint64_t seed, int64_t now)
{
	struct renewer *r = calloc(1, sizeof(*r));

	if (r == NULL)
		abort();
	r->seed = seed;
	r->at = r->wake_at = now;
	return r;
}

void
renewer_free(struct renewer *r)
{
	free(r);
}

static struct now
now_of(const struct holder *h)
{
	return holder_now_at(h, h->renewer->at);
}

/* --- the API server ------------------------------------------------------- */

static unsigned
id_of(const struct renewal_cert *c)
{
	unsigned id;

	memcpy(&id, c->id, sizeof(id));
	return id;
}

static struct renewal_cert
minted(struct certs *c, int64_t server_ms, int64_t life_ms)
{
	struct renewal_cert v = {
		.not_before_ms = server_ms - RENEWAL_BACKDATE_MS,
		.not_after_ms = server_ms + life_ms};
	unsigned id = ++c->ids;

	memcpy(v.id, &id, sizeof(id));
	return v;
}

/* Returns its place in caBundle; bundle_n: it is not there. */
static unsigned
place_of(const struct certs *c, unsigned id)
{
	unsigned i = 0;

	while (i < c->bundle_n && id_of(&c->bundle[i]) != id)
		i++;
	return i;
}

static void
look(struct renewer *r, const struct certs *c)
{
	r->view = (struct renewal_view){
		.has_ca = c->has_ca,
		.ca = c->ca,
		.has_leaf = c->has_ca && c->pairs[0].ca == id_of(&c->ca),
		.leaf = c->pairs[0].cert,
		.has_webhooks = true,
		.bundle_n = c->bundle_n,
	};
	memcpy(r->view.bundle, c->bundle, sizeof(c->bundle));
	r->secret_rv = c->secret_rv;
	r->hooks_rv = c->hooks_rv;
}

/* May a replica serve the pair, and is it valid? */
static bool
is_served(const struct holder *h, const struct pair *p)
{
	struct now now = now_of(h);

	return p->ca != 0 && h->renewer->at < p->gone_at &&
	       now.server_ms < p->cert.not_after_ms;
}

static void
bundle_write(struct holder *h)
{
	struct certs *c = h->w->certs;
	struct certs was = *c;
	const struct renewer *r = h->renewer;

	c->bundle_n = 0;
	c->bundle[c->bundle_n++] = r->view.ca;
	for (unsigned i = 0; i < r->view.bundle_n; i++)
		if (r->todo.keep[i])
			c->bundle[c->bundle_n++] = r->view.bundle[i];
	for (unsigned i = 0; i < c->bundle_n; i++) {
		unsigned at = place_of(&was, id_of(&c->bundle[i]));

		c->since[i] = at < was.bundle_n ? was.since[at] : r->at;
	}
	c->hooks_rv++;
	for (const struct pair *p = was.pairs; p < was.pairs + 2; p++)
		if (is_served(h, p) && !c->odd &&
		    place_of(&was, p->ca) < was.bundle_n &&
		    place_of(c, p->ca) == c->bundle_n)
			broken(h->w, "I15: holder %d takes CA %u from caBundle, "
			       "and a certificate by it is served", h->number,
			       p->ca);
}

static void
leaf_write(struct holder *h)
{
	struct certs *c = h->w->certs;
	int64_t at = h->renewer->at;
	struct pair *p = c->pairs;
	unsigned i = place_of(c, id_of(&c->ca));

	if (!c->odd && (i == c->bundle_n || at < c->since[i] + SERVER_LAG_MS))
		broken(h->w, "I15: holder %d has CA %u sign, which not every "
		       "API server trusts", h->number, id_of(&c->ca));
	p[1] = p[0];
	p[1].gone_at = at + REPLICA_LAG_MS;
	p->ca = id_of(&c->ca);
	p->cert = minted(c, now_of(h).server_ms, h->renewer->todo.life_ms);
	p->gone_at = INT64_MAX;
	if (p->cert.not_after_ms > c->ca.not_after_ms)
		p->cert.not_after_ms = c->ca.not_after_ms;
	c->secret_rv++;
}

static enum renewal_code
serve(struct holder *h)
{
	struct renewer *r = h->renewer;
	struct certs *c = h->w->certs;

	if (r->todo.step == RENEWAL_READ) {
		look(r, c);
		if (roll(&c->dice, 20) > 0)
			return RENEWAL_OK;
		r->view.has_webhooks = false;
		r->view.bundle_n = 0;
		return RENEWAL_PARTLY;
	}
	if (r->todo.step == RENEWAL_BUNDLE ? r->hooks_rv != c->hooks_rv
					   : r->secret_rv != c->secret_rv)
		return RENEWAL_CONFLICT;
	if (r->todo.step == RENEWAL_BUNDLE) {
		bundle_write(h);
	} else if (r->todo.step == RENEWAL_LEAF) {
		leaf_write(h);
	} else {
		c->has_ca = true;
		c->ca = minted(c, now_of(h).server_ms, r->todo.life_ms);
		c->secret_rv++;
	}
	return RENEWAL_OK;
}

/* Sends a call, and draws what becomes of it. */
static void
send(struct holder *h)
{
	const struct world *w = h->w;
	struct renewer *r = h->renewer;
	struct dice *d = &w->certs->dice;
	bool met = roll(d, 100) < w->odds;

	r->under_way = true;
	r->answer_at = r->at + between(d, 1, 30);
	r->outcome = (struct renewal_outcome){RENEWAL_FAILED, &r->view, -1};
	if (r->at < w->busy_until)
		r->outcome.retry_after_ms = w->retry_after_ms;
	if (r->at < w->down_until || r->at < w->busy_until ||
	    (met && r->at < w->error_until))
		return;
	r->outcome.code = serve(h);
	if (met && (r->at < w->lossy_until || r->at < w->late_until)) {
		r->outcome.code = RENEWAL_FAILED;
		r->answer_at = r->at + CALL_MS;
	}
}

/* --- the replica ---------------------------------------------------------- */

static void
ask(struct holder *h)
{
	struct renewer *r = h->renewer;

	r->todo = renewal_next(&r->core, now_of(h));
	r->wake_at = INT64_MAX;
	if (r->todo.step != RENEWAL_WAIT)
		send(h);
	else if (r->todo.wait_ms <= 0)
		broken(h->w, "I15: the renewer of holder %d waits %lld ms",
		       h->number, (long long)r->todo.wait_ms);
	else if (r->todo.wait_ms < INT64_MAX)
		r->wake_at = r->at + r->todo.wait_ms;
}

static void
turn(struct holder *h)
{
	struct renewer *r = h->renewer;

	if (!r->under_way) {
		ask(h);
		return;
	}
	r->under_way = false;
	r->wake_at = r->at;
	renewal_done(&r->core, &r->outcome, now_of(h));
}

static int64_t
due_at(const struct renewer *r)
{
	return r->under_way ? r->answer_at : r->wake_at;
}

/* Begins with a lead, and ends with it.  Returns whether it leads. */
static bool
follow(struct holder *h)
{
	struct renewal_config c = renewal_config(CA_MS, LEAF_MS);
	struct renewer *r = h->renewer;

	if (!h->leads || r->lead == h->leads_n)
		return h->leads;
	r->lead = h->leads_n;
	renewal_init(&r->core, &c, r->seed + r->lead);
	r->under_way = false;
	r->wake_at = h->w->now;
	return true;
}

void
renewer_step(struct holder *h)
{
	struct renewer *r = h->renewer;
	const struct world *w = h->w;
	int steps = 0;

	if (r == NULL)
		return;
	w->certs->odd |= h->skew_until > 0 || w->turns_until > 0;
	if (r->at < h->paused_until)	/* nothing was done meanwhile */
		r->at = h->paused_until;
	while (follow(h) && due_at(r) <= w->now && steps++ < STEPS_MAX) {
		if (r->at < due_at(r))
			r->at = due_at(r);
		turn(h);
	}
	if (steps > STEPS_MAX)
		broken(h->w, "I15: the renewer of holder %d goes in circles",
		       h->number);
	r->at = w->now;
}

void
renewer_last(struct holder *h)
{
	const struct certs *c = h->w->certs;
	int64_t server_ms = holder_now(h).server_ms;
	const struct pair *p;

	if (h->renewer == NULL || !h->leads ||
	    h->w->now < h->led_since + CALM_MS)
		return;
	p = &c->pairs[0];
	if (p->ca == 0 || server_ms < p->cert.not_before_ms ||
	    server_ms >= p->cert.not_after_ms ||
	    place_of(c, p->ca) == c->bundle_n)
		broken(h->w, "I15: what is served is not trusted: CA %u signed "
		       "it, CA %u is in the Secret", p->ca, id_of(&c->ca));
}
