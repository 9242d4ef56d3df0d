/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNINSTALL_MARKS_H
#define UNINSTALL_MARKS_H

#include "core/table/machines.h"
#include "edge/clock.h"
#include "lease_session.h"
#include "rehold.h"

/*
 * All that carries our annotations, listed and cleared: what `uninstall` is
 * about.  No state but the last list: whatever fails or changes meanwhile is
 * seen in the next one.  Decides as the controller does (core/rules/decide).
 */
#define MARKS_NAMED 10

struct marks_list {
	unsigned left[KIND_COUNT];	/* marks */
	unsigned classes[KIND_COUNT];
	unsigned unread[KIND_COUNT];	/* of left: cannot be decoded */
	char named[MARKS_NAMED][NAME_BYTES + 16];	/* the first of them */
};

struct marks {
	struct lease_session *lead;
	const struct clock *clock;
	const struct hold_key *hold;	/* today's */
	bool dry_run;
	struct machines table;	/* what has a mark, a hold or a class */
	bool *failed;		/* by id: not in this round */
	enum kind listing;

	bool listed;		/* `last` is of a complete list */
	struct marks_list now, last;
	struct rehold rehold;	/* begun by the caller */

	/* Of the last round. */
	unsigned done, changed, refused, unanswered;
	struct err why;		/* the first of them; text "": none */

	/* In all. */
	unsigned cleared[KIND_COUNT], unmarked, declassified;
};

int marks_init(struct marks *m, struct lease_session *lead,
	       const struct clock *clock, const struct hold_key *hold,
	       struct err *e);
void marks_done(struct marks *m);

/* Two consistent lists, Nodes before NodeClaims: a claim is there before its
 * Node, so one that the second does not show is gone. */
int marks_list(struct marks *m, struct err *e);
unsigned marks_left(const struct marks *m);	/* and classes */

/* What that list shows, each object once: claims, then their Nodes, then
 * classes.  A line on stdout for each.  dry_run: writes nothing.  -1: the time
 * is over; what is refused or not answered is counted. */
int marks_clear(struct marks *m, struct err *e);

/* At the end: what was done, and what is left.  whole: none is. */
void marks_say(const struct marks *m, bool whole);

#endif
