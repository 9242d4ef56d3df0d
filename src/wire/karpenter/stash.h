/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KARPENTER_STASH_H
#define WIRE_KARPENTER_STASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Keeps values that were cut, until the texts come in which they go on.
 * Container runtimes and log shippers cut long lines into pieces, and mark the
 * pieces in many ways.  No mark is needed: a piece goes on where it makes the
 * value longer and leaves it valid JSON.  A piece of another origin has to end
 * the value.
 */
#define STASHES 4 /* how many values may wait at the same time */

/* Where a piece comes from. */
struct stash_origin {
	const char *name; /* the member that has the piece */
	/* A hash of what else is known of the origin, such as the pod.  Pieces
	 * of one line nearly always have the same. */
	uint32_t from;
	int64_t at_ms; /* the time of the first piece, or STAMP_NONE */
};

struct stash {
	struct stash_value {
		char *bytes;
		size_t n, room;
		char name[64];
		uint32_t from;
		int64_t at_ms;
		unsigned misses;
	} values[STASHES];
	unsigned alive; /* how many values wait */
	/* How many were given up since the caller looked, and how many of these
	 * seem to be decisions. */
	unsigned lost, decisions;
};
void stash_done(struct stash *s);
void stash_give_up(struct stash *s, struct stash_value *v);

/* Keeps the beginning of a value.  If there is no place, the value that has
 * waited in vain most often is given up. */
void stash_keep(struct stash *s, const struct stash_origin *of,
		const char *bytes, size_t n);
/* Returns whether the text continues a value.  If the value is whole then, sets
 * *whole to it; the value stays valid until stash_drop.  `last` is set if
 * nothing can follow the text in its line. */
bool stash_join(struct stash *s, const struct stash_origin *of,
		const char *bytes, size_t n, bool last,
		struct stash_value **whole);
void stash_drop(struct stash *s, struct stash_value *v);

#endif
