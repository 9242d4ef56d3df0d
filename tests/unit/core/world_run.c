/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* How the time of the world passes: calls, their answers and watch lines. */

/* --- what the API server does with a call --------------------------------- */

/* I1: what we write on was as we saw it, and nobody's. */
static void
check_hold(const struct world *w, const struct thing *t, const struct action *a)
{
	ck_assert_msg(t->o.hold == HOLD_ABSENT && t->o.mark == MARK_ABSENT,
		      "%s: held over hold %d mark %d", t->o.name, t->o.hold,
		      t->o.mark);
	ck_assert_str_eq(a->hold.key, w->rules.hold.key);
}

static enum controller_code
apply_write(struct world *w, struct thing *t, const struct action *a)
{
	enum controller_code code =
		api_patch(thing_keep(w, t), a, &w->rules.hold);

	ck_assert_int_eq(w->rules.mode, MODE_ENFORCE);
	if (code != CONTROLLER_OK)
		return code;
	if (a->act == ACT_HOLD) {
		check_hold(w, t, a);
		t->held_ms = server_ms(w);
	}
	if (a->act == ACT_CLEAR)
		t->cleared_ms = server_ms(w);
	api_show(&t->kept, &w->rules.hold, &t->o);
	return CONTROLLER_OK;
}

static void
apply_list(struct world *w, struct flight *f)
{
	f->fresh = calloc(THINGS, sizeof(*f->fresh));
	ck_assert_ptr_nonnull(f->fresh);
	f->out.code = w->unserved ? CONTROLLER_GONE : CONTROLLER_OK;
	for (struct thing *t = w->at; t < w->at + THINGS; t++) {
		if (!t->used || t->o.kind != KIND_NODECLAIM || w->unserved)
			continue;
		(void)thing_keep(w, t);
		f->fresh[f->fresh_n] = t->o;
		api_metadata_only(&f->fresh[f->fresh_n++]);
	}
}

static void
apply_list_pools(struct world *w, struct flight *f)
{
	f->out.code = CONTROLLER_OK;
	memcpy(f->nodepools, w->nodepools, sizeof(f->nodepools));
	f->pools_n = w->pools_n;
	for (uint32_t i = 0; i < f->pools_n; i++)
		f->nodepools[i].spec_known = f->nodepools[i].inert = false;
}

static void
apply_list_tickets(struct world *w, struct flight *f)
{
	f->out.code = CONTROLLER_OK;
	f->tickets = calloc(TICKETS, sizeof(*f->tickets));
	ck_assert_ptr_nonnull(f->tickets);
	memcpy(f->tickets, w->tickets, w->tickets_n * sizeof(*f->tickets));
	f->tickets_n = w->tickets_n;
}

static void
apply(struct world *w, struct flight *f)
{
	const struct action *a = &f->a;
	struct thing *t = thing_find(w, a->kind, a->name);

	f->applied = true;
	if (a->act == ACT_LIST_CLAIMS) {
		apply_list(w, f);
		return;
	}
	if (a->act == ACT_LIST_NODEPOOLS) {
		apply_list_pools(w, f);
		return;
	}
	if (a->act == ACT_LIST_TICKETS) {
		apply_list_tickets(w, f);
		return;
	}
	f->out.code = api_find(a, t == NULL ? NULL : t->o.uid,
			       a->kind == KIND_NODE || !w->unserved);
	if (f->out.code != CONTROLLER_OK)
		return;
	if (!act_writes(a->act)) {
		(void)thing_keep(w, t);
		f->has_read = true;
		f->read = t->o;
		if (t->large) {
			api_metadata_only(&f->read);
			f->read.unread = true;
		}
		return;
	}
	f->out.code = apply_write(w, t, a);
	if (f->out.code != CONTROLLER_OK)
		return;
	t->writes++;
	thing_changed(w, t);
	memcpy(f->out.rv, t->o.rv, sizeof(f->out.rv));
}

/* --- calls and their answers ---------------------------------------------- */

static int64_t
sooner_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void
takeoff(struct world *w, struct flight *f, const struct action *a)
{
	bool silent;

	*f = (struct flight){.used = true, .a = *a};
	f->fault = w->fault != NULL ? w->fault(w, a) : REPLY_WHOLE;
	f->out = (struct controller_outcome){.code = CONTROLLER_FAILED,
				  .retry_after_ms = -1};
	silent = f->fault == REPLY_LOST || f->fault == REPLY_LATE;
	f->reply_at = w->boot_ms +
		      (silent ? CALL_MS
			      : 1 + roll(&w->dice, (uint32_t)w->reply_ms));
	f->apply_at = w->boot_ms;
	if (f->fault == REPLY_LATE)
		f->apply_at = w->boot_ms + CALL_MS + 2000;
	w->acts[a->act]++;
}

/* A late call is served even after its answer was given up. */
static void
try_apply(struct world *w, struct flight *f)
{
	if (f->applied || f->apply_at > w->boot_ms)
		return;
	if (!reply_refuses(f->fault, w->retry_after_ms, &f->out)) {
		apply(w, f);
		reply_heard(f->fault, &f->out);
	}
	f->applied = true;
}

static void
land(struct world *w, struct flight *f)
{
	if (f->out.code == CONTROLLER_OK && f->has_read)
		controller_found(w->s, &f->a, &f->read, world_now(w));
	for (uint32_t i = 0; f->out.code == CONTROLLER_OK && i < f->fresh_n;
	     i++)
		controller_fresh(w->s, &f->fresh[i], world_now(w));
	for (uint32_t i = 0; f->out.code == CONTROLLER_OK && i < f->pools_n;
	     i++)
		controller_fresh_nodepool(w->s, &f->nodepools[i]);
	for (uint32_t i = 0; f->out.code == CONTROLLER_OK && i < f->tickets_n;
	     i++)
		controller_fresh_ticket(w->s, &f->tickets[i], world_now(w));
	f->out.action = &f->a;
	controller_done(w->s, &f->out, world_now(w));
	f->reply_at = INT64_MAX;
}

static int64_t
run_flights(struct world *w)
{
	int64_t next = INT64_MAX;

	for (struct flight *f = w->flights; f < w->flights + FLIGHTS; f++) {
		if (!f->used)
			continue;
		try_apply(w, f);
		if (f->reply_at <= w->boot_ms)
			land(w, f);
		if (f->applied && f->reply_at == INT64_MAX) {
			free(f->fresh);
			free(f->tickets);
			f->fresh = NULL;
			f->tickets = NULL;
			f->used = false;
			continue;
		}
		next = sooner_of(next, f->reply_at);
		if (!f->applied)
			next = sooner_of(next, f->apply_at);
	}
	return next;
}

void
world_delay_replies(struct world *w, int64_t ms)
{
	for (struct flight *f = w->flights; f < w->flights + FLIGHTS; f++)
		if (f->used)
			f->reply_at = w->boot_ms + ms;
}

/* --- watches -------------------------------------------------------------- */

static bool
is_large(const struct world *w, const struct object *o)
{
	for (const struct thing *t = w->at; t < w->at + THINGS; t++)
		if (t->large && strcmp(t->o.uid, o->uid) == 0)
			return true;
	return false;
}

static void
show(struct world *w, struct object o, bool deleted)
{
	bool large = is_large(w, &o);

	if (large && o.kind == KIND_NODE) {
		controller_skipped(w->s, o.kind, world_now(w));
		return;
	}
	if (large)
		api_metadata_only(&o);
	o.unread = large;
	if (deleted)
		controller_forget(w->s, &o, world_now(w));
	else
		controller_track(w->s, &o, world_now(w));
}

static int64_t
run_watches(struct world *w)
{
	int64_t next = INT64_MAX;

	for (int k = 0; k < KIND_COUNT; k++) {
		while (w->up[k] && !w->frozen[k] &&
		       w->first[k] != w->last[k]) {
			struct event *e = &w->events[k][w->first[k] % EVENTS];

			if (e->at > w->boot_ms) {
				next = sooner_of(next, e->at);
				break;
			}
			w->first[k]++;
			show(w, e->o, e->deleted);
		}
	}
	return next;
}

void
world_watch(struct world *w, enum kind kind, bool up)
{
	w->up[kind] = up;
	controller_watch(w->s, kind, up);
}

void
world_list_empty(struct world *w, enum kind kind)
{
	controller_listing(w->s, kind);
	controller_listed(w->s, kind, true, world_now(w));
}

void
world_list_others(struct world *w)
{
	for (int k = KIND_COUNT; k < KIND_TICKET; k++) {
		world_list_empty(w, (enum kind)k);
		controller_watch(w->s, (enum kind)k, true);
	}
}

void
world_lose_lines(struct world *w, enum kind kind)
{
	w->first[kind] = w->last[kind];
}

void
world_list(struct world *w, enum kind kind)
{
	bool served = kind != KIND_NODECLAIM || !w->unserved;

	controller_listing(w->s, kind);
	for (uint32_t i = 0; kind == KIND_TICKET && i < w->tickets_n; i++)
		controller_ticket(w->s, &w->tickets[i], world_now(w));
	if (kind < KIND_COUNT)
		world_lose_lines(w, kind);
	for (struct thing *t = w->at; served && t < w->at + THINGS; t++) {
		if (!t->used || t->o.kind != kind)
			continue;
		(void)thing_keep(w, t);
		show(w, t->o, false);
	}
	controller_listed(w->s, kind, served, world_now(w));
	w->up[kind] = served;
	if (served)
		world_watch(w, kind, true);
}

/* --- time ----------------------------------------------------------------- */

/* No busy loop: a controller that says "wait" is asked again only so often. */
#define IDLE_MAX 400

static void
count_idle(struct world *w)
{
	if (w->boot_ms - w->idle_since >= 1000) {
		w->idle_since = w->boot_ms;
		w->idle = 0;
	}
	ck_assert_msg(++w->idle < 10 * IDLE_MAX, "asked %u times in a second",
		      w->idle);
}

struct controller_todo
world_next(struct world *w)
{
	return controller_next(w->s, world_now(w));
}

/* The next thing to do.  With MODE_OBSERVE writes are only told of. */
static struct controller_todo
told(struct world *w)
{
	struct controller_todo todo = world_next(w);

	while (todo.step == CONTROLLER_ACT && todo.action.observed) {
		w->acts[todo.action.act]++;
		controller_done(w->s,
				&(struct controller_outcome){
					.action = &todo.action,
					.retry_after_ms = -1},
				world_now(w));
		todo = world_next(w);
	}
	return todo;
}

static int64_t
run_controller(struct world *w)
{

	for (struct flight *f = w->flights; f < w->flights + FLIGHTS; f++) {
		struct controller_todo todo;

		if (f->used)
			continue;
		todo = told(w);
		if (todo.step == CONTROLLER_ACT) {
			takeoff(w, f, &todo.action);
			continue;
		}
		count_idle(w);
		ck_assert_msg(todo.wait_ms > 0, "wait %lld at boot %lld",
			      (long long)todo.wait_ms, (long long)w->boot_ms);
		return todo.wait_ms == INT64_MAX ? INT64_MAX
						 : w->boot_ms + todo.wait_ms;
	}
	return INT64_MAX;	/* no room: an answer comes first */
}

static bool
relist_if_wanted(struct world *w)
{
	bool any = false;

	for (int k = 0; k < VIEW_COUNT; k++) {
		if (k == KIND_NODEPOOL || k == KIND_EVENT ||
		    !controller_wants_list(w->s, (enum kind)k) || !w->up[k])
			continue;
		world_list(w, (enum kind)k);
		w->relists[k]++;
		any = true;
	}
	return any;
}

void
world_run(struct world *w, int64_t ms)
{
	int64_t end = w->boot_ms + ms, next;

	for (;;) {
		next = sooner_of(run_watches(w), run_flights(w));
		next = sooner_of(next, run_controller(w));
		while (relist_if_wanted(w))
			next = sooner_of(next, run_controller(w));
		next = sooner_of(next, run_flights(w));
		next = sooner_of(next, run_watches(w));
		if (next > end)
			break;
		w->boot_ms = next > w->boot_ms ? next : w->boot_ms + 1;
	}
	w->boot_ms = end;
}

void
world_run_until(struct world *w, int64_t at_server_ms)
{
	ck_assert_int_ge(at_server_ms, server_ms(w));
	world_run(w, at_server_ms - server_ms(w));
}

void
world_open(struct world *w)
{
	world_list(w, KIND_NODE);
	world_list(w, KIND_NODECLAIM);
	if (rules_tickets(&w->rules))
		world_list(w, KIND_TICKET);
	world_run(w, 5000);
}
