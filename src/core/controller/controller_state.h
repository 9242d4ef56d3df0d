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

/* What the controller is made of.  controller_parts.h has what its files ask of
 * each other. */

struct controller {
	struct rules rules;
	struct counters *counters;
	struct pace pace;
	bool leads;
	bool guess;	/* how long a scope has been held is yet to be guessed
			   from the marks */
	bool recount;	/* every deadline may have moved */

	/* The table, and what NodePools say. */
	struct machines machines;
	struct timers timers;
	struct nodepools nodepools;
	int64_t nodepools_ms;	/* the NodePools' moments up to this one have
				   been seen, server time */
	uint32_t nodepools_before;	/* what this generation and earlier ones
				   showed was not reported, because we did
				   not lead */
	bool uncapped;		/* a NodePool has changed, so its scope's cap
				   may have changed */
	bool repool;		/* … and so may the deadlines of failed boots */

	/* The units. */
	struct queue queue;	/* heads to look at */
	struct views views;
	struct release release;
	struct replacements replacements;
	struct writes writes;
	struct notes notes;

	/* The clock: see steady.c. */
	int64_t last_ms;	/* the last server time; it does not go back by
				   small steps */
	int64_t ahead_ms;	/* how far server time is ahead of boot time, as
				   of the last shift and slewed since */
	int64_t slewed_boot_ms;
};

#endif
