/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_REPLAY_PARTS_H
#define TOOLS_SIMULATE_REPLAY_PARTS_H

#include "core/controller/controller.h"
#include "replay.h"
#include "turns.h"

/* Declarations that the two files of a replay share.  replay.c takes the facts
 * of the log, and replay_api.c plays the API server for the controller. */

/* The state of a machine in this setting, beyond what the log shows. */
struct copy {
	struct {
		bool there, held;
		int64_t mark_ms;
		uint64_t rv;
		const char *why; /* reason of the object's last hold */
	} half[KIND_COUNT];
	/* The class that the controller has written on the NodeClaim (which
	 * NodeClaim it replaces, and why), or NULL. */
	char *class;
	bool deleting;
	bool disrupted, drifted;
	int64_t disrupted_ms; /* in ms, cut to whole seconds */
	bool waits;
	uint32_t wait; /* if it waits: the number from waits_begin */
};

struct replay {
	struct rules rules;
	struct roster *roster;
	struct controller *controller;
	struct counters counters;
	struct waits *waits;
	struct turns turns;
	struct copy *at; /* the copies, indexed by the roster's id */
	struct nodepool *pools;
	uint32_t pools_n;
	uint64_t rv;
	int64_t now_ms, start_ms, wake_ms;
	uint32_t held; /* how many machines are held */
	uint64_t no_room;
};

struct now replay_now(const struct replay *r);
/* Returns the time cut to whole seconds, as in an object's stamps. */
int64_t replay_stamp(int64_t ms);

bool replay_copy_held(const struct copy *c);
/* Updates the number of held machines after the holds of a machine have
 * changed.  `before` says whether the machine was held before the change. */
void replay_copy_recount(struct replay *r, const struct copy *c, bool before);
/* replay_copy_track shows one object of a changed machine to the controller, as
 * the watch would.  replay_copy_track_both shows both of its objects. */
void replay_copy_track(struct replay *r, uint32_t id, enum kind kind);
void replay_copy_track_both(struct replay *r, uint32_t id);
/* Removes the object, and shows the deletion to the controller as the watch
 * would. */
void replay_copy_forget(struct replay *r, uint32_t id, enum kind kind);

/* Performs an action of the controller and reports the outcome at once.  After
 * a write it shows the changed object as the watch would. */
void replay_serve(struct replay *r, const struct action *a);

#endif
