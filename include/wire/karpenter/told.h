/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KARPENTER_TOLD_H
#define WIRE_KARPENTER_TOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/index.h"
#include "wire/karpenter/fact.h"

/*
 * Remembers which facts about each NodeClaim have been told (passed on), so
 * that each fact is told only once.  This is needed because lists, watches and
 * audit logs show the same objects again and again.
 *
 * The command `record` lists all NodeClaims, and those that a list does not
 * show are gone.  The last RECORD_GONE_MAX claims that are gone are remembered,
 * because Events about them may come later.  The reader of an audit log has no
 * lists; it calls told_forget for a claim that is gone.  Not thread-safe.
 */
struct told_claim {
	char *name, *node;
	uint32_t facts;	  /* a bit for each kind of fact that was told */
	bool replacement; /* Whether it was told who created the claim. */
	bool gone;
	/* The value of told.list when the claim was last shown.  0: the place
	 * is free. */
	uint32_t list;
	uint32_t next;	    /* in a free place: the next free place, or NO_ID */
	int64_t created_ms; /* creation of the claim; STAMP_NONE: not known */
	int64_t last_ms;    /* the time of the latest fact about the claim */
};

struct told {
	struct told_claim *at;
	/* max: the number of places.  top: how many of them were ever used.
	 * list: how many lists have begun. */
	uint32_t max, top, list;
	uint32_t free; /* the first free place below top, or NO_ID if none */
	/* A ring of the latest claims that are gone.  NO_ID: the place is free.
	 */
	uint32_t *gone;
	uint32_t gone_next;
	struct index index;
};

/* Returns -1 if there is no memory. */
int told_init(struct told *t, uint32_t max);
void told_done(struct told *t);
void told_begin(struct told *t); /* call this first, and when a list begins */
/* Returns whether the fact is of the kind that Events tell: a decision, or who
 * created a claim. */
bool told_of_event(const struct fact *f);
/* Returns the name of the claim that the fact is about; for a decision, the
 * name of its first machine's claim. */
const char *told_name(const struct fact *f);
/* Returns the claim's place, or NO_ID.  The claim may be gone already. */
uint32_t told_find(const struct told *t, const char *name);
/* Returns whether there is no room for another claim. */
bool told_full(const struct told *t);
/* Returns whether the fact is news (not told before), and notes that the fact
 * is told.  A fact of the kind that Events tell (told_of_event) is news only if
 * the claim is known.  If the claim of this name is gone, any other fact is
 * news only if it is the later creation of another claim with the same name.
 * If there is no room for the claim, no fact about the claim is news. */
bool told_news(struct told *t, const struct fact *f);
/* Finds the next claim from *i on that the latest list has not shown and that
 * is not noted as gone yet.  Call it after a complete list.  Returns false at
 * the end. */
bool told_gone(const struct told *t, uint32_t *i);
/* Notes that claim i is gone, and makes *f the FACT_GONE of the claim.  Its
 * time is now_ms, or the time of the latest fact about the claim if that is
 * later.  Its texts are valid until the next call. */
void told_going(struct told *t, uint32_t i, int64_t now_ms, struct fact *f);
/* Forgets the claim of this name.  The claim is gone, and no Event about it
 * comes later.  An unknown name is ignored. */
void told_forget(struct told *t, const char *name);

#endif
