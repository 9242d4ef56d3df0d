/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_CONTROLLER_STATE_H
#define CORE_CONTROLLER_CONTROLLER_STATE_H

#include "core/base/pace.h"
#include "core/controller/controller.h"
#include "core/controller/journal.h"
#include "core/table/machines.h"
#include "core/table/nodepools.h"
#include "core/table/tickets.h"
#include "core/table/timers.h"
#include "queue.h"
#include "release.h"
#include "replacements.h"
#include "news.h"
#include "views.h"
#include "writes.h"

/* The members of the controller, for its own files only.  The functions that
 * these files call in each other are in controller_parts.h. */

struct controller {
	struct rules rules;
	struct counters *counters;
	struct pace pace;
	/* Every deadline may have moved: the API server's clock was set, or all
	 * objects of a kind are known now.  controller_advance refreshes all
	 * machines. */
	bool refresh_all;

	/* The tables of machines, deadlines, NodePools and tickets. */
	struct machines machines;
	struct timers timers;
	struct nodepools nodepools;
	struct tickets tickets;
	/* Lists of NodePools up to this generation were made before this lead.
	 * A NodePool that no later list has shown was not reported in this
	 * lead. */
	uint32_t nodepools_before;
	/* ticket_lines is how often the list and the watch have shown a ticket
	 * or its deletion so far.  ticket_lines_then is what that number was
	 * when the latest fresh list of tickets began. */
	uint64_t ticket_lines, ticket_lines_then;
	/* The ends of the tickets were computed again, and the NodePools do not
	 * have the new ends yet. */
	bool tickets_restamped;

	/* The parts, each with a header of its own. */
	/* Heads of the machines to decide about.  Exposed machines come
	 * first. */
	struct queue queue;
	struct views views;
	/* For /status: of each kind, the name of the object that was last seen
	 * to be unread, or "". */
	char unread[VIEW_COUNT][NAME_BYTES];
	struct release release;
	struct replacements replacements;
	struct writes writes;
	struct notes notes;
	struct news news;
	/* Number of scopes that had no room in the soft state, as last
	 * reported. */
	uint32_t soft_told;
	uint32_t soft_scopes[SCOPES_MAX]; /* Scratch space of soft.c. */

	/* The history for /status, on which no decision depends (turns.c). */
	struct journal journal;
	/* Number of turns in the journal that earlier leads recorded.  The
	 * turns of this lead follow them. */
	uint64_t turns_before;
	/* How many turns the journal had when its text was last written. */
	uint64_t turns_written;
	/* Whether the earlier lead's turns and our own are a history without a
	 * gap. */
	bool carried;
	/* Whether controller_turns_settle still has to check the scopes that
	 * were held at the end of the earlier lead's turns. */
	bool unsettled;
	/* Whether the history may be incomplete: a hold that a person or a
	 * ticket has set is in force, but may have no turn in the history. */
	bool history_cut;

	/* The clock: see steady.c. */
	/* The server time that controller_steady last returned, or STAMP_NONE
	 * if it has returned none in this lead. */
	int64_t last_ms;
	/* Server time minus boot time, in ms, as the controller assumes it.
	 * The value follows small changes slowly. */
	int64_t ahead_ms;
	/* Boot time of the last adjustment of ahead_ms. */
	int64_t slewed_boot_ms;
};

#endif
