/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "core/base/str.h"
#include "edge/kube/answer.h"
#include "edge/log.h"
#include "phrase.h"
#include "wire/api/nodepool.h"
#include "wire/api/object.h"
#include "wire/api/patch.h"
#include "wire/api/resource.h"
#include "wire/api/ticket.h"

/*
 * job_start makes the request of an action: its path, and its patch if it
 * writes.  job_answered turns the reply into the outcome.  The items of a fresh
 * list, or the object that was read, are passed to the controller before the
 * outcome is reported (state_fresh, state_found).  This file logs what went
 * wrong, except for refused writes, which the controller reports once for each
 * object.
 */
static bool
is_list(const struct job *j)
{
	return act_lists(j->action.act);
}

/* Call this if the answer was too large or could not be decoded.  If j reads a
 * whole NodeClaim, this makes j ask for the metadata only, and returns true;
 * call job_start again.  Otherwise it returns false. */
static bool
wants_metadata(struct job *j)
{
	if ((j->action.act != ACT_READ && j->action.act != ACT_READ_CLAIM) ||
	    j->action.kind != KIND_NODECLAIM || j->metadata)
		return false;
	j->metadata = true;
	return true;
}

/* Returns the outcome of a read if not even the metadata can be read.  The
 * claim of a Node then counts as gone, so that it does not keep the Node
 * held. */
static enum controller_code
unread_code(const struct job *j)
{
	return j->action.act == ACT_READ_CLAIM ? CONTROLLER_GONE
					       : CONTROLLER_FAILED;
}

/* --- the items of a fresh list -------------------------------------------- */

static int
fresh_decode(const struct job *j, const char *bytes, size_t n, struct err *e)
{
	struct object o;
	struct nodepool p;
	struct ticket t;

	if (n > ITEM_BYTES_MAX)
		return err_set(e, ERR_LIMIT, "%zu bytes, more than %u", n,
			       ITEM_BYTES_MAX);
	if (j->action.act == ACT_LIST_CLAIMS) {
		if (object_decode(bytes, n, KIND_NODECLAIM, &j->action.hold, &o,
				  e))
			return -1;
		state_fresh(j->env->shared, &o);
	} else if (j->action.act == ACT_LIST_TICKETS) {
		if (ticket_decode(bytes, n, &t, e) &&
		    ticket_unread_decode(bytes, n, NULL, &t, e))
			return -1;
		state_fresh_ticket(j->env->shared, &t);
	} else {
		if (nodepool_decode(bytes, n, &p, e))
			return -1;
		state_fresh_nodepool(j->env->shared, &p);
	}
	return 0;
}

/* Takes an item of the fresh list.  As in a watch, an item that is too large or
 * cannot be decoded is left out, and the list ends if there is no memory for an
 * item. */
static int
fresh_item(void *ctx, const char *bytes, size_t n, struct err *e)
{
	const struct job *j = ctx;
	struct err why;

	if (fresh_decode(j, bytes, n, &why) == 0)
		return 0;
	if (why.code == ERR_SYSTEM) {
		*e = why;
		return -1;
	}
	if (log_ratelimit("object left out", 10))
		LOG(LOG_WARN, "object left out",
		    LS("resource", resources[j->action.kind].name),
		    LS("err", why.text));
	return 0;
}

/* --- the call ------------------------------------------------------------- */

static void
patch_of(const struct action *a, struct buf *b, struct kube_request *q)
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
		patch_hold(b, &a->hold, a->rv, a->mark_ms);
	} else {
		q->content_type = PATCH_JSON_TYPE;
		patch_clear(b, &c);
	}
	q->body = b->data;
	q->body_bytes = b->len;
}

static void
path_of(const struct rules *rules, const struct job *j, struct buf *path,
	struct kube_request *q)
{
	const struct resource *r = &resources[j->action.kind];

	switch (j->action.act) {
	case ACT_LIST_CLAIMS:
	case ACT_LIST_NODEPOOLS:
	case ACT_LIST_TICKETS:
		resource_list_path(path, j->action.kind, rules->tickets,
				   j->pager.limit, j->pager.cont);
		if (j->action.act != ACT_LIST_TICKETS)
			q->accept = ACCEPT_METADATA_LIST;
		break;
	case ACT_READ:
	case ACT_READ_CLAIM:
		buf_printf(path, "%s/%s", r->path, j->action.name);
		q->accept = j->metadata ? ACCEPT_METADATA : r->item_accept;
		break;
	default:
		buf_printf(path, "%s/%s?fieldManager=karpenter-node-holder",
			   r->path, j->action.name);
		/* Only the resourceVersion is needed. */
		q->accept = ACCEPT_METADATA;
	}
}

void
job_init(struct job *j, const struct action *a)
{
	j->used = true;
	j->metadata = false;
	j->action = *a;
	pager_init(&j->pager, a->page, clock_boot_ms(), LIST_WHOLE_MS);
}

static void
page_opened(void *ctx)
{
	struct job *j = ctx;
	struct err e; /* not used: if this fails, pager_feed fails, too */

	(void)pager_begin(&j->pager, fresh_item, j, &e);
}

static int
page_feed(void *ctx, const char *bytes, size_t n, struct err *e)
{
	return pager_feed(&((struct job *)ctx)->pager, bytes, n, e);
}

int
job_start(const struct job_env *v, struct job *j, uint64_t tag,
	  struct kube_lanes *lanes, struct err *e)
{
	char path_bytes[PATH_BYTES], body_bytes[PATCH_BYTES];
	struct buf path, body;
	struct kube_request q = {.method = "GET",
				 .path = path_bytes,
				 .timeout_ms = v->timing->call_ms,
				 /* A write must end before another replica
				  * can lead. */
				 .fence_ms = j->action.fence_ms};

	buf_init(&path, path_bytes, sizeof(path_bytes));
	buf_init(&body, body_bytes, sizeof(body_bytes));
	path_of(v->rules, j, &path, &q);
	j->env = v;
	if (is_list(j)) {
		q.sink = page_feed;
		q.opened = page_opened;
		q.ctx = j;
	}
	/* In mode observe the sweeper only logs writes (job_tell), so no write
	 * should come here.  This check is the last line of defence. */
	if (act_writes(j->action.act) && v->rules->mode == MODE_OBSERVE)
		return err_set(e, ERR_INPUT, "mode observe writes nothing");
	if (q.fence_ms <= clock_boot_ms())
		return err_set(e, ERR_TIMEOUT, "the lead is over");
	if (act_writes(j->action.act)) {
		q.answer_max = WRITE_ANSWER_MAX;
		patch_of(&j->action, &body, &q);
	}
	if (path.full || body.full)
		return err_set(e, ERR_LIMIT, "request for %s is too long",
			       j->action.name);
	return kube_lanes_start(lanes, &q, tag, e);
}

/* --- the reply ------------------------------------------------------------ */

static enum controller_code
action_code_of(const struct kube_reply *r)
{
	switch (answer_class(r)) {
	case ANSWER_OK:
		return CONTROLLER_OK;
	case ANSWER_GONE:
	case ANSWER_UNSERVED:
		return CONTROLLER_GONE;
	case ANSWER_EXISTS:
	case ANSWER_CONFLICT:
		return CONTROLLER_CONFLICT;
	case ANSWER_INVALID:
		return CONTROLLER_INVALID;
	case ANSWER_BUSY:
		return CONTROLLER_BUSY;
	case ANSWER_EXPIRED:
	case ANSWER_BLOCKED:
	case ANSWER_REFUSED:
		return CONTROLLER_REFUSED;
	case ANSWER_FAILED:
		break;
	}
	return CONTROLLER_FAILED;
}

static void
log_failure(const struct job *j, const struct kube_reply *r,
	    const struct err *e)
{
	char text[ANSWER_TEXT];

	if (log_ratelimit("request failed", 10))
		LOG(LOG_WARN, "request failed",
		    LS("kind", object_kind_name(j->action.kind)),
		    LS("name", j->action.name), LS("reason", j->action.reason),
		    LI("code", r->status),
		    LS("err",
		       e->code != ERR_NONE ? e->text : answer_text(r, text)));
}

static bool
is_refusal(enum controller_code code)
{
	return code == CONTROLLER_REFUSED || code == CONTROLLER_INVALID;
}

#define TAKEN_AWAY                                                             \
	"another admission policy or webhook takes the hold out of the patch"

static void
refusal_text(struct job *j, const struct kube_reply *r)
{
	char text[ANSWER_TEXT];
	const char *said = answer_text(r, text);
	/* The patch has the hold, so that of deploy/base/policy.yaml refuses
	 * what somebody else has made of the patch. */
	bool changed = j->action.act == ACT_HOLD &&
		       strstr(said, "set its mark together with a hold");
	int n = snprintf(j->why, sizeof(j->why),
			 "%s%d: ", changed ? TAKEN_AWAY ": " : "", r->status);

	str_shorten(j->why + n, sizeof(j->why) - (size_t)n, said);
}

/* Returns whether the patch was applied but its answer was too large to be
 * kept. */
static bool
was_written(const struct job *j, const struct kube_reply *r,
	    const struct err *e)
{
	return act_writes(j->action.act) && e->code == ERR_LIMIT &&
	       r->status == 200;
}

static void
log_written(const struct rules *r, const struct action *a)
{
	const char *const phrases[] = {
		[ACT_HOLD] = PHRASE(r, "held"),
		[ACT_CLEAR] = PHRASE(r, "released"),
		[ACT_UNMARK] = PHRASE(r, "mark removed"),
		[ACT_CLASSIFY] = PHRASE(r, "replacement known"),
	};

	LOG(LOG_INFO, phrases[a->act], LS("kind", object_kind_name(a->kind)),
	    LS("name", a->name), LS("pool", a->nodepool),
	    LS("reason", a->act == ACT_CLASSIFY ? a->replaces : a->reason));
}

void
job_tell(const struct job_env *v, const struct action *a,
	 struct controller_outcome *out)
{
	log_written(v->rules, a);
	*out = (struct controller_outcome){
		.code = CONTROLLER_OK, .action = a, .retry_after_ms = -1};
}

static void
patched(const struct job_env *v, struct job *j, const struct kube_reply *r,
	struct controller_outcome *out)
{
	struct object o;
	struct err e;
	int rc = object_decode(r->body, r->body_bytes, j->action.kind,
			       &j->action.hold, &o, &e);

	if (rc == 0 && j->action.act == ACT_HOLD && o.hold != HOLD_SAME) {
		out->code = CONTROLLER_REFUSED;
		out->why = j->why;
		(void)snprintf(j->why, sizeof(j->why),
			       "%d: the API server accepted the patch, but the "
			       "hold is not there: " TAKEN_AWAY,
			       r->status);
		return;
	}
	log_written(v->rules, &j->action);
	/* If the resourceVersion cannot be read, the controller waits for the
	 * watch, as after a lost reply. */
	if (rc == 0)
		memcpy(out->rv, o.rv, sizeof(out->rv));
}

/* Takes the reply to a GET.  Returns false if the object cannot be decoded and
 * the job has to ask again, for the metadata only. */
static bool
was_read(const struct job_env *v, struct job *j, const struct kube_reply *r,
	 struct controller_outcome *out)
{
	struct object o;
	struct err e;

	if (object_decode(r->body, r->body_bytes, j->action.kind,
			  &j->action.hold, &o, &e)) {
		log_failure(j, r, &e);
		out->code = unread_code(j);
		return !wants_metadata(j);
	}
	/* Another NodeClaim has this name by now, so the NodeClaim of the
	 * action is gone. */
	if (j->action.act == ACT_READ_CLAIM &&
	    strcmp(o.uid, j->action.uid) != 0) {
		out->code = CONTROLLER_GONE;
		return true;
	}
	o.unread = j->metadata;
	state_found(v->shared, &j->action, &o);
	return true;
}

/* Takes one page of the fresh list.  Returns true if it was the last page or if
 * the list has failed. */
static bool
fresh_page(struct job *j, const struct kube_reply *r,
	   struct controller_outcome *out)
{
	struct pager *p = &j->pager;
	struct err e = {0};

	if (pager_end(p, &e) || pager_turn(p, clock_boot_ms(), &e)) {
		out->code = CONTROLLER_FAILED;
		log_failure(j, r, &e);
		return true;
	}
	return p->cont[0] == '\0';
}

bool
job_answered(const struct job_env *v, struct job *j, const struct kube_reply *r,
	     const struct err *e, struct controller_outcome *out)
{
	bool over;

	if (e->code == ERR_LIMIT && wants_metadata(j))
		return false;
	*out = (struct controller_outcome){.code = CONTROLLER_FAILED,
					   .action = &j->action,
					   .retry_after_ms = r->retry_after_ms};
	if (e->code == ERR_NONE || was_written(j, r, e))
		out->code = action_code_of(r);
	if (e->code == ERR_LIMIT && r->status == 200 && j->metadata)
		out->code = unread_code(j);
	if (is_refusal(out->code) && act_writes(j->action.act)) {
		out->why = j->why; /* the controller reports it once */
		refusal_text(j, r);
	} else if (out->code != CONTROLLER_OK && out->code != CONTROLLER_GONE &&
		   out->code != CONTROLLER_CONFLICT) {
		log_failure(j, r, e);
	}
	if (out->code != CONTROLLER_OK) {
		pager_drop(&j->pager);
		return true;
	}
	switch (j->action.act) {
	case ACT_LIST_CLAIMS:
	case ACT_LIST_NODEPOOLS:
	case ACT_LIST_TICKETS:
		over = fresh_page(j, r, out);
		if (over)
			pager_drop(&j->pager);
		return over;
	case ACT_READ:
	case ACT_READ_CLAIM:
		return was_read(v, j, r, out);
	default:
		patched(v, j, r, out);
		return true;
	}
}
