/* SPDX-License-Identifier: Apache-2.0 */
#include "replay_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/rules/admit.h"

/*
 * Runs one setting: a controller that works in virtual time on a copy of the
 * machines.  replay_pass advances the time, and stops at each moment at which
 * the controller has something to do.  The other functions change the copy as
 * the log shows, show the change to the controller as the watch would, and let
 * the controller act (step).
 *
 * If the log says that Karpenter disrupted a machine that is held in this
 * setting, the machine waits: until its hold ends, what the log says about it
 * does not change the copy (replay_api.c).  After each step look() records
 * which scopes have become held or free.
 */

#define POOLS_KNOWN SCOPES_MAX

/* --- time ----------------------------------------------------------------- */

static void
take_notes(struct replay *r)
{
	struct note n;

	while (controller_note(r->controller, &n)) {
		if (n.type == NOTE_SCOPE_HELD || n.type == NOTE_SCOPE_MOVED)
			turns_because(&r->turns, n.name, n.as.held.machine);
		if (n.type == NOTE_SCOPE_CAPPED)
			turns_capped(&r->turns, n.name);
		r->no_room += n.type == NOTE_TABLE_FULL;
	}
}

/* Reports to `turns` which scopes are held now (turns.h). */
static void
look(struct replay *r)
{
	const char *scope;
	uint32_t i = 0;

	turns_look(&r->turns);
	while (r->rules.scope != SCOPE_NODE &&
	       (scope = controller_held_scope(r->controller, &i)) != NULL)
		turns_held(&r->turns, scope, r->now_ms);
	if (r->rules.scope == SCOPE_NODE && r->held > 0)
		turns_held(&r->turns, "", r->now_ms);
	take_notes(r);
	turns_looked(&r->turns, r->now_ms);
}

/* Calls the controller until it has nothing more to do at this moment. */
static void
step(struct replay *r)
{
	for (;;) {
		struct controller_todo t;

		t = controller_next(r->controller, replay_now(r));
		if (t.step == CONTROLLER_ACT) {
			replay_serve(r, &t.action);
			continue;
		}
		if (t.wait_ms < 1)
			t.wait_ms = 1;
		r->wake_ms = t.wait_ms > INT64_MAX - r->now_ms
				     ? INT64_MAX
				     : r->now_ms + t.wait_ms;
		break;
	}
	look(r);
}

void
replay_pass(struct replay *r, int64_t to_ms)
{
	while (r->wake_ms <= to_ms) {
		r->now_ms = r->wake_ms;
		step(r);
	}
	if (to_ms > r->now_ms)
		r->now_ms = to_ms;
}

/* --- what the log shows --------------------------------------------------- */

/* Shows the NodePool to the controller if it is new or has become inert
 * (docs/rules.md). */
static void
know_pool(struct replay *r, const char *name, bool inert)
{
	struct nodepool *p = r->pools;

	while (p < r->pools + r->pools_n && strcmp(p->name, name) != 0)
		p++;
	if (p == r->pools + r->pools_n) {
		if (name[0] == '\0' || r->pools_n == POOLS_KNOWN)
			return;
		r->pools_n++;
		nodepool_init(p);
		str_cut(p->name, sizeof(p->name), name);
		(void)snprintf(p->uid, sizeof(p->uid), "pool-%u", r->pools_n);
		p->spec_known = true;
	} else if (p->inert || !inert) {
		return;
	}
	p->inert = p->inert || inert;
	p->generation++;
	(void)snprintf(p->rv, sizeof(p->rv), "%llu",
		       (unsigned long long)++r->rv);
	controller_nodepool(r->controller, p, replay_now(r));
}

static bool
is_inert(const struct replay *r, const char *name)
{
	for (uint32_t i = 0; i < r->pools_n; i++)
		if (strcmp(r->pools[i].name, name) == 0)
			return r->pools[i].inert;
	return false;
}

/* Decides as the webhook does when this object of the machine is created. */
static void
admit(struct replay *r, uint32_t id, enum kind kind)
{
	struct review v = {.create = true,
			   .kind_known = true,
			   .kind = kind,
			   .has_nodepool = true};
	struct copy *c = &r->at[id];
	struct verdict verdict;

	str_cut(v.nodepool, sizeof(v.nodepool), r->roster->at[id].pool);
	v.disabled = is_inert(r, v.nodepool);
	verdict = admit_decide(&r->rules, &v);
	if (!verdict.held)
		return;
	c->half[kind].held = true;
	c->half[kind].mark_ms = replay_stamp(r->now_ms);
	c->half[kind].why = admit_reason_name(verdict.reason);
}

void
replay_created(struct replay *r, uint32_t id)
{
	const struct logged *m = &r->roster->at[id];
	struct copy *c = &r->at[id];

	*c = (struct copy){.half[KIND_NODECLAIM].there = true};
	know_pool(r, m->pool, false);
	if (m->created_ms >= r->start_ms)
		admit(r, id, KIND_NODECLAIM);
	c->half[KIND_NODE].there = m->registered_ms != STAMP_NONE;
	replay_copy_recount(r, c, false);
	if (m->maker == MAKER_PROVISIONER)
		waits_scale_up(r->waits, m->pool, r->now_ms);
	replay_copy_track_both(r, id);
	step(r);
}

void
replay_changed(struct replay *r, uint32_t id)
{
	replay_copy_track(r, id, KIND_NODECLAIM);
	step(r);
}

/* The Node may get a hold from the webhook.  It also gets the hold of its
 * NodeClaim, because Karpenter copies the annotations. */
void
replay_registered(struct replay *r, uint32_t id)
{
	struct copy *c = &r->at[id];
	bool before = replay_copy_held(c);

	c->half[KIND_NODE].there = true;
	admit(r, id, KIND_NODE);
	if (c->half[KIND_NODECLAIM].held) {
		c->half[KIND_NODE].mark_ms = c->half[KIND_NODECLAIM].mark_ms;
		c->half[KIND_NODE].held = true;
	}
	replay_copy_recount(r, c, before);
	replay_copy_track(r, id, KIND_NODE);
	replay_copy_track(r, id, KIND_NODECLAIM);
	step(r);
}

void
replay_deleting(struct replay *r, uint32_t id)
{
	struct copy *c = &r->at[id];

	if (c->waits || c->deleting)
		return;
	c->deleting = true;
	replay_copy_track_both(r, id);
	step(r);
}

void
replay_node_gone(struct replay *r, uint32_t id)
{
	if (r->at[id].waits)
		return;
	replay_copy_forget(r, id, KIND_NODE);
	step(r);
}

void
replay_gone(struct replay *r, uint32_t id)
{
	struct copy *c = &r->at[id];

	if (c->waits)
		return;
	replay_copy_forget(r, id, KIND_NODE);
	replay_copy_forget(r, id, KIND_NODECLAIM);
	free(c->class);
	*c = (struct copy){.waits = false};
	step(r);
}

void
replay_static(struct replay *r, const char *pool)
{
	know_pool(r, pool, true);
	step(r);
}

/* Call this for a machine that Karpenter disrupts, because no hold stops it.
 * Marks the machine as disrupted, except in three cases.  A machine that
 * Karpenter reboots stays.  If Karpenter terminates the machine first, or if
 * its boot has failed, the successor may be an ordinary new machine (struct
 * object). */
static void
disrupt(struct replay *r, uint32_t id, const struct fact *f)
{
	const struct logged *m = &r->roster->at[id];
	struct copy *c = &r->at[id];

	if (strcmp(f->action, "reboot") == 0 ||
	    strcmp(f->action, "terminate-first") == 0 ||
	    (!fact_heeds_hold(f) && m->ready_ms == STAMP_NONE && !m->rebooted))
		return;
	c->disrupted = true;
	c->disrupted_ms = strcmp(f->reason, "empty") == 0
				  ? STAMP_NONE
				  : replay_stamp(f->at_ms);
	replay_copy_track(r, id, KIND_NODECLAIM);
}

/* Shows to the controller that the machines have drifted.  The log does not say
 * so before Karpenter decides to replace them. */
static void
drift(struct replay *r, const uint32_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		r->at[ids[i]].drifted = true;
		replay_copy_track(r, ids[i], KIND_NODECLAIM);
	}
	step(r);
}

bool
replay_decided(struct replay *r, const struct fact *f, const uint32_t *ids,
	       size_t n)
{
	uint32_t held = 0, number;

	if (r->rules.drift == DRIFT_ALLOW && strcmp(f->reason, "drifted") == 0)
		drift(r, ids, n);
	for (size_t i = 0; fact_heeds_hold(f) && i < n; i++)
		held += replay_copy_held(&r->at[ids[i]]) &&
			!r->at[ids[i]].waits;
	number = held == 0 ? UINT32_MAX
			   : waits_begin(r->waits, f,
					 r->roster->at[ids[0]].decision,
					 r->roster->at[ids[0]].pool, n, held);
	for (size_t i = 0; i < n; i++) {
		struct copy *c = &r->at[ids[i]];

		if (c->waits)
			continue;
		if (!replay_copy_held(c) || number == UINT32_MAX) {
			disrupt(r, ids[i], f);
			continue;
		}
		c->waits = true;
		c->wait = number;
		r->roster->at[ids[i]].waits++;
	}
	step(r);
	return held > 0;
}

/* --- questions ------------------------------------------------------------ */

const char *
replay_why(const struct replay *r, uint32_t id, int64_t *since_ms)
{
	const struct copy *c = &r->at[id];
	enum kind kind = c->half[KIND_NODE].there ? KIND_NODE : KIND_NODECLAIM;

	if (!replay_copy_held(c))
		return NULL;
	*since_ms = c->half[kind].mark_ms;
	return c->half[kind].why;
}

const char *
replay_because(const struct replay *r, uint32_t id)
{
	const char *scope =
		r->rules.scope == SCOPE_NODEPOOL ? r->roster->at[id].pool : "";

	return turns_machine(&r->turns, scope);
}

/* --- making, freeing and results ------------------------------------------ */

struct replay *
replay_new(const struct rules *rules, struct roster *roster,
	   const struct waits_setup *setup, int64_t start_ms)
{
	struct replay *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->rules = *rules;
	r->rules.tickets[0] = '\0'; /* No log has tickets. */
	r->roster = roster;
	r->now_ms = r->start_ms = r->wake_ms = start_ms;
	r->controller = controller_new(&r->rules, roster->max, 1, &r->counters);
	r->at = calloc(roster->max, sizeof(*r->at));
	r->pools = calloc(POOLS_KNOWN, sizeof(*r->pools));
	r->waits = waits_new(setup);
	if (r->controller == NULL || r->at == NULL || r->pools == NULL ||
	    r->waits == NULL) {
		replay_free(r);
		return NULL;
	}
	for (int k = 0; k < VIEW_COUNT; k++) {
		controller_listing(r->controller, (enum kind)k);
		controller_listed(r->controller, (enum kind)k, true,
				  replay_now(r));
		controller_watch(r->controller, (enum kind)k, true);
	}
	controller_restore(r->controller, "none", STAMP_NONE, replay_now(r));
	return r;
}

void
replay_free(struct replay *r)
{
	if (r == NULL)
		return;
	for (uint32_t id = 0; r->at != NULL && id < r->roster->max; id++)
		if (id < r->roster->top)
			free(r->at[id].class);
	controller_free(r->controller);
	waits_free(r->waits);
	turns_done(&r->turns);
	free(r->pools);
	free(r->at);
	free(r);
}

void
replay_end(struct replay *r)
{
	turns_end(&r->turns, r->now_ms);
	waits_finish(r->waits, r->now_ms);
}

const struct spans *
replay_spans(const struct replay *r)
{
	return waits_spans(r->waits);
}

void
replay_report(const struct replay *r, struct replay_sums *out)
{
	*out = (struct replay_sums){.no_room = r->no_room};
	waits_report(r->waits, &out->waits);
	turns_report(&r->turns, out);
}
