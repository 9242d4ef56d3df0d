/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "edge/kube/answer.h"
#include "look.h"

static int
answer_code(const struct kube_reply *r, struct err *e)
{
	char text[ANSWER_TEXT];

	if (r->status == 200 || r->status == 201)
		return 0;
	(void)err_set(e, ERR_SYSTEM, "%d: %s", r->status, answer_text(r, text));
	return r->status == 404 ? 1 : -1;
}

int
ask_get(struct doctor *d, const char *path, struct kube_reply *r, struct err *e)
{
	struct kube_request q = {.method = "GET", .path = path};

	*r = (struct kube_reply){.body = ""};
	return session_ask(d->session, &q, r, e) ? -1 : answer_code(r, e);
}

static int
ask_once(struct doctor *d, struct kube_request *q, struct kube_reply *r,
	 struct err *e)
{
	struct err no_answer = {0};
	uint64_t tag;

	*r = (struct kube_reply){.body = ""};
	if (session_sleep(d->session, 0, e) ||
	    session_start(d->session, q, 0, e) ||
	    session_finished(d->session, &tag, r, &no_answer, e))
		return -1;
	if (no_answer.code == ERR_NONE)
		return answer_code(r, e);
	*e = no_answer;
	return -1;
}

int
ask_get_once(struct doctor *d, const char *path, struct kube_reply *r,
	     struct err *e)
{
	struct kube_request q = {.method = "GET", .path = path};

	return ask_once(d, &q, r, e);
}

int
ask_post(struct doctor *d, const char *path, const struct buf *body,
	 struct kube_reply *r, struct err *e)
{
	struct kube_request q = {.method = "POST",
				 .path = path,
				 .content_type = "application/json",
				 .body = body->data,
				 .body_bytes = body->len};

	if (body->full)
		return err_set(e, ERR_LIMIT, "request for %s is too long",
			       path);
	return ask_once(d, &q, r, e);
}

/* --- lists ---------------------------------------------------------------- */

struct listing {
	struct doctor *d;
	const struct ask_list *list;
};

static void
list_begin_again(void *ctx)
{
	struct listing *l = ctx;

	l->d->unread = 0;
	l->list->begin(l->d);
}

/* Calls `item` of the list.  An item that cannot be decoded does not end the
 * list. */
static int
list_item(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct listing *l = ctx;
	struct err bad = {0};

	(void)e;
	if (n > ITEM_BYTES_MAX)
		(void)err_set(&bad, ERR_LIMIT, "one of %zu bytes, too large",
			      n);
	else if (l->list->item(l->d, bytes, n, &bad) == 0)
		return 0;
	if (l->d->unread++ == 0)
		l->d->unread_why = bad;
	return 0;
}

int
ask_list(struct doctor *d, const struct ask_list *list)
{
	struct listing ctx = {.d = d, .list = list};
	struct session_list l = {.path = list->path,
				 .accept = list->accept,
				 .begin = list_begin_again,
				 .item = list_item,
				 .ctx = &ctx};
	struct err e = {0};
	char text[100];
	int rc = session_list(d->session, &l, &e);

	(void)snprintf(text, sizeof(text), "list %s", list->what);
	if (rc < 0)
		findings_unknown(d->f, list->check, text, e.text, list->path);
	(void)snprintf(text, sizeof(text), "read %u of the %s", d->unread,
		       list->what);
	if (rc == 0 && d->unread > 0)
		findings_unknown(d->f, list->check, text, d->unread_why.text,
				 list->path);
	return rc;
}
