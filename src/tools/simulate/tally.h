/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_TALLY_H
#define TOOLS_SIMULATE_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "wire/karpenter/reader.h"

/* Counts of what was read.  tally_init makes an empty struct tally.  Not
 * thread-safe. */
struct tally_message {
	char text[SIMULATE_MESSAGE_BYTES];
	uint64_t n;
};

struct tally {
	uint64_t lines, bytes;
	uint64_t what[READ_WHATS]; /* lines by kind */
	uint64_t too_long;	   /* lines over ITEM_BYTES_MAX */
	/* Facts that were left out because the merge had already returned a
	 * later fact. */
	uint64_t late;
	uint64_t odd_times; /* facts whose time was not accepted */
	/* File (borrowed) and line of the first odd time.  Line 0 stands for an
	 * answer of Prometheus. */
	const char *odd_file;
	uint64_t odd_line;
	/* Facts that were left out because another file has them, too. */
	uint64_t duplicates;
	/* The first message about a decision that could not be read, or "". */
	char undecided[SIMULATE_MESSAGE_BYTES];
	uint64_t damaged; /* files that could not be read to the end */
	uint64_t facts[FACT_COUNT]; /* facts that were taken, by kind */
	/* Number of machines that were created, or first seen while they
	 * booted, by who created them (enum fact_maker). */
	uint64_t makers[MAKER_COUNT];
	uint64_t disrupted; /* number of nodes in all decisions */
	/* Nodes that were deleted, and those of them that no decision names and
	 * no interruption or expiry explains. */
	uint64_t deleted, undecided_nodes;
	uint64_t pods; /* pods that all decisions had to move */
	/* Decisions for which the log does not tell the number of pods. */
	uint64_t podless;
	/* Machines whose creation was not seen, because they are older than the
	 * log or the log has gaps. */
	uint64_t unknown;
	uint64_t answers;  /* answers of Prometheus */
	uint64_t warnings; /* warnings that came with these answers */
	/* Disruptions that Prometheus counts, but that could not be assigned to
	 * a Node. */
	uint64_t lost;
	/* Resolution of Prometheus' times, or 0 without Prometheus. */
	int64_t step_ms;
	uint64_t no_room; /* machines beyond SIMULATE_MACHINES_MAX */
	/* Period of the log: from the first fact about machines to the last
	 * time of any line, or STAMP_NONE. */
	int64_t from_ms, to_ms;
	/* Messages of Karpenter that contain no fact, with their number. */
	struct tally_message messages[SIMULATE_MESSAGES_MAX];
	size_t messages_n;
	/* Lines whose message had no room in `messages`. */
	uint64_t messages_rest;
};

void tally_init(struct tally *t);
void tally_message(struct tally *t, const char *message);
/* Sorts the messages, the most frequent one first. */
void tally_sort(struct tally *t);
/* Returns the number of created machines, whoever created them. */
uint64_t tally_created(const struct tally *t);

#endif
