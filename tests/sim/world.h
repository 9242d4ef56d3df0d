/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "api.h"
#include "core/base/nodepool.h"
#include "core/base/object.h"
#include "core/controller/controller.h"
#include "core/protocol/lease.h"
#include "dice.h"

/*
 * The world of the simulator: an API server with resourceVersions and a watch
 * log, Karpenter, kubelets and people.  Virtual time in milliseconds since the
 * start; everything random comes from one seed.
 */

#define THINGS 512		/* objects that ever were, in one history */
#define MACHINES 192
#define POOLS 6		/* one of them may be "": claims without the label */
#define DUES 1024
#define SERVER_START 1767323045000	/* 2026-01-02T03:04:05Z */

enum by {
	BY_NOBODY,
	BY_US,
	BY_PERSON,
};

/* What else a person may write on a NodePool: fields of its spec.  They follow
 * the annotations. */
enum spec_field {
	SPEC_REPLICAS = NODEPOOL_KEY_COUNT,
	SPEC_CONSOLIDATE_AFTER,
	POOL_KEYS,
};
#define SPEC_FIELDS (POOL_KEYS - NODEPOOL_KEY_COUNT)

struct notes_on {	/* annotations, "" if absent, and who set the holds */
	char at[ANN_COUNT][TEXT];
	enum by by[ANN_OTHER_HOLD + 1];
};

struct thing {
	bool used;
	enum kind kind;
	int index;		/* in world.things */
	int machine;		/* -1: none */
	char name[24], uid[24], nodepool[16];
	uint64_t rv;
	/* Stamps: server time, whole seconds; STAMP_NONE without. */
	int64_t created_ms, ready_ms, deleted_ms;
	int64_t first_ready_ms;	/* claim: when it was ready before it was
				   rebooted */
	bool rebooted;
	bool deleting, launched, launch_known, registered;
	/* When it really happened, in virtual time; -1: it did not. */
	int64_t born, launched_at, ready_at, deleted_at, gone_at;
	char other[24];		/* claim: status.nodeName; Node: owner's uid;
				   Event: the claim's */
	struct notes_on notes;
	int told;		/* with mode observe: the leader has told of
				   this hold (an enum ann, + 1) and not of its
				   end; 0: of none; -1: a person has set a hold
				   since, and may have taken it off before
				   anybody saw it */
	char says[POOL_KEYS][32];	/* NodePool: its annotations and spec */
	int respecified;	/* NodePool: how often its spec was changed */
	bool disrupted;			/* claim: it has DisruptionReason,
					   whatever the reason */
	bool terminated_first;	/* claim: its reason is Drifted or Unhealthy,
				   and its capacity is reserved */
	bool repaired;		/* claim: its reason is Unhealthy */
	bool drifted;		/* claim: its condition Drifted is True */
	int64_t disrupted_ms;		/* claim: since when it has a reason
					   other than Empty */
	int64_t renewed_ms, lasts_ms;	/* ticket */
	bool unreadable;	/* ticket: nobody can read this version */
	char class[CLASS_BYTES];	/* claim: our class; Event: its reason */
	char class_uid[24];		/* claim: the uid that its class
					   names */
	bool large;		/* of a claim only the metadata can be read,
				   of a Node nothing */
	int64_t large_at;	/* since when */
	bool was_large;		/* it was so when its deletion began */
	/* for the invariants */
	unsigned writes, reasons, tries;
	int64_t tries_since;
	unsigned denied;	/* how many writes in a row were refused */
	int denied_act;
	int64_t relieved;	/* when the last series of refusals ended */
	int64_t denied_since;	/* when the present series began */
	unsigned holds, hold_reasons;	/* our holds in this period, and the
					   reasons that allow them */
	int64_t turned[3];	/* when the object was held again after a
				   clear */
	bool was_cleared;
	int strips;
	int64_t touched;	/* when somebody other than us last changed
				   it */
	int64_t unanswered;	/* when a write of ours changed it that nobody
				   heard the answer of; 0: never */
	int64_t marked;		/* when a person last set a mark; 0: never */
};

struct line {
	int64_t at;		/* when it happened */
	bool deleted;
	struct thing t;
};

/* What the machine's story is; -1: never. */
struct story {
	/* after its birth */
	int64_t launch_ms, node_ms, register_ms, ready_ms;
	int64_t stale_ms;	/* age of the claim that registration copies */
	bool missed;		/* no webhook is called */
	bool no_condition;	/* no Launched condition before the launch */
	bool node_first;	/* at its end the Node goes before the claim */
	int64_t event_ms;	/* it replaces another: when Karpenter's Event
				   says so; 0: it does not */
	int64_t gives_up_ms;	/* it finds no capacity: when its claim goes
				   again; 0: it does not */
	bool cloned;		/* a copy of another claim: mark, class and all */
	bool opted_out;		/* it is a copy of one whose hold a person took
				   away */
	bool taint_only;	/* until its registration, its Node has the
				   taint and not the pool label */
	bool claimless;		/* a Node alone */
	bool large;		/* its claim is too large from birth on */
};

struct machine {
	bool used;
	char nodepool[16];
	int pool_id;
	int claim, node;	/* their places in things; -1: none */
	int64_t born;
	int64_t said_at;		/* when the first Event on it came; -1:
					   none yet */
	int said;			/* the place of that Event in things */
	struct story story;
};

enum due_type {
	DUE_LAUNCH,
	DUE_NODE,
	DUE_REGISTER,
	DUE_NODE_NAME,		/* the claim's status follows the Node */
	DUE_READY,		/* for the first time, or after a reboot */
	DUE_EVENT,
	DUE_GIVE_UP,
	DUE_GONE_FIRST,	/* a deleted machine's objects, one by one */
	DUE_GONE_SECOND,
	DUE_DELETE,		/* its Node is gone, so its claim is deleted
				   now */
};

struct due {
	int64_t at;
	uint64_t order;
	enum due_type type;
	int machine;
};

struct pool_state {
	char name[16];
	char template[TEXT];	/* a person's hold on the template */
	int thing;		/* -1: there is no such NodePool (any more) */
	int generation;
	/* What its annotations and its spec mean, and since when (virtual
	 * time). */
	bool disabled;
	bool fixed, never;	/* spec.replicas; consolidateAfter: Never */
	int64_t respecified;	/* when one of these changed; -1: never */
	int64_t until, released;	/* server time; STAMP_NONE: none */
	int64_t hold;		/* -1: as the rules say */
	int64_t changed;
};

/* Patches of one kind that the API server turns down. */
struct denial {
	int64_t until;
	int code;		/* 403, 422, 500 (somebody's webhook), 503 */
	char nodepool[16];		/* the only NodePool that it affects;
					   "": all */
};

/* The command `uninstall`, at work. */
struct uninstaller {
	bool on;
	int64_t at, until, renews;
};

struct world;
struct certs;
/* The admission of a creation: by whichever replica answers; or none. */
typedef void admit_fn(void *ctx, struct thing *t);

struct world {
	struct dice dice;
	int64_t now, end;
	uint64_t rv, changes;
	uint64_t sighted;	/* how often a replica saw something new, or
				   wrote another soft state */
	struct thing things[THINGS];
	int things_n;
	struct machine machines[MACHINES];
	int machines_n;
	struct line *lines[VIEW_COUNT];
	size_t lines_n[VIEW_COUNT], lines_cap[VIEW_COUNT];
	uint64_t compacted;	/* watches that began before this version are
				   expired */
	struct pool_state nodepools[POOLS];
	int pools_n;
	bool larges;	/* an object was too large once: fresh lists are made
			   though nothing is to be released */
	int64_t quarrel;	/* until then two may lead, with different
			   configurations: what one strips the other holds
			   again, three times in a period */
	bool full;	/* a table was full, and left something out */
	int64_t crowded;	/* when a table last had no choice but to do
				   so */
	bool is_crowded;
	struct lease_record lease;
	char state_last[LEASE_STATE_BYTES];
	int64_t state_sent;	/* when the state in it was first sent */
	int64_t lease_left_us;	/* the renewTime of the leader before */
	int64_t lease_deleted;	/* when a person deleted it; then two may lead
				   for a while */
	struct due dues[DUES];
	int dues_n;
	uint64_t order;
	/* faults, each until a moment */
	int64_t down_until, busy_until, retry_after_ms;
	int64_t lossy_until, late_until, error_until, slow_until;
	uint32_t odds;		/* percent of writes that meet them */
	struct denial denied[KIND_COUNT];
	int64_t unserved_until[VIEW_COUNT];	/* there is no such resource */
	/* Two API servers take turns, and the clock of one is ahead. */
	int64_t turns_from, turns_until, turns_every, turns_by;
	int64_t turns_most;	/* the largest turns_by of those that overlap */
	struct uninstaller uninstaller;
	int64_t trouble_until;	/* of any kind: invariants with a slack wait */
	int64_t failed;		/* when a call of a leader last failed: what
				   comes next waits for a backoff */
	int64_t lease_failed;	/* when a call for the Lease last failed */
	int64_t large_line;	/* when a watch last left out a line about
				   anything but a NodeClaim */
	int64_t caused;		/* when something last happened that is not
				   ours */
	int64_t trouble_began;	/* when a fault last began, or the leader last
				   changed */
	bool reruled;		/* a replica's configuration was changed */
	struct hold_key hold_last;	/* what the Lease said last, or a replica
					   chose without a Lease */
	bool rekeyed;		/* that was not always the same */
	unsigned strange;	/* how many restarts, other rules and the like
				   there were */
	struct truth *truth;
	struct certs *certs;	/* NULL in an even world */
	admit_fn *admit;
	void *admit_ctx;
	FILE *story;		/* NULL: nobody reads along */
	uint64_t digest;
	char broken[320];	/* the first invariant that did not hold */
	struct {
		uint64_t events, writes, faults[16];
	} seen;
};

void world_init(struct world *w, uint64_t seed);
void world_done(struct world *w);
/* The API server's clock; the moment at which it jumps next. */
int64_t world_server_ms(const struct world *w);
int64_t world_turn_next(const struct world *w);
/* A stamp that an object gets now. */
int64_t world_stamp(const struct world *w);
void world_trouble(struct world *w, int64_t until);
/* This hold counts from now on. */
void world_hold(struct world *w, const struct hold_key *k);

/* What happened, for the reader and for the digest of the run. */
void tell(struct world *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* An invariant does not hold: the first is kept, the run ends. */
void broken(struct world *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* objects.c */
/* Returns NULL if there is no room. */
struct thing *thing_new(struct world *w, enum kind kind, int machine);
void thing_changed(struct world *w, struct thing *t);
void thing_gone(struct world *w, struct thing *t);
struct thing *thing_named(struct world *w, enum kind kind, const char *name);
/* whole: with its spec. */
void thing_pool(const struct thing *t, bool whole, struct nodepool *p);
void thing_ticket(const struct thing *t, struct ticket *out);
void thing_object(const struct thing *t, const struct hold_key *hold,
		  struct object *o);
/* What the API server does with a write of ours. */
enum controller_code thing_patch(struct world *w, const struct action *a,
			      const struct hold_key *hold, char rv[RV_BYTES]);
/* What it does with a write that removes the class (patch_declassify). */
enum controller_code thing_declassify(struct world *w, enum kind kind,
				   const char *name, const char *uid);
void thing_hold(struct thing *t, const struct hold_key *hold, int64_t mark_ms);

/* karpenter.c: what Karpenter and kubelets do */
void machine_new(struct world *w, const char *nodepool, const struct story *s);
void machine_disrupt(struct world *w, int machine, const char *reason);
/* What comes next in the life of a machine whose story leaves it open:
 * launched, a Node, registered, ready.  false: nothing does. */
bool machine_moves(struct world *w, int machine);
/* Karpenter finds that it has drifted, or that it has not after all. */
void machine_drifts(struct world *w, int machine, bool drifted);
/* Karpenter reboots it.  It is ready again after that long, or never (0). */
void machine_reboot(struct world *w, int machine, int64_t for_ms);
/* drain_ms: how long its objects stay; 0: seconds. */
void machine_delete(struct world *w, int machine, int64_t drain_ms);
void node_again(struct world *w, int machine, bool recreate);
/* Its Node is deleted alone; its claim after that long, or never (-1). */
void node_lost(struct world *w, int machine, int64_t claim_after_ms);
/* An Event on its claim, Karpenter's or a forged one. */
void event_on(struct world *w, int machine, const char *reason);
int64_t karpenter_next(const struct world *w);	/* INT64_MAX: nothing */
void karpenter_step(struct world *w);
struct pool_state *pool_state(struct world *w, const char *name);
void pool_gone(struct world *w, const char *name);
void pool_remade(struct world *w, const char *name);

/* uninstall.c */
void uninstall_begin(struct world *w, int64_t for_ms);
int64_t uninstall_next(const struct world *w);
void uninstall_step(struct world *w);

/* people.c */
enum person {
	PERSON_SET,	/* the hold to a value */
	PERSON_UNHOLD,
	PERSON_UNMARK,
	PERSON_STRIP,
	PERSON_MARK,	/* a mark of one's own making */
	PERSON_TOUCH,	/* something else: only its version changes */
	PERSON_SWELL,	/* makes it too large to be read (`large`) */
	PERSON_SHRINK,
};
void claim_shows(struct world *w, const struct thing *claim);
/* at: server time or a duration, where value is ""; "-": none. */
void person_says(struct world *w, const char *nodepool, enum nodepool_key key,
		 const char *value, int64_t at);
/* Makes or renews the ticket.  ahead_ms: how far its writer's clock is ahead of
 * the API server's. */
void ticket_renewed(struct world *w, const char *name, const char *nodepool,
		    int64_t lasts_ms, int64_t ahead_ms);
void ticket_gone(struct world *w, const char *name);
/* Somebody writes a version of the ticket that cannot be read. */
void ticket_spoilt(struct world *w, const char *name);
/* Somebody deletes the ticket, and a finalizer keeps it. */
void ticket_lingers(struct world *w, const char *name);
/* The holder may go by this version of the ticket. */
bool ticket_is_whole(const struct thing *ticket);
bool ticket_holds(const struct thing *ticket, const char *nodepool);
/* Changes the NodePool's spec; "-" removes the field. */
void person_specifies(struct world *w, const char *nodepool,
		      enum spec_field field, const char *value);
/* "enabled", "replicas". */
const char *pool_key_name(int key);
void person_does(struct world *w, struct thing *t, enum person what,
		 const char *value);

#endif
