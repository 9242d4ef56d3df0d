/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "edge/kube/answer.h"
#include "edge/log.h"
#include "wire/api/list.h"
#include "wire/api/nodepool.h"
#include "wire/api/object.h"
#include "wire/api/patch.h"
#include "wire/api/resource.h"

#define FRESH_PAGE 250	/* metadata only: about a megabyte */

static bool
is_list(const struct job *j)
{
	return j->action.act == ACT_LIST_CLAIMS ||
	       j->action.act == ACT_LIST_POOLS;
}

/* --- the call ----------------------------------------------------------------- */

static void
patch_of(const struct job_env *v, const struct action *a, struct buf *b,
	 struct kube_request *q)
{
	struct patch_clear c = {
		.uid = a->uid,
		.rv = a->rv,
		.mark_exact = a->mark_exact,
		.mark_ms = a->mark_ms,
		.hold = a->act == ACT_CLEAR ? &a->hold : NULL,
		.has_held_key = a->has_held_key,
	};

	q->method = "PATCH";
	if (a->act == ACT_CLASSIFY) {
		q->content_type = PATCH_MERGE_TYPE;
		patch_classify(b, a->replaces, a->uid, a->rv);
	} else if (a->act == ACT_HOLD) {
		q->content_type = PATCH_MERGE_TYPE;
		patch_hold(b, &v->rules->hold, a->rv, a->mark_ms);
	} else {
		q->content_type = PATCH_JSON_TYPE;
		patch_clear(b, &c);
	}
	q->body = b->data;
	q->body_bytes = b->len;
}

static void
path_of(const struct job *j, struct buf *path, struct kube_request *q)
{
	const struct resource *r = &resources[j->action.kind];

	switch (j->action.act) {
	case ACT_LIST_CLAIMS:
	case ACT_LIST_POOLS:
		list_path(path, j->action.kind, j->limit, j->cont);
		q->accept = ACCEPT_METADATA_LIST;
		break;
	case ACT_READ:
	case ACT_READ_CLAIM:
		buf_printf(path, "%s/%s", r->path, j->action.name);
		q->accept = r->item_accept;
		break;
	default:
		buf_printf(path, "%s/%s?fieldManager=karpenter-node-holder",
			   r->path, j->action.name);
		q->accept = ACCEPT_METADATA;	/* we need only its version */
	}
}

void
job_init(struct job *j)
{
	j->used = true;
	j->cont[0] = '\0';
	j->pages = 0;
	j->limit = FRESH_PAGE;
}

int
job_start(const struct job_env *v, const struct job *j, uint64_t tag,
	  struct kube_lanes *pool, struct err *e)
{
	char path_bytes[PATH_BYTES], body_bytes[PATCH_BYTES];
	struct buf path, body;
	struct kube_request q = {.method = "GET",
				 .path = path_bytes,
				 .timeout_ms = v->timing->call_ms,
				 /* nothing of ours when another may lead */
				 .fence_ms = j->action.fence_ms};

	buf_init(&path, path_bytes, sizeof(path_bytes));
	buf_init(&body, body_bytes, sizeof(body_bytes));
	path_of(j, &path, &q);
	if (q.fence_ms <= clock_boot_ms())
		return err_set(e, ERR_TIMEOUT, "the lead is over");
	if (act_writes(j->action.act))
		patch_of(v, &j->action, &body, &q);
	if (path.full || body.full)
		return err_set(e, ERR_LIMIT, "request for %s is too long",
			       j->action.name);
	return kube_lanes_start(pool, &q, tag, e);
}

/* --- the answer ----------------------------------------------------------------- */

/* An admission webhook of somebody's that fails closed: the API server says it
 * as a fault of its own (k8s.io/apiserver pkg/admission/plugin/webhook/errors). */
static bool
webhook_failed(const struct kube_reply *r)
{
	struct status st;

	return r->status == 500 &&
	       status_decode(r->body, r->body_bytes, &st) &&
	       strstr(st.message, "failed calling webhook") != NULL;
}

static enum outcome_code
code_of(const struct kube_reply *r)
{
	struct status st;

	switch (r->status) {
	case 200:
	case 201:
		return OUTCOME_OK;
	case 404:	/* not a proxy's */
		return answer_unserved(r) || status_decode(r->body,
							   r->body_bytes, &st)
			       ? OUTCOME_GONE
			       : OUTCOME_FAILED;
	case 409:
		return OUTCOME_CONFLICT;
	case 422:
		return OUTCOME_INVALID;
	case 429:
	case 503:
		return OUTCOME_BUSY;
	case 401:	/* another token may come: no word on this object */
	case 408:
		return OUTCOME_FAILED;
	default:
		return (r->status >= 400 && r->status < 500) ||
				       webhook_failed(r)
			       ? OUTCOME_REFUSED
			       : OUTCOME_FAILED;
	}
}

static void
log_failure(const struct job *j, const struct kube_reply *r,
	    const struct err *e)
{
	char text[ANSWER_TEXT];

	if (log_ratelimit("request failed", 10))
		LOG(LOG_WARN, "request failed",
		    LS("kind", kind_name(j->action.kind)),
		    LS("name", j->action.name), LS("reason", j->action.reason),
		    LI("code", r->status),
		    LS("err",
		       e->code != ERR_NONE ? e->text : answer_text(r, text)));
}

static bool
is_refusal(enum outcome_code code)
{
	return code == OUTCOME_REFUSED || code == OUTCOME_INVALID;
}

static void
refusal_text(struct job *j, const struct kube_reply *r)
{
	char text[ANSWER_TEXT];
	struct buf b;

	buf_init(&b, j->why, sizeof(j->why));
	buf_printf(&b, "%d: ", r->status);
	buf_puts(&b, answer_text(r, text));
}

static void
log_written(const struct action *a)
{
	static const char *const phrases[] = {
		[ACT_HOLD] = "held",
		[ACT_CLEAR] = "released",
		[ACT_UNMARK] = "mark removed",
		[ACT_CLASSIFY] = "replacement known",
	};

	LOG(LOG_INFO, phrases[a->act], LS("kind", kind_name(a->kind)),
	    LS("name", a->name), LS("pool", a->pool),
	    LS("reason", a->act == ACT_CLASSIFY ? a->replaces : a->reason));
}

static void
patched(const struct job_env *v, const struct job *j,
	const struct kube_reply *r, struct outcome *out)
{
	struct object o;
	struct err e;

	log_written(&j->action);
	/* Without its version we wait for the watch, as after a lost reply. */
	if (object_decode(r->body, r->body_bytes, j->action.kind,
			  &v->rules->hold, &o, &e) == 0)
		memcpy(out->rv, o.rv, sizeof(out->rv));
}

static void
was_read(const struct job_env *v, const struct job *j,
	 const struct kube_reply *r, struct outcome *out)
{
	struct object o;
	struct err e;

	if (object_decode(r->body, r->body_bytes, j->action.kind,
			  &v->rules->hold, &o, &e)) {
		log_failure(j, r, &e);
		out->code = OUTCOME_FAILED;
		return;
	}
	/* A claim of the same name is not the claim that was meant. */
	if (j->action.act == ACT_READ_CLAIM &&
	    strcmp(o.uid, j->action.uid) != 0) {
		out->code = OUTCOME_GONE;
		return;
	}
	state_found(v->shared, &j->action, &o);
}

/* One that cannot be read the watch leaves out as well. */
static int
fresh_claim(void *ctx, const char *bytes, size_t n, struct err *e)
{
	const struct job_env *v = ctx;
	struct object o;

	(void)e;	/* stays clean: the list goes on */
	if (object_decode(bytes, n, KIND_NODECLAIM, &v->rules->hold, &o,
			  NULL) == 0)
		state_fresh(v->shared, &o);
	return 0;
}

static int
fresh_pool(void *ctx, const char *bytes, size_t n, struct err *e)
{
	const struct job_env *v = ctx;
	struct nodepool p;

	(void)e;
	if (nodepool_decode(bytes, n, &p, NULL) == 0)
		state_fresh_pool(v->shared, &p);
	return 0;
}

/* One page of the fresh list.  true: it was the last, or it failed. */
static bool
fresh_page(const struct job_env *v, struct job *j, const struct kube_reply *r,
	   struct outcome *out)
{
	struct job_env env = *v;
	struct split *s = split_new(SPLIT_LIST,
				    j->action.act == ACT_LIST_POOLS
					    ? fresh_pool
					    : fresh_claim,
				    &env);
	char rv[RV_BYTES];
	const char *envelope;
	struct err e = {0};
	size_t n;

	if (s == NULL || split_feed(s, r->body, r->body_bytes, &e) ||
	    split_end(s, &e)) {
		out->code = OUTCOME_FAILED;
	} else {
		envelope = split_envelope(s, &n);
		if (list_meta_decode(envelope, n, rv, j->cont, &e) ||
		    list_goes_on(&j->pages, j->cont, &e))
			out->code = OUTCOME_FAILED;
	}
	split_free(s);
	if (out->code != OUTCOME_OK)
		log_failure(j, r, &e);
	return out->code != OUTCOME_OK || j->cont[0] == '\0';
}

bool
job_answered(const struct job_env *v, struct job *j,
	     const struct kube_reply *r, const struct err *e,
	     struct outcome *out)
{
	struct err large = *e;

	if (is_list(j) && list_smaller(&j->limit, &large))
		return false;
	*out = (struct outcome){.code = OUTCOME_FAILED,
				.retry_after_ms = r->retry_after_ms};
	if (e->code == ERR_NONE)
		out->code = code_of(r);
	if (is_refusal(out->code) && act_writes(j->action.act)) {
		out->why = j->why; /* the controller tells it, once */
		refusal_text(j, r);
	} else if (out->code != OUTCOME_OK && out->code != OUTCOME_GONE &&
		   out->code != OUTCOME_CONFLICT) {
		log_failure(j, r, e);
	}
	if (out->code != OUTCOME_OK)
		return true;
	switch (j->action.act) {
	case ACT_LIST_CLAIMS:
	case ACT_LIST_POOLS:
		return fresh_page(v, j, r, out);
	case ACT_READ:
	case ACT_READ_CLAIM:
		was_read(v, j, r, out);
		return true;
	default:
		patched(v, j, r, out);
		return true;
	}
}
