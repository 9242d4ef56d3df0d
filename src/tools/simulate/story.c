/* SPDX-License-Identifier: Apache-2.0 */
#include "story.h"

#include <string.h>

void
story_init(struct story *s)
{
	memset(s, 0, sizeof(*s));
	s->from_ms = STAMP_NONE;
	s->step_ms = 1000;
}

/* Makes each step twice as long. */
static void
lengthen(struct story *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->steps_n; i += 2) {
		int32_t most = s->steps[i];

		if (i + 1 < s->steps_n && s->steps[i + 1] > most)
			most = s->steps[i + 1];
		s->steps[n++] = most;
	}
	s->steps_n = n;
	s->step_ms *= 2;
}

/* Fills the steps up to at_ms with the present number of machines, and returns
 * the step of at_ms. */
static uint32_t
advance(struct story *s, int64_t at_ms)
{
	while ((at_ms - s->from_ms) / s->step_ms >= SIMULATE_STEPS_MAX)
		lengthen(s);
	while ((at_ms - s->from_ms) / s->step_ms >= s->steps_n)
		s->steps[s->steps_n++] = s->now - s->before;
	return s->steps_n - 1;
}

void
story_count(struct story *s, int64_t at_ms, int born, int found, int gone)
{
	uint32_t i;

	if (s->from_ms == STAMP_NONE)
		s->from_ms = at_ms;
	i = advance(s, at_ms);
	s->now += born + found - gone;
	s->before += found;
	if (s->now - s->before > s->steps[i])
		s->steps[i] = s->now - s->before;
}

void
story_mark(struct story *s, int64_t at_ms, uint32_t nodes, uint32_t waits)
{
	if (s->marks_n == SIMULATE_MARKS_MAX) {
		s->marks_beyond++;
		return;
	}
	s->marks[s->marks_n++] = (struct story_mark){at_ms, nodes, waits};
}

int32_t
story_machines(const struct story *s, uint32_t i)
{
	return s->steps[i] + s->before;
}
