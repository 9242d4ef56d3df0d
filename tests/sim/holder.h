/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_HOLDER_H
#define TESTS_SIM_HOLDER_H

#include "core/protocol/lease.h"
#include "core/protocol/reflect.h"
#include "world.h"

struct recorder;
struct renewer;

/*
 * One replica: the product's own core objects (controller, reflect) with a
 * shell that performs their actions on the modelled world, as daemon/watcher
 * and daemon/sweeper do on the real one.
 */

#define FLIGHTS 32

struct flight {
	bool used, applied, answered, has_read;
	enum reply_fault fault;
	struct action a;
	struct controller_outcome out;
	int64_t apply_at, answer_at;
	struct object read;
	int read_index;
	bool read_metadata;		/* … and no more, because it is large */
	struct object *fresh;		/* ACT_LIST_CLAIMS */
	struct nodepool *fresh_nodepools;	/* ACT_LIST_POOLS */
	int fresh_n;
};

enum stream_state {
	STREAM_IDLE,
	STREAM_LISTING,
	STREAM_OPENING,
	STREAM_OPEN,
};

struct stream {
	struct reflect reflect;
	enum stream_state state;
	bool fresh_list;	/* the next page is the first */
	int64_t at;		/* the page, or the opening, is answered */
	int64_t ends;		/* the watch's timeout */
	int64_t opened;		/* the watch that is open */
	int64_t lag_ms, lag_until;
	int64_t hung_until, hung_since, refused_until;
	size_t pos;		/* the next line of the log */
	int64_t last_line;	/* lines of one watch keep their order */
	int64_t next_line;	/* when lines[pos] arrives; 0 not drawn yet */
	struct thing *page;	/* what the list under way shows */
	int page_n, page_at;
	uint64_t page_rv;
	bool complete;		/* a whole list since birth */
	bool unserved;		/* no list yet, as there is no such resource */
};

/* When a replica's watch or list first showed an object, and what its clock
 * said then; for the invariants. */
struct sight {
	int64_t at, ready_at, launched_at;	/* virtual time; -1: not yet */
	int64_t clock, ready_clock;	/* server time as it had it … */
	int64_t shifted, ready_shifted;	/* … and how far it had shifted */
	int64_t ready_stamp;	/* of which readiness that is */
	int64_t old_at, old_clock, old_shifted;	/* of that before a reboot */
	int64_t deleted_at, deleted_shifted;
	int64_t disrupted_at, gone_at;
};

#define LEASE_CALLS 8

struct lease_call {
	bool used, applied, answered, with_spec, with_state;
	enum lease_step step;
	enum lease_code code;
	enum reply_fault fault;
	int64_t apply_at, answer_at;
	struct lease_record record;
};

struct holder {
	struct world *w;
	struct holder *all;	/* of the cluster */
	int all_n;
	int number;
	bool up;
	bool elects, leads;	/* without election: leads */
	struct lease lease;
	struct lease_call lease_calls[LEASE_CALLS];
	struct rules rules;
	uint32_t machines_max;
	int page;		/* items of one */
	int64_t paused_until;	/* stopped by a signal */
	int64_t skew_ms, skew_until;
	struct controller *controller;
	struct counters counters;
	/* NULL in an even world, of which tests/explore copies every byte. */
	struct recorder *recorder;
	struct renewer *renewer;
	struct stream streams[VIEW_COUNT];
	int64_t alone_ms[POOLS];	/* its webhook leaves them alone from
					   then on; INT64_MAX: never */
	struct flight flights[FLIGHTS];
	int64_t wake_at;	/* controller_next's word */
	bool poked;		/* something was seen since */
	uint64_t births;
	bool restored;		/* it has read the soft state of this lead */
	int64_t soft_at;	/* without election: written anew then */
	/* for the invariants */
	int64_t led_since;	/* of the lead that is on */
	unsigned leads_n;	/* so many times it came to lead */
	struct sight sights[THINGS];	/* in this lead */
	int64_t offset;		/* its clock against the world's, at the last
				   look … */
	int64_t shifted;	/* … and how far it has jumped, by 5 s or more,
				   all in all */
	int64_t jumped_at;	/* last, by whatever */
	int64_t small, small_min, small_max;	/* by less than that … */
	int64_t jitter;		/* … and how far they lie apart */
	bool odd_jump;		/* … or by about 5 s */
	bool saw_all;		/* at once, in this lead */
	int64_t listed_at[VIEW_COUNT];	/* the last good fresh list was asked
					   for; -1 */
	int64_t asked_lists[3];	/* when, the last ones of claims */
	unsigned lists;		/* fresh ones, in the minute since … */
	int64_t lists_since;
	unsigned asked;
	int64_t asked_since;
	int64_t still_since;	/* no call of the controller since */
	int64_t asked_to_wait;	/* by a 429, until then */
};

void holder_init(struct holder *h, struct world *w, int number,
		 const struct rules *rules);
void holder_start(struct holder *h);
void holder_crash(struct holder *h);
/* It has come to lead, or leads no more. */
void holder_leads(struct holder *h);
void holder_restart(struct holder *h, enum kind kind);	/* list anew */
void holder_cut(struct holder *h, enum kind kind);
/* Everything that is due now; the moment of the next. */
int64_t holder_step(struct holder *h);
bool holder_watches(const struct holder *h, enum kind kind);
/* A lead waits for the first list of Events, for so long at most. */
bool holder_begins(const struct holder *h);
/* After a list that left out what is too large, it waits for a fresh one until
 * then at most; -1: it does not. */
int64_t holder_rest_ends(const struct holder *h);
struct now holder_now(const struct holder *h);
/* What its controller reports of a scope; nothing is held if it has none of
 * this name. */
struct scope_report holder_scope(const struct holder *h, const char *name);
/* How old is the oldest line that this replica has not got? */
int64_t holder_lag_ms(const struct holder *h);
void holder_knows(struct holder *h, const struct thing *t);
/* The same for a claim of which it has seen only the metadata. */
void holder_knows_metadata(struct holder *h, const struct thing *t);
/* Its webhook. */
void holder_admit(struct holder *h, struct thing *t);

/* truth.c */
void truth_action(struct holder *h, const struct action *a);
void truth_note(struct holder *h, const struct note *n);
/* Its lead begins: what it knows of the past is what the Lease says. */
void truth_leads(struct holder *h);
/* A write arrives, before it is done: does another lead meanwhile? */
void truth_write(struct holder *h, const struct flight *f);
/* … and what came of it. */
void truth_written(struct holder *h, const struct flight *f);

#endif
