/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_RECORDER_BOOK_H
#define TOOLS_RECORDER_BOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "edge/output.h"
#include "wire/karpenter/fact.h"
#include "wire/karpenter/told.h"

/* Keeps what the watches have brought and what was not printed yet.  An Event
 * may come before the NodeClaim that it is about, so the latest
 * RECORD_EARLY_MAX of such Events are kept.  Not thread-safe. */
struct book {
	struct told told;
	struct fact **at; /* the facts that wait to be printed */
	size_t n, room;
	int64_t since_ms;    /* boot time at which the oldest of them came */
	struct fact **early; /* a ring of Events whose NodeClaims are yet to
				show up */
	uint32_t early_next;
	bool begun; /* the head is printed */
	bool full;  /* there was no room for a NodeClaim */
};

/* Returns -1 if there is no memory. */
int book_init(struct book *b);
void book_done(struct book *b);

/* These return -1 if there is no memory.  A NodeClaim that finds the table full
 * is left out, and sets `full`. */
int book_take(struct book *b, const struct fact *f, struct err *e);
/* Tells that the NodeClaim of that name is gone. */
int book_gone(struct book *b, const char *claim, int64_t now_ms, struct err *e);
/* Tell that a list of the NodeClaims begins and that it is complete.  Claims
 * that a complete list did not show are gone. */
void book_listing(struct book *b);
int book_listed(struct book *b, int64_t now_ms, struct err *e);

/* book_begin prints the head, unless it is printed already.  book_print prints
 * all that has come, in order.  book_end prints both and then the end.  The
 * last two return as output_wait does.  What they could not print stays in the
 * book. */
void book_begin(struct book *b, struct output *out);
int book_print(struct book *b, struct output *out, int64_t stall_ms,
	       struct err *e);
int book_end(struct book *b, struct output *out, int64_t now_ms,
	     int64_t stall_ms, struct err *e);

#endif
