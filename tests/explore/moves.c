/* SPDX-License-Identifier: Apache-2.0 */
#include "moves.h"

#include <string.h>

#define POOL "a"
#define MACHINES_MOST 2
#define SEEN_MS 1000
#define EDGE_MS 400	/* from a deadline to the looks shortly before and after
			   it */

/* What an event needs to know of the state: whom it befalls, and whether it
 * can. */
enum whom {
	ANY,
	NEW,		/* a machine that is not there yet */
	ALIVE,		/* its claim is there, not being deleted */
	CLAIM, NODE,	/* that object of such a machine */
	MARKED,		/* an object that has our mark */
	LEADER, DOWN,	/* a replica */
	QUIET_SERVER,	/* no other fault of the API server lasts */
	POOL_FREE, POOL_SAYS,	/* the NodePool has no annotation; it has one */
	FOLLOWED,	/* the replicas follow tickets */
	TICKET,		/* the ticket is there */
	DEADLINE,	/* the leader waits for a moment */
};

struct move {
	const char *name;
	enum whom whom;
	struct op op;
	int64_t pass_ms;	/* OP_LOOK */
};

#define LEFT_OPEN {.launch_ms = -1, .node_ms = -1, .register_ms = -1, \
		   .ready_ms = -1}
#define LEFT_OPEN_MISSED {.launch_ms = -1, .node_ms = -1, .register_ms = -1, \
			  .ready_ms = -1, .missed = true}

static const struct move moves[] = {
	/* The lives of machines, step by step. */
	{"create",
	 NEW,
	 {.type = OP_CREATE, .n = 1, .nodepool = POOL, .story = LEFT_OPEN},
	 0},
	{"create, the webhook is missed",
	 NEW,
	 {.type = OP_CREATE,
	  .n = 1,
	  .nodepool = POOL,
	  .story = LEFT_OPEN_MISSED},
	 0},
	{"life 0", ALIVE, {.type = OP_LIFE, .machine = 0}, 0},
	{"life 1", ALIVE, {.type = OP_LIFE, .machine = 1}, 0},
	{"delete 0", ALIVE, {.type = OP_DELETE, .machine = 0}, 0},
	{"delete 1", ALIVE, {.type = OP_DELETE, .machine = 1}, 0},
	{"reboot 0", ALIVE, {.type = OP_REBOOT, .machine = 0, .for_ms = 20000}, 0},
	{"disrupt 0", ALIVE, {.type = OP_DISRUPT, .machine = 0}, 0},
	{"an Event on 1", ALIVE, {.type = OP_FORGE, .machine = 1}, 0},
	/* What one person does. */
	{"touch claim 0",
	 CLAIM,
	 {.type = OP_PERSON, .what = PERSON_TOUCH, .kind = KIND_NODECLAIM},
	 0},
	{"touch node 0",
	 NODE,
	 {.type = OP_PERSON, .what = PERSON_TOUCH, .kind = KIND_NODE},
	 0},
	{"unmark node 0",
	 MARKED,
	 {.type = OP_PERSON, .what = PERSON_UNMARK, .kind = KIND_NODE},
	 0},
	{"unhold node 0",
	 MARKED,
	 {.type = OP_PERSON, .what = PERSON_UNHOLD, .kind = KIND_NODE},
	 0},
	{"strip node 0",
	 MARKED,
	 {.type = OP_PERSON, .what = PERSON_STRIP, .kind = KIND_NODE},
	 0},
	{"unhold claim 0",
	 MARKED,
	 {.type = OP_PERSON, .what = PERSON_UNHOLD, .kind = KIND_NODECLAIM},
	 0},
	{"hold node 0",
	 NODE,
	 {.type = OP_PERSON,
	  .what = PERSON_SET,
	  .kind = KIND_NODE,
	  .value = "true"},
	 0},
	{"hold-until",
	 POOL_FREE,
	 {.type = OP_POOL,
	  .nodepool = POOL,
	  .key = NODEPOOL_HOLD_UNTIL,
	  .ms = 60000},
	 0},
	{"released-at",
	 POOL_FREE,
	 {.type = OP_POOL, .nodepool = POOL, .key = NODEPOOL_RELEASED_AT},
	 0},
	{"disabled",
	 POOL_FREE,
	 {.type = OP_POOL,
	  .nodepool = POOL,
	  .key = NODEPOOL_ENABLED,
	  .value = "false"},
	 0},
	{"static",
	 POOL_FREE,
	 {.type = OP_POOL,
	  .nodepool = POOL,
	  .key = (enum nodepool_key)SPEC_REPLICAS,
	  .value = "3"},
	 0},
	{"annotation removed",
	 POOL_SAYS,
	 {.type = OP_POOL, .nodepool = POOL, .value = "-"},
	 0},
	/* What writers of tickets do. */
	{"ticket", FOLLOWED, {.type = OP_TICKET, .value = "t", .for_ms = 30000}, 0},
	{"a ticket for another NodePool",
	 FOLLOWED,
	 {.type = OP_TICKET, .value = "t", .nodepool = "b", .for_ms = 30000},
	 0},
	{"a longer ticket of a clock ahead",
	 FOLLOWED,
	 {.type = OP_TICKET,
	  .value = "u",
	  .nodepool = POOL,
	  .for_ms = 60000,
	  .ms = 20000},
	 0},
	{"ticket deleted", TICKET, {.type = OP_UNTICKET, .value = "t"}, 0},
	/* Faults. */
	{"cut claims", LEADER, {.type = OP_CUT, .kind = KIND_NODECLAIM}, 0},
	{"cut nodes", LEADER, {.type = OP_CUT, .kind = KIND_NODE}, 0},
	{"cut pools", LEADER, {.type = OP_CUT, .kind = KIND_NODEPOOL}, 0},
	{"cut tickets", LEADER, {.type = OP_CUT, .kind = KIND_TICKET}, 0},
	{"hang claims",
	 LEADER,
	 {.type = OP_HANG, .kind = KIND_NODECLAIM, .for_ms = 30000},
	 0},
	{"hang nodes",
	 LEADER,
	 {.type = OP_HANG, .kind = KIND_NODE, .for_ms = 30000},
	 0},
	{"hang tickets",
	 LEADER,
	 {.type = OP_HANG, .kind = KIND_TICKET, .for_ms = 30000},
	 0},
	{"kill the leader", LEADER, {.type = OP_KILL}, 0},
	{"start", DOWN, {.type = OP_START}, 0},
	{"pause the leader", LEADER, {.type = OP_PAUSE, .for_ms = 16000}, 0},
	{"clock 6 s ahead",
	 LEADER,
	 {.type = OP_SKEW, .ms = 6000, .for_ms = 20000},
	 0},
	{"answers are lost",
	 QUIET_SERVER,
	 {.type = OP_LOSSY, .for_ms = 2000},
	 0},
	{"answers are late",
	 QUIET_SERVER,
	 {.type = OP_LATE, .for_ms = 2000},
	 0},
	{"claims cannot be patched",
	 QUIET_SERVER,
	 {.type = OP_DENY,
	  .kind = KIND_NODECLAIM,
	  .value = "422",
	  .for_ms = 20000},
	 0},
	{"the server is down",
	 QUIET_SERVER,
	 {.type = OP_DOWN, .for_ms = 3000},
	 0},
	{"the Lease is deleted", ANY, {.type = OP_LEASE}, 0},
	/* Time. */
	{"half a call", ANY, {.type = OP_LOOK}, 15},
	{"a second", ANY, {.type = OP_LOOK}, 1000},
	{"ten seconds", ANY, {.type = OP_LOOK}, 10000},
	{"a minute", ANY, {.type = OP_LOOK}, 60000},
	{"before the deadline", DEADLINE, {.type = OP_LOOK}, -EDGE_MS},
	{"after the deadline", DEADLINE, {.type = OP_LOOK}, EDGE_MS},
};
const int moves_n = sizeof(moves) / sizeof(moves[0]);

const char *
move_name(int move)
{
	return moves[move].name;
}

static const struct thing *
alive(const struct world *w, int i)
{
	return i >= 0 && w->things[i].used ? &w->things[i] : NULL;
}

static const struct thing *
thing_of(const struct world *w, const struct op *o, enum kind kind)
{
	const struct machine *m = &w->machines[o->machine];

	if (o->machine >= w->machines_n)
		return NULL;
	return alive(w, kind == KIND_NODE ? m->node : m->claim);
}

static int
leader(const struct run *r)
{
	int n;
	const struct holder *h = run_holders(r, &n);

	for (int i = 0; i < n; i++)
		if (h[i].up && h[i].leads)
			return i;
	return -1;
}

static int
down(const struct run *r)
{
	int n;
	const struct holder *h = run_holders(r, &n);

	for (int i = 0; i < n; i++)
		if (!h[i].up)
			return i;
	return -1;
}

/* Does the machine's life go on, and is it new that it is to be replaced? */
static bool
claim_may(const struct thing *claim, enum op_type type)
{
	if (claim == NULL || claim->deleting)
		return false;
	if (type == OP_LIFE)
		return claim->ready_ms == STAMP_NONE;
	return type != OP_DISRUPT || !claim->disrupted;
}

static bool
server_is_fine(const struct world *w)
{
	return w->now >= w->down_until && w->now >= w->lossy_until &&
	       w->now >= w->late_until &&
	       w->now >= w->denied[KIND_NODECLAIM].until;
}

static bool
replica_may(const struct run *r, struct op *o)
{
	const struct world *w = run_world(r);
	const struct stream *s;
	const struct holder *h;
	int n;

	o->holder = leader(r);
	if (o->holder < 0)
		return false;
	h = &run_holders(r, &n)[o->holder];
	s = &h->streams[o->kind];
	if (o->type == OP_CUT)
		return s->state == STREAM_OPEN;
	if (o->type == OP_HANG)
		return s->state == STREAM_OPEN && w->now >= s->hung_until;
	if (o->type == OP_SKEW)
		return w->now >= h->skew_until;
	return o->type != OP_PAUSE || w->now >= h->paused_until;
}

static bool
pool_may(const struct run *r, struct op *o, bool says)
{
	const struct world *w = run_world(r);

	for (int i = 0; i < w->pools_n; i++) {
		const struct thing *t = alive(w, w->nodepools[i].thing);

		if (t == NULL || strcmp(w->nodepools[i].name, POOL) != 0)
			continue;
		/* A disruption that nobody saw may count or not. */
		if (says && w->now - t->touched < SEEN_MS)
			return false;
		if (o->key == NODEPOOL_HOLD_UNTIL ||
		    o->key == NODEPOOL_RELEASED_AT)
			o->ms += w->now;
		for (int k = 0; k < POOL_KEYS; k++) {
			if (t->says[k][0] == '\0')
				continue;
			if (says)
				o->key = (enum nodepool_key)k;
			return says;
		}
		return !says;
	}
	return false;
}

static bool
follows_tickets(const struct run *r)
{
	int n;

	return rules_tickets(&run_holders(r, &n)[0].rules);
}

static bool
ticket_is_there(const struct world *w, const char *name)
{
	for (int i = 0; i < w->things_n; i++)
		if (w->things[i].used && w->things[i].kind == KIND_TICKET &&
		    strcmp(w->things[i].name, name) == 0)
			return true;
	return false;
}

static bool
deadline(const struct run *r, struct op *o, int64_t by)
{
	const struct world *w = run_world(r);
	int n, i = leader(r);
	int64_t at = i < 0 ? INT64_MAX : run_holders(r, &n)[i].wake_at;

	if (at == INT64_MAX || at + by <= w->now)
		return false;
	o->at = at + by;
	return true;
}

bool
move_make(int move, const struct run *r, struct op *o)
{
	const struct move *m = &moves[move];
	const struct world *w = run_world(r);
	const struct thing *t;

	*o = m->op;
	o->at = w->now + m->pass_ms;
	switch (m->whom) {
	case NEW:
		return w->machines_n < MACHINES_MOST;
	case ALIVE:
		return claim_may(thing_of(w, o, KIND_NODECLAIM), o->type);
	case CLAIM:
	case NODE:
		return thing_of(w, o, o->kind) != NULL;
	case MARKED:
		t = thing_of(w, o, o->kind);
		return t != NULL && t->notes.at[ANN_MARK][0] != '\0';
	case LEADER:
		return replica_may(r, o);
	case DOWN:
		o->holder = down(r);
		return o->holder >= 0;
	case QUIET_SERVER:
		return server_is_fine(w);
	case POOL_FREE:
		return pool_may(r, o, false);
	case POOL_SAYS:
		return pool_may(r, o, true);
	case FOLLOWED:
		return follows_tickets(r);
	case TICKET:
		return ticket_is_there(w, o->value);
	case DEADLINE:
		return deadline(r, o, m->pass_ms);
	default:
		return o->type != OP_LEASE || w->lease.present;
	}
}
