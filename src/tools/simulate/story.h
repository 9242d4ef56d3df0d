/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_STORY_H
#define TOOLS_SIMULATE_STORY_H

#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/stamp.h"

/*
 * What a picture shows besides the turns: the number of machines in each step
 * of time, and Karpenter's decisions.  When all steps are used, their length
 * doubles, so the struct has a fixed size.  story_init makes an empty struct
 * story.  Not thread-safe.
 */
struct story_mark {
	int64_t at_ms;
	uint32_t nodes;
	uint32_t waits; /* a bit for each setting in which the decision waits */
};

struct story {
	/* from_ms is STAMP_NONE until the first fact */
	int64_t from_ms, step_ms;
	uint32_t steps_n;
	/* Largest number of machines in each step.  A machine that is older
	 * than the log is missing in the steps before the log names it. */
	int32_t steps[SIMULATE_STEPS_MAX];
	int32_t now;	/* number of machines at the latest time */
	int32_t before; /* number of named machines older than the log */
	struct story_mark marks[SIMULATE_MARKS_MAX];
	uint32_t marks_n;
	uint64_t marks_beyond; /* decisions for which there was no room */
};

void story_init(struct story *s);
/* Records that, at at_ms, `born` machines were created, `found` machines that
 * are older than the log were named first, and `gone` machines were deleted. */
void story_count(struct story *s, int64_t at_ms, int born, int found, int gone);
void story_mark(struct story *s, int64_t at_ms, uint32_t nodes, uint32_t waits);
/* Returns the largest number of machines that existed at one time in step i,
 * which is below s->steps_n. */
int32_t story_machines(const struct story *s, uint32_t i);

#endif
