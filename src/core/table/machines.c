/* SPDX-License-Identifier: Apache-2.0 */
#include "core/table/machines.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "machines_parts.h"

/*
 * An object's entry is filled in three steps: take_texts packs its texts and
 * enters it into the indexes of machines_keys.c, take_facts copies everything
 * else, and relink finds the entry's peer.  The caller learns from *t which
 * machines to refresh: take_texts sets owner_changed, and relink adds the
 * entries whose peers have changed.
 *
 * Free entries form a list through `peer`.  Texts are references to m->strings,
 * which counts the users of each text, so code that replaces a text releases
 * the old one.  If there is no room for a text, the entry is out of date, and
 * the caller drops the entry.
 */

int
machines_init(struct machines *m, uint32_t max)
{
	*m = (struct machines){.cap = 2 * max, .max = max, .free = NO_ID};
	m->at = calloc(m->cap, sizeof(*m->at));
	if (m->at == NULL ||
	    strings_init(&m->strings,
			 NAMES_BYTES_LEAST + (size_t)m->cap * NAMES_BYTES) ||
	    machines_keys_init(m)) {
		machines_done(m);
		return -1;
	}
	return 0;
}

void
machines_done(struct machines *m)
{
	free(m->at);
	strings_done(&m->strings);
	machines_keys_done(m);
	*m = (struct machines){0};
}

enum tenure
machines_entry_tenure(const struct entry *e)
{
	return object_tenure(e->hold, e->mark);
}

bool
machines_entry_mark_exact(const struct entry *e)
{
	bool joining = e->kind == KIND_NODE && !e->registered;

	return e->mark == MARK_TIME && !joining;
}

struct half
machines_half(const struct entry *e)
{
	if (e == NULL)
		return (struct half){0};
	return (struct half){
		.present = true,
		.tenure = machines_entry_tenure(e),
		.hold = e->hold,
		.registered = e->registered,
	};
}

uint32_t
machines_id(const struct machines *m, const struct entry *e)
{
	return (uint32_t)(e - m->at);
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

bool
machines_deleting(const struct machines *m, uint32_t head)
{
	const struct entry *claim = machines_claim(m, head);
	const struct entry *node = machines_node(m, head);

	return (claim != NULL && claim->deleting) ||
	       (node != NULL && node->deleting);
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

/* --- entries -------------------------------------------------------------- */

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
	m->at[id] = (struct entry){.used = true,
				   .kind = kind,
				   .peer = NO_ID,
				   .uid = UID_NONE,
				   .rv = VERSION_NONE};
	if (kind == KIND_NODE)
		m->at[id].owner_uid = UID_NONE;
	m->count[kind]++;
	return id;
}

static void
entry_free(struct machines *m, uint32_t id)
{
	struct entry *e = &m->at[id];

	strings_drop(&m->strings, e->name);
	strings_drop(&m->strings, e->nodepool);
	strings_drop(&m->strings, e->other_name);
	packed_uid_drop(&m->strings, e->uid);
	packed_version_drop(&m->strings, e->rv);
	if (e->kind == KIND_NODE) {
		packed_uid_drop(&m->strings, e->owner_uid);
	} else {
		strings_drop(&m->strings, e->replaces);
		strings_drop(&m->strings, e->said);
	}
	m->count[e->kind]--;
	e->used = false;
	e->peer = m->free;
	m->free = id;
}

/* --- peers ---------------------------------------------------------------- */

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

/* Returns whether the claim keeps its present peer and does not get this Node.
 * A Node whose ownerReference has the claim's uid takes precedence over a Node
 * that only the claim's status.nodeName points to.  If this does not decide, a
 * registered Node takes precedence over one that is not registered.  If that
 * does not decide either, the present peer stays. */
static bool
keeps_peer(const struct machines *m, uint32_t claim, uint32_t node)
{
	const struct entry *now, *then;

	if (m->at[claim].peer == NO_ID || m->at[claim].peer == node)
		return false;
	now = &m->at[node];
	then = &m->at[m->at[claim].peer];
	if (machines_entry_has_owner(now) != machines_entry_has_owner(then))
		return machines_entry_has_owner(then);
	return then->registered || !now->registered;
}

static void
relink(struct machines *m, uint32_t id, struct touched *t)
{
	bool is_node = m->at[id].kind == KIND_NODE;
	uint32_t want = is_node ? machines_claim_of(m, &m->at[id])
				: machines_node_of(m, &m->at[id]);
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

/* Returns whether the machine had been ready before it was rebooted.  Once the
 * machine is ready again, the object no longer shows this, but the table may
 * know the earlier time. */
static bool
ready_before_reboot(const struct entry *e, const struct object *o)
{
	return o->rebooted && (o->ready_ms == STAMP_NONE ||
			       (e->ready_ms != STAMP_NONE &&
				e->ready_stamp_ms != o->ready_ms));
}

/* Copies the facts that only claims have.  What was known of an unread claim
 * stays for the time when it can be read again. */
static void
take_claim(struct entry *e, const struct object *o, int64_t seen_ms)
{
	e->unread = o->unread;
	if (o->unread)
		return;
	if (!e->rebooted && ready_before_reboot(e, o)) {
		e->rebooted = true;
		e->first_ready_ms = e->ready_ms;
	}
	/* A stamp that is in the future when it is first seen counts as the
	 * moment at which it was first seen.  This stays so when the time of
	 * the stamp has come. */
	if (o->ready_ms != e->ready_stamp_ms &&
	    (o->ready_ms != STAMP_NONE || !e->rebooted))
		e->ready_ms = no_later(o->ready_ms, seen_ms);
	e->ready_stamp_ms = o->ready_ms;
}

static void
count_marks(struct machines *m, const struct entry *e, int by)
{
	if (machines_entry_tenure(e) == TENURE_OURS)
		m->marked[e->kind] += (uint32_t)by;
	if (e->carries)
		m->carrying[e->kind] += (uint32_t)by;
}

/* Returns whether machines_assume accepts this write on an object of this
 * tenure. */
static bool
is_assumable(enum act act, enum tenure tenure)
{
	switch (act) {
	case ACT_HOLD:
		return tenure == TENURE_FREE;
	case ACT_CLEAR:
		return tenure == TENURE_OURS;
	case ACT_UNMARK:
		return tenure == TENURE_OURS || tenure == TENURE_YIELDED;
	default:
		return false;
	}
}

bool
machines_assume(struct machines *m, uint32_t id, enum act act, int64_t mark_ms)
{
	struct entry *e = &m->at[id];

	if (!is_assumable(act, machines_entry_tenure(e)))
		return false;
	count_marks(m, e, -1);
	if (act == ACT_HOLD)
		e->hold = HOLD_SAME;
	else if (act == ACT_CLEAR || e->assumed == ACT_HOLD)
		e->hold = HOLD_ABSENT;
	e->mark = act == ACT_HOLD ? MARK_TIME : MARK_ABSENT;
	if (act == ACT_HOLD)
		e->mark_ms = mark_ms;
	/* If an assumed ACT_HOLD is undone, the entry again agrees with its
	 * object, so nothing is assumed any more. */
	e->assumed = act != ACT_HOLD && e->assumed == ACT_HOLD ? 0 : act & 3;
	count_marks(m, e, 1);
	return true;
}

static void
take_facts(struct machines *m, struct entry *e, const struct object *o,
	   int64_t seen_ms)
{
	enum tenure tenure = object_tenure(o->hold, o->mark);

	count_marks(m, e, -1);
	if (e->kind == KIND_NODECLAIM)
		take_claim(e, o, seen_ms);

	e->deleting = o->deleting;
	e->disrupted = o->disrupted;
	e->exposed = o->exposed;
	e->drifted = o->drifted;
	e->launched = o->launched;
	e->launch_known = o->launch_known;
	e->registered = o->registered;

	e->has_held_key = o->has_held_key;
	e->carries = tenure == TENURE_OURS;
	if (!is_assumable(e->assumed, tenure)) {
		e->assumed = ACT_NONE;
		e->hold = o->hold;
		e->mark = o->mark;
		e->mark_ms = o->mark_ms;
	}
	count_marks(m, e, 1);
}

/* The members by which the indexes find an object. */
struct identity {
	uint32_t name, other_name;
	struct uid uid, owner_uid;
};

static void
identity_drop(struct strings *s, const struct identity *x)
{
	strings_drop(s, x->name);
	strings_drop(s, x->other_name);
	packed_uid_drop(s, x->uid);
	packed_uid_drop(s, x->owner_uid);
}

static const char *
other_name(const struct object *o)
{
	return o->kind == KIND_NODE ? o->owner_name : o->node_name;
}

/* Packs the texts by which the indexes find the object.  Returns -1 if there is
 * no room; *out then owns nothing. */
static int
identity_take(struct strings *s, const struct object *o, struct identity *out)
{
	*out = (struct identity){.name = strings_take(s, o->name),
				 .other_name = strings_take(s, other_name(o)),
				 .uid = UID_NONE,
				 .owner_uid = UID_NONE};
	if (out->name != NO_ID && out->other_name != NO_ID &&
	    packed_uid_take(s, o->uid, &out->uid) == 0 &&
	    (o->kind != KIND_NODE ||
	     packed_uid_take(s, o->owner_uid, &out->owner_uid) == 0))
		return 0;
	identity_drop(s, out);
	return -1;
}

static bool
same_owner(const struct machines *m, const struct entry *e,
	   const struct object *o)
{
	return o->kind != KIND_NODE ||
	       machines_owner_uid_is(m, e, o->owner_uid);
}

/* Copies all texts of the object.  Returns -1 if there is no room for one of
 * them; some texts may then still be the old ones. */
static int
take_texts(struct machines *m, uint32_t id, const struct object *o, bool is_new,
	   struct touched *t)
{
	struct entry *e = &m->at[id];
	struct version rv;
	struct identity now;
	struct identity before = {e->name, e->other_name, e->uid,
				  machines_entry_owner_uid(e)};

	if (strings_set(&m->strings, &e->nodepool, o->nodepool) ||
	    packed_version_take(&m->strings, o->rv, &rv))
		return -1;
	packed_version_drop(&m->strings, e->rv);
	e->rv = rv;
	t->owner_changed = !is_new && !same_owner(m, e, o);
	if (!is_new && !t->owner_changed &&
	    strcmp(machines_other_name(m, e), other_name(o)) == 0)
		return 0;
	if (identity_take(&m->strings, o, &now))
		return -1;
	if (!is_new)
		machines_keys_remove(m, id);
	e->name = now.name;
	e->other_name = now.other_name;
	e->uid = now.uid;
	if (e->kind == KIND_NODE)
		e->owner_uid = now.owner_uid;
	machines_keys_add(m, id);
	identity_drop(&m->strings, &before);
	return 0;
}

/* Makes an entry of an object that is seen for the first time. */
static uint32_t
entry_make(struct machines *m, const struct object *o, int64_t seen_ms,
	   struct touched *t)
{
	uint32_t id = entry_new(m, o->kind);
	struct entry *e;

	if (id == NO_ID)
		return NO_ID;
	if (take_texts(m, id, o, true, t)) {
		entry_free(m, id);
		return NO_ID;
	}
	e = &m->at[id];
	e->created_stamp_ms = o->created_ms;
	e->created_ms = no_later(o->created_ms, seen_ms);
	if (o->kind == KIND_NODECLAIM) {
		e->ready_ms = e->ready_stamp_ms = STAMP_NONE;
		e->seen_ms = seen_ms;
		e->first_ready_ms = STAMP_NONE;
		e->rebooted = o->rebooted;
	}
	return id;
}

uint32_t
machines_put_at(struct machines *m, uint32_t id, const struct object *o,
		int64_t seen_ms, struct touched *t)
{
	if (id == NO_ID)
		id = entry_make(m, o, seen_ms, t);
	else if (take_texts(m, id, o, false, t))
		id = NO_ID;
	if (id == NO_ID)
		return NO_ID;
	take_facts(m, &m->at[id], o, seen_ms);
	relink(m, id, t);
	touch(t, id);
	return id;
}

uint32_t
machines_put(struct machines *m, const struct object *o, int64_t seen_ms,
	     struct touched *t)
{
	uint32_t id = machines_find(m, o);

	*t = (struct touched){.n = 0};
	if (id != NO_ID && !machines_is(m, id, o)) {
		machines_drop(m, id, t);
		id = NO_ID;
	}
	return machines_put_at(m, id, o, seen_ms, t);
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
		if (e->kind != KIND_NODECLAIM)
			continue;
		shift(&e->ready_ms, by_ms);
		shift(&e->seen_ms, by_ms);
		shift(&e->first_ready_ms, by_ms);
	}
}

void
machines_restamp(struct machines *m, int64_t now_ms)
{
	for (struct entry *e = m->at; e < m->at + m->top; e++) {
		e->created_ms = no_later(e->created_stamp_ms, now_ms);
		if (e->kind != KIND_NODECLAIM)
			continue;
		if (e->ready_stamp_ms != STAMP_NONE)
			e->ready_ms = no_later(e->ready_stamp_ms, now_ms);
	}
}

void
machines_drop(struct machines *m, uint32_t id, struct touched *t)
{
	struct entry *e = &m->at[id];
	uint32_t peer = e->peer;

	unlink_peer(m, id, t);
	machines_keys_remove(m, id);
	if (peer != NO_ID)
		relink(m, peer, t); /* A second Node may match the claim. */
	count_marks(m, e, -1);
	entry_free(m, id);
}
