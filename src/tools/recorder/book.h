/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_RECORDER_BOOK_H
#define TOOLS_RECORDER_BOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "edge/output.h"
#include "wire/karpenter/fact.h"
#include "wire/karpenter/told.h"

/* Keeps the facts that the watches have delivered until they are printed.  An
 * Event may come before its NodeClaim.  The latest RECORD_EARLY_MAX Events
 * whose NodeClaim is not known are therefore kept, too.  Not thread-safe. */
struct book {
	struct told told;
	struct fact **at; /* the facts that wait to be printed */
	size_t n, room;
	int64_t since_ms; /* Boot time at which the oldest fact in `at` came. */
	/* Ring of Events whose NodeClaims are not known yet. */
	struct fact **early;
	uint32_t early_next;
	bool begun; /* Whether the head of the record is printed. */
	bool full;  /* Whether a NodeClaim was left out for lack of room. */
};

/* Returns -1 if there is no memory. */
int book_init(struct book *b);
void book_done(struct book *b);

/* The functions below return -1 if there is no memory.  A NodeClaim for which
 * there is no room is left out, and `full` is set. */
int book_take(struct book *b, const struct fact *f, struct err *e);
/* Call this when a NodeClaim is gone.  `claim` is its name. */
int book_gone(struct book *b, const char *claim, int64_t now_ms, struct err *e);
/* Call book_listing when a list of the NodeClaims begins, and book_listed when
 * it is complete.  NodeClaims that are missing in a complete list are gone. */
void book_listing(struct book *b);
int book_listed(struct book *b, int64_t now_ms, struct err *e);

/* book_begin prints the head of the record, unless it was printed before.
 * book_print prints all facts that wait, in order.  book_end does what
 * book_begin and book_print do, and then prints the end of the record.
 * book_print and book_end return what output_wait returns.  After a failure,
 * the facts that were not printed stay in the book. */
void book_begin(struct book *b, struct output *out);
int book_print(struct book *b, struct output *out, int64_t stall_ms,
	       struct err *e);
int book_end(struct book *b, struct output *out, int64_t now_ms,
	     int64_t stall_ms, struct err *e);

#endif
