/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_FOREIGN_MARKS_H
#define CORE_PROTOCOL_FOREIGN_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/object.h"

/*
 * Finds out whether somebody else still marks objects while `uninstall` clears
 * them.  A mark is foreign if it is younger than our start and no earlier list
 * showed it.  A holder that runs, or an admission policy, has then made it.
 * Karpenter's copy of a mark at registration is not foreign, because it carries
 * the old time.
 *
 * The first complete list after foreign_marks_begin is the baseline, and later
 * lists are compared with it.  core/protocol/cleanup is the only caller.  It
 * owns no memory; zero it before the first foreign_marks_begin.  All times are
 * server_ms.
 */
struct foreign_marks {
	int64_t start_ms;
	int64_t slack_ms;  /* see foreign_marks_begin */
	int64_t newest_ms; /* the youngest mark of the first list */
	bool listed;	   /* the first list is complete */
	/* The foreign mark that the current list has shown, or "". */
	char seen[NAME_BYTES + 80];
	/* The first foreign mark, as text for people, or "". */
	char text[NAME_BYTES + 80];
};

/* Starts looking.  server_ms is the current time.  API servers may call a
 * webhook for slack_ms after it was removed, so marks on objects that are
 * created until start + slack_ms are not foreign.  `text` keeps an earlier
 * finding. */
void foreign_marks_begin(struct foreign_marks *f, int64_t server_ms,
			 int64_t slack_ms);
/* Takes one object of the list under way.  server_ms is the time now. */
void foreign_marks_look(struct foreign_marks *f, const struct object *o,
			int64_t server_ms);
/* Call this when the list is complete.  `led` says whether the Lease was ours
 * throughout the list, so that no holder may have marked anything.  If not, the
 * list proves nothing, and its finding is dropped. */
void foreign_marks_listed(struct foreign_marks *f, bool led);

#endif
