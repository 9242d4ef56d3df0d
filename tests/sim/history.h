/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_HISTORY_H
#define TESTS_SIM_HISTORY_H

#include <stdint.h>
#include <stdio.h>

#include "holder.h"
#include "truth.h"

/*
 * A history says what happens in the world, and when.  It is made from a seed
 * or read from a file.  Both are run the same way, and one that fails is shrunk
 * and written as a file.
 *
 *     config scope=cluster hold=600 startup=900 holders=1
 *     12.500 create pool=a n=3 launch=2 node=20 register=25 ready=40
 *     80     cut holder=0 kind=node
 *     600    pool pool=a key=hold-until by=1900
 *     700    expect machine=0 n=2 value=held
 *     840    disrupt machine=0
 *     841    create pool=a n=1 launch=2 ready=40 event=1
 *     3600   end
 *
 * Lines stand in the order of their times, which are seconds with at most three
 * decimals.  # begins a comment.
 *
 *     create	`event` and `gives-up` are times after the creation: then
 *		Karpenter says that these claims replace others, or deletes
 *		them.  Only the metadata of `large` claims can be read
 *     pool	the annotation becomes `by` (a moment of the history, or a
 *		duration) or `value`; "-" removes it.  The keys `replicas` and
 *		`consolidate-after` are fields of its spec
 *     disrupt	`value` is the reason, and after a comma `reserved` if the
 *		capacity is
 *     drift	the condition Drifted becomes true, or with the value "-" false
 *     delete	the objects stay while the machine drains (`for`).  Without a
 *		`disrupt` before it, it is an expiry, an interruption or a
 *		manual delete, and `create` makes the successor
 *     reboot	Karpenter reboots the machine, which is ready again after `for`,
 *		or never without it
 *     deny	patches of one kind (and NodePool) are answered with the status
 *		`value`; 500 is somebody's failing webhook
 *     turns	two API servers take turns, one `every` so often, for a while
 *		(`for`); the clock of one is ahead `by` so much
 *     cleanup	the holders are gone for good.  The real `uninstall` runs until
 *		nothing is left, and is killed n times meanwhile (cleaner.h)
 *     older	all replicas start again.  What the last leader left is what
 *		the program of an older commit wrote up to here, in the file
 *		`value` of tests/golden/older
 *     expect	n Nodes, or claims, from that machine on are held, clear, marked
 *		(without a hold), kept (a hold without our mark) or gone.  A
 *		claim may be classed or unclassed, or of the class `substitute`
 *		or `drifted`.  The invariants leave time after each fault; this
 *		line does not
 */

#define OPS 256
#define HOLDERS 3

enum op_type {
	/* of machines and people */
	OP_CREATE,
	OP_LIFE,		/* a machine takes the next step in its life */
	OP_LOOK,		/* nothing happens but that time passes */
	OP_DISRUPT,		/* Karpenter is going to replace a machine */
	OP_DRIFT,		/* Karpenter says that a machine has drifted */
	OP_REBOOT,		/* Karpenter reboots a machine; it is ready
				   again later (`for`) */
	OP_DELETE,		/* Karpenter or a person deletes it, held or
				   not */
	OP_AGAIN,		/* a kubelet posts its Node again */
	OP_RECREATE,		/* a Node is deleted, but its kubelet lives
				   on */
	OP_UNNODE,		/* a Node is deleted, and its claim later */
	OP_TEMPLATE,		/* a person sets a hold on the NodePool's
				   template */
	OP_POOL,		/* a person sets an annotation of a NodePool */
	OP_UNPOOL,		/* a NodePool is deleted */
	OP_REPOOL,		/* a NodePool is made again */
	OP_TICKET,		/* a ticket (`value`) is made or renewed, which
				   holds `pool` ("": all) `for` so long; its
				   writer's clock is ahead `by` so much */
	OP_SPOIL,		/* a version of a ticket cannot be read */
	OP_LINGER,		/* a ticket with a finalizer is deleted */
	OP_UNTICKET,		/* a ticket is deleted */
	OP_FORGE,		/* somebody writes an Event on a claim */
	OP_EXPECT,		/* the file says what the objects must have
				   now */
	OP_PERSON,
	/* of one replica's streams */
	OP_CUT,
	OP_HANG,
	OP_LAG,
	OP_REFUSE,		/* lists and watches of one resource are
				   refused */
	/* of the API server */
	OP_EXPIRE,
	OP_DOWN,
	OP_BUSY,
	OP_ERRORS,
	OP_LOSSY,
	OP_LATE,
	OP_SLOW,
	OP_DENY,		/* patches of one kind are refused */
	OP_UNSERVE,		/* a resource is not served for a while */
	OP_TURNS,		/* two API servers answer whose clocks differ */
	OP_LEASE,		/* the Lease is deleted */
	OP_UNINSTALL,		/* the command runs beside live holders */
	OP_CLEANUP,		/* the real command runs after the holders are
				   gone */
	/* of one replica */
	OP_KILL,
	OP_START,
	OP_PAUSE,
	OP_SKEW,
	OP_RULES,		/* a replica starts again with other rules */
	OP_OLDER,		/* a new leader takes over from that of an
				   older program */
	OP_COUNT,
};

struct op {
	int64_t at;
	enum op_type type;
	char nodepool[16], value[TEXT];
	int n, machine, holder, odds;
	enum kind kind;
	enum person what;
	enum nodepool_key key;	/* or an enum spec_field */
	int64_t for_ms, ms, every_ms;
	struct story story;
	bool other_hold;
	char exclude[16];
	char scope[16];		/* "": as configured */
};

struct picture;

struct history {
	enum scope_kind scope;
	int64_t hold_ms, startup_ms, max_ms, window_ms;
	int holders, machines_max, page;
	bool elects;		/* elect a leader; several replicas always do */
	bool other_hold;
	bool count;		/* replacements: count */
	bool observe;		/* mode: observe */
	bool allow_drift;	/* drift: allow */
	bool tickets;		/* tickets.namespace is set */
	int min_scale_up;	/* 0 counts as 1 */
	int min_scale_up_percent;
	char exclude[16];
	uint64_t seed;		/* the seed for all that the world leaves to
				   chance */
	bool even;		/* nothing is left to chance: each call takes as
				   long as the others, and jitter is always the
				   same */
	int64_t end;
	int ops_n;
	struct op ops[OPS];
	struct picture *picture;	/* the picture that the run fills; NULL:
					   none */
};

/* history_random.c */
void history_random(struct history *h, uint64_t seed);
/* The same history with a `cleanup` somewhere in it. */
void history_random_cleanup(struct history *h, uint64_t seed);
/* The same history, in which lists and watches leave some claims out. */
void history_random_large(struct history *h, uint64_t seed);
/* The same history, in which people change the spec of NodePools. */
void history_random_spec(struct history *h, uint64_t seed);
/* The same history with mode observe. */
void history_random_observe(struct history *h, uint64_t seed);
/* The same history, in which tickets hold NodePools. */
void history_random_tickets(struct history *h, uint64_t seed);

/* history_text.c */
/* Returns -1 if the file cannot be read or understood, and stderr says why. */
int history_read(struct history *h, const char *file);
void history_write(const struct history *h, FILE *out);

/* history_run.c.  history_run runs a whole history, tells its story if `story`
 * is not NULL, and returns 1 with the reason in out->broken if an invariant is
 * broken.  Callers that decide step by step make a run from a history's
 * configuration, and let ops happen and time pass as they like. */
struct outcome_of_run {
	char broken[320];
	uint64_t digest, events, writes, days_ms;
	uint64_t ops[OP_COUNT];
	uint64_t faults[4];
	struct meter meter;	/* covers the time before the run settles */
};
int history_run(const struct history *h, FILE *story,
		struct outcome_of_run *out);

struct run;
struct truth;
/* All replicas start.  h outlives the run, and its ops do not count. */
struct run *run_new(const struct history *h, FILE *story);
/* Has the event happen now, whatever o->at says. */
void run_apply(struct run *r, const struct op *o);
/* Runs up to that moment of the history, step by step, and checks the
 * invariants after each step.  It ends early if one is broken. */
void run_pass(struct run *r, int64_t until_ms);
/* Faults end and replicas that are down come back.  Checks that all gets quiet
 * and clear. */
void run_settle(struct run *r);
/* Why an invariant is broken; NULL: none is. */
const char *run_broken(const struct run *r);
const struct world *run_world(const struct run *r);
const struct holder *run_holders(const struct run *r, int *n);
const struct truth *run_truth(const struct run *r);
/* Writes what came of the run, if out is not NULL, and frees it. */
void run_free(struct run *r, struct outcome_of_run *out);
extern const char *const op_names[OP_COUNT];
extern const char *const scope_names[3];

#endif
