/* SPDX-License-Identifier: Apache-2.0 */
#include "marks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rules/admit.h"
#include "core/rules/decide.h"
#include "edge/clock.h"
#include "edge/kube/answer.h"
#include "wire/api/object.h"
#include "wire/api/patch.h"
#include "wire/api/resource.h"

static const char *const kubectl_names[KIND_COUNT] = {
	[KIND_NODE] = "node",
	[KIND_NODECLAIM] = "nodeclaim.karpenter.sh",
};

int
marks_init(struct marks *m, struct lease_session *lead,
	   const struct clock *clock, const struct hold_key *hold,
	   struct err *e)
{
	*m = (struct marks){.lead = lead, .clock = clock, .hold = hold};
	if (machines_init(&m->table, MACHINES_MAX) == 0) {
		m->failed = calloc(m->table.cap, sizeof(*m->failed));
		if (m->failed != NULL)
			return 0;
	}
	marks_done(m);
	return err_set(e, ERR_SYSTEM, "out of memory");
}

void
marks_done(struct marks *m)
{
	machines_done(&m->table);
	free(m->failed);
	m->failed = NULL;
}

/* --- the list ------------------------------------------------------------- */

static void
name_it(struct marks *m, const char *name)
{
	struct marks_list *l = &m->now;
	unsigned n = l->left[KIND_NODE] + l->left[KIND_NODECLAIM];

	if (n < MARKS_NAMED)
		(void)snprintf(l->named[n], sizeof(l->named[n]), "%s/%s",
			       m->listing == KIND_NODE ? "node" : "nodeclaim",
			       name);
	l->left[m->listing]++;
}

static void
begin(void *ctx)
{
	struct marks *m = ctx;

	for (uint32_t id = 0; id < m->table.top; id++)
		if (m->table.at[id].used && m->table.at[id].kind == m->listing)
			machines_drop(&m->table, id, &(struct touched){0});
	m->now.left[m->listing] = m->now.unread[m->listing] = 0;
	m->now.classes[m->listing] = 0;
}

/* One that cannot be read is none the less marked. */
static int
item(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct marks *m = ctx;
	struct touched t = {0};
	uint32_t id = NO_ID;
	struct object o;
	struct err bad;

	(void)e;	/* stays clean: the list goes on */
	if (object_decode(bytes, n, m->listing, m->hold, &o, &bad)) {
		if (memmem(bytes, n, "\"" MARK_KEY "\"",
			   sizeof(MARK_KEY) + 1) == NULL)
			return 0;
		m->now.unread[m->listing]++;
		name_it(m, bad.text);
		return 0;
	}
	if (o.mark != MARK_ABSENT)
		name_it(m, o.name);
	rehold_look(&m->rehold, &o, clock_now(m->clock).server_ms);
	if (o.has_class)
		m->now.classes[m->listing]++;
	if (o.mark != MARK_ABSENT || o.hold != HOLD_ABSENT ||
	    o.default_hold != HOLD_ABSENT || o.has_class)
		id = machines_put(&m->table, &o, INT64_MAX, &t);
	if (id != NO_ID)	/* else there is room in a later round */
		m->table.at[id].classed = o.has_class;
	return 0;
}

int
marks_list(struct marks *m, struct err *e)
{
	static const enum kind kinds[] = {KIND_NODE, KIND_NODECLAIM};

	m->now = (struct marks_list){0};
	for (int i = 0; i < KIND_COUNT; i++) {
		const struct resource *r = &resources[kinds[i]];
		int rc;

		m->listing = kinds[i];
		rc = lease_session_list(m->lead,
			       &(struct lease_session_list){.path = r->path,
						   .accept = r->list_accept,
						   .begin = begin,
						   .item = item,
						   .ctx = m},
			       e);
		if (rc < 0 || (rc == 1 && kinds[i] == KIND_NODE &&
			       err_set(e, ERR_SYSTEM, "404")))
			return err_wrap(e, "list %s", r->name);
	}
	m->last = m->now;
	m->listed = true;
	rehold_listed(&m->rehold, lease_session_holds(m->lead));
	return 0;
}

unsigned
marks_left(const struct marks *m)
{
	const struct marks_list *l = &m->last;

	return l->left[KIND_NODE] + l->left[KIND_NODECLAIM] +
	       l->classes[KIND_NODE] + l->classes[KIND_NODECLAIM];
}

/* --- one patch ------------------------------------------------------------ */

static void
patch_of(const struct marks *m, const struct entry *e, enum act act,
	 struct buf *b)
{
	struct patch_clear c = {
		.uid = e->uid,
		.rv = e->rv,
		.mark_exact = entry_mark_exact(e),
		.mark_ms = e->mark_ms,
		.hold = act == ACT_CLEAR ? machines_hold(&m->table, e, m->hold)
					 : NULL,
		.has_held_key = e->has_held_key,
	};

	if (act == ACT_CLASSIFY)
		patch_declassify(b, e->uid);
	else
		patch_clear(b, &c);
}

static void
wrote(struct marks *m, struct entry *e, enum act act)
{
	(void)printf("%s/%s %s%s\n", kubectl_names[e->kind], e->name,
		     act == ACT_CLEAR	 ? "released"
		     : act == ACT_UNMARK ? "mark removed, the hold is a "
					   "person's"
					 : "replacement annotation removed",
		     m->dry_run ? " (dry run)" : "");
	m->done++;
	if (act == ACT_CLASSIFY) {
		e->classed = false;
		m->declassified++;
		return;
	}
	if (act == ACT_CLEAR)
		m->cleared[e->kind]++;
	else
		m->unmarked++;
	if (act == ACT_CLEAR && !e->has_former)
		e->hold = HOLD_ABSENT;
	if (act == ACT_CLEAR && hold_key_is_default(machines_hold(&m->table, e, m->hold)))
		e->default_hold = HOLD_ABSENT;
	e->mark = MARK_ABSENT;
}

static void
answered(struct marks *m, uint32_t id, enum act act,
	 const struct kube_reply *r, const struct err *no)
{
	struct entry *e = &m->table.at[id];
	char text[ANSWER_TEXT];
	bool refused = no->code == ERR_NONE && r->status != 429 &&
		       r->status < 500;

	if (no->code == ERR_NONE && r->status == 200) {
		wrote(m, e, act);
		return;
	}
	m->failed[id] = true;
	if (no->code == ERR_NONE && r->status == 404)
		return;		/* gone */
	if (m->refused + m->unanswered == 0)
		(void)err_set(&m->why, ERR_SYSTEM, "patch %s/%s: %s",
			      kubectl_names[e->kind], e->name,
			      no->code != ERR_NONE ? no->text
						   : answer_text(r, text));
	if (no->code == ERR_NONE && (r->status == 409 || r->status == 422))
		m->changed++;	/* meanwhile: the next list says */
	else if (refused)
		m->refused++;
	else
		m->unanswered++;
}

/* --- a round -------------------------------------------------------------- */

static int
drain(struct marks *m, unsigned room, unsigned *under_way, enum act *acts,
      struct err *e)
{
	struct kube_reply r;
	struct err no;
	uint64_t tag;

	while (*under_way > 0 &&
	       (room == 0 || lease_session_room(m->lead) < room)) {
		if (lease_session_finished(m->lead, &tag, &r, &no, e))
			return -1;
		--*under_way;
		answered(m, (uint32_t)tag, acts[tag], &r, &no);
	}
	return 0;
}

static int
start(struct marks *m, uint32_t id, enum act act, struct err *e)
{
	char path_bytes[PATH_BYTES], body_bytes[PATCH_BYTES];
	struct buf path, body;
	const struct entry *x = &m->table.at[id];
	struct kube_request q = {.method = "PATCH",
				 .path = path_bytes,
				 .accept = ACCEPT_METADATA,
				 .content_type = act == ACT_CLASSIFY
							 ? PATCH_MERGE_TYPE
							 : PATCH_JSON_TYPE};

	buf_init(&path, path_bytes, sizeof(path_bytes));
	buf_init(&body, body_bytes, sizeof(body_bytes));
	buf_printf(&path, "%s/%s?fieldManager=karpenter-node-holder",
		   resources[x->kind].path, x->name);
	patch_of(m, x, act, &body);
	q.body = body.data;
	q.body_bytes = body.len;
	if (path.full || body.full)
		return err_set(e, ERR_LIMIT, "request for %s is too long",
			       x->name);
	return lease_session_start(m->lead, &q, id, e);
}

static struct half
half_of(const struct marks *m, const struct entry *e)
{
	struct half h = machines_half(&m->table, e);

	h.busy = e != NULL && m->failed[machines_id(&m->table, e)];
	return h;
}

/* What is to be done on that object now. */
static enum act
act_on(const struct marks *m, uint32_t id, bool classes)
{
	const struct entry *e = &m->table.at[id];
	uint32_t head = machines_head(&m->table, id);
	struct half claim, node;
	struct decision d;

	if (!e->used || m->failed[id])
		return ACT_NONE;
	if (classes)
		return e->classed ? ACT_CLASSIFY : ACT_NONE;
	claim = half_of(m, machines_claim(&m->table, head));
	node = half_of(m, machines_node(&m->table, head));
	d = decide(&claim, &node, GOAL_CLEAR);
	return d.on == e->kind ? d.act : ACT_NONE;
}

static int
pass(struct marks *m, enum kind kind, bool classes, enum act *acts,
     struct err *e)
{
	unsigned under_way = 0;
	struct err no;

	for (uint32_t id = 0; id < m->table.top; id++) {
		acts[id] = m->table.at[id].kind == kind
				   ? act_on(m, id, classes)
				   : ACT_NONE;
		if (acts[id] == ACT_NONE)
			continue;
		if (m->dry_run) {
			wrote(m, &m->table.at[id], acts[id]);
			continue;
		}
		if (drain(m, 1, &under_way, acts, e))
			return -1;
		if (start(m, id, acts[id], &no) == 0)
			under_way++;
		else
			answered(m, id, acts[id],
				 &(struct kube_reply){.body = ""}, &no);
	}
	return drain(m, 0, &under_way, acts, e);
}

int
marks_clear(struct marks *m, struct err *e)
{
	enum act *acts = calloc(m->table.top + 1, sizeof(*acts));
	int rc = -1;

	m->why.text[0] = '\0';
	m->done = m->changed = m->refused = m->unanswered = 0;
	memset(m->failed, 0, m->table.cap * sizeof(*m->failed));
	if (acts == NULL)
		(void)err_set(e, ERR_SYSTEM, "out of memory");
	else if (pass(m, KIND_NODECLAIM, false, acts, e) == 0 &&
		 pass(m, KIND_NODE, false, acts, e) == 0 &&
		 pass(m, KIND_NODECLAIM, true, acts, e) == 0)
		rc = pass(m, KIND_NODE, true, acts, e);
	free(acts);
	return rc;
}
