/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- birth ---------------------------------------------------------------- */

struct rules
rules_default(void)
{
	return (struct rules){
		.scope = SCOPE_CLUSTER,
		.hold_ms = 600000,
		.startup_ms = 900000,
		.min_scale_up = 1,
		.hold = {DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE},
		.include = {1, {"*"}},
		.exclude = {1, {"excluded"}},
	};
}

static void
controller_born(struct world *w, uint32_t max, uint64_t seed)
{
	w->s = controller_new(&w->rules, max, seed, &w->counters);
	ck_assert_ptr_nonnull(w->s);
	world_list_others(w);
}

struct world *
world_new(const struct rules *r, uint32_t max, uint64_t seed)
{
	struct world *w = calloc(1, sizeof(*w));

	ck_assert_ptr_nonnull(w);
	w->rules = *r;
	for (int k = 0; k < KIND_COUNT; k++) {
		w->events[k] = calloc(EVENTS, sizeof(struct event));
		ck_assert_ptr_nonnull(w->events[k]);
	}
	w->tickets = calloc(TICKETS, sizeof(*w->tickets));
	ck_assert_ptr_nonnull(w->tickets);
	w->dice = dice_new(seed + 1);
	w->boot_ms = START_BOOT;
	w->offset_ms = START_SERVER - START_BOOT;
	w->watch_ms = 30;
	w->reply_ms = 20;
	w->retry_after_ms = 2000;
	controller_born(w, max, seed);
	return w;
}

static void
free_flights(struct world *w)
{
	for (int i = 0; i < FLIGHTS; i++) {
		free(w->flights[i].fresh);
		free(w->flights[i].tickets);
	}
}

void
world_restart(struct world *w, uint64_t seed)
{
	free_flights(w);
	memset(w->flights, 0, sizeof(w->flights));
	w->up[KIND_TICKET] = false;
	controller_free(w->s);
	controller_born(w, THINGS, seed);
}

void
world_free(struct world *w)
{
	free_flights(w);
	free(w->tickets);
	for (int k = 0; k < KIND_COUNT; k++)
		free(w->events[k]);
	controller_free(w->s);
	free(w);
}

struct now
world_now(const struct world *w)
{
	return (struct now){w->boot_ms + w->offset_ms, w->boot_ms};
}

int64_t
server_ms(const struct world *w)
{
	return w->boot_ms + w->offset_ms;
}

/* --- NodePools ------------------------------------------------------------ */

void
world_pool_quietly(struct world *w, const struct nodepool *p)
{
	uint32_t i = 0;

	while (i < w->pools_n && strcmp(w->nodepools[i].name, p->name) != 0)
		i++;
	ck_assert_uint_lt(i, POOLS);
	w->nodepools[i] = *p;
	if (i == w->pools_n)
		w->pools_n++;
}

void
world_pool(struct world *w, const struct nodepool *p)
{
	world_pool_quietly(w, p);
	controller_nodepool(w->s, p, world_now(w));
}

void
world_pool_gone(struct world *w, const char *name)
{
	for (uint32_t i = 0; i < w->pools_n; i++)
		if (strcmp(w->nodepools[i].name, name) == 0)
			w->nodepools[i] = w->nodepools[--w->pools_n];
}

/* --- tickets -------------------------------------------------------------- */

static bool
is_watched(const struct world *w)
{
	return w->up[KIND_TICKET] && !w->frozen[KIND_TICKET];
}

void
world_ticket(struct world *w, const struct ticket *t)
{
	uint32_t i = 0;

	while (i < w->tickets_n && strcmp(w->tickets[i].name, t->name) != 0)
		i++;
	ck_assert_uint_lt(i, TICKETS);
	w->tickets[i] = *t;
	if (i == w->tickets_n)
		w->tickets_n++;
	api_version(++w->rv, w->tickets[i].rv);
	if (is_watched(w))
		controller_ticket(w->s, &w->tickets[i], world_now(w));
}

void
world_ticket_gone(struct world *w, const char *name)
{
	for (uint32_t i = 0; i < w->tickets_n; i++)
		if (strcmp(w->tickets[i].name, name) == 0)
			w->tickets[i] = w->tickets[--w->tickets_n];
	if (is_watched(w))
		controller_ticket_gone(w->s, name, world_now(w));
}

/* --- objects -------------------------------------------------------------- */

struct thing *
thing_find(struct world *w, enum kind kind, const char *name)
{
	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		if (t->used && t->o.kind == kind &&
		    strcmp(t->o.name, name) == 0)
			return t;
	return NULL;
}

static void
keep_hold(struct api_object *kept, const struct hold_key *k, enum hold hold)
{
	const char *value = hold == HOLD_ABSENT ? ""
			    : hold == HOLD_SAME ? k->value
						: "other";

	snprintf(kept->at[ann_of(k)], TEXT, "%.*s", TEXT - 1, value);
}

/* What a test has made of the object becomes the API server's. */
static void
keep(struct thing *t, const struct hold_key *today)
{
	const struct object *o = &t->o;
	struct api_object *kept = &t->kept;

	memcpy(kept->uid, o->uid, sizeof(kept->uid));
	memcpy(kept->rv, o->rv, sizeof(kept->rv));
	kept->at[ANN_MARK][0] = kept->at[ANN_HELD_KEY][0] = '\0';
	if (o->is_other) {
		api_hold(kept, &o->other_hold, o->mark_ms);
	} else if (o->mark == MARK_TIME) {
		stamp_write(o->mark_ms, kept->at[ANN_MARK]);
	} else if (o->mark == MARK_ODD) {
		snprintf(kept->at[ANN_MARK], TEXT, "once");
	}
	if (!o->is_other)
		keep_hold(kept, today, o->hold);
	memcpy(kept->class, o->replaces, sizeof(kept->class));
	memcpy(kept->class_uid, o->uid, sizeof(kept->class_uid));
	if (o->replaces[0] == '\0')
		kept->class_uid[0] = '\0';
}

struct api_object *
thing_keep(struct world *w, struct thing *t)
{
	const struct object o = t->o;

	keep(t, &w->rules.hold);
	api_show(&t->kept, &w->rules.hold, &t->o);
	/* A test can only say what there can be. */
	ck_assert_int_eq(t->o.hold, o.hold);
	ck_assert_int_eq(t->o.mark, o.mark);
	if (o.mark == MARK_TIME)
		ck_assert_int_eq(t->o.mark_ms, o.mark_ms);
	ck_assert_int_eq(t->o.has_held_key, o.has_held_key);
	ck_assert_int_eq(t->o.is_other, o.is_other);
	ck_assert_str_eq(t->o.replaces, o.replaces);
	return &t->kept;
}

static void
world_emit(struct world *w, const struct object *o, bool deleted)
{
	uint32_t *last = &w->last[o->kind];

	ck_assert_uint_lt(*last - w->first[o->kind], EVENTS);
	w->events[o->kind][(*last)++ % EVENTS] = (struct event){
		.at = w->boot_ms + 1 + roll(&w->dice, (uint32_t)w->watch_ms),
		.deleted = deleted,
		.o = *o,
	};
}

void
thing_changed(struct world *w, struct thing *t)
{
	api_version(++w->rv, t->o.rv);
	(void)thing_keep(w, t);
	world_emit(w, &t->o, false);
}

struct thing *
thing_add(struct world *w, const struct object *o)
{
	struct thing *t = w->at;

	while (t < w->at + THINGS && t->used)
		t++;
	ck_assert_msg(t < w->at + THINGS, "no room for more things");
	*t = (struct thing){.used = true, .o = *o};
	thing_changed(w, t);
	return t;
}

void
thing_delete(struct world *w, struct thing *t)
{
	api_version(++w->rv, t->o.rv);
	(void)thing_keep(w, t);
	world_emit(w, &t->o, true);
	t->used = false;
}

bool
thing_held(const struct thing *t)
{
	return t->o.hold == HOLD_SAME && t->o.mark != MARK_ABSENT;
}

bool
thing_clear(const struct thing *t)
{
	return t->o.hold == HOLD_ABSENT && t->o.mark == MARK_ABSENT;
}

/* --- machines ------------------------------------------------------------- */

void
machine_add(struct world *w, int n, const char *nodepool, int64_t ready_ms)
{
	char claim[16], node[16];
	struct object c, o;

	snprintf(claim, sizeof(claim), "c%d", n);
	snprintf(node, sizeof(node), "n%d", n);
	c = claim_new(claim, ready_ms - 60000);
	c.launched = c.launch_known = true;
	c.ready_ms = ready_ms;
	strcpy(c.node_name, node);
	o = node_new(node, claim, ready_ms - 20000);
	o.registered = true;
	strcpy(c.nodepool, nodepool);
	strcpy(o.nodepool, nodepool);
	thing_add(w, &c);
	thing_add(w, &o);
}

struct thing *
node_at(struct world *w, int n)
{
	char name[16];
	struct thing *t;

	snprintf(name, sizeof(name), "n%d", n);
	t = thing_find(w, KIND_NODE, name);
	ck_assert_msg(t != NULL, "no Node %s", name);
	return t;
}

struct thing *
claim_at(struct world *w, int n)
{
	char name[16];
	struct thing *t;

	snprintf(name, sizeof(name), "c%d", n);
	t = thing_find(w, KIND_NODECLAIM, name);
	ck_assert_msg(t != NULL, "no NodeClaim %s", name);
	return t;
}

void
machine_delete(struct world *w, int n)
{
	thing_delete(w, claim_at(w, n));
	thing_delete(w, node_at(w, n));
}

unsigned
count_held(struct world *w, enum kind kind)
{
	unsigned n = 0;

	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		n += t->used && t->o.kind == kind && thing_held(t);
	return n;
}

unsigned
count_marked(struct world *w)
{
	unsigned n = 0;

	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		n += t->used && t->o.mark != MARK_ABSENT;
	return n;
}
