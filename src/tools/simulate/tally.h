/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_TALLY_H
#define TOOLS_SIMULATE_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "wire/karpenter/line.h"

/* What was read, counted.  A zeroed struct is a valid start but for the period,
 * which tally_init empties.  Not thread-safe. */
struct tally_message {
	char text[SIMULATE_MESSAGE_BYTES];
	uint64_t n;
};

struct tally {
	uint64_t lines, bytes;
	uint64_t what[LINE_WHATS]; /* lines by what they are */
	uint64_t too_long;	   /* lines over ITEM_BYTES_MAX */
	uint64_t late;		   /* facts that came after a later one by more
				   than SIMULATE_DISORDER_MS */
	uint64_t odd_times;	   /* facts with a time that nothing confirms */
	const char *odd_file;	   /* file (borrowed) and line of the first of
				      them; line 0: Prometheus' answer */
	uint64_t odd_line;
	uint64_t duplicates; /* facts that stood in several files */
	uint64_t damaged;    /* files that could not be read to the end */
	uint64_t facts[FACT_COUNT];   /* that were replayed */
	uint64_t makers[MAKER_COUNT]; /* machines that were created, or were
					   seen first while they booted */
	uint64_t disrupted;	      /* how many nodes all decisions named */
	uint64_t pods;		      /* how many pods all decisions had to
					 move */
	uint64_t podless;	      /* how many decisions do not say how many
					 pods */
	uint64_t unknown;	/* facts about machines that were not seen being
				   created: they were there before the log, or
				   the log has gaps */
	uint64_t answers;	/* answers of Prometheus */
	uint64_t warnings;	/* warnings that came with these answers */
	uint64_t lost;		/* disruptions of Nodes that Prometheus does not
				   show */
	int64_t step_ms;	/* how exact Prometheus' times are; 0: there is
				   no Prometheus */
	uint64_t no_room;	/* machines beyond SIMULATE_MACHINES_MAX */
	int64_t from_ms, to_ms; /* of the lines that have a time; STAMP_NONE:
				   none */
	/* How often each message came that says nothing to us. */
	struct tally_message messages[SIMULATE_MESSAGES_MAX];
	size_t messages_n;
	uint64_t messages_rest; /* lines for which there was no room */
};

void tally_init(struct tally *t);
void tally_message(struct tally *t, const char *message);
/* Sorts the messages, the most frequent one first. */
void tally_sort(struct tally *t);
uint64_t tally_created(const struct tally *t); /* machines of all makers */

#endif
