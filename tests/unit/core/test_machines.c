/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/table/machines.h"
#include "objects.h"
#include "run.h"

#define NOW 1000000000000

static struct machines table;

static void
setup(void)
{
	ck_assert_int_eq(machines_init(&table, 64), 0);
}

static void
teardown(void)
{
	machines_done(&table);
}

static uint32_t
put(const struct object *o)
{
	struct touched t = {0};

	return machines_put(&table, o, NOW, &t);
}

static void
drop(uint32_t id)
{
	struct touched t = {0};

	machines_drop(&table, id, &t);
}

static void
assert_machine(uint32_t claim, uint32_t node)
{
	ck_assert_uint_eq(table.at[claim].peer, node);
	ck_assert_uint_eq(table.at[node].peer, claim);
	ck_assert_uint_eq(machines_head(&table, node), claim);
	ck_assert_uint_eq(machines_head(&table, claim), claim);
	ck_assert_ptr_eq(machines_claim(&table, claim), &table.at[claim]);
	ck_assert_ptr_eq(machines_node(&table, claim), &table.at[node]);
}

static void
assert_alone(uint32_t id)
{
	ck_assert_uint_eq(table.at[id].peer, NO_ID);
	ck_assert_uint_eq(machines_head(&table, id), id);
}

static bool
touches(const struct touched *t, uint32_t id)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->id[i] == id)
			return true;
	return false;
}

/* --- linking -------------------------------------------------------------- */

/* By owner uid, by nodeName, by both; claim first, Node first. */
static const struct {
	const char *name, *owner, *node_name;
	bool node_first, linked;
} links[] = {
	{"uid, claim first", "c1", "", false, true},
	{"uid, Node first", "c1", "", true, true},
	{"nodeName, claim first", "", "n1", false, true},
	{"nodeName, Node first", "", "n1", true, true},
	{"both, claim first", "c1", "n1", false, true},
	{"both, Node first", "c1", "n1", true, true},
	{"nodeName of a Node that names another claim", "c9", "n1", false,
	 false},
	{"the same, Node first", "c9", "n1", true, false},
	{"uid stands above another nodeName", "c1", "n9", false, true},
	{"neither", "", "", false, false},
	{"another nodeName", "", "n9", true, false},
};

START_TEST(link_table)
{
	struct object c = claim_new("c1", NOW), n = node_new("n1", "", NOW);
	uint32_t claim, node;

	strcpy(n.owner_uid, links[_i].owner);
	strcpy(c.node_name, links[_i].node_name);
	node = links[_i].node_first ? put(&n) : NO_ID;
	claim = put(&c);
	node = put(&n);
	if (links[_i].linked) {
		assert_machine(claim, node);
		return;
	}
	assert_alone(claim);
	assert_alone(node);
}
END_TEST

START_TEST(link_comes_later)
{
	struct object c = claim_new("c1", NOW), n = node_new("n1", "", NOW);
	uint32_t claim = put(&c), node = put(&n);
	struct touched t = {0};

	assert_alone(claim);
	strcpy(c.node_name, "n1");
	ck_assert_uint_eq(machines_put(&table, &c, NOW, &t), claim);
	assert_machine(claim, node);
	ck_assert(touches(&t, claim) && touches(&t, node));
	strcpy(n.owner_uid, "c1");	/* at registration */
	ck_assert_uint_eq(put(&n), node);
	assert_machine(claim, node);
}
END_TEST

START_TEST(uid_takes_over_from_name)
{
	struct object a = claim_new("a", NOW), b = claim_new("b", NOW);
	struct object n = node_new("n1", "", NOW);
	struct touched t = {0};
	uint32_t ida, idb, node;

	strcpy(a.node_name, "n1");
	ida = put(&a);
	idb = put(&b);
	node = put(&n);
	assert_machine(ida, node);
	strcpy(n.owner_uid, "b");
	machines_put(&table, &n, NOW, &t);
	assert_machine(idb, node);
	assert_alone(ida);
	ck_assert(touches(&t, ida) && touches(&t, idb) && touches(&t, node));
}
END_TEST

START_TEST(registered_of_two_nodes)
{
	struct object c = claim_new("c", NOW);
	struct object a = node_new("a", "c", NOW), b = node_new("b", "c", NOW);
	uint32_t claim, ida, idb;

	b.registered = true;
	if (_i & 1)
		put(&c);
	ida = put(_i & 2 ? &a : &b);
	idb = put(_i & 2 ? &b : &a);
	claim = put(&c);
	/* in whatever order they came, once each is seen again */
	put(&a);
	put(&b);
	assert_machine(claim, _i & 2 ? idb : ida);
	assert_alone(_i & 2 ? ida : idb);
}
END_TEST

START_TEST(second_node_follows_the_first)
{
	struct object c = claim_new("c", NOW);
	struct object a = node_new("a", "c", NOW), b = node_new("b", "c", NOW);
	uint32_t claim = put(&c), ida = put(&a), idb = put(&b);
	struct touched t = {0};

	assert_machine(claim, ida);
	assert_alone(idb);
	machines_drop(&table, ida, &t);
	assert_machine(claim, idb);
	ck_assert(touches(&t, claim) && touches(&t, idb));
}
END_TEST

START_TEST(node_by_uid_before_node_by_name)
{
	struct object c = claim_new("c", NOW);
	struct object a = node_new("a", "", NOW), b = node_new("b", "c", NOW);
	uint32_t claim, ida, idb;

	strcpy(c.node_name, "a");
	claim = put(&c);
	ida = put(&a);
	assert_machine(claim, ida);
	idb = put(&b);
	assert_machine(claim, idb);
	assert_alone(ida);
	put(&a);
	put(&c);
	assert_machine(claim, idb);
	drop(idb);
	assert_machine(claim, ida);
}
END_TEST

START_TEST(dropped_in_either_order)
{
	struct object c = claim_new("c", NOW), n = node_new("n", "c", NOW);
	uint32_t claim = put(&c), node = put(&n);
	uint32_t first = _i == 0 ? claim : node, last = _i == 0 ? node : claim;
	struct touched t = {0};

	machines_drop(&table, first, &t);
	ck_assert(touches(&t, last));
	ck_assert(!touches(&t, first));
	assert_alone(last);
	ck_assert_uint_eq(machines_find(&table, _i == 0 ? &c : &n), NO_ID);
	drop(last);
	ck_assert_uint_eq(table.count[KIND_NODE], 0);
	ck_assert_uint_eq(table.count[KIND_NODECLAIM], 0);
	ck_assert_uint_eq(table.marked[KIND_NODE], 0);
}
END_TEST

START_TEST(node_created_again_under_its_old_name)
{
	struct object c = claim_new("c", NOW), n = node_new("n", "c", NOW);
	struct object again = node_new("n", "", NOW);
	uint32_t claim = put(&c), id;
	struct touched t = {0};

	put(&n);
	strcpy(again.uid, "other");
	id = machines_put(&table, &again, NOW, &t);
	ck_assert(touches(&t, claim) && touches(&t, id));
	ck_assert_uint_eq(table.count[KIND_NODE], 1);
	assert_alone(claim);
	assert_alone(id);
	ck_assert(machines_uid_is(&table, &table.at[id], "other"));
}
END_TEST

/* --- bounds and facts ----------------------------------------------------- */

START_TEST(full_of_one_kind)
{
	struct object o = claim_new("x", NOW);
	struct object n = node_new("n", "", NOW);
	uint32_t id = NO_ID;

	for (int i = 0; i < 64; i++) {
		snprintf(o.uid, sizeof(o.uid), "c%d", i);
		id = put(&o);
		ck_assert_uint_ne(id, NO_ID);
	}
	strcpy(o.uid, "one more");
	ck_assert_uint_eq(put(&o), NO_ID);
	ck_assert_uint_ne(put(&n), NO_ID);	/* of the other kind */
	strcpy(o.uid, "c63");
	ck_assert_uint_eq(put(&o), id);		/* known ones go on */
	drop(id);
	strcpy(o.uid, "one more");
	ck_assert_uint_ne(put(&o), NO_ID);
	/* A Node that replaces one of its name fits a full table. */
	for (int i = 0; i < 63; i++) {
		snprintf(n.name, sizeof(n.name), "n%d", i);
		ck_assert_uint_ne(put(&n), NO_ID);
	}
	strcpy(n.uid, "other");
	ck_assert_uint_ne(put(&n), NO_ID);
}
END_TEST

/* Fills a name to its greatest length. */
static void
name_long(char *name, size_t bytes, int i)
{
	memset(name, 'x', bytes - 1);
	name[bytes - 1] = '\0';
	for (int at = 7; at-- > 0; i /= 10)
		name[at] = (char)('0' + i % 10);
}

static struct object
long_object(int i)
{
	struct object o = object_new(i % 2 == 0 ? KIND_NODE : KIND_NODECLAIM,
				     "", "", NOW);

	name_long(o.name, sizeof(o.name), 8 * i);
	name_long(o.uid, sizeof(o.uid), 8 * i + 1);
	name_long(o.rv, sizeof(o.rv), 8 * i + 2);
	name_long(o.nodepool, sizeof(o.nodepool), 8 * i + 3);
	if (o.kind == KIND_NODE) {
		name_long(o.owner_name, sizeof(o.owner_name), 8 * i + 4);
		name_long(o.owner_uid, sizeof(o.owner_uid), 8 * i + 5);
	} else {
		name_long(o.node_name, sizeof(o.node_name), 8 * i + 6);
	}
	return o;
}

static void
assert_texts(uint32_t id, const struct object *o)
{
	const struct entry *e = &table.at[id];
	char uid[UID_BYTES], rv[RV_BYTES];

	ck_assert_str_eq(machines_name(&table, e), o->name);
	ck_assert_str_eq(machines_nodepool(&table, e), o->nodepool);
	ck_assert_str_eq(machines_other_name(&table, e),
			 o->kind == KIND_NODE ? o->owner_name : o->node_name);
	machines_uid(&table, e, uid);
	ck_assert_str_eq(uid, o->uid);
	ck_assert(machines_uid_is(&table, e, o->uid));
	ck_assert(!machines_uid_is(&table, e, "another"));
	machines_rv(&table, e, rv);
	ck_assert_str_eq(rv, o->rv);
	ck_assert(machines_rv_is(&table, e, o->rv));
	ck_assert(!machines_rv_is(&table, e, "another"));
	machines_owner_uid(&table, e, uid);
	ck_assert_str_eq(uid, o->owner_uid);
	ck_assert(machines_owner_uid_is(&table, e, o->owner_uid));
}

START_TEST(texts_come_back)
{
	struct object o = _i < 2 ? long_object(_i)
			  : _i == 2 ? claim_new("c", NOW)
				    : node_new("n", "c", NOW);
	uint32_t id = put(&o);

	assert_texts(id, &o);
	strcpy(o.rv, "123456789012345");
	strcpy(o.nodepool, "");
	strcpy(o.owner_uid, o.kind == KIND_NODE
				    ? "01234567-89ab-cdef-0123-456789abcdef"
				    : "");
	strcpy(o.kind == KIND_NODE ? o.owner_name : o.node_name, "other");
	ck_assert_uint_eq(put(&o), id);
	assert_texts(id, &o);
	drop(id);
	ck_assert_uint_eq(table.strings.n, 0);
}
END_TEST

START_TEST(classes_come_back)
{
	struct object o = claim_new("c", NOW);
	uint32_t id = put(&o);
	struct entry *e = &table.at[id];
	char class[CLASS_BYTES + 1];

	ck_assert_str_eq(machines_replaces(&table, e), "");
	ck_assert_str_eq(machines_said(&table, e), "");
	machines_set_replaces(&table, e, "substitute/c7");
	machines_set_said(&table, e, "drifted");
	put(&o);
	name_long(class, sizeof(class), 1);	/* one too long */
	machines_set_replaces(&table, e, class);
	machines_set_said(&table, e, class);
	ck_assert_str_eq(machines_replaces(&table, e), "substitute/c7");
	ck_assert_str_eq(machines_said(&table, e), "drifted");
	class[CLASS_BYTES - 1] = '\0';
	machines_set_replaces(&table, e, class);
	ck_assert_str_eq(machines_replaces(&table, e), class);
	drop(id);
	ck_assert_uint_eq(table.strings.n, 0);
}
END_TEST

/* The longest names fill their memory before the table has all its objects. */
START_TEST(full_of_names)
{
	struct object o;
	uint32_t id[128];
	int n = 0;

	for (; n < 128; n++) {
		o = long_object(n);
		id[n] = put(&o);
		if (id[n] == NO_ID)
			break;
	}
	ck_assert_int_gt(n, 64);
	ck_assert_int_lt(n, 128);
	ck_assert_uint_eq(table.count[KIND_NODE] + table.count[KIND_NODECLAIM],
			  n);
	ck_assert_uint_eq(machines_find(&table, &o), NO_ID);
	/* One whose name changes has no room for it, and stays as it was. */
	o = long_object(4);
	strcpy(o.owner_name, "x");
	name_long(o.nodepool, sizeof(o.nodepool), 9999);
	name_long(o.owner_name, sizeof(o.owner_name), 9998);
	ck_assert_uint_eq(put(&o), NO_ID);
	ck_assert_uint_eq(machines_find(&table, &o), id[4]);
	/* What goes leaves its room to others. */
	drop(id[0]);
	o = long_object(n);
	o.kind = KIND_NODE;
	ck_assert_uint_ne(put(&o), NO_ID);
	drop(machines_find(&table, &o));
	for (int i = 1; i < n; i++)
		drop(id[i]);
	ck_assert_uint_eq(table.strings.n, 0);
}
END_TEST

/* A stamp in the future counts as first seen
 * (docs/rules.md#clocks-that-are-set), once and for all (machines.h).  A clock
 * an hour ahead must not restart the quiet period when that hour comes and the
 * claim is seen again. */
START_TEST(future_stamps)
{
	struct object c = claim_new("c", NOW + 5000);
	struct touched t = {0};
	uint32_t id;

	c.ready_ms = NOW + 3600000;
	id = machines_put(&table, &c, NOW, &t);
	ck_assert_int_eq(table.at[id].created_ms, NOW);
	ck_assert_int_eq(table.at[id].ready_ms, NOW);
	machines_put(&table, &c, NOW + 1000, &t);
	ck_assert_int_eq(table.at[id].created_ms, NOW);
	ck_assert_int_eq(table.at[id].ready_ms, NOW);
	machines_put(&table, &c, NOW + 3700000, &t);
	ck_assert_int_eq(table.at[id].created_ms, NOW);
	ck_assert_msg(table.at[id].ready_ms == NOW,
		      "ready moved by %lld ms when its hour came",
		      (long long)(table.at[id].ready_ms - NOW));
}
END_TEST

START_TEST(ready_comes_goes_and_comes)
{
	struct object c = claim_new("c", NOW - 100000);
	uint32_t id = put(&c);

	ck_assert(table.at[id].ready_ms == STAMP_NONE);
	c.ready_ms = NOW - 50000;
	put(&c);
	ck_assert_int_eq(table.at[id].ready_ms, NOW - 50000);
	c.ready_ms = STAMP_NONE;
	put(&c);
	ck_assert(table.at[id].ready_ms == STAMP_NONE);
	c.ready_ms = NOW - 1000;
	put(&c);
	ck_assert_int_eq(table.at[id].ready_ms, NOW - 1000);
}
END_TEST

/* --- random arrivals ------------------------------------------------------ */

#define FEW 6

struct world {
	struct object claim[FEW], node[FEW];
	bool has_claim[FEW], has_node[FEW];
};

/* Names are given once and stay, and no two claims have one Node's name, as
 * Karpenter does it. */
static void
random_step(struct world *w, struct dice *d)
{
	uint32_t i = roll(d, FEW);
	char name[16];

	snprintf(name, sizeof(name), "%u", i);
	if (roll(d, 4) == 0) {
		uint32_t id = machines_find(&table, &w->claim[i]);

		if (w->has_claim[i])
			drop(id);
		w->has_claim[i] = false;
	} else if (roll(d, 2) == 0) {
		if (!w->has_claim[i])
			w->claim[i] = claim_new(name, NOW);
		if (w->claim[i].node_name[0] == '\0' && roll(d, 2) == 0)
			strcpy(w->claim[i].node_name, name);
		w->has_claim[i] = true;
		put(&w->claim[i]);
	} else if (roll(d, 5) == 0) {
		if (w->has_node[i])
			drop(machines_find(&table, &w->node[i]));
		w->has_node[i] = false;
	} else {
		if (!w->has_node[i])
			w->node[i] = node_new(name, "", NOW);
		if (w->node[i].owner_uid[0] == '\0' && roll(d, 2) == 0)
			snprintf(w->node[i].owner_uid, UID_BYTES, "%u",
				 roll(d, FEW));
		w->node[i].registered = roll(d, 2) == 0;
		w->has_node[i] = true;
		put(&w->node[i]);
	}
}

static bool
by_uid(const struct world *w, int c, int n)
{
	return w->has_claim[c] && w->has_node[n] &&
	       strcmp(w->node[n].owner_uid, w->claim[c].uid) == 0;
}

static bool
by_name(const struct world *w, int c, int n)
{
	return w->has_claim[c] && w->has_node[n] &&
	       w->node[n].owner_uid[0] == '\0' &&
	       strcmp(w->claim[c].node_name, w->node[n].name) == 0;
}

/* Is this pair the only match there is for both?  Then it must stand. */
static bool
only_match(const struct world *w, int c, int n)
{
	int uids = 0;

	for (int i = 0; i < FEW; i++)
		uids += by_uid(w, c, i);
	if (by_uid(w, c, n))
		return uids == 1;
	if (!by_name(w, c, n) || uids > 0)
		return false;
	for (int i = 0; i < FEW; i++)
		if (i != c && by_name(w, i, n))
			return false;
	return true;
}

static void
check_links(const struct world *w, uint64_t seed, int step)
{
	for (int c = 0; c < FEW; c++) {
		for (int n = 0; n < FEW; n++) {
			uint32_t claim, node;

			if (!w->has_claim[c] || !w->has_node[n])
				continue;
			claim = machines_find(&table, &w->claim[c]);
			node = machines_find(&table, &w->node[n]);
			hot_assert_msg(claim != NO_ID && node != NO_ID,
				       "seed %llu step %d: not found",
				       (unsigned long long)seed, step);
			hot_assert_msg((table.at[claim].peer == node) ==
						(table.at[node].peer == claim),
				       "seed %llu step %d: %d-%d one way",
				       (unsigned long long)seed, step, c, n);
			if (table.at[claim].peer == node)
				hot_assert_msg(by_uid(w, c, n) ||
						       by_name(w, c, n),
					       "seed %llu step %d: %d-%d",
					       (unsigned long long)seed, step,
					       c, n);
			else
				hot_assert_msg(!only_match(w, c, n),
					       "seed %llu step %d: %d, %d apart",
					       (unsigned long long)seed, step,
					       c, n);
		}
	}
}

/* A Node and a claim of the same name, as here, are found by it in this
 * order. */
static void
check_names(const struct world *w)
{
	char name[16];

	for (int i = 0; i < FEW; i++) {
		uint32_t id = NO_ID;

		if (w->has_node[i])
			id = machines_find(&table, &w->node[i]);
		else if (w->has_claim[i])
			id = machines_find(&table, &w->claim[i]);
		(void)snprintf(name, sizeof(name), "%d", i);
		hot_assert_msg(machines_find_name(&table, name) == id, "%s",
			       name);
	}
}

START_TEST(random_arrivals)
{
	struct dice d = dice_new((uint64_t)_i);
	struct world w = {0};

	for (int i = 0; i < 4000; i++) {
		random_step(&w, &d);
		check_links(&w, (uint64_t)_i, i);
		check_names(&w);
	}
	for (uint32_t id = 0; id < table.top; id++)
		if (table.at[id].used)
			drop(id);
	ck_assert_uint_eq(table.strings.n, 0);
	for (int i = 0; i < KIND_COUNT; i++)
		ck_assert_uint_eq(table.count[i], 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("machines");
	TCase *c = run_case(s, "machines");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_loop_test(c, link_table, 0,
			    sizeof(links) / sizeof(links[0]));
	tcase_add_test(c, link_comes_later);
	tcase_add_test(c, uid_takes_over_from_name);
	tcase_add_loop_test(c, registered_of_two_nodes, 0, 4);
	tcase_add_test(c, second_node_follows_the_first);
	tcase_add_test(c, node_by_uid_before_node_by_name);
	tcase_add_loop_test(c, dropped_in_either_order, 0, 2);
	tcase_add_test(c, node_created_again_under_its_old_name);
	tcase_add_test(c, full_of_one_kind);
	tcase_add_loop_test(c, texts_come_back, 0, 4);
	tcase_add_test(c, classes_come_back);
	tcase_add_test(c, full_of_names);
	tcase_add_test(c, future_stamps);
	tcase_add_test(c, ready_comes_goes_and_comes);
	tcase_add_loop_test(c, random_arrivals, 0, 20);
	return suite_run(s);
}
