/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_FOREIGN_MARKS_H
#define CORE_PROTOCOL_FOREIGN_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/object.h"

/*
 * Finds out whether somebody else still marks objects while `uninstall` clears
 * them.  A mark is foreign if it is younger than our start and than every mark
 * in the first list.  Such a mark comes from a running holder or from an
 * admission policy.  A mark that Karpenter copies to a Node at registration is
 * not foreign: the copy carries the old time.
 *
 * The first complete list after foreign_marks_begin is the baseline, and later
 * lists are compared with it.  core/protocol/cleanup is the only caller.  A
 * struct foreign_marks owns no memory; zero it before the first
 * foreign_marks_begin.  All times are server_ms.
 */
struct foreign_marks {
	int64_t start_ms;
	int64_t slack_ms;  /* see foreign_marks_begin */
	int64_t newest_ms; /* the youngest mark of the first list */
	bool listed;	   /* the first list is complete */
	/* The first foreign mark that the current list has shown, as text for
	 * people, or "". */
	char seen[NAME_BYTES + 80];
	/* The first foreign mark of all lists that count, as text for people,
	 * or "". */
	char text[NAME_BYTES + 80];
};

/* Begins a new search.  server_ms is the current time.  API servers may still
 * call a webhook for slack_ms after its removal.  A mark on an object that is
 * created after the start is therefore foreign only from start + slack_ms on.
 * A foreign mark that was found earlier stays in `text`. */
void foreign_marks_begin(struct foreign_marks *f, int64_t server_ms,
			 int64_t slack_ms);
/* Call this for each object of the current list.  server_ms is the current
 * time. */
void foreign_marks_look(struct foreign_marks *f, const struct object *o,
			int64_t server_ms);
/* Call this when the list is complete.  `led` says whether we held the Lease
 * throughout the list, so that no holder was allowed to mark objects.  If `led`
 * is false, a holder may have led and marked objects rightfully, so the foreign
 * mark of this list is dropped. */
void foreign_marks_listed(struct foreign_marks *f, bool led);

#endif
