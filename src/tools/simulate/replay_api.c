/* SPDX-License-Identifier: Apache-2.0 */
#include "replay_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"

/*
 * Plays the API server for the controller of a replay.  The objects that it
 * shows to the controller come from two places: the roster has what the log
 * shows, and the copy has the holds, marks and classes that this setting has
 * added.
 *
 * Every action succeeds at once, and its result is shown to the controller as a
 * watch would show it.  An object's uid contains the machine's id and serial
 * number.  By the uid, find() finds the machine of an action, or nothing if the
 * machine is gone.  When the last hold of a waiting machine ends, resume()
 * applies what the log has said about it meanwhile.
 */

#define BOOT_MS 1000000000 /* An arbitrary start for CLOCK_BOOTTIME. */

struct now
replay_now(const struct replay *r)
{
	return (struct now){r->now_ms, r->now_ms - r->start_ms + BOOT_MS};
}

int64_t
replay_stamp(int64_t ms)
{
	return ms - (ms % 1000 + 1000) % 1000;
}

/* --- objects as the API server shows them --------------------------------- */

static void
show_class(const struct copy *c, const struct logged *m, struct object *o)
{
	const char *class = c->class;

	/* The log says that Karpenter made the NodeClaim to replace another
	 * one.  In a cluster the leader would have read this in an Event and
	 * written this class. */
	if (class == NULL && m->maker == MAKER_DISRUPTION)
		class = "disrupted";
	if (class == NULL)
		return;
	o->has_class = true;
	str_cut(o->replaces, sizeof(o->replaces), class);
}

static void
show_claim(const struct replay *r, uint32_t id, struct object *o)
{
	const struct logged *m = &r->roster->at[id];
	const struct copy *c = &r->at[id];

	if (c->half[KIND_NODE].there)
		str_cut(o->node_name, sizeof(o->node_name), m->node);
	o->registered = c->half[KIND_NODE].there;
	o->launched = m->launched;
	o->launch_known = true;
	o->ready_ms = m->ready_ms;
	o->rebooted = m->rebooted;
	o->disrupted = c->disrupted;
	o->drifted = c->drifted;
	o->disrupted_ms = c->disrupted ? c->disrupted_ms : STAMP_NONE;
	show_class(c, m, o);
}

/* Writes v as n hexadecimal digits that end right before `end`.  uid_of and
 * version_text use this instead of printf, because they run for every watch
 * line. */
static void
hex_put(char *end, int n, uint64_t v)
{
	for (; n > 0; n--, v >>= 4)
		*--end = "0123456789abcdef"[v & 15];
}

/* Makes the uid of an object.  It contains the machine's id, so that an action
 * finds its machine. */
static void
uid_of(const struct replay *r, uint32_t id, enum kind kind, char out[UID_BYTES])
{
	static const char of[KIND_COUNT][UID_BYTES] = {
		[KIND_NODE] = "00000000-0001-4000-8000-000000000000",
		[KIND_NODECLAIM] = "00000000-0002-4000-8000-000000000000",
	};

	memcpy(out, of[kind], UID_BYTES);
	hex_put(out + 8, 8, id);
	hex_put(out + 36, 12, r->roster->at[id].serial);
}

static void
version_text(uint64_t version, char out[RV_BYTES])
{
	char *to = out + RV_BYTES - 1;

	*to = '\0';
	do
		*--to = (char)('0' + version % 10);
	while ((version /= 10) > 0);
	memmove(out, to, (size_t)(out + RV_BYTES - to));
}

static void
claim_name(const struct logged *m, char out[NAME_BYTES])
{
	if (m->claim[0] != '\0')
		str_cut(out, NAME_BYTES, m->claim);
	else
		(void)snprintf(out, NAME_BYTES, "unknown-%llu",
			       (unsigned long long)m->serial);
}

static void
copy_show(const struct replay *r, uint32_t id, enum kind kind, struct object *o)
{
	const struct logged *m = &r->roster->at[id];
	const struct copy *c = &r->at[id];
	bool held = c->half[kind].held;

	memset(o, 0, sizeof(*o));
	o->kind = kind;
	uid_of(r, id, kind, o->uid);
	version_text(c->half[kind].rv, o->rv);
	str_cut(o->nodepool, sizeof(o->nodepool), m->pool);
	o->karpenter = true;
	o->created_ms = kind == KIND_NODE && m->registered_ms != STAMP_NONE
				? m->registered_ms
				: m->created_ms;
	o->deleting = c->deleting;
	o->deleted_ms = c->deleting ? m->deleted_ms : STAMP_NONE;
	o->hold = held ? HOLD_SAME : HOLD_ABSENT;
	o->has_held_key = held && !rules_hold_is_default(&r->rules.hold);
	o->mark = held ? MARK_TIME : MARK_ABSENT;
	o->mark_ms = held ? c->half[kind].mark_ms : STAMP_NONE;
	o->ready_ms = o->disrupted_ms = STAMP_NONE;
	if (kind == KIND_NODECLAIM) {
		claim_name(m, o->name);
		show_claim(r, id, o);
		return;
	}
	str_cut(o->name, sizeof(o->name), m->node);
	o->registered = true;
	claim_name(m, o->owner_name);
	uid_of(r, id, KIND_NODECLAIM, o->owner_uid);
}

void
replay_copy_track(struct replay *r, uint32_t id, enum kind kind)
{
	struct object o;

	if (!r->at[id].half[kind].there)
		return;
	r->at[id].half[kind].rv = ++r->rv;
	copy_show(r, id, kind, &o);
	controller_track(r->controller, &o, replay_now(r));
}

void
replay_copy_track_both(struct replay *r, uint32_t id)
{
	replay_copy_track(r, id, KIND_NODECLAIM);
	replay_copy_track(r, id, KIND_NODE);
}

bool
replay_copy_held(const struct copy *c)
{
	return c->half[KIND_NODE].there ? c->half[KIND_NODE].held
					: c->half[KIND_NODECLAIM].held;
}

void
replay_copy_recount(struct replay *r, const struct copy *c, bool before)
{
	r->held += replay_copy_held(c);
	r->held -= before;
}

void
replay_copy_forget(struct replay *r, uint32_t id, enum kind kind)
{
	struct copy *c = &r->at[id];
	bool before = replay_copy_held(c);
	struct object o;

	if (!c->half[kind].there)
		return;
	copy_show(r, id, kind, &o);
	c->half[kind].there = c->half[kind].held = false;
	replay_copy_recount(r, c, before);
	controller_forget(r->controller, &o, replay_now(r));
}

/* --- decisions that wait -------------------------------------------------- */

/* Ends the wait of the machine.  Applies what the log has said about the
 * machine meanwhile.  From then on the copy follows the log again. */
static void
resume(struct replay *r, uint32_t id)
{
	struct logged *m = &r->roster->at[id];
	struct copy *c = &r->at[id];

	waits_end_one(r->waits, c->wait, r->now_ms);
	c->waits = false;
	m->waits--;
	if (m->node_gone || m->gone)
		replay_copy_forget(r, id, KIND_NODE);
	if (m->gone)
		replay_copy_forget(r, id, KIND_NODECLAIM);
	c->deleting = m->deleted_ms != STAMP_NONE;
	replay_copy_track_both(r, id);
	if (m->gone) {
		free(c->class);
		*c = (struct copy){.waits = false};
	}
	if (m->gone && m->waits == 0)
		roster_drop(r->roster, id);
}

/* --- what the controller asks for ----------------------------------------- */

/* Finds the machine of an action.  Returns NO_ID if the machine has gone since
 * the controller saw it. */
static uint32_t
find(const struct replay *r, const struct action *a)
{
	uint32_t id = (uint32_t)strtoul(a->uid, NULL, 16);
	char uid[UID_BYTES];

	if (id >= r->roster->top || !r->at[id].half[a->kind].there)
		return NO_ID;
	uid_of(r, id, a->kind, uid);
	return strcmp(uid, a->uid) == 0 ? id : NO_ID;
}

static void
write_class(struct copy *c, const char *class)
{
	free(c->class);
	c->class = strdup(class);
}

static void
apply(struct replay *r, uint32_t id, const struct action *a)
{
	struct copy *c = &r->at[id];
	bool before = replay_copy_held(c);

	if (a->act == ACT_CLASSIFY) {
		write_class(c, a->replaces);
		return;
	}
	c->half[a->kind].held = a->act == ACT_HOLD;
	c->half[a->kind].mark_ms = replay_stamp(a->mark_ms);
	c->half[a->kind].why = a->reason;
	replay_copy_recount(r, c, before);
}

void
replay_serve(struct replay *r, const struct action *a)
{
	struct controller_outcome out = {
		.code = CONTROLLER_OK, .action = a, .retry_after_ms = -1};
	uint32_t id = NO_ID;
	struct object o;

	if (a->act == ACT_LIST_CLAIMS || a->act == ACT_LIST_NODEPOOLS) {
		/* Nothing to do: a list would only show what the watch has
		 * shown. */
	} else if ((id = find(r, a)) == NO_ID) {
		out.code = CONTROLLER_GONE;
	} else if (act_writes(a->act)) {
		apply(r, id, a);
		r->at[id].half[a->kind].rv = ++r->rv;
		version_text(r->rv, out.rv);
	} else {
		copy_show(r, id, a->kind, &o);
		controller_found(r->controller, a, &o, replay_now(r));
	}
	controller_done(r->controller, &out, replay_now(r));
	if (id == NO_ID || !act_writes(a->act))
		return;
	copy_show(r, id, a->kind, &o);
	controller_track(r->controller, &o, replay_now(r));
	if (r->at[id].waits && !replay_copy_held(&r->at[id]))
		resume(r, id);
}
