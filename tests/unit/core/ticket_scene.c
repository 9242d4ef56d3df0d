/* SPDX-License-Identifier: Apache-2.0 */
#include "ticket_scene.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

void
ticket_setup(void)
{
	rules = rules_default();
	strcpy(rules.tickets, "tickets");
	w = world_new(&rules, THINGS, 1);
}

void
use_scope(enum scope_kind scope, int64_t max_ms)
{
	rules.scope = scope;
	rules.cap = (struct cap_rules){max_ms, 5 * MINUTE};
	scene_again();
}

/* --- NodePools ------------------------------------------------------------ */

struct nodepool
pool_of(const char *name)
{
	struct nodepool p;

	nodepool_init(&p);
	strcpy(p.name, name);
	snprintf(p.uid, sizeof(p.uid), "u-%s", name);
	return p;
}

void
pool(const char *name)
{
	struct nodepool p = pool_of(name);

	world_pool(w, &p);
}

void
pool_gone(const char *name)
{
	world_pool_gone(w, name);
	controller_nodepool_gone(w->s, name, world_now(w));
}

void
open_pools(void)
{
	pool("web");
	pool("batch");
	for (int i = 0; i < 4; i++)
		machine_add(w, i, i < 2 ? "web" : "batch",
			    server_ms(w) - DAY);
	world_open(w);
	ck_assert_uint_eq(count_marked(w), 0);
}

unsigned
held_in(const char *nodepool)
{
	unsigned n = 0;

	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		n += t->used && t->o.kind == KIND_NODE && thing_held(t) &&
		     strcmp(t->o.nodepool, nodepool) == 0;
	return n;
}

void
holds(unsigned web, unsigned batch)
{
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), web);
	ck_assert_uint_eq(held_in("batch"), batch);
}

/* --- tickets -------------------------------------------------------------- */

int64_t
ticket(const char *name, const char *patterns, int64_t lasts_ms)
{
	struct ticket t = ticket_new(name, patterns, stamp_now(), lasts_ms);

	strcpy(t.reason, "a sale");
	world_ticket(w, &t);
	return t.renewed_ms + lasts_ms;
}

struct controller_report
report(void)
{
	struct controller_report r;

	controller_report(w->s, &r);
	return r;
}

/* --- lists ---------------------------------------------------------------- */

void
list_machines(void)
{
	world_list(w, KIND_NODE);
	world_list(w, KIND_NODECLAIM);
}

void
list_nodepools(void)
{
	controller_listing(w->s, KIND_NODEPOOL);
	for (uint32_t i = 0; i < w->pools_n; i++)
		controller_nodepool(w->s, &w->nodepools[i], world_now(w));
	controller_listed(w->s, KIND_NODEPOOL, true, world_now(w));
	controller_watch(w->s, KIND_NODEPOOL, true);
}

void
list_events(void)
{
	world_list_empty(w, KIND_EVENT);
	controller_watch(w->s, KIND_EVENT, true);
}
