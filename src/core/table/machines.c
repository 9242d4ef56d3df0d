/* SPDX-License-Identifier: Apache-2.0 */
#include "core/table/machines.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/rules/admit.h"

static uint32_t
uid_hash(const void *ctx, uint32_t id)
{
	return index_hash_text(((const struct machines *)ctx)->at[id].uid);
}

static bool
uid_same(const void *ctx, uint32_t id, const void *key)
{
	return strcmp(((const struct machines *)ctx)->at[id].uid, key) == 0;
}

static uint32_t
name_hash(const void *ctx, uint32_t id)
{
	return index_hash_text(((const struct machines *)ctx)->at[id].name);
}

static bool
name_same(const void *ctx, uint32_t id, const void *key)
{
	return strcmp(((const struct machines *)ctx)->at[id].name, key) == 0;
}

static uint32_t
other_hash(const void *ctx, uint32_t id)
{
	return index_hash_text(((const struct machines *)ctx)->at[id].other_name);
}

static bool
other_same(const void *ctx, uint32_t id, const void *key)
{
	return strcmp(((const struct machines *)ctx)->at[id].other_name, key) == 0;
}

static uint32_t
owner_hash(const void *ctx, uint32_t id)
{
	return index_hash_text(((const struct machines *)ctx)->at[id].owner_uid);
}

static bool
owner_same(const void *ctx, uint32_t id, const void *key)
{
	return strcmp(((const struct machines *)ctx)->at[id].owner_uid, key) == 0;
}

/* Returns the first id that was added with this text. */
static uint32_t
find(const struct index *x, const char *text)
{
	return index_find(x, index_hash_text(text), text);
}

int
machines_init(struct machines *m, uint32_t max)
{
	*m = (struct machines){.cap = 2 * max, .max = max, .free = NO_ID};
	m->at = calloc(m->cap, sizeof(*m->at));
	if (m->at == NULL || index_init(&m->claim_by_uid, max, uid_hash, uid_same, m) ||
	    index_init(&m->claim_by_node, max, other_hash, other_same, m) ||
	    index_init(&m->node_by_name, max, name_hash, name_same, m) ||
	    index_init(&m->node_by_owner, max, owner_hash, owner_same, m)) {
		machines_done(m);
		return -1;
	}
	return 0;
}

void
machines_done(struct machines *m)
{
	free(m->at);
	index_done(&m->claim_by_uid);
	index_done(&m->claim_by_node);
	index_done(&m->node_by_name);
	index_done(&m->node_by_owner);
	*m = (struct machines){0};
}

enum tenure
entry_tenure(const struct entry *e)
{
	return object_tenure(e->hold, e->mark, e->has_previous,
			     e->previous_hold);
}

bool
entry_mark_exact(const struct entry *e)
{
	bool joining = e->kind == KIND_NODE && !e->registered;

	return e->mark == MARK_TIME && !joining;
}

const struct hold_key *
machines_hold(const struct machines *m, const struct entry *e,
	      const struct hold_key *today)
{
	return e->has_previous ? &m->previous_keys[e->previous_key].hold
			       : today;
}

struct half
machines_half(const struct machines *m, const struct entry *e)
{
	if (e == NULL)
		return (struct half){0};
	return (struct half){
		.present = true,
		.tenure = entry_tenure(e),
		.hold = e->hold,
		.previous = e->has_previous,
		.previous_default =
			e->has_previous &&
			hold_key_is_default(
				&m->previous_keys[e->previous_key].hold),
		.default_hold = e->default_hold,
		.registered = e->registered,
		.opted_out = e->opted_out,
	};
}

uint32_t
machines_id(const struct machines *m, const struct entry *e)
{
	return (uint32_t)(e - m->at);
}

uint32_t
machines_find_claim(const struct machines *m, const char *uid)
{
	return find(&m->claim_by_uid, uid);
}

uint32_t
machines_find(const struct machines *m, const struct object *o)
{
	return o->kind == KIND_NODECLAIM ? machines_find_claim(m, o->uid)
					 : find(&m->node_by_name,
						      o->name);
}

uint32_t
machines_head(const struct machines *m, uint32_t id)
{
	const struct entry *e = &m->at[id];

	return e->kind == KIND_NODE && e->peer != NO_ID ? e->peer : id;
}

struct entry *
machines_claim(const struct machines *m, uint32_t head)
{
	return m->at[head].kind == KIND_NODECLAIM ? &m->at[head] : NULL;
}

struct entry *
machines_node(const struct machines *m, uint32_t head)
{
	struct entry *e = &m->at[head];

	if (e->kind == KIND_NODE)
		return e;
	return e->peer == NO_ID ? NULL : &m->at[e->peer];
}

static void
touch(struct touched *t, uint32_t id)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->id[i] == id)
			return;
	assert(t->n < sizeof(t->id) / sizeof(t->id[0]));
	t->id[t->n++] = id;
}

/* --- entries and their indexes -------------------------------------------- */

static uint32_t
entry_new(struct machines *m, enum kind kind)
{
	uint32_t id = m->free;

	if (m->count[kind] >= m->max)
		return NO_ID;
	if (id != NO_ID)
		m->free = m->at[id].peer;
	else
		id = m->top++;
	m->at[id] = (struct entry){.used = true, .kind = kind, .peer = NO_ID};
	m->count[kind]++;
	return id;
}

static void
former_leave(struct machines *m, struct entry *e)
{
	if (e->has_previous)
		m->previous_keys[e->previous_key].users--;
	e->has_previous = false;
}

/* If all slots are taken, the entry counts as a person's.  It is left alone
 * until a slot is free and the object is seen again. */
static void
former_join(struct machines *m, struct entry *e, const struct object *o)
{
	struct previous_key *spare = NULL;

	for (struct previous_key *f = m->previous_keys;
	     f < m->previous_keys + HELD_KEYS_MAX; f++) {
		if (f->users == 0) {
			spare = spare == NULL ? f : spare;
			continue;
		}
		if (strcmp(f->hold.key, o->previous_key.key) == 0 &&
		    strcmp(f->hold.value, o->previous_key.value) == 0) {
			spare = f;
			break;
		}
	}

	if (spare == NULL) {
		e->mark = MARK_ABSENT;
		e->hold = HOLD_OTHER;
		return;
	}

	if (spare->users == 0)
		spare->hold = o->previous_key;
	spare->users++;
	e->has_previous = true;
	e->previous_key = (uint8_t)(spare - m->previous_keys);
	e->previous_hold = o->previous_hold;
}

static void
indexes_add(struct machines *m, uint32_t id)
{
	const struct entry *e = &m->at[id];

	index_add(e->kind == KIND_NODE ? &m->node_by_name : &m->claim_by_uid,
		  id);
	if (e->kind == KIND_NODECLAIM && e->other_name[0] != '\0')
		index_add(&m->claim_by_node, id);
	if (e->kind == KIND_NODE && e->owner_uid[0] != '\0')
		index_add(&m->node_by_owner, id);
}

static void
indexes_remove(struct machines *m, uint32_t id)
{
	const struct entry *e = &m->at[id];

	index_remove(e->kind == KIND_NODE ? &m->node_by_name : &m->claim_by_uid,
		     id);
	if (e->kind == KIND_NODECLAIM && e->other_name[0] != '\0')
		index_remove(&m->claim_by_node, id);
	if (e->kind == KIND_NODE && e->owner_uid[0] != '\0')
		index_remove(&m->node_by_owner, id);
}

/* --- links ---------------------------------------------------------------- */

static void
unlink_peer(struct machines *m, uint32_t id, struct touched *t)
{
	uint32_t peer = m->at[id].peer;

	if (peer == NO_ID)
		return;
	m->at[id].peer = NO_ID;
	m->at[peer].peer = NO_ID;
	touch(t, peer);
}

/* Returns the claim that a Node belongs to, as far as we see it, or NO_ID. */
static uint32_t
claim_of(const struct machines *m, const struct entry *node)
{
	uint32_t id;

	if (node->owner_uid[0] != '\0')
		return machines_find_claim(m, node->owner_uid);
	id = find(&m->claim_by_node, node->name);
	return id;
}

static uint32_t
node_of(const struct machines *m, const struct entry *claim)
{
	uint32_t id = find(&m->node_by_owner, claim->uid);

	if (id != NO_ID || claim->other_name[0] == '\0')
		return id;
	id = find(&m->node_by_name, claim->other_name);
	if (id != NO_ID && m->at[id].owner_uid[0] != '\0')
		return NO_ID;	/* it is another claim's Node */
	return id;
}

/* A Node that names the claim by uid takes precedence over one that only the
 * claim's status.nodeName points to.  Of two Nodes that name the same claim,
 * the registered one stays, or else the first. */
static bool
keeps_peer(const struct machines *m, uint32_t claim, uint32_t node)
{
	const struct entry *now, *then;

	if (m->at[claim].peer == NO_ID || m->at[claim].peer == node)
		return false;
	now = &m->at[node];
	then = &m->at[m->at[claim].peer];
	if ((now->owner_uid[0] != '\0') != (then->owner_uid[0] != '\0'))
		return then->owner_uid[0] != '\0';
	return then->registered || !now->registered;
}

static void
relink(struct machines *m, uint32_t id, struct touched *t)
{
	bool is_node = m->at[id].kind == KIND_NODE;
	uint32_t want = is_node ? claim_of(m, &m->at[id])
				: node_of(m, &m->at[id]);
	uint32_t claim = is_node ? want : id, node = is_node ? id : want;

	if (want == m->at[id].peer)
		return;
	if (want == NO_ID || keeps_peer(m, claim, node)) {
		if (is_node || want == NO_ID)
			unlink_peer(m, id, t);
		return;
	}
	unlink_peer(m, claim, t);
	unlink_peer(m, node, t);
	m->at[claim].peer = node;
	m->at[node].peer = claim;
	touch(t, claim);
	touch(t, node);
}

/* --- putting and dropping ------------------------------------------------- */

static int64_t
no_later(int64_t ms, int64_t limit)
{
	return ms > limit ? limit : ms;
}

static void
take_facts(struct machines *m, struct entry *e, const struct object *o,
	   int64_t seen_ms)
{
	m->marked[e->kind] -= entry_tenure(e) == TENURE_OURS;
	former_leave(m, e);
	if (o->launched && !e->launched)
		e->launch_seen_ms = seen_ms;

	e->deleting = o->deleting;
	e->disrupted = o->disrupted;
	e->launched = o->launched;
	e->launch_known = o->launch_known;
	e->registered = o->registered;

	e->hold = o->hold;
	e->default_hold = o->default_hold;
	e->mark = o->mark;
	e->mark_ms = o->mark_ms;
	e->has_held_key = o->has_held_key;
	if (o->has_previous)
		former_join(m, e, o);

	/* A stamp in the future counts as the moment at which it was first
	 * seen, even after its own time has come. */
	if (o->ready_ms != e->ready_stamp_ms)
		e->ready_ms = no_later(o->ready_ms, seen_ms);
	e->ready_stamp_ms = o->ready_ms;

	memcpy(e->rv, o->rv, sizeof(e->rv));
	memcpy(e->nodepool, o->nodepool, sizeof(e->nodepool));
	m->marked[e->kind] += entry_tenure(e) == TENURE_OURS;
}

static void
take_identity(struct entry *e, const struct object *o)
{
	memcpy(e->name, o->name, sizeof(e->name));
	memcpy(e->uid, o->uid, sizeof(e->uid));
	memcpy(e->other_name,
	       o->kind == KIND_NODE ? o->owner_name : o->node_name,
	       sizeof(e->other_name));
	memcpy(e->owner_uid, o->owner_uid, sizeof(e->owner_uid));
}

static bool
same_identity(const struct entry *e, const struct object *o)
{
	return strcmp(e->other_name, o->kind == KIND_NODE ? o->owner_name
							  : o->node_name) == 0 &&
	       strcmp(e->owner_uid, o->owner_uid) == 0;
}

uint32_t
machines_put(struct machines *m, const struct object *o, int64_t seen_ms,
	     struct touched *t)
{
	uint32_t id = machines_find(m, o);
	bool is_new;

	t->n = 0;
	if (id != NO_ID && strcmp(m->at[id].uid, o->uid) != 0) {
		machines_drop(m, id, t);
		id = NO_ID;
	}

	is_new = id == NO_ID;
	if (is_new) {
		id = entry_new(m, o->kind);
		if (id == NO_ID)
			return NO_ID;
		m->at[id].created_stamp_ms = o->created_ms;
		m->at[id].created_ms = no_later(o->created_ms, seen_ms);
		m->at[id].tried_ms = m->at[id].created_ms;
		m->at[id].ready_ms = m->at[id].ready_stamp_ms = STAMP_NONE;
		m->at[id].seen_ms = seen_ms;
		m->at[id].launch_seen_ms = STAMP_NONE;
	}

	if (is_new || !same_identity(&m->at[id], o)) {
		if (!is_new)
			indexes_remove(m, id);
		take_identity(&m->at[id], o);
		indexes_add(m, id);
	}

	take_facts(m, &m->at[id], o, seen_ms);
	relink(m, id, t);
	touch(t, id);
	return id;
}

static void
shift(int64_t *ms, int64_t by_ms)
{
	if (*ms != STAMP_NONE)
		*ms += by_ms;
}

void
machines_shift(struct machines *m, int64_t by_ms)
{
	for (struct entry *e = m->at; e < m->at + m->top; e++) {
		shift(&e->created_ms, by_ms);
		shift(&e->tried_ms, by_ms);
		shift(&e->ready_ms, by_ms);
		shift(&e->seen_ms, by_ms);
		shift(&e->launch_seen_ms, by_ms);
	}
}

void
machines_restamp(struct machines *m, int64_t now_ms)
{
	for (struct entry *e = m->at; e < m->at + m->top; e++) {
		e->created_ms = no_later(e->created_stamp_ms, now_ms);
		e->tried_ms = e->created_ms;
		e->ready_ms = no_later(e->ready_stamp_ms, now_ms);
	}
}

void
machines_drop(struct machines *m, uint32_t id, struct touched *t)
{
	struct entry *e = &m->at[id];
	uint32_t peer = e->peer;

	unlink_peer(m, id, t);
	indexes_remove(m, id);
	if (peer != NO_ID)
		relink(m, peer, t);	/* a second Node may have waited */
	m->marked[e->kind] -= entry_tenure(e) == TENURE_OURS;
	former_leave(m, e);
	m->count[e->kind]--;
	e->used = false;
	e->peer = m->free;
	m->free = id;
}
