/* SPDX-License-Identifier: Apache-2.0 */
#include "machines_parts.h"

/* Finds entries by five indexes: two by uid, and three by the reference of a
 * name. */

static uint32_t
hash_uid(struct uid u)
{
	return (uint32_t)((u.high ^ u.low * 0x9fb21c651e98df25u) *
				  0xd6e8feb86659fd93u >>
			  32);
}

static uint32_t
hash_ref(uint32_t ref)
{
	ref *= 2654435769u;
	return ref ^ ref >> 15;
}

static const struct entry *
entry_of(const void *ctx, uint32_t id)
{
	return &((const struct machines *)ctx)->at[id];
}

static uint32_t
uid_hash(const void *ctx, uint32_t id)
{
	return hash_uid(entry_of(ctx, id)->uid);
}

static bool
uid_same(const void *ctx, uint32_t id, const void *key)
{
	return packed_uid_equals(entry_of(ctx, id)->uid,
				 *(const struct uid *)key);
}

static uint32_t
owner_hash(const void *ctx, uint32_t id)
{
	return hash_uid(entry_of(ctx, id)->owner_uid);
}

static bool
owner_same(const void *ctx, uint32_t id, const void *key)
{
	return packed_uid_equals(entry_of(ctx, id)->owner_uid,
				 *(const struct uid *)key);
}

static uint32_t
name_hash(const void *ctx, uint32_t id)
{
	return hash_ref(entry_of(ctx, id)->name);
}

static bool
name_same(const void *ctx, uint32_t id, const void *key)
{
	return entry_of(ctx, id)->name == *(const uint32_t *)key;
}

static uint32_t
other_hash(const void *ctx, uint32_t id)
{
	return hash_ref(entry_of(ctx, id)->other_name);
}

static bool
other_same(const void *ctx, uint32_t id, const void *key)
{
	return entry_of(ctx, id)->other_name == *(const uint32_t *)key;
}

/* Return the first id that was added with this key. */
static uint32_t
find_uid(const struct index *x, struct uid key)
{
	return index_find(x, hash_uid(key), &key);
}

static uint32_t
find_ref(const struct index *x, uint32_t key)
{
	return index_find(x, hash_ref(key), &key);
}

int
machines_keys_init(struct machines *m)
{
	uint32_t max = m->max, end = 2 * m->max;

	return index_init(&m->claim_by_uid, max, end, uid_hash, uid_same, m) ||
			       index_init(&m->claim_by_name, max, end,
					  name_hash, name_same, m) ||
			       index_init(&m->claim_by_node, max, end,
					  other_hash, other_same, m) ||
			       index_init(&m->node_by_name, max, end, name_hash,
					  name_same, m) ||
			       index_init(&m->node_by_owner, max, end,
					  owner_hash, owner_same, m)
		       ? -1
		       : 0;
}

void
machines_keys_done(struct machines *m)
{
	index_done(&m->claim_by_uid);
	index_done(&m->claim_by_name);
	index_done(&m->claim_by_node);
	index_done(&m->node_by_name);
	index_done(&m->node_by_owner);
}

void
machines_keys_add(struct machines *m, uint32_t id)
{
	const struct entry *e = &m->at[id];

	index_add(e->kind == KIND_NODE ? &m->node_by_name : &m->claim_by_uid,
		  id);
	if (e->kind == KIND_NODECLAIM)
		index_add(&m->claim_by_name, id);
	if (e->kind == KIND_NODECLAIM && e->other_name != 0)
		index_add(&m->claim_by_node, id);
	if (machines_entry_has_owner(e))
		index_add(&m->node_by_owner, id);
}

void
machines_keys_remove(struct machines *m, uint32_t id)
{
	const struct entry *e = &m->at[id];

	index_remove(e->kind == KIND_NODE ? &m->node_by_name : &m->claim_by_uid,
		     id);
	if (e->kind == KIND_NODECLAIM)
		index_remove(&m->claim_by_name, id);
	if (e->kind == KIND_NODECLAIM && e->other_name != 0)
		index_remove(&m->claim_by_node, id);
	if (machines_entry_has_owner(e))
		index_remove(&m->node_by_owner, id);
}

uint32_t
machines_find_claim(const struct machines *m, const char *uid)
{
	struct uid u;

	return packed_uid_find(&m->strings, uid, &u)
		       ? find_uid(&m->claim_by_uid, u)
		       : NO_ID;
}

uint32_t
machines_find(const struct machines *m, const struct object *o)
{
	uint32_t name;

	if (o->kind == KIND_NODECLAIM)
		return machines_find_claim(m, o->uid);
	name = strings_find(&m->strings, o->name);
	return name == NO_ID ? NO_ID : find_ref(&m->node_by_name, name);
}

uint32_t
machines_find_name(const struct machines *m, const char *name)
{
	uint32_t ref = strings_find(&m->strings, name), id;

	if (ref == NO_ID)
		return NO_ID;
	id = find_ref(&m->node_by_name, ref);
	return id != NO_ID ? id : find_ref(&m->claim_by_name, ref);
}

uint32_t
machines_owner(const struct machines *m, const struct entry *node)
{
	return machines_entry_has_owner(node)
		       ? find_uid(&m->claim_by_uid, node->owner_uid)
		       : NO_ID;
}

bool
machines_is(const struct machines *m, uint32_t id, const struct object *o)
{
	return o->kind == KIND_NODECLAIM ||
	       machines_uid_is(m, &m->at[id], o->uid);
}

uint32_t
machines_claim_of(const struct machines *m, const struct entry *node)
{
	if (machines_entry_has_owner(node))
		return machines_owner(m, node);
	return find_ref(&m->claim_by_node, node->name);
}

uint32_t
machines_node_of(const struct machines *m, const struct entry *claim)
{
	uint32_t id = find_uid(&m->node_by_owner, claim->uid);

	if (id != NO_ID || claim->other_name == 0)
		return id;
	id = find_ref(&m->node_by_name, claim->other_name);
	if (id != NO_ID && machines_entry_has_owner(&m->at[id]))
		return NO_ID; /* The Node names another claim. */
	return id;
}
