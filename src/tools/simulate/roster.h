/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_ROSTER_H
#define TOOLS_SIMULATE_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/index.h"
#include "core/base/limits.h"
#include "wire/karpenter/fact.h"

/*
 * The machines as the log shows them.  All replays share them: what a setting
 * changes (holds, and decisions that wait) is in the replay.  A machine keeps
 * its id until roster_drop.  Not thread-safe.
 */
struct logged {
	char *claim, *node; /* "" if the log has not named it */
	char pool[NODEPOOL_BYTES];
	uint64_t serial;       /* a number that is never used again, for the
				  uids */
	int64_t created_ms;    /* whole seconds, as an object's stamps are */
	int64_t ready_ms;      /* whole seconds; STAMP_NONE: it is not ready */
	int64_t registered_ms; /* whole seconds; STAMP_NONE: not registered */
	int64_t deleted_ms;    /* whole seconds, of the deletion; STAMP_NONE:
				  none */
	enum fact_maker maker;
	bool used, launched;
	bool rebooted;	      /* it was ready before ready_ms */
	bool counted;	      /* it is among those that Karpenter created */
	bool node_gone, gone; /* the log says that it is gone; a replay may keep
				 it */
	uint64_t decision;    /* the latest decision that names it; 0: none */
	uint32_t waits;	      /* how many replays keep it, because a decision
				 waits there */
};

struct roster {
	struct logged *at;
	uint32_t max, top; /* ids from top on were never used */
	uint32_t free_n, *free;
	uint64_t serials;
	struct index by_claim, by_node;
};

/* Returns -1 if there is no memory. */
int roster_init(struct roster *c, uint32_t max);
void roster_done(struct roster *c);

/* Returns the machine with this claim or, if that is "" or unknown, with this
 * node; NO_ID if there is none. */
uint32_t roster_find(const struct roster *c, const char *claim,
		     const char *node);
/* Adds a machine.  One of claim and node may be "".  If pool is "", the
 * NodePool is guessed from the claim's name.  Returns NO_ID if there is no
 * room. */
uint32_t roster_add(struct roster *c, const char *claim, const char *node,
		    const char *pool, int64_t created_ms);
/* Tells which Node the machine has.  Returns -1 if there is no memory. */
int roster_name_node(struct roster *c, uint32_t id, const char *node);
/* Call this when the machine is gone although a replay keeps it.  roster_find
 * does not find it any more, because its Node's name may come again. */
void roster_gone(struct roster *c, uint32_t id);
void roster_drop(struct roster *c, uint32_t id);

#endif
