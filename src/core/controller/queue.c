/* SPDX-License-Identifier: Apache-2.0 */
#include "queue.h"

#include <stdlib.h>

int
queue_init(struct queue *q, uint32_t ids)
{
	*q = (struct queue){.first = NO_ID, .last = NO_ID};
	q->at = calloc(ids, sizeof(*q->at));
	return q->at == NULL ? -1 : 0;
}

void
queue_done(struct queue *q)
{
	free(q->at);
	*q = (struct queue){.first = NO_ID, .last = NO_ID};
}

void
queue_put(struct queue *q, uint32_t id)
{
	struct queue_link *link = &q->at[id];

	if (link->queued)
		return;
	*link = (struct queue_link){.queued = true, .next = NO_ID};
	if (q->last == NO_ID)
		q->first = id;
	else
		q->at[q->last].next = id;
	q->last = id;
}

uint32_t
queue_take(struct queue *q)
{
	uint32_t id = q->first;

	if (id == NO_ID)
		return NO_ID;
	q->first = q->at[id].next;
	if (q->first == NO_ID)
		q->last = NO_ID;
	q->at[id].queued = false;
	return id;
}
