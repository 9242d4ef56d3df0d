/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_DELETIONS_H
#define CORE_CONTROLLER_DELETIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/rules/admit.h"

/*
 * Machines that were ready and are deleted, though not by Karpenter's choice:
 * they expired, were interrupted or deleted by hand.  Karpenter makes an
 * ordinary NodeClaim for their pods, a substitute, which is no scale-up
 * (docs/rules.md#substitutes).  One substitute for each.
 *
 * All moments are stamps as written, in ms since 1970: they are compared with
 * each other alone, never with our clock.  Where there is no room the oldest
 * deletion goes; its substitute then counts as a scale-up.  Not thread-safe.
 */
struct deletion {
	bool used;
	bool spent;		/* it has its substitute */
	char uid[UID_BYTES];	/* of the deleted claim */
	char pool[POOL_BYTES];
	int64_t began_ms;	/* deletionTimestamp */
	int64_t gone_ms;	/* STAMP_NONE: it is still draining */
};

struct deletions {
	struct deletion *at;
	uint32_t top, max;
};

int deletions_init(struct deletions *d, uint32_t max);	/* -1: no memory */
void deletions_done(struct deletions *d);
void deletions_forget(struct deletions *d);

void deletions_put(struct deletions *d, const char *uid, const char *pool,
		   int64_t began_ms);
void deletions_gone(struct deletions *d, const char *uid, int64_t gone_ms);
void deletions_spend(struct deletions *d, const char *uid);

/* The deletion whose substitute a claim of that pool, created then, is: of the
 * claim's own pool before others (scope `nodepool`: no others), the earliest.
 * NULL: none, it is a scale-up. */
const struct deletion *deletions_match(const struct deletions *d,
				       enum scope_kind scope, const char *pool,
				       int64_t created_ms);

#endif
