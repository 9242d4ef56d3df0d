/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_QUEUE_H
#define CORE_CONTROLLER_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/index.h"

/*
 * The work queue: the ids of the machines that have to be looked at, first in,
 * first out, each of them at most once.  It is a linked list in an array that
 * queue_init allocates, so queue_put never fails.  An id may cease to exist
 * while it is queued, so whoever takes it out has to check.  Not thread-safe.
 */
#define QUEUE_LAST UINT32_MAX

struct queue {
	uint32_t *next;	       /* by id: 0: not queued; QUEUE_LAST: the last;
				  else the next id + 1 */
	uint32_t first, last;  /* NO_ID: it is empty */
};

int queue_init(struct queue *q, uint32_t ids); /* -1: no memory */
void queue_done(struct queue *q);
void queue_put(struct queue *q, uint32_t id); /* it may be queued already */
uint32_t queue_take(struct queue *q);	      /* NO_ID: it is empty */

static inline bool
queue_is_empty(const struct queue *q)
{
	return q->first == NO_ID;
}

#endif
