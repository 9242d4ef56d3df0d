/* SPDX-License-Identifier: Apache-2.0 */
#include "cleanup_call.h"

#include <stdio.h>
#include <string.h>

#include "edge/kube/answer.h"
#include "wire/api/object.h"
#include "wire/api/patch.h"
#include "wire/api/resource.h"

#define READER_MS 100 /* how often to check whether stdout can be written */

static const char *const kubectl_names[KIND_COUNT] = {
	[KIND_NODE] = "node",
	[KIND_NODECLAIM] = "nodeclaim.karpenter.sh",
};

/* --- the list ------------------------------------------------------------- */

static void
list_begin(void *ctx)
{
	struct cleanup_call *c = ctx;

	cleanup_listing(c->cleanup);
}

/* Takes an item of the list.  An object that is too large or cannot be decoded
 * may still have a mark, so it counts as unread. */
static int
item(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct cleanup_call *c = ctx;
	const struct hold_key *hold = cleanup_hold(c->cleanup);
	struct object o;
	struct err bad;

	(void)e; /* no item makes the list fail */
	if (n > ITEM_BYTES_MAX) {
		(void)err_set(&bad, ERR_LIMIT, "one of %zu bytes, too large",
			      n);
		cleanup_unread(c->cleanup, bad.text);
	} else if (object_decode(bytes, n, c->listing, hold, &o, &bad)) {
		if (memmem(bytes, n, "\"" MARK_KEY "\"",
			   sizeof(MARK_KEY) + 1) != NULL)
			cleanup_unread(c->cleanup, bad.text);
	} else {
		cleanup_seen(c->cleanup, &o, clock_now(c->clock));
		if (o.mark == MARK_ABSENT && o.hold == HOLD_SAME &&
		    object_hold_is_unowned(bytes, n, hold))
			cleanup_unowned(c->cleanup, o.name);
	}
	return 0;
}

int
cleanup_call_list(struct cleanup_call *c, enum kind kind, struct err *e)
{
	const struct resource *r = &resources[kind];
	struct session_list list = {.path = r->path,
				    .accept = r->list_accept,
				    .begin = list_begin,
				    .item = item,
				    .ctx = c};
	struct cleanup_outcome o = {.code = CLEANUP_OK};
	int rc;

	c->listing = kind;
	rc = session_list(lease_session_calls(c->session), &list, e);
	if (rc != 0)
		o.code = rc < 0 ? CLEANUP_FAILED : CLEANUP_UNSERVED;
	if (rc > 0) /* the text of the error if the command ends here */
		(void)err_set(e, ERR_SYSTEM, "404");
	if (rc != 0)
		(void)err_wrap(e, "list %s", r->name);
	o.led = lease_session_holds(c->session);
	cleanup_done(c->cleanup, &o, clock_now(c->clock));
	return rc < 0 ? -1 : 0;
}

/* --- one write ------------------------------------------------------------ */

static void
body_of(const struct cleanup_write *w, struct buf *b)
{
	const struct entry *e = w->object;
	struct patch_clear c = {
		.uid = w->uid,
		.rv = w->rv,
		.mark_exact = w->mark_exact,
		.mark_ms = e->mark_ms,
		.hold = w->hold,
		.has_held_key = e->has_held_key,
	};

	if (w->act == CLEANUP_DECLASSIFY)
		patch_declassify(b, w->uid);
	else
		patch_clear(b, &c);
}

static int
start(struct cleanup_call *c, const struct cleanup_write *w, struct err *e)
{
	char path_bytes[PATH_BYTES], body_bytes[PATCH_BYTES];
	const char *type = w->act == CLEANUP_DECLASSIFY ? PATCH_MERGE_TYPE
							: PATCH_JSON_TYPE;
	struct buf path, body;
	struct kube_request q = {.method = "PATCH",
				 .path = path_bytes,
				 .accept = ACCEPT_METADATA,
				 .content_type = type};

	buf_init(&path, path_bytes, sizeof(path_bytes));
	buf_init(&body, body_bytes, sizeof(body_bytes));
	buf_printf(&path, "%s/%s?fieldManager=karpenter-node-holder",
		   resources[w->object->kind].path, w->name);
	body_of(w, &body);
	q.body = body.data;
	q.body_bytes = body.len;
	if (path.full || body.full)
		return err_set(e, ERR_LIMIT, "request for %s is too long",
			       w->name);
	return lease_session_start(c->session, &q, w->id, e);
}

static void
say_done(const struct cleanup_call *c, const struct cleanup_write *w)
{
	static const char *const words[] = {
		[CLEANUP_RELEASE] = "released",
		[CLEANUP_UNMARK] = "mark removed, the hold is a person's",
		[CLEANUP_DECLASSIFY] = "replacement annotation removed",
	};

	output_line(c->out, "%s/%s %s%s", kubectl_names[w->object->kind],
		    w->name, words[w->act], c->dry_run ? " (dry run)" : "");
}

static enum cleanup_code
write_code_of(const struct kube_reply *r, const struct err *no_answer)
{
	if (no_answer->code != ERR_NONE || r->status == 429 || r->status >= 500)
		return CLEANUP_UNANSWERED;
	switch (r->status) {
	case 200:
		return CLEANUP_OK;
	case 404:
		return CLEANUP_GONE;
	case 409:
	case 422:
		return CLEANUP_CHANGED;
	default:
		return CLEANUP_REFUSED;
	}
}

static void
answered(struct cleanup_call *c, uint32_t id, const struct kube_reply *r,
	 const struct err *no_answer)
{
	struct cleanup_write w = cleanup_writing(c->cleanup, id);
	struct cleanup_outcome o = {.code = write_code_of(r, no_answer),
				    .id = id};
	char text[ANSWER_TEXT];
	struct err why;

	if (o.code == CLEANUP_OK) {
		say_done(c, &w);
	} else {
		(void)err_set(&why, ERR_SYSTEM, "patch %s/%s: %s",
			      kubectl_names[w.object->kind], w.name,
			      no_answer->code != ERR_NONE
				      ? no_answer->text
				      : answer_text(r, text));
		o.why = why.text;
	}
	cleanup_done(c->cleanup, &o, clock_now(c->clock));
}

static int
next_answer(struct cleanup_call *c, struct err *e)
{
	struct kube_reply r;
	struct err no_answer;
	uint64_t id;

	if (session_finished(lease_session_calls(c->session), &id, &r,
			     &no_answer, e))
		return -1;
	c->under_way--;
	answered(c, (uint32_t)id, &r, &no_answer);
	return 0;
}

int
cleanup_call_write(struct cleanup_call *c, const struct cleanup_write *w,
		   struct err *e)
{
	static const struct kube_reply done = {.status = 200, .body = ""};
	struct err no_answer = {0};

	while (c->under_way > 0 &&
	       (lease_session_room(c->session) == 0 || output_is_full(c->out)))
		if (next_answer(c, e))
			return -1;
	while (output_is_full(c->out))
		if (session_sleep(lease_session_calls(c->session), READER_MS,
				  e))
			return -1;
	if (c->dry_run) {
		answered(c, w->id, &done, &no_answer);
		return 0;
	}
	if (start(c, w, &no_answer) == 0)
		c->under_way++;
	else
		answered(c, w->id, &(struct kube_reply){.body = ""},
			 &no_answer);
	return 0;
}

int
cleanup_call_wait(struct cleanup_call *c, int64_t wait_ms, struct err *e)
{
	return c->under_way > 0 ? next_answer(c, e)
				: session_sleep(lease_session_calls(c->session),
						wait_ms, e);
}
