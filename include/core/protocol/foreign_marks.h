/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROTOCOL_FOREIGN_MARKS_H
#define CORE_PROTOCOL_FOREIGN_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/object.h"

/*
 * Does somebody else still mark objects while `uninstall` clears them?  A mark
 * is foreign if no earlier list showed it and it is younger than our start: a
 * holder that runs made it, or an admission policy.  Karpenter's copy of a mark
 * at registration is not foreign, because it carries the old time.
 *
 * The first complete list after foreign_marks_begin is the measure; the lists
 * after it are compared with it.  Part of core/protocol/cleanup, which is its
 * only caller.  All times are the API server's, in milliseconds since 1970.
 */
struct foreign_marks {
	int64_t start_ms;
	int64_t slack_ms;	/* see foreign_marks_begin */
	int64_t newest_ms;	/* the youngest mark of the first list */
	bool listed;		/* the first list is complete */
	char seen[NAME_BYTES + 80];	/* found in the list under way */
	char text[NAME_BYTES + 80];	/* the first one, in words; "": none */
};

/* Starts to look, at server time server_ms.  What was found before stays.
 * slack_ms: for so long API servers may go on calling a webhook that is no
 * longer registered, and what they mark on new objects is not foreign. */
void foreign_marks_begin(struct foreign_marks *f, int64_t server_ms,
			 int64_t slack_ms);
/* Takes one object of a list. */
void foreign_marks_look(struct foreign_marks *f, const struct object *o,
			int64_t server_ms);
/* The list is complete.  led: the Lease was ours all the while, so that no
 * holder may have marked anything; if not, what was seen says nothing. */
void foreign_marks_listed(struct foreign_marks *f, bool led);

#endif
