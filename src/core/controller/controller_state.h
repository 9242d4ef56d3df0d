/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_CONTROLLER_STATE_H
#define CORE_CONTROLLER_CONTROLLER_STATE_H

#include "core/base/pace.h"
#include "core/controller/controller.h"
#include "core/controller/journal.h"
#include "core/table/machines.h"
#include "core/table/nodepools.h"
#include "core/table/timers.h"
#include "causes.h"
#include "queue.h"
#include "release.h"
#include "replacements.h"
#include "news.h"
#include "unread.h"
#include "views.h"
#include "writes.h"

/* The members of the controller, for its own files only.  The functions that
 * these files call in each other are in controller_parts.h. */

struct controller {
	struct rules rules;
	struct counters *counters;
	struct pace pace;
	struct causes causes; /* why controller_advance does something again */

	/* The tables of machines, deadlines and NodePools. */
	struct machines machines;
	struct timers timers;
	struct nodepools nodepools;
	/* Lists of NodePools up to this generation were made before this lead,
	 * so NodePools that they showed were not reported. */
	uint32_t nodepools_before;
	/* How many NodePools the list and the watch have shown, and how many
	 * they had shown when the latest fresh list of NodePools began. */
	uint64_t nodepool_lines, nodepool_lines_then;

	/* The parts, each with a header of its own. */
	struct queue queue; /* heads of machines to decide about, exposed ones
				   first */
	struct views views;
	struct release release;
	struct unread unread;
	struct replacements replacements;
	struct writes writes;
	struct notes notes;
	struct news news;
	/* How many scopes had no room in the soft state, as last reported. */
	uint32_t soft_told;
	uint32_t soft_scopes[SCOPES_MAX]; /* scratch space of soft.c */

	/* The history for /status, on which no decision depends (turns.c). */
	struct journal journal;
	/* An earlier lead told the journal's turns before this one. */
	uint64_t turns_before;
	/* How many turns the journal had when its text was last written. */
	uint64_t turns_written;
	/* Whether no turn is missing between the earlier lead's turns and our
	 * own. */
	bool carried;
	/* Whether the scopes that are held after the earlier lead's turns still
	 * have to be checked. */
	bool unsettled;
	/* Whether holds by hand may be in force whose turns are lost. */
	bool history_cut;

	/* The clock: see steady.c. */
	/* The server time that was last returned; STAMP_NONE if this lead has
	 * returned none. */
	int64_t last_ms;
	/* How far server time is ahead of boot time.  It follows small
	 * differences slowly. */
	int64_t ahead_ms;
	int64_t slewed_boot_ms; /* when ahead_ms was last adjusted */
};

#endif
