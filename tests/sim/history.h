/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_HISTORY_H
#define TESTS_SIM_HISTORY_H

#include <stdint.h>
#include <stdio.h>

#include "holder.h"

/*
 * A history: what happens in the world, and when.  Made from a seed or read
 * from a file; both are run the same way, and a failing one is shrunk and
 * written as a file.
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
 * Times are seconds with at most three decimals; # begins a comment.  A pool's
 * annotation is `by` (a moment of the history, or a duration) or `value`; "-"
 * removes it.  So long after the creation Karpenter says that these replace
 * others (`event`), or deletes the claims (`gives-up`).  `delete`: the objects
 * stay while it drains (`for`); without a `disrupt` (`value` is the reason)
 * before it, it is an expiry, an interruption or a manual delete, and `create`
 * makes the successor.  `deny`: patches of one kind (and pool) are answered with
 * the status `value`; 500 is somebody's failing webhook.  `turns`: for so long
 * two API servers take turns `every` so often, the clock of one is ahead `by`.
 * `cleanup`: the holders are gone for good.  The real `uninstall` runs until
 * nothing is left, and is killed n times meanwhile (cleaner.h).
 * `expect`: n Nodes, or claims, from that machine on are held, clear, marked
 * (alone), kept (a hold without our mark) or gone; a claim may be classed or
 * unclassed, or of the class `substitute` or `drifted`.  The invariants leave
 * time after each fault; this does not.  Lines stand in the order of their
 * times.
 */

#define OPS 256
#define HOLDERS 3

enum op_type {
	/* of machines and people */
	OP_CREATE,
	OP_LIFE,		/* the next step of a machine's */
	OP_LOOK,		/* nothing: time passes up to here */
	OP_DISRUPT,		/* Karpenter is going to replace it */
	OP_DELETE,		/* by Karpenter or a person, held or not */
	OP_AGAIN,		/* a kubelet posts its Node again */
	OP_RECREATE,		/* a Node is deleted alone, its kubelet is not */
	OP_UNNODE,		/* … and is; its claim goes later */
	OP_TEMPLATE,		/* a person's hold on the NodePool's template */
	OP_POOL,		/* a NodePool's annotation */
	OP_UNPOOL,		/* a NodePool is deleted */
	OP_REPOOL,		/* … and made again */
	OP_FORGE,		/* an Event on a claim, whoever writes it */
	OP_EXPECT,		/* what stands there now, whatever is wrong */
	OP_PERSON,
	/* of one replica's streams */
	OP_CUT,
	OP_HANG,
	OP_LAG,
	OP_REFUSE,		/* lists and watches of one resource */
	/* of the API server */
	OP_EXPIRE,
	OP_DOWN,
	OP_BUSY,
	OP_ERRORS,
	OP_LOSSY,
	OP_LATE,
	OP_SLOW,
	OP_DENY,		/* patches of one kind */
	OP_UNSERVE,		/* there is no such resource for a while */
	OP_TURNS,		/* two API servers' clocks */
	OP_LEASE,		/* the Lease is deleted */
	OP_UNINSTALL,		/* the command, beside holders that live */
	OP_CLEANUP,		/* the real command, when they are gone */
	/* of one replica */
	OP_KILL,
	OP_START,
	OP_PAUSE,
	OP_SKEW,
	OP_RULES,		/* a replica starts again with other rules */
	OP_COUNT,
};

struct op {
	int64_t at;
	enum op_type type;
	char nodepool[16], value[TEXT];
	int n, machine, holder, odds;
	enum kind kind;
	enum person what;
	enum nodepool_key key;
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
	bool elects;		/* several always do */
	bool other_hold;
	bool count;		/* replacements: count */
	int min_scale_up;	/* 0 is 1 */
	char exclude[16];
	uint64_t seed;		/* of what the world makes up by itself */
	bool even;		/* it makes nothing up: each call takes as long
				   as the others, and jitter is always the
				   same */
	int64_t end;
	int ops_n;
	struct op ops[OPS];
	struct picture *picture;	/* drawn meanwhile; NULL: none */
};

/* history_random.c */
void history_random(struct history *h, uint64_t seed);
/* The same history with a `cleanup` somewhere in it. */
void history_random_cleanup(struct history *h, uint64_t seed);

/* history_text.c */
int history_read(struct history *h, const char *file);	/* 0, or told why */
void history_write(const struct history *h, FILE *out);

/* history_run.c.  A run, step by step: whoever has a history at hand calls
 * history_run, 0 or 1 and why in out->broken; others make one of its config,
 * let ops happen and time pass as they like. */
struct outcome_of_run {
	char broken[320];
	uint64_t digest, events, writes, days_ms;
	uint64_t ops[OP_COUNT];
	uint64_t faults[4];
};
int history_run(const struct history *h, FILE *story,
		struct outcome_of_run *out);

struct run;
struct truth;
/* h is used until the end, its ops are not looked at; all replicas start. */
struct run *run_new(const struct history *h, FILE *story);
/* What happens, now: o->at does not count. */
void run_apply(struct run *r, const struct op *o);
/* Up to that moment of the history, event by event; the invariants are checked
 * after each.  Ends early where one is broken. */
void run_pass(struct run *r, int64_t until_ms);
/* Faults end, whoever is down comes back, and all gets quiet and clear. */
void run_settle(struct run *r);
const char *run_broken(const struct run *r);	/* NULL: all is sound */
const struct world *run_world(const struct run *r);
const struct holder *run_holders(const struct run *r, int *n);
const struct truth *run_truth(const struct run *r);
/* What came of it, if out is not NULL. */
void run_free(struct run *r, struct outcome_of_run *out);
extern const char *const op_names[OP_COUNT];
extern const char *const scope_names[3];

#endif
