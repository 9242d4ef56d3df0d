/* SPDX-License-Identifier: Apache-2.0 */
#include "queue.h"

#include <stdlib.h>

static const struct queue_line empty = {.first = NO_ID, .last = NO_ID};

int
queue_init(struct queue *q, uint32_t ids)
{
	*q = (struct queue){.exposed = empty, .others = empty};
	q->next = calloc(ids, sizeof(*q->next));
	return q->next == NULL ? -1 : 0;
}

void
queue_done(struct queue *q)
{
	free(q->next);
	*q = (struct queue){.exposed = empty, .others = empty};
}

void
queue_put(struct queue *q, uint32_t id, bool exposed)
{
	struct queue_line *l = exposed ? &q->exposed : &q->others;

	if (q->next[id] != 0)
		return;
	q->next[id] = QUEUE_LAST;
	if (l->last == NO_ID)
		l->first = id;
	else
		q->next[l->last] = id + 1;
	l->last = id;
}

uint32_t
queue_take(struct queue *q)
{
	bool turn = q->run >= QUEUE_EXPOSED_RUN && q->others.first != NO_ID;
	struct queue_line *l;
	uint32_t id;

	q->took_exposed = q->exposed.first != NO_ID && !turn;
	l = q->took_exposed ? &q->exposed : &q->others;
	id = l->first;
	if (id == NO_ID)
		return NO_ID;
	if (q->next[id] == QUEUE_LAST)
		*l = empty;
	else
		l->first = q->next[id] - 1;
	q->next[id] = 0;
	return id;
}

void
queue_acted(struct queue *q)
{
	if (!q->took_exposed)
		q->run = 0;
	else if (q->run < QUEUE_EXPOSED_RUN)
		q->run++;
}
