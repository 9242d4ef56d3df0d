/* SPDX-License-Identifier: Apache-2.0 */
#include "glue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/controller/controller.h"
#include "wire/admission/admission.h"
#include "wire/api/disruption_event.h"
#include "wire/api/nodepool.h"
#include "wire/api/object.h"
#include "wire/api/patch.h"
#include "wire/config/config.h"

#define TABLE_MACHINES 4096
#define CALLS_MAX 64

static_assert((int)HOLDER_EVENT == (int)KIND_EVENT, "the order of enum kind");
static_assert((int)HOLDER_GONE == (int)CONTROLLER_GONE,
	      "the order of enum controller_code");
static_assert(HOLDER_REPLY_BYTES >= ADMISSION_REPLY_BYTES, "any reply fits");

struct call {
	bool used;
	struct action action;
	char body[PATCH_BYTES];
};

struct holder {
	struct config config;
	struct counters counters;
	struct controller *controller;
	struct call calls[CALLS_MAX];
};

static struct now
now_of(struct holder_now n)
{
	return (struct now){n.server_ms, n.boot_ms};
}

static int
said(const struct err *e, char *why)
{
	str_cut(why, HOLDER_WHY_BYTES, e->text);
	return -1;
}

struct holder *
holder_new(const char *config, size_t n, uint64_t seed, struct holder_now now,
	   unsigned *lanes, char *why)
{
	struct holder *h = calloc(1, sizeof(*h));
	struct err e;

	if (h == NULL)
		return NULL;
	config_defaults(&h->config);
	if (config_file(&h->config, "holder", config, n, NULL, &e) ||
	    config_validate(&h->config, NULL, &e)) {
		said(&e, why);
		holder_free(h);
		return NULL;
	}
	h->controller = controller_new(&h->config.rules, TABLE_MACHINES, seed,
				       &h->counters);
	if (h->controller == NULL) {
		str_cut(why, HOLDER_WHY_BYTES, "no memory for the table");
		holder_free(h);
		return NULL;
	}
	*lanes = h->config.patch_concurrency < CALLS_MAX
			 ? h->config.patch_concurrency
			 : CALLS_MAX;
	for (int k = 0; k < VIEW_COUNT; k++) {
		controller_listing(h->controller, (enum kind)k);
		controller_listed(h->controller, (enum kind)k, true,
				  now_of(now));
		controller_watch(h->controller, (enum kind)k, true);
	}
	controller_restore(h->controller, "none", STAMP_NONE, now_of(now));
	return h;
}

void
holder_free(struct holder *h)
{
	if (h != NULL)
		controller_free(h->controller);
	free(h);
}

/* The NodePools of the lab are neither disabled nor left alone, so
 * review.disabled stays false. */
int
holder_review(const struct holder *h, const char *body, size_t n,
	      int64_t server_ms, char reply[HOLDER_REPLY_BYTES], char *why)
{
	const struct rules *rules = &h->config.rules;
	struct admission_request q;
	struct verdict v;
	struct buf b;
	struct err e;

	buf_init(&b, reply, HOLDER_REPLY_BYTES);
	if (admission_decode(body, n, &rules->hold, &q, &e))
		return said(&e, why);
	v = admit_decide(rules, &q.review);
	if (admission_encode(&b, &q, &v, &rules->hold, server_ms, &e))
		return said(&e, why);
	return (int)b.len;
}

/* --- what the watches show ------------------------------------------------ */

static int
object_line(struct holder *h, enum kind kind, const char *line, size_t n,
	    struct now now, struct err *e)
{
	enum watch_type type;
	struct object o;
	int status;

	if (object_watch_decode(line, n, kind, &h->config.rules.hold, &type,
				&o, &status, e))
		return -1;
	if (type == WATCH_DELETED)
		controller_forget(h->controller, &o, now);
	else
		controller_track(h->controller, &o, now);
	return 0;
}

static int
nodepool_line(struct holder *h, const char *line, size_t n, struct now now,
	      struct err *e)
{
	enum watch_type type;
	struct nodepool p;
	int status;

	if (nodepool_watch_decode(line, n, &type, &p, &status, e))
		return -1;
	if (type == WATCH_DELETED)
		controller_nodepool_gone(h->controller, p.name, now);
	else
		controller_nodepool(h->controller, &p, now);
	return 0;
}

static int
event_line(struct holder *h, const char *line, size_t n, struct now now,
	   struct err *e)
{
	struct disruption_event d;
	enum watch_type type;
	int status;

	if (disruption_event_watch_decode(line, n, &type, &d, &status, e))
		return -1;
	if (type != WATCH_DELETED && d.replacement)
		controller_disruption_event(h->controller, d.claim_uid,
					    d.reason, now);
	return 0;
}

int
holder_line(struct holder *h, enum holder_kind kind, const char *line,
	    size_t n, struct holder_now now, char *why)
{
	struct err e;
	int rc;

	if (kind == HOLDER_NODEPOOL)
		rc = nodepool_line(h, line, n, now_of(now), &e);
	else if (kind == HOLDER_EVENT)
		rc = event_line(h, line, n, now_of(now), &e);
	else
		rc = object_line(h, (enum kind)kind, line, n, now_of(now), &e);
	return rc == 0 ? 0 : said(&e, why);
}

/* --- what is to be done --------------------------------------------------- */

static unsigned
call_new(struct holder *h)
{
	unsigned i = 0;

	while (h->calls[i].used)
		i++;
	assert(i < CALLS_MAX);
	h->calls[i].used = true;
	return i;
}

static void
patch_make(const struct holder *h, struct call *c, struct holder_step *s)
{
	const struct action *a = &c->action;
	struct patch_clear clear = {
		.uid = a->uid,
		.rv = a->rv,
		.mark_exact = a->mark_exact,
		.mark_ms = a->mark_ms,
		.hold = a->act == ACT_CLEAR ? &a->hold : NULL,
		.has_held_key = a->has_held_key,
	};
	struct buf b;

	buf_init(&b, c->body, sizeof(c->body));
	s->what = HOLDER_MERGE_PATCH;
	if (a->act == ACT_CLASSIFY) {
		patch_classify(&b, a->replaces, a->uid, a->rv);
	} else if (a->act == ACT_HOLD) {
		patch_hold(&b, &h->config.rules.hold, a->rv, a->mark_ms);
	} else {
		s->what = HOLDER_JSON_PATCH;
		patch_clear(&b, &clear);
	}
	s->body = c->body;
	s->body_bytes = b.len;
}

struct holder_step
holder_next(struct holder *h, struct holder_now now)
{
	struct controller_todo t =
		controller_next(h->controller, now_of(now));
	struct holder_step s = {.what = HOLDER_WAIT, .wait_ms = t.wait_ms};
	struct call *c;

	if (t.step == CONTROLLER_WAIT)
		return s;
	s.call = call_new(h);
	c = &h->calls[s.call];
	c->action = t.action;
	s.kind = (enum holder_kind)c->action.kind;
	s.name = c->action.name;
	if (act_writes(c->action.act))
		patch_make(h, c, &s);
	else
		s.what = act_lists(c->action.act) ? HOLDER_LIST : HOLDER_GET;
	return s;
}

int
holder_read(struct holder *h, unsigned call, const char *object, size_t n,
	    struct holder_now now, char *why)
{
	const struct action *a = &h->calls[call].action;
	struct nodepool p;
	struct object o;
	struct err e;

	if (a->act == ACT_LIST_NODEPOOLS) {
		if (nodepool_decode(object, n, &p, &e))
			return said(&e, why);
		controller_fresh_nodepool(h->controller, &p);
		return 0;
	}
	if (object_decode(object, n, a->kind, &h->config.rules.hold, &o, &e))
		return said(&e, why);
	if (a->act == ACT_LIST_CLAIMS)
		controller_fresh(h->controller, &o, now_of(now));
	else
		controller_found(h->controller, a, &o, now_of(now));
	return 0;
}

void
holder_done(struct holder *h, unsigned call, enum holder_code code,
	    const char *rv, struct holder_now now)
{
	struct call *c = &h->calls[call];
	struct controller_outcome out = {.code = (enum controller_code)code,
					 .action = &c->action,
					 .retry_after_ms = -1};

	str_cut(out.rv, sizeof(out.rv), rv);
	controller_done(h->controller, &out, now_of(now));
	c->used = false;
}
