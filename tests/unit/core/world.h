/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CORE_WORLD_H
#define TESTS_CORE_WORLD_H

#include "core/controller/controller.h"
#include "objects.h"
#include "run.h"
#include "sim/api.h"

/*
 * An API server in virtual time, and a controller that works against it.  What
 * a write does, what it tests, and what the wire shows of annotations is the
 * simulator's (tests/sim/api.c); here are objects that a test can change at
 * will, watches that are late or silent, and answers that are late, wrong or
 * lost.  controller_next is asked only when something was seen or the time that
 * it named has come, so a wrong wait shows.
 *
 * Tests change objects and faults directly in the structures below.  After a
 * change to an object they call thing_changed, which sends the watch line;
 * without it only a list or a GET shows the change.
 */

#define THINGS 800
#define EVENTS 8192
#define FLIGHTS 32
#define POOLS 8
#define TICKETS (TICKETS_MAX + 100)
#define DAY 86400000
#define START_BOOT 1000000
#define START_SERVER 1767323045000	/* 2026-01-02 */
#define FOR_EVER (1000 * (int64_t)DAY)

/* An object of the API server.  `kept` is what it keeps of annotations, and `o`
 * what a list would show: tests read that and change it. */
struct thing {
	bool used;
	struct object o;
	struct api_object kept;
	bool large;		/* it cannot be read: of a claim the metadata
				   is shown, and of a Node nothing */
	unsigned writes;	/* by the controller */
	int64_t held_ms, cleared_ms;	/* server time of its last of each */
};

/* A watch line, and the moment at which it arrives. */
struct event {
	int64_t at;
	bool deleted;
	struct object o;
};

/* A call of the controller that is under way. */
struct flight {
	bool used, applied, has_read;
	enum reply_fault fault;
	struct action a;
	struct controller_outcome out;
	int64_t apply_at, reply_at;
	struct object read;
	struct object *fresh;
	uint32_t fresh_n;
	struct nodepool nodepools[POOLS];
	uint32_t pools_n;
	struct ticket *tickets;
	uint32_t tickets_n;
};

struct world {
	struct controller *s;
	struct counters counters;
	struct rules rules;
	struct dice dice;
	int64_t boot_ms, offset_ms;
	struct thing at[THINGS];
	struct event *events[KIND_COUNT];
	uint32_t first[KIND_COUNT], last[KIND_COUNT];
	struct nodepool nodepools[POOLS];	/* as the API server has them */
	uint32_t pools_n;
	struct ticket *tickets;			/* the same */
	uint32_t tickets_n;
	/* A watch that is frozen is open, but no line arrives.  Of the kinds
	 * that are no part of a machine, tickets alone can freeze. */
	bool up[VIEW_COUNT], frozen[VIEW_COUNT];
	bool unserved;		/* the API server knows no NodeClaims */
	struct flight flights[FLIGHTS];
	uint64_t rv;
	int64_t watch_ms, reply_ms;	/* what a line, an answer may take */
	int64_t retry_after_ms;		/* what REPLY_BUSY says */
	enum reply_fault (*fault)(struct world *w, const struct action *a);
	unsigned acts[ACT_LIST_TICKETS + 1];	/* calls so far */
	unsigned relists[VIEW_COUNT];	/* lists that the controller wanted */
	int64_t idle_since;
	unsigned idle;		/* calls that said "wait" in that second */
};

/* --- birth ---------------------------------------------------------------- */

struct rules rules_default(void);

/* A world without objects.  Its NodePools and Events are listed and watched at
 * once, as most tests have none.  world_open lists its tickets.  Free it with
 * world_free. */
struct world *world_new(const struct rules *r, uint32_t max, uint64_t seed);
void world_free(struct world *w);

/* The process is killed and starts again; nothing is listed yet. */
void world_restart(struct world *w, uint64_t seed);

/* --- time ----------------------------------------------------------------- */

struct now world_now(const struct world *w);
int64_t server_ms(const struct world *w);

/* Virtual time passes. */
void world_run(struct world *w, int64_t ms);
void world_run_until(struct world *w, int64_t at_server_ms);

/* --- lists and watches ---------------------------------------------------- */

/* Of Nodes, NodeClaims or tickets. */
void world_watch(struct world *w, enum kind kind, bool up);

/* A whole list of Nodes, NodeClaims or tickets, and the watch behind it. */
void world_list(struct world *w, enum kind kind);

/* Lists Nodes, NodeClaims and, if the rules have a namespace for them, tickets.
 * Lets 5 s pass. */
void world_open(struct world *w);

/* A list that shows nothing, and no watch behind it. */
void world_list_empty(struct world *w, enum kind kind);

/* NodePools and Events are listed, none of either, and watched. */
void world_list_others(struct world *w);

/* The watch lines that are under way never arrive. */
void world_lose_lines(struct world *w, enum kind kind);

/* The answers to the calls under way come after that time. */
void world_delay_replies(struct world *w, int64_t ms);

/* --- NodePools ------------------------------------------------------------ */

/* A NodePool is made or changed; its watch line comes at once, or never. */
void world_pool(struct world *w, const struct nodepool *p);
void world_pool_quietly(struct world *w, const struct nodepool *p);

/* The API server has it no more; no watch line says so. */
void world_pool_gone(struct world *w, const char *name);

/* --- tickets -------------------------------------------------------------- */

/* A ticket is made or changed.  Its watch line comes at once if the watch is
 * open and not frozen, or never. */
void world_ticket(struct world *w, const struct ticket *t);
/* It is deleted.  Its watch line comes as above. */
void world_ticket_gone(struct world *w, const char *name);

/* What the controller wants done, by the time of now. */
struct controller_todo world_next(struct world *w);

/* --- objects -------------------------------------------------------------- */

/* NULL: there is no such object. */
struct thing *thing_find(struct world *w, enum kind kind, const char *name);
struct thing *thing_add(struct world *w, const struct object *o);
void thing_delete(struct world *w, struct thing *t);

/* The object has changed: it gets a new version, and a watch line goes out. */
void thing_changed(struct world *w, struct thing *t);

/* What a test has changed in t->o becomes the API server's, and t->o is what the
 * wire makes of that.  The API server does it before each call. */
struct api_object *thing_keep(struct world *w, struct thing *t);

bool thing_held(const struct thing *t);		/* by us */
bool thing_clear(const struct thing *t);	/* no hold, no mark */

/* --- machines ------------------------------------------------------------- */

/* A machine ready since ready_ms: claim "cN" and its registered Node "nN". */
void machine_add(struct world *w, int n, const char *nodepool,
		 int64_t ready_ms);

/* Its two objects, which must be there. */
struct thing *node_at(struct world *w, int n);
struct thing *claim_at(struct world *w, int n);

/* Both go, and the watches say so. */
void machine_delete(struct world *w, int n);

unsigned count_held(struct world *w, enum kind kind);
unsigned count_marked(struct world *w);		/* of both kinds */

#endif
