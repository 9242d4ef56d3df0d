/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_SWEEP_STATE_H
#define CORE_CONTROLLER_SWEEP_STATE_H

#include "core/base/heap.h"
#include "core/base/pace.h"
#include "core/controller/sweep.h"
#include "core/table/machines.h"
#include "core/table/nodepools.h"
#include "core/table/timers.h"
#include "queue.h"
#include "release.h"
#include "replacements.h"
#include "views.h"

/* What the sweep is made of; what its parts ask of each other is in
 * sweep_parts.h. */

/* Beside each entry: what we are about to do with the object. */
struct work {
	uint64_t seq;		/* of the action, so that late replies show */
	bool in_flight;
	enum act act;		/* the one in flight, or the last */
	bool shown;		/* a line has shown what it was to bring about */
	bool waiting;		/* backing off; `later` has when */
	bool expecting, stale;	/* expect_rv is written, its line is to come;
				   409 or 422 at stale_rv */
	bool reread;		/* get it before deciding */
	bool owner_gone;	/* Node: the claim it names was looked for */
	enum hold owner_hold, owner_default;	/* … and has no room: its own
				   hold, of today's key and the default one */
	bool wants_hold;	/* for the hold latency */
	bool was_ours;		/* seen held in this period */
	bool again;		/* the hold in flight is not the first */
	uint8_t reholds;	/* held again in this period */
	unsigned failures, class_failures;
	unsigned refusals;	/* of the same write, one after the other */
	int64_t class_boot_ms;	/* the class is not written before */
	char expect_rv[RV_BYTES], stale_rv[RV_BYTES];
	char tried_rv[RV_BYTES];	/* a clear was turned down there */
};

struct sweep {
	bool leads;
	bool guess;	/* how long a scope is held, from the oldest mark */
	struct rules rules;
	struct counters *counters;
	struct machines machines;
	struct timers timers;
	struct pace pace;
	struct work *work;
	struct heap later;	/* boot_ms: backoff and expectations */
	struct nodepools nodepools;
	int64_t pools_ms;	/* their moments up to then have been seen */
	bool uncapped;		/* a pool has changed: its scope's cap may */
	bool repool;		/* … and what failed boots are worth */
	struct replacements replacements;
	struct views views;
	uint32_t pools_before;	/* generation: shown before we led, told by
				   nobody */
	struct release release;
	struct queue queue; /* of heads */
	uint32_t in_flight, wanting_hold;
	uint64_t seq;
	int64_t last_ms;	/* server time goes back no little */
	int64_t ahead_ms;	/* of boot time, as of the last shift */
	int64_t slewed_boot_ms;
	bool recount;
	int64_t paused_boot_ms;	/* 429: nobody writes before */
	struct notes notes;
};

#endif
