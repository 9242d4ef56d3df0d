/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_ROSTER_H
#define TOOLS_SIMULATE_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/index.h"
#include "core/base/limits.h"
#include "wire/karpenter/fact.h"

/*
 * The machines as the log shows them.  All replays share the roster.  What
 * differs between settings (holds, and decisions that wait) is in the replays.
 * A machine keeps its id until roster_drop.  Not thread-safe.
 */
struct logged {
	char *claim, *node; /* "" if the log has not named it */
	char pool[NODEPOOL_BYTES];
	/* A number that only this machine gets.  It is a part of the uids of
	 * the machine's objects. */
	uint64_t serial;
	/* The next four are cut to whole seconds, as in the stamps of objects.
	 * STAMP_NONE: the machine is not ready, has not registered, or is not
	 * being deleted. */
	int64_t created_ms;
	int64_t ready_ms;
	int64_t registered_ms;
	int64_t deleted_ms;
	enum fact_maker maker;
	bool used, launched;
	/* Whether the machine was ready before a reboot, too.  ready_ms is then
	 * the time at which it was ready again. */
	bool rebooted;
	bool counted; /* Whether the tally counts it as created. */
	/* Whether the log says that the machine's Node, or the whole machine,
	 * is gone.  A replay may still keep the machine. */
	bool node_gone, gone;
	/* Number of the latest decision that names the machine, or 0. */
	uint64_t decision;
	/* Number of replays in which the machine's disruption waits, so that
	 * they still keep the machine. */
	uint32_t waits;
};

struct roster {
	struct logged *at;
	uint32_t max, top; /* all ids that were used are below top */
	uint32_t free_n, *free;
	uint64_t serials;
	struct index by_claim, by_node;
};

/* Returns -1 if there is no memory. */
int roster_init(struct roster *c, uint32_t max);
void roster_done(struct roster *c);

/* Returns the machine with this NodeClaim or, if `claim` is "" or unknown, with
 * this Node.  Returns NO_ID if there is none. */
uint32_t roster_find(const struct roster *c, const char *claim,
		     const char *node);
/* Adds a machine.  One of claim and node may be "".  If pool is "", the
 * NodePool is guessed from the claim's name.  Returns NO_ID if there is no
 * room. */
uint32_t roster_add(struct roster *c, const char *claim, const char *node,
		    const char *pool, int64_t created_ms);
/* Sets the name of the machine's Node.  Returns -1 if there is no memory. */
int roster_name_node(struct roster *c, uint32_t id, const char *node);
/* Call this when the machine is gone but a replay still keeps it.  roster_find
 * then no longer finds the machine, because a new machine may get the same Node
 * name. */
void roster_gone(struct roster *c, uint32_t id);
void roster_drop(struct roster *c, uint32_t id);

#endif
