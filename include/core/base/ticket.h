/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_TICKET_H
#define CORE_BASE_TICKET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/object.h"

/*
 * What we keep of a ticket (docs/rules.md#tickets).  A ticket is a Lease
 * (coordination.k8s.io/v1) that holds NodePools for as long as its writer
 * renews it.  wire/api/ticket decodes each list item and watch line into a
 * struct ticket.  It is a plain value that owns nothing and is copied with `=`.
 * The functions are pure, so any thread may call them.
 */

/* The annotation with the patterns of the NodePools that a ticket holds. */
#define TICKET_NODEPOOLS_KEY OWN_PREFIX "nodepools"
/* The annotation with the reason for the ticket, which is only shown to
 * people. */
#define TICKET_REASON_KEY OWN_PREFIX "reason"

/* The beginning of the text that describes a ticket to people (tickets_words in
 * core/table/tickets.h). */
#define TICKET_WORDS "ticket "
/* The text while tickets hold a NodePool after they have ended
 * (TICKET_LEAST_MS). */
#define TICKET_ENDED_WORDS "a ticket that has ended"

struct ticket {
	char name[NAME_BYTES];
	char uid[UID_BYTES];
	char rv[RV_BYTES]; /* metadata.resourceVersion, opaque */
	/* spec.holderIdentity, cut after a whole character. */
	char holder[TICKET_HOLDER_BYTES];
	char reason[REASON_BYTES]; /* "" if none was given */
	/* Why the ticket cannot be read, or "".  If it cannot be read, only its
	 * name and perhaps uid and rv are set. */
	char fault[TICKET_FAULT_BYTES];
	bool deleting; /* it has a metadata.deletionTimestamp */
	/* spec.renewTime (server_ms), or STAMP_NONE if it is missing. */
	int64_t renewed_ms;
	/* spec.leaseDurationSeconds, in ms; 0 if it is missing. */
	int64_t lasts_ms;
	/* Whether the ticket holds all NodePools, because it has no
	 * patterns. */
	bool all;
	/* How many patterns are left out, because there are too many of them or
	 * because they are too long. */
	unsigned left_out;
	/* Shell patterns as in struct patterns.  A NUL ends each, and another
	 * NUL ends the list. */
	char patterns[TICKET_PATTERNS_BYTES];
};

/* Why a ticket does not hold, or holds less than it asks for. */
enum ticket_flaw {
	TICKET_GOOD,
	TICKET_UNREADABLE, /* its `fault` says why */
	TICKET_DELETING,   /* it has a deletionTimestamp */
	TICKET_ENDLESS,	   /* renewTime or leaseDurationSeconds is missing */
	/* Its renewTime is too far ahead (TICKET_AHEAD_MAX_MS). */
	TICKET_FAR_AHEAD,
	TICKET_OVER,  /* it was over already when it was first seen */
	TICKET_LONG,  /* it asks for more than TICKET_MAX_MS */
	TICKET_AHEAD, /* its renewTime is ahead of the API server's clock */
	TICKET_BROAD, /* some of its patterns are left out */
	TICKET_FULL,  /* the table has no room for the ticket (TICKETS_MAX) */
};

/* Sets the patterns from the annotation's value, in which they are separated by
 * commas or blanks.  If it is NULL or has no pattern, the ticket holds all
 * NodePools. */
void ticket_set_patterns(struct ticket *t, const char *value);

/* Returns whether the ticket holds the NodePool with this name. */
bool ticket_names(const struct ticket *t, const char *nodepool);

/* Returns when the ticket ends, if its latest renewal was first seen at
 * seen_ms.  Its time runs from renewTime, or from seen_ms if that is earlier,
 * so that a writer whose clock is ahead gains no time.  Returns STAMP_NONE if
 * the ticket's flaw is one of those up to TICKET_FAR_AHEAD. */
int64_t ticket_until_ms(const struct ticket *t, int64_t seen_ms);

/* Returns a static text that says what the flaw means, or NULL for
 * TICKET_GOOD. */
const char *ticket_problem(enum ticket_flaw flaw);

/* Returns the first flaw of the ticket, in the order of the enum, or
 * TICKET_GOOD.  Never returns TICKET_FULL, because only the owner of the table
 * of tickets knows whether the table is full. */
enum ticket_flaw ticket_flaw(const struct ticket *t, int64_t seen_ms);

#endif
