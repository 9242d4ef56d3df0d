/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <stdlib.h>
#include <string.h>

/*
 * Karpenter and kubelets: a NodeClaim is created, launched, its Node joins, is
 * registered (the claim's annotations, from a cache that may be stale, are
 * copied over it), gets ready; and goes.
 */

static void
due_add(struct world *w, int64_t at, enum due_type type, int machine)
{
	if (w->dues_n == DUES)
		abort();
	w->dues[w->dues_n++] =
		(struct due){at, ++w->order, type, machine};
}

static struct thing *
thing_new(struct world *w, enum kind kind, int machine)
{
	struct thing *t;

	if (w->things_n == THINGS)
		return NULL;
	t = &w->things[w->things_n++];
	*t = (struct thing){.used = true, .kind = kind, .machine = machine,
			    .ready_ms = STAMP_NONE,
			    .disrupted_ms = STAMP_NONE};
	if (machine >= 0)
		memcpy(t->pool, w->machines[machine].pool, sizeof(t->pool));
	t->created_ms = world_server_ms(w) / 1000 * 1000;
	return t;
}

struct pool_state *
pool_state(struct world *w, const char *name)
{
	struct pool_state *p = w->pools;
	struct thing *t;

	for (; p < w->pools + w->pools_n; p++)
		if (strcmp(p->name, name) == 0)
			return p;
	if (w->pools_n == POOLS)
		return w->pools;
	t = thing_new(w, KIND_NODEPOOL, -1);
	if (t == NULL)
		return w->pools;
	p = &w->pools[w->pools_n++];
	*p = (struct pool_state){.until = STAMP_NONE, .released = STAMP_NONE,
				 .hold = -1, .max = -1, .changed = w->now};
	snprintf(p->name, sizeof(p->name), "%s", name);
	snprintf(t->name, sizeof(t->name), "%s", p->name);
	snprintf(t->uid, sizeof(t->uid), "u-%s", p->name);
	p->thing = (int)(t - w->things);
	thing_changed(w, t);
	return p;
}

static void
admit(struct world *w, struct thing *t, bool missed, bool dry_run)
{
	if (!missed && w->admit != NULL)
		w->admit(w->admit_ctx, t, dry_run);
}

void
machine_new(struct world *w, const char *pool, const struct story *s)
{
	int i = w->machines_n;
	struct pool_state *p = pool_state(w, pool);
	struct machine *m = &w->machines[i];
	struct thing *t;

	if (i == MACHINES)
		return;
	*m = (struct machine){.used = true, .node = -1, .claim = -1,
			      .born = w->now, .said_at = -1, .story = *s};
	m->pool_id = (int)(p - w->pools);
	snprintf(m->pool, sizeof(m->pool), "%s", p->name);
	t = thing_new(w, KIND_NODECLAIM, i);
	if (t == NULL)
		return;
	w->machines_n++;
	snprintf(t->name, sizeof(t->name), "c%d", i);
	snprintf(t->uid, sizeof(t->uid), "u-c%d", i);
	m->claim = (int)(t - w->things);
	t->launch_known = !s->no_condition;
	if (p->template[0] != '\0') {
		memcpy(t->notes.at[ANN_HOLD], p->template, TEXT);
		t->notes.by[ANN_HOLD] = BY_PERSON;
	}
	if (s->cloned)
		thing_hold(t, &hold_default, world_server_ms(w) - 7200000);
	admit(w, t, s->missed, false);
	tell(w, "karpenter  NodeClaim %s created in %s%s", t->name, m->pool,
	     t->notes.at[ANN_MARK][0] != '\0' ? ", held at admission" : "");
	thing_changed(w, t);
	if (s->launch_ms >= 0)
		due_add(w, w->now + s->launch_ms, DUE_LAUNCH, i);
	if (s->node_ms >= 0)
		due_add(w, w->now + s->node_ms, DUE_NODE, i);
	if (s->register_ms >= 0)
		due_add(w, w->now + s->register_ms, DUE_REGISTER, i);
	if (s->ready_ms >= 0)
		due_add(w, w->now + s->ready_ms, DUE_READY, i);
	if (s->event_ms > 0)
		due_add(w, w->now + s->event_ms, DUE_EVENT, i);
	if (s->gives_up_ms > 0)
		due_add(w, w->now + s->gives_up_ms, DUE_GIVE_UP, i);
}

static struct thing *
alive(struct world *w, int thing)
{
	return thing >= 0 && w->things[thing].used ? &w->things[thing] : NULL;
}

static void
node_new(struct world *w, int machine, char generation)
{
	struct machine *m = &w->machines[machine];
	struct thing *claim = alive(w, m->claim), *t;

	if (claim == NULL || claim->deleting)
		return;
	t = thing_new(w, KIND_NODE, machine);
	if (t == NULL)
		return;
	snprintf(t->name, sizeof(t->name), "n%d", machine);
	snprintf(t->uid, sizeof(t->uid), "u-n%d%c", machine, generation);
	m->node = (int)(t - w->things);
	admit(w, t, m->story.missed, false);
	tell(w, "kubelet    Node %s created%s", t->name,
	     t->notes.at[ANN_MARK][0] != '\0' ? ", held at admission" : "");
	thing_changed(w, t);
}

/* A restarted kubelet: it posts its Node, which is there already, or was
 * deleted by somebody. */
void
node_again(struct world *w, int machine, bool recreate)
{
	struct machine *m = &w->machines[machine];
	struct thing *t = alive(w, m->node), copy;

	if (recreate && t != NULL) {
		tell(w, "person     deletes Node %s alone", t->name);
		thing_gone(w, t);
		node_new(w, machine, (char)('a' + w->rv % 26));
	} else if (t != NULL) {
		copy = *t;
		memset(&copy.notes, 0, sizeof(copy.notes));
		tell(w, "kubelet    posts Node %s again: 409", t->name);
		admit(w, &copy, false, false);
	}
}

/* The claim as a cache saw it stale_ms ago. */
static const struct thing *
cached(const struct world *w, const struct thing *claim, int64_t stale_ms)
{
	const struct line *lines = w->lines[KIND_NODECLAIM];

	for (size_t i = w->lines_n[KIND_NODECLAIM]; i-- > 0;)
		if (strcmp(lines[i].t.uid, claim->uid) == 0 &&
		    lines[i].at <= w->now - stale_ms)
			return &lines[i].t;
	return claim;
}

/* registration.go: the claim's annotations stand above the Node's. */
static void
copy_over(struct thing *node, const struct thing *claim)
{
	for (int a = 0; a < ANN_COUNT; a++) {
		if (claim->notes.at[a][0] == '\0')
			continue;
		memcpy(node->notes.at[a], claim->notes.at[a], TEXT);
		if (a <= ANN_OTHER_HOLD)
			node->notes.by[a] = claim->notes.by[a];
	}
}

static void
node_register(struct world *w, int machine)
{
	struct machine *m = &w->machines[machine];
	struct thing *claim = alive(w, m->claim), *node = alive(w, m->node);

	if (claim == NULL || node == NULL || claim->deleting)
		return;
	memcpy(node->other, claim->uid, sizeof(node->other));
	copy_over(node, cached(w, claim, m->story.stale_ms));
	claim_shows(w, claim);
	node->registered = true;
	node->reasons += 2;
	tell(w, "karpenter  Node %s registered, annotations of %s copied",
	     node->name, claim->name);
	thing_changed(w, node);
	due_add(w, w->now + 1 + roll(&w->dice, 400), DUE_NODE_NAME, machine);
}

/* It is to be replaced: the condition comes before the new claims. */
void
machine_disrupt(struct world *w, int machine)
{
	struct thing *claim = alive(w, w->machines[machine].claim);

	if (claim == NULL || claim->deleting ||
	    claim->disrupted_ms != STAMP_NONE)
		return;
	claim->disrupted_ms = world_server_ms(w) / 1000 * 1000;
	tell(w, "karpenter  NodeClaim %s: DisruptionReason Drifted",
	     claim->name);
	thing_changed(w, claim);
}

static void
event_new(struct world *w, int machine)
{
	struct machine *m = &w->machines[machine];
	struct thing *claim = alive(w, m->claim), *t;

	if (claim == NULL)
		return;
	t = thing_new(w, KIND_EVENT, -1);
	if (t == NULL)
		return;
	snprintf(t->name, sizeof(t->name), "e%d", machine);
	snprintf(t->uid, sizeof(t->uid), "u-e%d", machine);
	memcpy(t->other, claim->uid, sizeof(t->other));
	snprintf(t->class, sizeof(t->class), "drifted");
	m->said_at = w->stirred = w->now;
	claim->reasons += 2;
	tell(w, "karpenter  Event DisruptionLaunching on NodeClaim %s",
	     claim->name);
	thing_changed(w, t);
}

void
machine_delete(struct world *w, int machine)
{
	struct machine *m = &w->machines[machine];
	struct thing *claim = alive(w, m->claim), *node = alive(w, m->node);

	if (claim == NULL || claim->deleting)
		return;
	claim->deleting = true;
	w->stirred = w->now;
	tell(w, "karpenter  NodeClaim %s is being deleted", claim->name);
	thing_changed(w, claim);
	if (node != NULL) {
		node->deleting = true;
		thing_changed(w, node);
	}
	due_add(w, w->now + between(&w->dice, 200, 9000), DUE_GONE_FIRST,
		 machine);
	due_add(w, w->now + between(&w->dice, 9000, 15000), DUE_GONE_SECOND,
		 machine);
}

static void
gone(struct world *w, int machine, bool node_now)
{
	struct machine *m = &w->machines[machine];
	struct thing *t = alive(w, node_now ? m->node : m->claim);

	if (t == NULL)
		return;
	tell(w, "karpenter  %s %s is gone", kind_name(t->kind), t->name);
	thing_gone(w, t);
}

static void
claim_moves(struct world *w, const struct due *d)
{
	struct machine *m = &w->machines[d->machine];
	struct thing *claim = alive(w, m->claim), *node = alive(w, m->node);

	if (claim == NULL)
		return;
	if (d->type == DUE_LAUNCH) {
		claim->launched = claim->launch_known = true;
		tell(w, "karpenter  NodeClaim %s launched", claim->name);
	} else if (node == NULL) {
		return;
	} else if (d->type == DUE_NODE_NAME) {
		memcpy(claim->other, node->name, sizeof(claim->other));
	} else if (!node->registered) {
		return;
	} else {
		claim->ready_ms = world_server_ms(w) / 1000 * 1000;
		tell(w, "karpenter  NodeClaim %s initialized", claim->name);
	}
	thing_changed(w, claim);
}

static int
due_first(const struct world *w)
{
	int first = -1;

	for (int i = 0; i < w->dues_n; i++)
		if (first < 0 || w->dues[i].at < w->dues[first].at ||
		    (w->dues[i].at == w->dues[first].at &&
		     w->dues[i].order < w->dues[first].order))
			first = i;
	return first;
}

/* Nobody gets anything done while the API server is down. */
static int64_t
when(const struct world *w, const struct due *d)
{
	return d->at < w->down_until ? w->down_until : d->at;
}

int64_t
karpenter_next(const struct world *w)
{
	int i = due_first(w);

	return i < 0 ? INT64_MAX : when(w, &w->dues[i]);
}

void
karpenter_step(struct world *w)
{
	int i;

	while ((i = due_first(w)) >= 0 && when(w, &w->dues[i]) <= w->now) {
		struct due d = w->dues[i];

		w->dues[i] = w->dues[--w->dues_n];
		switch (d.type) {
		case DUE_NODE:
			node_new(w, d.machine, '0');
			break;
		case DUE_EVENT:
			event_new(w, d.machine);
			break;
		case DUE_GIVE_UP:
			machine_delete(w, d.machine);
			break;
		case DUE_REGISTER:
			node_register(w, d.machine);
			break;
		case DUE_GONE_FIRST:
			gone(w, d.machine,
			     w->machines[d.machine].story.node_first);
			break;
		case DUE_GONE_SECOND:
			gone(w, d.machine,
			     !w->machines[d.machine].story.node_first);
			break;
		default:
			claim_moves(w, &d);
		}
	}
}
