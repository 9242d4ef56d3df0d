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
#include "scope_news.h"
#include "unread.h"
#include "views.h"
#include "writes.h"

/* The members of the controller, for its own files only.  The functions that
 * these files call in each other are in controller_parts.h. */

struct controller {
	struct rules rules;
	struct counters *counters;
	struct pace pace;
	struct causes causes; /* of what controller_advance does again */

	/* The tables of machines, deadlines and NodePools. */
	struct machines machines;
	struct timers timers;
	struct nodepools nodepools;
	/* lists of NodePools up to this generation were made before we led, so
	 * what they showed was not reported */
	uint32_t nodepools_before;
	uint64_t nodepool_lines, nodepool_lines_then; /* how many NodePools
			   the list and watch have shown; the same when the
			   latest fresh list of them began */

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
	uint32_t soft_told; /* for how many scopes the soft state had no
				   room when that was last reported */
	uint32_t soft_scopes[SCOPES_MAX]; /* scratch space of soft.c */

	/* For /status: nothing decides by it (turns.c). */
	struct journal journal;
	uint64_t turns_before;	/* its turns before this one were told by an
				   earlier lead */
	uint64_t turns_written; /* how many it had when its text was last
				   made */
	bool carried;		/* nothing is missing between these and our
				   own */
	bool unsettled;		/* scopes that they leave held have yet to be
				   looked at */
	bool history_cut;	/* older holds by hand may be in force that have
				   no turn any more */

	/* The clock: see steady.c. */
	int64_t last_ms;	/* the server time that was last returned;
				   STAMP_NONE: none in this lead */
	int64_t ahead_ms;	/* how far server time is ahead of boot time; it
				   follows small differences slowly */
	int64_t slewed_boot_ms; /* when it last followed one */
};

#endif
