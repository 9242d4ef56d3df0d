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
	bool leads;
	bool guess;	/* how long a scope is held, from the oldest mark */
	struct rules rules;
	struct counters *counters;
	struct machines machines;
	struct timers timers;
	struct pace pace;
	struct writes writes;
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
	int64_t last_ms;	/* server time goes back no little */
	int64_t ahead_ms;	/* of boot time, as of the last shift */
	int64_t slewed_boot_ms;
	bool recount;
	struct notes notes;
};

#endif
