/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include <stdio.h>
#include <string.h>

struct rules rules;
struct world *w;

void
scene_setup(void)
{
	rules = rules_default();
	w = world_new(&rules, THINGS, 1);
}

void
scene_teardown(void)
{
	world_free(w);
	w = NULL;
}

void
scene_again(void)
{
	scene_teardown();
	w = world_new(&rules, THINGS, 1);
}

void
scene_tickets(void)
{
	strcpy(rules.tickets, "tickets");
	scene_again();
}

/* --- machines ------------------------------------------------------------- */

int64_t
stamp_now(void)
{
	return server_ms(w) / 1000 * 1000;
}

void
add_old(int n)
{
	for (int i = 0; i < n; i++)
		machine_add(w, i, "web", server_ms(w) - DAY);
}

void
open_old(int n)
{
	add_old(n);
	world_open(w);
	ck_assert_uint_eq(count_marked(w), 0);
}

void
add_due(int n)
{
	add_old(n);
	for (int i = 0; i < n; i++)
		object_hold(&node_at(w, i)->o, server_ms(w) - DAY);
}

int64_t
machine_now(int n, const char *nodepool)
{
	machine_add(w, n, nodepool, stamp_now());
	return claim_at(w, n)->o.ready_ms + rules.hold_ms;
}

int64_t
busy_until(int n, int64_t settle_ms)
{
	machine_add(w, n, "web", server_ms(w) - rules.hold_ms + settle_ms);
	return claim_at(w, n)->o.ready_ms + rules.hold_ms;
}

static struct thing *
add_claim(int n, const char *nodepool, bool launched)
{
	char uid[16];
	struct object o;

	snprintf(uid, sizeof(uid), "c%d", n);
	o = claim_new(uid, stamp_now());
	strcpy(o.nodepool, nodepool);
	o.launch_known = true;
	o.launched = launched;
	return thing_add(w, &o);
}

struct thing *
claim_make(int n, const char *nodepool)
{
	return add_claim(n, nodepool, false);
}

struct thing *
claim_boot(int n)
{
	return add_claim(n, "web", true);
}

void
claim_launch(struct thing *c)
{
	c->o.launched = c->o.launch_known = true;
	thing_changed(w, c);
}

int64_t
become_ready(struct thing *c)
{
	c->o.ready_ms = stamp_now();
	thing_changed(w, c);
	return c->o.ready_ms + rules.hold_ms;
}

void
claim_deleting(struct thing *c)
{
	c->o.deleting = true;
	c->o.deleted_ms = stamp_now();
	thing_changed(w, c);
}

/* --- single actions ------------------------------------------------------- */

struct action
act_next(enum act act)
{
	struct controller_todo todo = world_next(w);

	ck_assert_int_eq(todo.step, CONTROLLER_ACT);
	ck_assert_int_eq(todo.action.act, act);
	return todo.action;
}

void
act_answer(const struct action *a, enum controller_code code)
{
	struct controller_outcome out = {.code = code, .action = a};

	controller_done(w->s, &out, world_now(w));
}

struct action
act_done(enum act act, enum controller_code code)
{
	struct action a = act_next(act);

	act_answer(&a, code);
	return a;
}

bool
act_waits(void)
{
	return world_next(w).step == CONTROLLER_WAIT;
}

/* --- faults --------------------------------------------------------------- */

static struct {
	const char *name;
	enum act act;
	enum reply_fault fault;
	int times;
} wrong;

static enum reply_fault
on_one(struct world *x, const struct action *a)
{
	(void)x;
	if (a->act != wrong.act || wrong.times == 0 ||
	    (wrong.name != NULL && strcmp(a->name, wrong.name) != 0))
		return REPLY_WHOLE;
	if (wrong.times > 0)
		wrong.times--;
	return wrong.fault;
}

void
go_wrong(const char *name, enum act act, enum reply_fault fault, int times)
{
	wrong.name = name;
	wrong.act = act;
	wrong.fault = fault;
	wrong.times = times;
	w->fault = on_one;
}

/* --- what came of it ------------------------------------------------------ */

unsigned
count_spread(int n)
{
	unsigned held = 0;
	char name[16];

	for (int i = 0; i < n; i++) {
		struct thing *t;

		snprintf(name, sizeof(name), "n%d", i);
		t = thing_find(w, KIND_NODE, name);
		held += t != NULL && thing_held(t);
	}
	return held;
}

void
held_until(int64_t quiet, unsigned nodes)
{
	world_run_until(w, quiet - 1);
	ck_assert_uint_eq(count_held(w, KIND_NODE), nodes);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}

unsigned
notes(enum note_type type, struct note *last)
{
	struct note n;
	unsigned count = 0;

	while (controller_note(w->s, &n)) {
		if (n.type != type)
			continue;
		count++;
		if (last != NULL)
			*last = n;
	}
	return count;
}
