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
 * The replay of one setting.  It runs the daemon's own controller
 * (core/controller) with the setting's rules, in virtual time.  The replay
 * takes the place of the API server: it shows the machines of the log to the
 * controller, answers every call at once, and keeps what the controller writes.
 * All holds and releases are therefore those that the daemon would make.
 *
 * If Karpenter decides to disrupt a machine that is held in the replay, the
 * decision would have waited.  The machine then stays until its release, even
 * if the log says otherwise (waits.h).  Not thread-safe.
 */
struct replay;

/* A period in which a scope was held.  With scope `node`: a period in which at
 * least one machine was held. */
struct turn {
	char scope[NODEPOOL_BYTES];
	/* The last machine that kept the scope busy, or "" if it is unknown. */
	char machine[NAME_BYTES];
	int64_t from_ms, to_ms; /* to_ms is STAMP_NONE while the hold lasts. */
	bool capped;		/* Whether the cap ended the hold. */
};

/* The result of a setting. */
struct replay_sums {
	struct waits_sums waits;
	uint64_t holds;	    /* number of turns */
	uint64_t caps;	    /* number of turns that a cap ended */
	int64_t held_ms;    /* how long any scope was held */
	int64_t longest_ms; /* length of the longest turn */
	uint64_t no_room;   /* objects for which the table had no room */
	/* The first SIMULATE_TURNS_MAX turns, in the order in which they
	 * began. */
	const struct turn *turns;
	size_t turns_n;
};

/* The roster must outlive the replay.  start_ms must not be later than the
 * first fact.  Returns NULL if there is no memory. */
struct replay *replay_new(const struct rules *rules, struct roster *roster,
			  const struct waits_setup *setup, int64_t start_ms);
void replay_free(struct replay *r); /* accepts NULL */

/* Lets virtual time pass until to_ms. */
void replay_pass(struct replay *r, int64_t to_ms);

/*  The next functions tell the replay what the log shows.  Before each call,
 * enter the fact into the roster and call replay_pass with the fact's time.
 *
 * Call replay_created also for a machine that is older than the log. */
void replay_created(struct replay *r, uint32_t id);
/* Call this when the claim is launched or ready. */
void replay_changed(struct replay *r, uint32_t id);
void replay_registered(struct replay *r, uint32_t id);
void replay_deleting(struct replay *r, uint32_t id);
void replay_node_gone(struct replay *r, uint32_t id);
void replay_gone(struct replay *r, uint32_t id);
/* Call this when the log shows that the NodePool has spec.replicas. */
void replay_static(struct replay *r, const char *pool);
/* Call this when Karpenter decides to disrupt the machines ids[0] to ids[n -
 * 1].  Returns true if some of them are held, so that the decision would have
 * waited. */
bool replay_decided(struct replay *r, const struct fact *f, const uint32_t *ids,
		    size_t n);

/* Returns why the machine is held, in the words that the daemon logs when it
 * writes the hold, and sets *since_ms to the time of the hold.  Returns NULL if
 * the machine is not held. */
const char *replay_why(const struct replay *r, uint32_t id, int64_t *since_ms);
/* Returns the name of the machine that keeps the scope of machine `id` busy, or
 * "" if none does. */
const char *replay_because(const struct replay *r, uint32_t id);

/* Call this when the log ends.  Decisions that still wait are counted as if
 * their wait ended now. */
void replay_end(struct replay *r);
void replay_report(const struct replay *r, struct replay_sums *out);
const struct spans *replay_spans(const struct replay *r);

#endif
