/* SPDX-License-Identifier: Apache-2.0 */
#include "timers_parts.h"

/* A timer is kept in a place, which is an index of the array timers.at.  The
 * array timers.place says in which place a machine's timer is. */

const struct timer *
timers_at(const struct timers *ts, uint32_t id)
{
	static const struct timer none;

	return ts->place[id] == 0 ? &none : &ts->at[ts->place[id] - 1];
}

struct timer *
timers_place_make(struct timers *ts, uint32_t id)
{
	uint32_t place = ts->place[id];

	if (place != 0)
		return &ts->at[place - 1];
	if (ts->places_free != 0) {
		place = ts->places_free;
		ts->places_free = ts->at[place - 1].id;
	} else {
		place = ++ts->places_top;
	}
	ts->place[id] = place;
	ts->at[place - 1] = (struct timer){.id = id};
	return &ts->at[place - 1];
}

void
timers_place_drop(struct timers *ts, uint32_t id)
{
	uint32_t place = ts->place[id];

	heap_remove(&ts->due, place - 1);
	ts->at[place - 1] = (struct timer){.id = ts->places_free};
	ts->places_free = place;
	ts->place[id] = 0;
}
