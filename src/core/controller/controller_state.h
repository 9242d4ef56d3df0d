/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_CONTROLLER_STATE_H
#define CORE_CONTROLLER_CONTROLLER_STATE_H

#include "core/base/pace.h"
#include "core/controller/controller.h"
#include "core/table/machines.h"
#include "core/table/nodepools.h"
#include "core/table/timers.h"
#include "queue.h"
#include "release.h"
#include "replacements.h"
#include "views.h"
#include "writes.h"

/* What the controller is made of; what its parts ask of each other is in
 * controller_parts.h. */

struct controller {
	struct rules rules;
	struct counters *counters;
	struct pace pace;
	bool leads;
	bool guess;	/* how long a scope is held, from the oldest mark */
	bool recount;	/* every deadline may have moved */

	/* the table, and what NodePools say: */
	struct machines machines;
	struct timers timers;
	struct nodepools nodepools;
	int64_t pools_ms;	/* their moments up to then have been seen */
	uint32_t pools_before;	/* generation: shown before we led, told by
				   nobody */
	bool uncapped;		/* a pool has changed: its scope's cap may */
	bool repool;		/* … and what failed boots are worth */

	/* the units: */
	struct queue queue;	/* of heads */
	struct views views;
	struct release release;
	struct replacements replacements;
	struct writes writes;
	struct notes notes;

	/* the clock, steady.c: */
	int64_t last_ms;	/* server time goes back no little */
	int64_t ahead_ms;	/* of boot time, as of the last shift */
	int64_t slewed_boot_ms;
};

#endif
