/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KARPENTER_TOLD_H
#define WIRE_KARPENTER_TOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/index.h"
#include "wire/karpenter/fact.h"

/*
 * Which facts about which NodeClaims were told already, of a source that shows
 * the same objects again and again.  A list of a `record` shows all NodeClaims;
 * what it does not show is gone.  The last RECORD_GONE_MAX that went are still
 * known, because an Event about them may come later.  The audit log has no lists.
 * Not thread-safe.
 */
struct told_claim {
	char *name, *node;
	uint32_t facts;	  /* a bit for each kind of fact */
	bool replacement; /* it has been told who made the claim */
	bool gone;
	uint32_t list; /* the latest list that showed the claim, or that was
			  complete when a watch showed it; 0: the place is
			  free */
	uint32_t next; /* in a free place: the next free place; NO_ID: none */
	int64_t created_ms; /* STAMP_NONE: not told */
	int64_t last_ms;    /* the time of the latest of these facts */
};

struct told {
	struct told_claim *at;
	uint32_t max, top, list;
	uint32_t free;	/* the first free place below top; NO_ID: none */
	uint32_t *gone; /* a ring of the claims that went last; NO_ID: none */
	uint32_t gone_next;
	struct index index;
};

/* Returns -1 if there is no memory. */
int told_init(struct told *t, uint32_t max);
void told_done(struct told *t);
void told_begin(struct told *t); /* when a list begins, and before all
				    else */
/* Returns whether the fact comes from an Event: a decision, or who made a
 * claim. */
bool told_of_event(const struct fact *f);
/* Returns the name of the claim that the fact is about. */
const char *told_name(const struct fact *f);
/* Returns the claim's place, or NO_ID.  It may be gone. */
uint32_t told_find(const struct told *t, const char *name);
/* Returns whether there is no room for another claim. */
bool told_full(const struct told *t);
/* Returns whether the fact is news, and notes that it is told.  What an Event
 * says is news only if the claim is known; what an object says of a claim that
 * is gone, only from when another one of that name was created later.  No room:
 * it is none. */
bool told_news(struct told *t, const struct fact *f);
/* After a whole list: finds the next claim from *i on that is gone.  Returns
 * false at the end. */
bool told_gone(const struct told *t, uint32_t *i);
/* Notes that the claim went at now_ms, or as late as the latest fact about it,
 * and makes *f that fact.  Its texts are valid until the next call. */
void told_going(struct told *t, uint32_t i, int64_t now_ms, struct fact *f);
/* The claim of this name is gone, and no Event about it comes later.  Unknown:
 * nothing. */
void told_forget(struct told *t, const char *name);

#endif
