/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <stdlib.h>
#include <string.h>

/*
 * Karpenter and kubelets.  A NodeClaim is created and launched.  Its Node joins
 * and is registered, which copies the claim's annotations, from a cache that
 * may be stale, over the Node's.  It becomes ready, and one day it goes.
 */

static void
due_add(struct world *w, int64_t at, enum due_type type, int machine)
{
	if (w->dues_n == DUES)
		abort();
	w->dues[w->dues_n++] =
		(struct due){at, ++w->order, type, machine};
}

struct thing *
thing_new(struct world *w, enum kind kind, int machine)
{
	struct thing *t;

	if (w->things_n == THINGS)
		return NULL;
	t = &w->things[w->things_n++];
	*t = (struct thing){.used = true,
			    .kind = kind,
			    .index = w->things_n - 1,
			    .machine = machine,
			    .created_ms = world_stamp(w),
			    .ready_ms = STAMP_NONE,
			    .first_ready_ms = STAMP_NONE,
			    .deleted_ms = STAMP_NONE,
			    .disrupted_ms = STAMP_NONE,
			    .born = w->now,
			    .launched_at = -1,
			    .ready_at = -1,
			    .deleted_at = -1,
			    .gone_at = -1};
	for (int i = 0; i < 3; i++)
		t->turned[i] = -1;
	if (machine >= 0)
		memcpy(t->nodepool, w->machines[machine].nodepool,
		       sizeof(t->nodepool));
	return t;
}

static struct thing *
pool_thing(struct world *w, struct pool_state *p)
{
	struct thing *t = thing_new(w, KIND_NODEPOOL, -1);

	if (t == NULL)
		return NULL;
	snprintf(t->name, sizeof(t->name), "%s", p->name);
	snprintf(t->uid, sizeof(t->uid), "u-%s%d", p->name, p->generation++);
	p->thing = (int)(t - w->things);
	thing_changed(w, t);
	return t;
}

/* "" stands for claims without the label.  There is no such NodePool. */
struct pool_state *
pool_state(struct world *w, const char *name)
{
	struct pool_state *p = w->nodepools;

	for (; p < w->nodepools + w->pools_n; p++)
		if (strcmp(p->name, name) == 0)
			return p;
	if (w->pools_n == POOLS)
		return w->nodepools;
	*p = (struct pool_state){.thing = -1,
				 .until = STAMP_NONE,
				 .released = STAMP_NONE,
				 .hold = -1,
				 .respecified = -1,
				 .changed = w->now};
	snprintf(p->name, sizeof(p->name), "%s", name);
	if (name[0] != '\0' && pool_thing(w, p) == NULL)
		return w->nodepools;
	w->pools_n++;
	return p;
}

/* Somebody deletes the NodePool.  What it said no longer counts. */
void
pool_gone(struct world *w, const char *name)
{
	struct pool_state *p = pool_state(w, name);

	if (p->thing < 0 || w->now < w->unserved_until[KIND_NODEPOOL])
		return;
	tell(w, "person     deletes NodePool %s", p->name);
	thing_gone(w, &w->things[p->thing]);
	p->thing = -1;
	if (p->fixed || p->never)
		p->respecified = w->now;
	p->disabled = p->fixed = p->never = false;
	p->until = p->released = STAMP_NONE;
	p->hold = -1;
	p->changed = w->now;
}

void
pool_remade(struct world *w, const char *name)
{
	struct pool_state *p = pool_state(w, name);

	if (p->thing >= 0 || p->name[0] == '\0' ||
	    w->now < w->unserved_until[KIND_NODEPOOL])
		return;
	tell(w, "person     makes NodePool %s again", p->name);
	p->changed = w->now;
	(void)pool_thing(w, p);
}

static void
admit(struct world *w, struct thing *t, bool missed)
{
	if (!missed && w->admit != NULL)
		w->admit(w->admit_ctx, t);
}

static void
due_in(struct world *w, int64_t ms, enum due_type type, int machine)
{
	if (ms >= 0)
		due_add(w, w->now + ms, type, machine);
}

/* Writes what the claim carries from its birth on, beside what the webhook
 * adds. */
static void
claim_born(struct world *w, const struct story *s, struct thing *t)
{
	struct pool_state *p = &w->nodepools[w->machines[t->machine].pool_id];
	const struct hold_key *hold = w->hold_last.key[0] != '\0'
					      ? &w->hold_last
					      : &hold_default;

	t->launch_known = !s->no_condition;
	if (p->template[0] != '\0') {
		memcpy(t->notes.at[ANN_HOLD], p->template, TEXT);
		t->notes.by[ANN_HOLD] = BY_PERSON;
	}
	if (!s->cloned && !s->opted_out)
		return;
	thing_hold(t, hold, world_server_ms(w) - 7200000);
	snprintf(t->class, sizeof(t->class), "drifted");
	snprintf(t->class_uid, sizeof(t->class_uid), "u-c0x");
	if (s->opted_out) {
		t->notes.at[ann_of(hold)][0] = '\0';
		t->notes.by[ann_of(hold)] = BY_NOBODY;
	}
}

static bool
claim_new(struct world *w, int i, const struct story *s)
{
	struct machine *m = &w->machines[i];
	struct thing *t = thing_new(w, KIND_NODECLAIM, i);

	if (t == NULL)
		return false;
	snprintf(t->name, sizeof(t->name), "c%d", i);
	snprintf(t->uid, sizeof(t->uid), "u-c%d", i);
	m->claim = (int)(t - w->things);
	claim_born(w, s, t);
	t->large = s->large;
	admit(w, t, s->missed);
	tell(w, "karpenter  NodeClaim %s created in %s%s", t->name, m->nodepool,
	     t->notes.at[ANN_MARK][0] != '\0' ? ", held at admission" : "");
	thing_changed(w, t);
	due_in(w, s->launch_ms, DUE_LAUNCH, i);
	if (s->event_ms > 0)
		due_in(w, s->event_ms, DUE_EVENT, i);
	if (s->gives_up_ms > 0)
		due_in(w, s->gives_up_ms, DUE_GIVE_UP, i);
	return true;
}

void
machine_new(struct world *w, const char *nodepool, const struct story *s)
{
	int i = w->machines_n;
	struct pool_state *p = pool_state(w, nodepool);
	struct machine *m = &w->machines[i];

	if (i == MACHINES || (p->thing < 0 && p->name[0] != '\0') ||
	    (!s->claimless && w->now < w->unserved_until[KIND_NODECLAIM]))
		return;
	*m = (struct machine){.used = true, .node = -1, .claim = -1,
			      .born = w->now, .said_at = -1, .story = *s};
	m->pool_id = (int)(p - w->nodepools);
	snprintf(m->nodepool, sizeof(m->nodepool), "%s", p->name);
	if (!s->claimless && !claim_new(w, i, s))
		return;
	w->machines_n++;
	due_in(w, s->node_ms, DUE_NODE, i);
	if (s->claimless)
		return;
	due_in(w, s->register_ms, DUE_REGISTER, i);
	due_in(w, s->ready_ms, DUE_READY, i);
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

	if (!m->story.claimless && (claim == NULL || claim->deleting))
		return;
	t = thing_new(w, KIND_NODE, machine);
	if (t == NULL)
		return;
	t->registered = m->story.claimless;
	if (m->story.taint_only)
		t->nodepool[0] = '\0';
	snprintf(t->name, sizeof(t->name), "n%d", machine);
	snprintf(t->uid, sizeof(t->uid), "u-n%d%c", machine, generation);
	m->node = (int)(t - w->things);
	admit(w, t, m->story.missed);
	tell(w, "kubelet    Node %s created%s", t->name,
	     t->notes.at[ANN_MARK][0] != '\0' ? ", held at admission" : "");
	thing_changed(w, t);
}

/* A kubelet that was restarted posts its Node.  The Node is there already, or
 * somebody has deleted it. */
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
		admit(w, &copy, false);
	}
}

/* Returns the claim as a cache saw it stale_ms ago. */
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

/* As in Karpenter's registration.go, the claim's annotations replace the
 * Node's. */
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
	memcpy(node->nodepool, m->nodepool, sizeof(node->nodepool));
	copy_over(node, cached(w, claim, m->story.stale_ms));
	claim_shows(w, claim);
	node->registered = true;
	node->reasons += 2;
	tell(w, "karpenter  Node %s registered, annotations of %s copied",
	     node->name, claim->name);
	thing_changed(w, node);
	due_add(w, w->now + 1 + roll(&w->dice, 400), DUE_NODE_NAME, machine);
}

/* Karpenter decides to replace the machine.  The condition comes before the new
 * claims. */
void
machine_disrupt(struct world *w, int machine, const char *reason)
{
	struct thing *claim = alive(w, w->machines[machine].claim);

	if (claim == NULL || claim->deleting || claim->disrupted ||
	    w->now < w->unserved_until[KIND_NODECLAIM])
		return;
	claim->disrupted = true;
	claim->terminated_first = strcmp(reason, "Drifted,reserved") == 0 ||
				  strcmp(reason, "Unhealthy,reserved") == 0;
	claim->repaired = strncmp(reason, "Unhealthy", 9) == 0;
	claim->drifted |= strncmp(reason, "Drifted", 7) == 0;
	if (strcmp(reason, "Empty") != 0)
		claim->disrupted_ms = world_stamp(w);
	tell(w, "karpenter  NodeClaim %s: DisruptionReason %s", claim->name,
	     reason);
	thing_changed(w, claim);
}

void
machine_drifts(struct world *w, int machine, bool drifted)
{
	struct thing *claim = alive(w, w->machines[machine].claim);

	if (claim == NULL || claim->deleting || claim->drifted == drifted ||
	    w->now < w->unserved_until[KIND_NODECLAIM])
		return;
	claim->drifted = drifted;
	tell(w, "karpenter  NodeClaim %s %s", claim->name,
	     drifted ? "has drifted" : "has not drifted after all");
	thing_changed(w, claim);
}

/* Initialized becomes Unknown with the reason Rebooting. */
void
machine_reboot(struct world *w, int machine, int64_t for_ms)
{
	struct thing *claim = alive(w, w->machines[machine].claim);

	if (claim == NULL || claim->deleting || claim->ready_ms == STAMP_NONE ||
	    w->now < w->unserved_until[KIND_NODECLAIM])
		return;
	if (!claim->rebooted)
		claim->first_ready_ms = claim->ready_ms;
	claim->rebooted = true;
	claim->ready_ms = STAMP_NONE;
	tell(w, "karpenter  NodeClaim %s is rebooted", claim->name);
	thing_changed(w, claim);
	if (for_ms > 0)
		due_in(w, for_ms, DUE_READY, machine);
}

void
event_on(struct world *w, int machine, const char *reason)
{
	struct machine *m = &w->machines[machine];
	struct thing *claim = alive(w, m->claim), *t;

	if (claim == NULL)
		return;
	t = thing_new(w, KIND_EVENT, -1);
	if (t == NULL)
		return;
	snprintf(t->name, sizeof(t->name), "e%d.%d", machine,
		 (int)(t - w->things));
	snprintf(t->uid, sizeof(t->uid), "u-%.20s", t->name);
	memcpy(t->other, claim->uid, sizeof(t->other));
	snprintf(t->class, sizeof(t->class), "%s", reason);
	if (m->said_at < 0) {
		m->said_at = w->now;
		m->said = t->index;
	}
	claim->reasons += 2;
	tell(w, "karpenter  Event DisruptionLaunching on NodeClaim %s",
	     claim->name);
	thing_changed(w, t);
}

static void
node_deleting(struct world *w, struct thing *node)
{
	if (node == NULL || node->deleting)
		return;
	node->deleting = true;
	node->deleted_ms = world_stamp(w);
	node->deleted_at = w->now;
	thing_changed(w, node);
}

void
machine_delete(struct world *w, int machine, int64_t drain_ms)
{
	struct machine *m = &w->machines[machine];
	struct thing *claim = alive(w, m->claim), *node = alive(w, m->node);

	if (m->story.claimless && node != NULL && !node->deleting) {
		node_deleting(w, node);
		due_in(w, between(&w->dice, 200, 9000), DUE_GONE_SECOND,
		       machine);
		return;
	}
	if (claim == NULL || claim->deleting ||
	    w->now < w->unserved_until[KIND_NODECLAIM])
		return;
	claim->deleting = true;
	claim->was_large = claim->large;
	claim->deleted_ms = world_stamp(w);
	claim->deleted_at = w->now;
	tell(w, "karpenter  NodeClaim %s is being deleted", claim->name);
	thing_changed(w, claim);
	node_deleting(w, node);
	due_in(w, drain_ms + between(&w->dice, 200, 9000), DUE_GONE_FIRST,
	       machine);
	due_in(w, drain_ms + between(&w->dice, 9000, 15000), DUE_GONE_SECOND,
	       machine);
}

void
node_lost(struct world *w, int machine, int64_t claim_after_ms)
{
	struct thing *node = alive(w, w->machines[machine].node);

	if (node == NULL || w->machines[machine].story.claimless)
		return;
	tell(w, "person     deletes Node %s alone, for good", node->name);
	thing_gone(w, node);
	due_in(w, claim_after_ms, DUE_DELETE, machine);
}

static void
gone(struct world *w, int machine, bool node_now)
{
	struct machine *m = &w->machines[machine];
	struct thing *t = alive(w, node_now || m->story.claimless ? m->node
								  : m->claim);

	if (t == NULL || !t->deleting)
		return;
	tell(w, "karpenter  %s %s is gone", object_kind_name(t->kind), t->name);
	thing_gone(w, t);
}

static void
claim_moves(struct world *w, const struct due *d)
{
	struct machine *m = &w->machines[d->machine];
	struct thing *claim = alive(w, m->claim), *node = alive(w, m->node);

	/* As in Karpenter's lifecycle/controller.go, a claim that is being
	 * deleted is only finalized. */
	if (claim == NULL || claim->deleting)
		return;
	if (d->type == DUE_LAUNCH) {
		claim->launched = claim->launch_known = true;
		claim->launched_at = w->now;
		tell(w, "karpenter  NodeClaim %s launched", claim->name);
	} else if (node == NULL) {
		return;
	} else if (d->type == DUE_NODE_NAME) {
		memcpy(claim->other, node->name, sizeof(claim->other));
	} else if (!node->registered) {
		return;
	} else {
		claim->ready_ms = world_stamp(w);
		if (!claim->rebooted)
			claim->ready_at = w->now;
		tell(w, "karpenter  NodeClaim %s initialized", claim->name);
	}
	thing_changed(w, claim);
}

bool
machine_moves(struct world *w, int machine)
{
	const struct machine *m = &w->machines[machine];
	const struct thing *claim = alive(w, m->claim), *node = alive(w, m->node);
	struct due d = {.machine = machine, .type = DUE_LAUNCH};

	if (claim == NULL || claim->deleting || claim->ready_ms != STAMP_NONE)
		return false;
	if (!claim->launched) {
		claim_moves(w, &d);
	} else if (node == NULL) {
		node_new(w, machine, '0');
	} else if (!node->registered) {
		node_register(w, machine);
	} else {
		d.type = DUE_READY;
		claim_moves(w, &d);
	}
	return true;
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

/* Nobody can do anything while the API server is down. */
static int64_t
when(const struct world *w, const struct due *d)
{
	int64_t until = w->down_until;

	if (d->type != DUE_NODE && w->unserved_until[KIND_NODECLAIM] > until)
		until = w->unserved_until[KIND_NODECLAIM];
	return d->at < until ? until : d->at;
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
			event_on(w, d.machine, "drifted");
			break;
		case DUE_GIVE_UP:
		case DUE_DELETE:
			machine_delete(w, d.machine, 0);
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
