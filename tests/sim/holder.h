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
	struct object *fresh;		/* ACT_LIST_CLAIMS */
	struct nodepool *fresh_nodepools;	/* ACT_LIST_POOLS */
	struct thing *fresh_tickets;	/* ACT_LIST_TICKETS */
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
	bool fresh_list;	/* the next page is the first one of a fresh
				   list */
	int64_t at;		/* when the page, or the opening of the watch,
				   is answered */
	int64_t ends;		/* when the watch times out */
	int64_t listed;		/* when its list was last complete */
	int64_t opened;		/* when the open watch was opened */
	int64_t closed;		/* when the watch before ended */
	int64_t lag_ms, lag_until;
	int64_t hung_until, hung_since, refused_until;
	size_t pos;		/* place of the next line in the log */
	int64_t last_line;	/* when the last line arrives: lines of one
				   watch keep their order */
	int64_t next_line;	/* when lines[pos] arrives; 0: not drawn yet */
	struct thing *page;	/* what the list under way shows */
	int page_n, page_at;
	uint64_t page_rv;
	bool complete;		/* one list was complete since the replica's
				   birth */
	bool unserved;		/* no list yet, as there is no such resource */
};

/* When a replica's watch or list first showed an object, and what its clock
 * said then; for the invariants. */
struct sight {
	int64_t at, ready_at, launched_at;	/* virtual time; -1: not yet */
	int64_t clock, ready_clock;	/* the replica's server time at these
					   moments */
	int64_t shifted, ready_shifted;	/* how far that clock had shifted by
					   then */
	int64_t ready_stamp;	/* the readiness stamp that ready_at is about */
	/* the same of the readiness before a reboot */
	int64_t old_at, old_clock, old_shifted;
	int64_t deleted_at, deleted_clock, deleted_shifted;
	int64_t disrupted_at, gone_at;
	/* The ticket's renewal that was seen last (0: none, -1: a version that
	 * cannot be read or that is being deleted), what the replica's
	 * server time was then, and how far that had shifted; and until when it
	 * held before. */
	int64_t renewed_ms, renewed_clock, renewed_shifted, lasts_ms, was_until;
	int64_t renewed_at;	/* when that renewal was written */
};

#define LEASE_CALLS 8

struct lease_call {
	bool used, applied, answered, with_spec, with_state;
	enum lease_step step;
	enum lease_code code;
	enum reply_fault fault;
	int64_t sent_at, apply_at, answer_at;
	struct lease_record record;
};

struct holder {
	struct world *w;
	struct holder *all;	/* all holders of the cluster */
	int all_n;
	int number;
	bool up;
	bool elects, leads;	/* without election: leads */
	struct lease lease;
	struct lease_call lease_calls[LEASE_CALLS];
	struct rules rules;
	struct hold_key configured;	/* rules.hold is the one that counts */
	uint32_t machines_max;
	int page;		/* how many items a page has */
	int64_t paused_until;	/* until then a signal keeps it stopped */
	int64_t skew_ms, skew_until;
	int64_t skew_most;	/* how far it has been off since the skews
				   before, which overlap */
	struct controller *controller;
	struct counters counters;
	/* NULL in an even world, of which tests/explore copies every byte. */
	struct recorder *recorder;
	struct renewer *renewer;
	struct stream streams[VIEW_COUNT];
	int64_t alone_ms[POOLS];	/* its webhook leaves them alone from
					   then on; INT64_MAX: never */
	struct flight flights[FLIGHTS];
	int64_t wake_at;	/* when controller_next wants to be called
				   again */
	bool poked;		/* the replica has seen something since */
	uint64_t births;
	bool restored;		/* it has read the soft state of this lead */
	int64_t soft_at;	/* without election: when it next writes the
				   soft state */
	/* for the invariants */
	int64_t led_since;	/* when the present lead began */
	unsigned leads_n;	/* how many leads it has had */
	struct sight sights[THINGS];	/* in this lead */
	int64_t offset;		/* how far its clock was ahead of the world's at
				   the last look */
	int64_t shifted;	/* how far its clock has jumped, by 5 s or more,
				   all in all */
	int64_t jumped_at;	/* when its clock last jumped, however far */
	/* how far it has jumped by less than 5 s each: the sum, its least and
	 * its most */
	int64_t small, small_min, small_max;
	int64_t jitter;		/* small_max less small_min */
	bool odd_jump;		/* it has jumped by about 5 s, which may count
				   as either */
	bool saw_all;		/* it has seen everything at once, in this
				   lead */
	int64_t listed_at[VIEW_COUNT];	/* when the last good fresh list was
					   asked for; -1: never */
	int64_t asked_lists[3];	/* when it asked for the last lists of claims */
	unsigned lists;		/* fresh lists in the minute that began at
				   lists_since */
	int64_t lists_since;
	unsigned asked;
	int64_t asked_since;
	int64_t still_since;	/* the controller has made no call since then */
	int64_t asked_to_wait;	/* a 429 asked it to wait until then */
};

void holder_init(struct holder *h, struct world *w, int number,
		 const struct rules *rules);
void holder_start(struct holder *h);
void holder_crash(struct holder *h);
/* It has come to lead, or leads no more. */
void holder_leads(struct holder *h);
void holder_restart(struct holder *h, enum kind kind);	/* makes it list anew */
void holder_cut(struct holder *h, enum kind kind);
/* Does everything that is due now.  Returns when to call it again. */
int64_t holder_step(struct holder *h);
bool holder_watches(const struct holder *h, enum kind kind);
/* A lead waits for the first list of Events, for so long at most. */
bool holder_begins(const struct holder *h);
struct now holder_now(const struct holder *h);
/* Its clocks at that moment of the world, which may be over. */
struct now holder_now_at(const struct holder *h, int64_t at);
/* What its controller reports of a scope; nothing is held if it has none of
 * this name. */
struct scope_report holder_scope(const struct holder *h, const char *name);
/* How old is the oldest line that this replica has not got? */
int64_t holder_lag_ms(const struct holder *h);

/* Since when has its watch of this kind not heard all that has happened?  Now:
 * it has. */
int64_t holder_behind_since(const struct holder *h, enum kind kind);
void holder_knows(struct holder *h, const struct thing *t);
/* Until when the ticket holds by what was seen of it last; STAMP_NONE: nothing
 * was seen. */
int64_t ticket_seen_until(const struct holder *h, const struct sight *s);
/* Its webhook. */
void holder_admit(struct holder *h, struct thing *t);
bool holder_is_ready(const struct holder *h);

/* truth.c */
void truth_action(struct holder *h, const struct action *a);
void truth_note(struct holder *h, const struct note *n);
/* Its lead begins: what it knows of the past is what the Lease says. */
void truth_leads(struct holder *h);
/* Is it the leader, and of two that lead for a moment the later one? */
bool truth_is_leader(const struct holder *h);
/* A write arrives, before it is done: does another lead meanwhile? */
void truth_write(struct holder *h, const struct flight *f);
/* The outcome of that write. */
void truth_written(struct holder *h, const struct flight *f);

#endif
