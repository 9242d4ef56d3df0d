/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_TICKET_H
#define WIRE_API_TICKET_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/ticket.h"
#include "wire/api/watch.h"

/*
 * Decodes Leases (coordination.k8s.io/v1) and their watch lines to struct
 * ticket, and encodes what writers of tickets send.  The functions keep no
 * state; any thread may call them.
 */

/* Decodes one item of a list.  ERR_INPUT names what is wrong, such as a missing
 * uid, or a field of a wrong type, which no API server stores.  Missing fields
 * and too many patterns are no error (ticket_flaw). */
int ticket_decode(const char *bytes, size_t n, struct ticket *out,
		  struct err *e);

/* Decodes one watch line, as object_watch_decode does.  For WATCH_BOOKMARK only
 * out->rv is set.  For WATCH_ERROR it also returns 0; it sets *status_code and
 * *e, and leaves *out untouched. */
int ticket_watch_decode(const char *bytes, size_t n, enum watch_type *type,
			struct ticket *out, int *status_code, struct err *e);

/* Decodes a list item or, if `type` is not NULL, a watch line that these
 * functions refused because of *why, to a ticket with a `fault`.  Returns -1,
 * with *out untouched, if not even the ticket's name can be read. */
int ticket_unread_decode(const char *bytes, size_t n, enum watch_type *type,
			 struct ticket *out, const struct err *why);

/*
 * What a writer puts into a ticket.  The paths are those of wire/api/lease.h:
 *
 *	POST LEASE_PATH		ticket_create, application/json
 *	PATCH LEASE_ITEM_PATH	ticket_renew or ticket_replace, PATCH_MERGE_TYPE
 *	DELETE LEASE_ITEM_PATH	ticket_delete, application/json
 *
 * The PATCH and the DELETE fail with 409 if the Lease was changed or replaced
 * after it was read.
 */
struct ticket_draft {
	const char *namespace_name, *name;
	const char *holder;
	/* The patterns, separated by commas, or "" for all NodePools. */
	const char *nodepools;
	const char *reason; /* "" for none */
	int64_t renewed_us; /* renewTime, as server time in microseconds */
	int64_t lasts_ms;   /* in whole seconds, at least one second */
};

/* Enough for the body of each of these functions. */
#define TICKET_BODY_BYTES                                                      \
	(6 * (TICKET_PATTERNS_BYTES + REASON_BYTES + TICKET_HOLDER_BYTES +     \
	      2 * NAME_BYTES + UID_BYTES + RV_BYTES) +                         \
	 512)

/* Appends the whole object as JSON. */
void ticket_create(struct buf *b, const struct ticket_draft *d);
/* Both append a merge patch at resourceVersion rv.  ticket_renew changes only
 * the times of the Lease.  ticket_replace changes everything that the draft
 * has. */
void ticket_renew(struct buf *b, const struct ticket_draft *d, const char *rv);
void ticket_replace(struct buf *b, const struct ticket_draft *d,
		    const char *rv);
/* Appends the options of a DELETE that deletes the Lease only if it still has
 * this uid and this resourceVersion. */
void ticket_delete(struct buf *b, const char *uid, const char *rv);

#endif
