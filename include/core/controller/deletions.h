/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_DELETIONS_H
#define CORE_CONTROLLER_DELETIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/rules/rules.h"

/*
 * Remembers machines that were ready, or were substitutes, and that are being
 * deleted for a reason other than Karpenter's choice: they expired, were
 * interrupted or were deleted by hand.  Karpenter then makes an ordinary
 * NodeClaim for their pods.  This NodeClaim is a substitute and no scale-up
 * (docs/rules.md#substitutes).  Each deletion has at most one substitute.  Some
 * machines that Karpenter chose are remembered as well, because it may delete
 * them before it makes what replaces them.
 *
 * Times are in milliseconds since 1970.  began_ms and created_ms are stamps as
 * written on the objects, and are not shifted when a clock is set.  gone_ms is
 * our server time, because nothing is written on an object that is gone.  If
 * there is no room, the table drops a deletion that has its substitute, or else
 * the oldest one, whose substitute then counts as a scale-up.  Not thread-safe.
 */
struct deletion {
	bool used;
	bool spent;	     /* its substitute has been found */
	char uid[UID_BYTES]; /* the uid of the deleted claim */
	char nodepool[NODEPOOL_BYTES];
	/* The deletionTimestamp, or our server time if that is unreadable. */
	int64_t began_ms;
	/* When Karpenter chose the deleted claim, or STAMP_NONE if it did
	 * not. */
	int64_t disrupted_ms;
	/* A claim that is created by this time may be the substitute, even if
	 * the deleted claim is gone. */
	int64_t until_ms;
	/* When the latest failed claim was deleted, or STAMP_NONE if there was
	 * none.  A failed claim might have been the substitute, but was deleted
	 * before it was launched. */
	int64_t failed_ms;
	/* When we saw that the deleted claim was gone; STAMP_NONE while it
	 * drains. */
	int64_t gone_ms;
};

struct deletions {
	struct deletion *at;
	uint32_t top, max;
};

int deletions_init(struct deletions *d, uint32_t max); /* -1 if no memory */
void deletions_done(struct deletions *d);
void deletions_forget(struct deletions *d); /* drops all deletions */

/* deletions_put reports that the claim with this uid is being deleted,
 * deletions_gone that it is gone, and deletions_spend that it has its
 * substitute.  A second report of the same kind changes nothing.
 * deletions_gone and deletions_spend ignore an unknown uid. */
void deletions_put(struct deletions *d, const char *uid, const char *nodepool,
		   int64_t began_ms, int64_t disrupted_ms);
void deletions_gone(struct deletions *d, const char *uid, int64_t gone_ms);
void deletions_spend(struct deletions *d, const char *uid);

/* Returns the deletion for which a claim of this NodePool, created at
 * created_ms, is the substitute, or NULL if the claim is a scale-up.  If
 * several deletions match, takes the earliest one in the claim's own NodePool,
 * or else the earliest one in another NodePool.  A deletion in another NodePool
 * matches in scope `cluster` only.  The result belongs to *d and is valid until
 * the next change. */
const struct deletion *deletions_match(const struct deletions *d,
				       enum scope_kind scope,
				       const char *nodepool,
				       int64_t created_ms);

/* Reports that Karpenter has named a claim of this NodePool, created at
 * created_ms, as a replacement.  Returns whether the claim replaces a machine
 * that was disrupted before and deleted after that; this deletion then has its
 * substitute. */
bool deletions_close(struct deletions *d, enum scope_kind scope,
		     const char *nodepool, int64_t created_ms);

/* Reports that a claim of this NodePool was deleted before it was launched.
 * Extends the deletion whose substitute that claim would have been: the
 * deletion then waits for another claim until SUBSTITUTE_MS after deleted_ms,
 * but no longer than DRAINING_MS after its began_ms.  A deletion that another
 * failed claim has extended is skipped if that claim was deleted after this one
 * was created, because the two claims then existed at the same time. */
void deletions_extend(struct deletions *d, enum scope_kind scope,
		      const char *nodepool, int64_t created_ms,
		      int64_t deleted_ms);

#endif
