/* SPDX-License-Identifier: Apache-2.0 */
#include "core/protocol/cleanup.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/pace.h"
#include "core/protocol/foreign_marks.h"
#include "core/rules/decide.h"

/*
 * cleanup.h draws the steps.  This file keeps the objects of the last list that
 * carry something of ours in a table of machines, because what is done about
 * one half of a machine depends on the other half (core/rules/decide).
 *
 * A round goes over the table in passes.  Within a pass any number of writes
 * may be under way, and each object has a slot that says which write it has and
 * whether one has failed.  A round in which some write succeeded leads to a new
 * list at once.  A round in which no write succeeded leads to a pause that
 * grows from round to round, or to the end if another round would be of no use.
 * cleanup_check checks that the counts of the round fit the step.
 */

/* The writes of a round, in this order.  A pass begins when all writes of the
 * pass before it are answered, because what is done about a Node depends on its
 * claim.  Classes are removed last, so that no release waits for them. */
static const struct {
	enum kind kind;
	bool classes;
} passes[] = {
	{KIND_NODECLAIM, false},
	{KIND_NODE, false},
	{KIND_NODECLAIM, true},
	{KIND_NODE, true},
};
#define PASSES (sizeof(passes) / sizeof(passes[0]))

/* The state of one entry of the table. */
struct slot {
	/* The enum cleanup_act of the write in flight, or CLEANUP_KEEP. */
	uint8_t act;
	bool failed; /* Whether a write has failed in this round. */
};

struct cleanup {
	struct cleanup_config config;
	struct pace pace;
	/* The hold that the list is about, and the next one, which the list has
	 * shown (cleanup_seen).  Its key is "" if there is none. */
	struct hold_key hold, next;
	struct machines table; /* the objects with a mark, a hold or a class */
	struct slot *slots;
	struct foreign_marks foreign;
	struct cleanup_report report;

	enum cleanup_step step; /* the next step, or the current one */
	/* Whether the step is under way.  Not used in CLEANUP_WRITE. */
	bool asked;
	enum cleanup_verdict verdict;
	enum kind listing;
	struct cleanup_list list; /* the current list */
	unsigned clean; /* number of lists in a row without any mark or class */
	/* In CLEANUP_WAIT: the boot time at which the wait ends. */
	int64_t not_before_ms;
	/* In CLEANUP_WAIT: whether trying_again still has to be reported. */
	bool tells;

	/* The round under way: its pass, the next id to check, the number of
	 * writes in flight, and the numbers of writes by outcome. */
	size_t pass;
	uint32_t at;
	unsigned under_way;
	unsigned done, changed, refused, unanswered;
	/* Number of rounds in a row in which no write succeeded. */
	unsigned in_a_row;
};

struct cleanup *
cleanup_new(const struct cleanup_config *c, uint64_t seed)
{
	struct cleanup *x = calloc(1, sizeof(*x));

	if (x == NULL)
		return NULL;
	x->config = *c;
	x->hold = c->hold;
	x->step = CLEANUP_REGISTERED;
	x->report.foreign = x->foreign.text;
	pace_init(&x->pace, seed);
	if (machines_init(&x->table, c->machines_max) == 0)
		x->slots = calloc(x->table.cap, sizeof(*x->slots));
	if (x->slots != NULL)
		return x;
	cleanup_free(x);
	return NULL;
}

void
cleanup_free(struct cleanup *x)
{
	if (x == NULL)
		return;
	machines_done(&x->table);
	free(x->slots);
	free(x);
}

const struct cleanup_report *
cleanup_report(const struct cleanup *x)
{
	return &x->report;
}

/* Returns whether the state is consistent.  A list that leads to a round sets
 * the count of clean lists to 0, so that count is 0 while a round runs. */
static bool
cleanup_check(const struct cleanup *x)
{
	if (x->step != CLEANUP_WRITE && x->step != CLEANUP_END &&
	    x->under_way > 0)
		return false;
	switch (x->step) {
	case CLEANUP_REGISTERED:
		return x->clean == 0 || x->clean == 2;
	case CLEANUP_LEAD:
	case CLEANUP_LIST:
		return x->clean < 2;
	case CLEANUP_WAIT:
		return x->clean < 2 && !x->asked;
	case CLEANUP_WRITE:
		return x->clean == 0 && !x->asked && x->pass <= PASSES;
	case CLEANUP_END:
		return !x->asked;
	}
	return false;
}

static void
go(struct cleanup *x, enum cleanup_step step)
{
	x->step = step;
	x->asked = false;
}

static void
end(struct cleanup *x, enum cleanup_verdict verdict)
{
	go(x, CLEANUP_END);
	x->verdict = verdict;
}

static void
rest(struct cleanup *x, int64_t ms, struct now now)
{
	go(x, CLEANUP_WAIT);
	x->not_before_ms = now.boot_ms + ms;
}

/* --- the list ------------------------------------------------------------- */

void
cleanup_listing(struct cleanup *x)
{
	assert(x->step == CLEANUP_LIST && x->asked);
	for (uint32_t id = 0; id < x->table.top; id++)
		if (x->table.at[id].used && x->table.at[id].kind == x->listing)
			machines_drop(&x->table, id, &(struct touched){0});
	if (x->listing == KIND_NODE)
		x->next.key[0] = '\0';
	x->list.left[x->listing] = x->list.unread[x->listing] = 0;
	x->list.classes[x->listing] = x->list.unowned[x->listing] = 0;
}

const struct hold_key *
cleanup_hold(const struct cleanup *x)
{
	return &x->hold;
}

/* Takes a hold for which the list shows a mark.  The configured hold comes
 * first, and then all others in their order. */
static void
another(struct cleanup *x, const struct hold_key *k)
{
	if (object_hold_compare(k, &x->config.hold) != 0 &&
	    (object_hold_compare(&x->hold, &x->config.hold) == 0 ||
	     object_hold_compare(k, &x->hold) > 0) &&
	    (x->next.key[0] == '\0' || object_hold_compare(k, &x->next) < 0))
		x->next = *k;
}

static unsigned
marked(const struct cleanup_list *l)
{
	return l->left[KIND_NODE] + l->left[KIND_NODECLAIM];
}

/* Counts one more object in count[], and keeps the object's name if it is among
 * the first CLEANUP_NAMED. */
static void
name_it(const struct cleanup *x, unsigned count[KIND_COUNT],
	char named[CLEANUP_NAMED][NAME_BYTES + 16], const char *name)
{
	unsigned n = count[KIND_NODE] + count[KIND_NODECLAIM];

	if (n < CLEANUP_NAMED)
		(void)snprintf(named[n], sizeof(named[n]), "%s/%s",
			       x->listing == KIND_NODE ? "node" : "nodeclaim",
			       name);
	count[x->listing]++;
}

void
cleanup_unread(struct cleanup *x, const char *text)
{
	x->list.unread[x->listing]++;
	name_it(x, x->list.left, x->list.named, text);
}

void
cleanup_unowned(struct cleanup *x, const char *name)
{
	name_it(x, x->list.unowned, x->list.named_unowned, name);
}

/* Takes an object of the list.  An object with a hold but no mark is kept as
 * well, because its hold may show who owns the hold on the machine's other
 * half. */
void
cleanup_seen(struct cleanup *x, const struct object *item, struct now now)
{
	struct object o = *item;
	struct touched t = {0};
	uint32_t id = NO_ID;

	assert(x->step == CLEANUP_LIST && x->asked && o.kind == x->listing);
	if (o.is_other && o.other_hold.key[0] != '\0') {
		another(x, &o.other_hold);
	} else if (o.is_other) {
		/* Nobody knows which hold it stands for, so only it is
		 * removed. */
		o.mark = MARK_ODD;
		o.hold = HOLD_ABSENT;
	}
	if (o.mark != MARK_ABSENT || o.is_other)
		name_it(x, x->list.left, x->list.named, o.name);
	foreign_marks_look(&x->foreign, &o, now.server_ms);
	if (o.has_class)
		x->list.classes[x->listing]++;
	if (o.mark != MARK_ABSENT || o.hold != HOLD_ABSENT || o.has_class)
		id = machines_put(&x->table, &o, INT64_MAX, &t);
	/* If the table is full, the object gets a place in a later round. */
	if (id != NO_ID)
		x->table.at[id].classed = o.has_class;
}

static void
begin_round(struct cleanup *x)
{
	memset(x->slots, 0, x->table.top * sizeof(*x->slots));
	x->report.why[0] = '\0';
	x->done = x->changed = x->refused = x->unanswered = 0;
	x->pass = 0;
	x->at = 0;
	go(x, CLEANUP_WRITE);
}

static void
listed(struct cleanup *x, bool led, struct now now)
{
	const struct cleanup_list *l = &x->list;

	x->report.last = *l;
	x->report.listed = true;
	foreign_marks_listed(&x->foreign, led);
	if (x->config.dry_run ||
	    marked(l) + l->classes[KIND_NODE] + l->classes[KIND_NODECLAIM] >
		    0) {
		x->clean = 0;
		begin_round(x);
	} else if (++x->clean == 2) {
		go(x, CLEANUP_REGISTERED);
	} else {
		x->hold = x->config.hold;
		rest(x, x->config.settle_ms, now);
	}
}

/* Takes the outcome of a list.  If NodeClaims are not served, there may still
 * be Nodes that are held.  Every cluster serves Nodes, so it is an error if
 * they are not served. */
static void
list_done(struct cleanup *x, const struct cleanup_outcome *o, struct now now)
{
	if (o->code == CLEANUP_FAILED ||
	    (o->code == CLEANUP_UNSERVED && x->listing == KIND_NODE)) {
		end(x, CLEANUP_BROKEN);
	} else if (x->listing == KIND_NODE) {
		/* Nodes are listed first, because a claim exists before its
		 * Node does.  If the later list does not show a Node's claim,
		 * the claim is gone. */
		x->listing = KIND_NODECLAIM;
		go(x, CLEANUP_LIST);
	} else {
		listed(x, o->led, now);
	}
}

/* --- the writes ----------------------------------------------------------- */

static struct half
half_of(const struct cleanup *x, const struct entry *e)
{
	struct half h = machines_half(e);

	h.busy = e != NULL && x->slots[machines_id(&x->table, e)].failed;
	return h;
}

/* Returns what this pass does about the object with this id. */
static enum cleanup_act
act_on(const struct cleanup *x, uint32_t id)
{
	const struct entry *e = &x->table.at[id];
	uint32_t head = machines_head(&x->table, id);
	struct half claim, node;
	struct decision d;

	if (!e->used || e->kind != passes[x->pass].kind || x->slots[id].failed)
		return CLEANUP_KEEP;
	if (passes[x->pass].classes)
		return e->classed ? CLEANUP_DECLASSIFY : CLEANUP_KEEP;
	claim = half_of(x, machines_claim(&x->table, head));
	node = half_of(x, machines_node(&x->table, head));
	d = decide(&claim, &node, GOAL_CLEAR);
	if (d.act == ACT_NONE || d.on != e->kind)
		return CLEANUP_KEEP;
	return d.act == ACT_CLEAR ? CLEANUP_RELEASE : CLEANUP_UNMARK;
}

/* Finds the next write of this round that may be sent now. */
static bool
next_write(struct cleanup *x, struct cleanup_todo *t)
{
	for (; x->pass < PASSES; x->pass++, x->at = 0) {
		while (x->at < x->table.top) {
			uint32_t id = x->at++;
			enum cleanup_act act = act_on(x, id);

			if (act == CLEANUP_KEEP)
				continue;
			x->slots[id].act = (uint8_t)act;
			x->under_way++;
			t->step = CLEANUP_WRITE;
			t->write = cleanup_writing(x, id);
			return true;
		}
		if (x->under_way > 0)
			return false;
	}
	return false;
}

struct cleanup_write
cleanup_writing(const struct cleanup *x, uint32_t id)
{
	const struct entry *e = &x->table.at[id];
	enum cleanup_act act = (enum cleanup_act)x->slots[id].act;
	struct cleanup_write w;

	assert(act != CLEANUP_KEEP);
	w = (struct cleanup_write){
		.id = id,
		.act = act,
		.object = e,
		.name = machines_name(&x->table, e),
		.hold = act == CLEANUP_RELEASE ? &x->hold : NULL,
		.mark_exact = machines_entry_mark_exact(e),
	};
	machines_uid(&x->table, e, w.uid);
	machines_rv(&x->table, e, w.rv);
	return w;
}

/* Records the object's new state, because later writes depend on it. */
static void
wrote(struct cleanup *x, struct entry *e, const struct cleanup_write *w)
{
	x->done++;
	switch (w->act) {
	case CLEANUP_DECLASSIFY:
		x->report.declassified++;
		return;
	case CLEANUP_RELEASE:
		x->report.released[e->kind]++;
		e->hold = HOLD_ABSENT;
		break;
	default:
		x->report.unmarked++;
		break;
	}
	e->mark = MARK_ABSENT;
}

static void
write_done(struct cleanup *x, const struct cleanup_outcome *o)
{
	struct cleanup_write w = cleanup_writing(x, o->id);

	x->slots[o->id].act = CLEANUP_KEEP;
	x->under_way--;
	if (o->code == CLEANUP_OK) {
		wrote(x, &x->table.at[o->id], &w);
		return;
	}
	x->slots[o->id].failed = true;
	if (o->code == CLEANUP_GONE)
		return;
	/* The report gives the first reason why a write was refused or not
	 * answered.  It gives the reason for CLEANUP_CHANGED only if there is
	 * no other reason. */
	if (x->refused + x->unanswered == 0 && o->why != NULL)
		(void)snprintf(x->report.why, sizeof(x->report.why), "%s",
			       o->why);
	if (o->code == CLEANUP_CHANGED)
		x->changed++;
	else if (o->code == CLEANUP_REFUSED)
		x->refused++;
	else
		x->unanswered++;
}

/* Ends a round when all its writes are answered.  If no write succeeded,
 * decides whether another round would be of any use. */
static void
round_done(struct cleanup *x, struct now now)
{
	const struct cleanup_list *l = &x->report.last;
	bool failed = x->changed + x->refused + x->unanswered > 0;
	bool dry_run = x->config.dry_run;

	if (x->next.key[0] != '\0' && !failed && (dry_run || x->done == 0)) {
		x->hold = x->next;
		x->listing = KIND_NODE;
		go(x, dry_run ? CLEANUP_LIST : CLEANUP_LEAD);
	} else if (dry_run) {
		end(x, CLEANUP_CLEAN);
	} else if (x->done > 0) {
		x->in_a_row = 0;
		go(x, CLEANUP_LEAD);
	} else if (x->refused > 0 && x->changed + x->unanswered == 0) {
		end(x, CLEANUP_DENIED);
	} else if (l->unread[KIND_NODE] + l->unread[KIND_NODECLAIM] > 0 &&
		   !failed &&
		   object_hold_compare(&x->hold, &x->config.hold) == 0) {
		end(x, CLEANUP_UNREADABLE);
	} else {
		x->hold = x->config.hold;
		x->tells = ++x->in_a_row == 1 && x->report.why[0] != '\0';
		rest(x,
		     pace_backoff(&x->pace, x->in_a_row, BACKOFF_MIN_MS,
				  BACKOFF_MAX_MS),
		     now);
	}
}

/* --- the next step, and the outcome of a step ----------------------------- */

static struct cleanup_todo
wait_until(const struct cleanup *x, int64_t boot_ms, struct now now)
{
	if (boot_ms > x->config.until_ms)
		boot_ms = x->config.until_ms;
	return (struct cleanup_todo){
		.step = CLEANUP_WAIT,
		.wait_ms = boot_ms == INT64_MAX ? INT64_MAX
						: boot_ms - now.boot_ms,
	};
}

static struct cleanup_todo
ask(struct cleanup *x)
{
	struct cleanup_todo t = {.step = x->step, .kind = x->listing};

	x->asked = true;
	if (x->step == CLEANUP_REGISTERED)
		t.remove = x->clean == 0 && x->config.remove_registered &&
			   !x->config.dry_run;
	if (x->step == CLEANUP_LIST && x->listing == KIND_NODE)
		x->list = (struct cleanup_list){0};
	return t;
}

struct cleanup_todo
cleanup_next(struct cleanup *x, struct now now)
{
	struct cleanup_todo t = {0};

	assert(cleanup_check(x));
	if (x->step != CLEANUP_END && now.boot_ms >= x->config.until_ms)
		end(x, CLEANUP_LATE);
	if (x->step == CLEANUP_WRITE) {
		if (next_write(x, &t))
			return t;
		if (x->under_way > 0)
			return wait_until(x, INT64_MAX, now);
		round_done(x, now);
	}
	if (x->step == CLEANUP_WAIT) {
		t = wait_until(x, x->not_before_ms, now);
		t.trying_again = x->tells;
		x->tells = false;
		if (t.wait_ms > 0)
			return t;
		go(x, CLEANUP_LEAD);
	}
	if (x->step == CLEANUP_END)
		return (struct cleanup_todo){.step = CLEANUP_END,
					     .verdict = x->verdict};
	return x->asked ? wait_until(x, INT64_MAX, now) : ask(x);
}

/* Takes n, the number of registrations that still exist.  They are counted for
 * the last time after the second clean list. */
static void
registered_done(struct cleanup *x, unsigned n)
{
	if (n > 0 && !x->config.dry_run) {
		end(x, CLEANUP_STILL_REGISTERED);
	} else if (x->clean == 2) {
		end(x, x->foreign.text[0] == '\0' ? CLEANUP_CLEAN
						  : CLEANUP_FOREIGN_MARKS);
	} else {
		x->listing = KIND_NODE;
		go(x, x->config.dry_run ? CLEANUP_LIST : CLEANUP_LEAD);
	}
}

void
cleanup_done(struct cleanup *x, const struct cleanup_outcome *o, struct now now)
{
	if (x->under_way > 0) { /* Answers come even after CLEANUP_LATE. */
		write_done(x, o);
		assert(cleanup_check(x));
		return;
	}
	assert(x->asked);
	if (x->step == CLEANUP_LIST) {
		list_done(x, o, now);
	} else if (o->code == CLEANUP_FAILED) {
		end(x, CLEANUP_BROKEN);
	} else if (x->step == CLEANUP_REGISTERED) {
		registered_done(x, o->registered);
	} else {
		if (o->anew || x->foreign.start_ms == 0)
			foreign_marks_begin(&x->foreign, now.server_ms,
					    x->config.settle_ms);
		x->listing = KIND_NODE;
		go(x, CLEANUP_LIST);
	}
	assert(cleanup_check(x));
}
