/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_REPLAY_PARTS_H
#define TOOLS_SIMULATE_REPLAY_PARTS_H

#include "core/controller/controller.h"
#include "replay.h"
#include "turns.h"

/* The two files of a replay share these.  replay.c takes what the log shows,
 * and replay_api.c is the API server before which the controller works. */

/* What this setting's API server has beyond what the log shows. */
struct copy {
	struct {
		bool there, held;
		int64_t mark_ms;
		uint64_t rv;
		const char *why; /* why the scope was last held */
	} half[KIND_COUNT];
	char *class; /* what the controller found that it replaces, or NULL */
	bool deleting;
	bool disrupted, drifted;
	int64_t disrupted_ms; /* whole seconds */
	bool waits;
	uint32_t wait; /* the decision that waits for this machine */
};

struct replay {
	struct rules rules;
	struct roster *roster;
	struct controller *controller;
	struct counters counters;
	struct waits *waits;
	struct turns turns;
	struct copy *at; /* the copies, by the roster's id */
	struct nodepool *pools;
	uint32_t pools_n;
	uint64_t rv;
	int64_t now_ms, start_ms, wake_ms;
	uint32_t held; /* how many machines are held */
	uint64_t no_room;
};

struct now replay_now(const struct replay *r);
/* Returns the time as an object has it, in whole seconds. */
int64_t replay_stamp(int64_t ms);

bool replay_copy_held(const struct copy *c);
/* Call this when the holds of a machine have changed.  It counts the machine
 * anew; `before` says whether it was held. */
void replay_copy_recount(struct replay *r, const struct copy *c, bool before);
/* Show the controller, as the watch would, that one object or both objects of
 * the machine have changed. */
void replay_copy_track(struct replay *r, uint32_t id, enum kind kind);
void replay_copy_track_both(struct replay *r, uint32_t id);
/* Removes the object, and shows that to the controller as the watch would. */
void replay_copy_forget(struct replay *r, uint32_t id, enum kind kind);

/* Performs what the controller asks for.  The API server answers at once, and
 * its watch shows what was written. */
void replay_serve(struct replay *r, const struct action *a);

#endif
