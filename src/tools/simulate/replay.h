/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_REPLAY_H
#define TOOLS_SIMULATE_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/rules/rules.h"
#include "roster.h"
#include "waits.h"

/*
 * One setting, replayed: the controller of core/controller under these rules,
 * in virtual time, before an API server that answers every call at once and
 * whose machines are those of the log.  It decides everything that the daemon's
 * controller decides, because it is the same; this file only shows it the
 * cluster and keeps what it writes.
 *
 * A decision of Karpenter that falls on a machine that is held here would have
 * waited: the machine stays until it is released, whatever the log says of it
 * (waits.h).  Not thread-safe.
 */
struct replay;

/* A time in which a scope was held; in scope `node`, in which any machine
 * was. */
struct turn {
	char scope[NODEPOOL_BYTES];
	char machine[NAME_BYTES]; /* the machine that kept the scope busy last;
				     "": unknown */
	int64_t from_ms, to_ms;	  /* to_ms: STAMP_NONE while it lasts */
	bool capped;		  /* the cap ended it */
};

/* What came of a setting. */
struct replay_sums {
	struct waits_sums waits;
	uint64_t holds;		  /* how many turns there were */
	uint64_t caps;		  /* how many of them a cap ended */
	int64_t held_ms;	  /* for how long any scope was held */
	int64_t longest_ms;	  /* the length of the longest turn */
	uint64_t no_room;	  /* objects that had no room in the table */
	const struct turn *turns; /* the first SIMULATE_TURNS_MAX, in the
					   order in which they began */
	size_t turns_n;
};

/* roster outlives the replay.  start_ms is no later than the first fact.
 * Returns NULL if there is no memory. */
struct replay *replay_new(const struct rules *rules, struct roster *roster,
			  const struct waits_setup *setup, int64_t start_ms);
void replay_free(struct replay *r); /* accepts NULL */

/* Lets time pass until to_ms. */
void replay_pass(struct replay *r, int64_t to_ms);

/* The next functions tell what the log shows at this moment.  Before each, take
 * it into the roster and call replay_pass. */
/* Call this also for a claim that was there before the log began. */
void replay_created(struct replay *r, uint32_t id);
/* Call this when the claim is launched or ready. */
void replay_changed(struct replay *r, uint32_t id);
void replay_registered(struct replay *r, uint32_t id);
void replay_deleting(struct replay *r, uint32_t id);
void replay_node_gone(struct replay *r, uint32_t id);
void replay_gone(struct replay *r, uint32_t id);
void replay_static(struct replay *r,
		   const char *pool); /* it has spec.replicas */
/* Tells that Karpenter decides to disrupt the machines ids[0] to ids[n - 1].
 * Returns whether some of them are held, so that the decision would have
 * waited. */
bool replay_decided(struct replay *r, const struct fact *f, const uint32_t *ids,
		    size_t n);

/* Returns why the machine is held, in the words that the daemon logs for its
 * last write, and sets *since_ms.  Returns NULL if it is not held. */
const char *replay_why(const struct replay *r, uint32_t id, int64_t *since_ms);
/* Returns the machine that keeps this machine's scope busy, or "" if none
 * does. */
const char *replay_because(const struct replay *r, uint32_t id);

/* Call this when the log is over.  What still waits has waited until now. */
void replay_end(struct replay *r);
void replay_report(const struct replay *r, struct replay_sums *out);
const struct spans *replay_spans(const struct replay *r);

#endif
