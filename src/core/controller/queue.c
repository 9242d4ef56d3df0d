/* SPDX-License-Identifier: Apache-2.0 */
#include "queue.h"

#include <stdlib.h>

int
queue_init(struct queue *q, uint32_t ids)
{
	*q = (struct queue){.first = NO_ID, .last = NO_ID};
	q->next = calloc(ids, sizeof(*q->next));
	return q->next == NULL ? -1 : 0;
}

void
queue_done(struct queue *q)
{
	free(q->next);
	*q = (struct queue){.first = NO_ID, .last = NO_ID};
}

void
queue_put(struct queue *q, uint32_t id)
{
	if (q->next[id] != 0)
		return;
	q->next[id] = QUEUE_LAST;
	if (q->last == NO_ID)
		q->first = id;
	else
		q->next[q->last] = id + 1;
	q->last = id;
}

uint32_t
queue_take(struct queue *q)
{
	uint32_t id = q->first;

	if (id == NO_ID)
		return NO_ID;
	if (q->next[id] == QUEUE_LAST)
		q->first = q->last = NO_ID;
	else
		q->first = q->next[id] - 1;
	q->next[id] = 0;
	return id;
}
