/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_DELETIONS_H
#define CORE_CONTROLLER_DELETIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/rules/admit.h"

/*
 * Remembers machines that were ready and are deleted, though not by Karpenter's
 * choice: they expired, were interrupted or were deleted by hand.  Karpenter
 * makes an ordinary NodeClaim for their pods.  It is a substitute and no
 * scale-up (docs/rules.md#substitutes).  Each deletion has one substitute.
 *
 * All moments are stamps as written, in ms since 1970.  They are compared with
 * each other alone, never with our clock.  If there is no room, a deletion that
 * has its substitute goes, or else the oldest, whose substitute then counts as
 * a scale-up.  Not thread-safe.
 */
struct deletion {
	bool used;
	bool spent;		/* its substitute has been found */
	char uid[UID_BYTES];	/* of the deleted claim */
	char nodepool[NODEPOOL_BYTES];
	int64_t began_ms;	/* deletionTimestamp */
	int64_t gone_ms;	/* when the claim was gone; STAMP_NONE: it still
				   drains */
};

struct deletions {
	struct deletion *at;
	uint32_t top, max;
};

int deletions_init(struct deletions *d, uint32_t max);	/* -1: no memory */
void deletions_done(struct deletions *d);
void deletions_forget(struct deletions *d);

/* put: the claim of this uid is being deleted.  gone: it is gone.  spend: its
 * substitute has been found. */
void deletions_put(struct deletions *d, const char *uid, const char *nodepool,
		   int64_t began_ms);
void deletions_gone(struct deletions *d, const char *uid, int64_t gone_ms);
void deletions_spend(struct deletions *d, const char *uid);

/* Returns the deletion that a claim of that NodePool, created at that moment,
 * is the substitute of.  A deletion in the claim's own NodePool comes before
 * others (in scope `nodepool` there are no others), then the earliest.  NULL:
 * there is none, and the claim is a scale-up. */
const struct deletion *deletions_match(const struct deletions *d,
				       enum scope_kind scope,
				       const char *nodepool,
				       int64_t created_ms);

#endif
