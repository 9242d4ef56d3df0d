/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_QUEUE_H
#define CORE_CONTROLLER_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/index.h"

/*
 * The work queue: the ids of the machines that controller_next has to decide
 * about, each at most once.  Exposed machines (struct object) have a line of
 * their own and are taken before other machines, so that machines that
 * Karpenter could disrupt are held first.  The other machines do not starve:
 * after QUEUE_EXPOSED_RUN actions in a row on exposed machines, it is their
 * turn.  Within a line the order is first in, first out.
 *
 * A line is a linked list in the array that queue_init allocates, so queue_put
 * never fails.  A machine may cease to exist while its id is queued, so the
 * caller of queue_take has to check.  Not thread-safe.
 */
#define QUEUE_LAST UINT32_MAX
#define QUEUE_EXPOSED_RUN 15

struct queue_line {
	uint32_t first, last; /* NO_ID if it is empty */
};

struct queue {
	/* Indexed by id: 0 if the id is not queued, QUEUE_LAST if it is the
	 * last of its line, or else the next id + 1. */
	uint32_t *next;
	struct queue_line exposed, others;
	/* Number of actions on exposed machines since the last action on a
	 * machine that is not exposed. */
	uint32_t run;
	bool took_exposed; /* the id that was taken last was exposed */
};

int queue_init(struct queue *q, uint32_t ids); /* -1 if no memory */
void queue_done(struct queue *q);
/* An id that is queued already keeps its place, even if it has become
 * exposed. */
void queue_put(struct queue *q, uint32_t id, bool exposed);
uint32_t queue_take(struct queue *q); /* NO_ID if it is empty */
/* Records that the id that was taken last has led to an action. */
void queue_acted(struct queue *q);

static inline bool
queue_is_empty(const struct queue *q)
{
	return q->exposed.first == NO_ID && q->others.first == NO_ID;
}

#endif
