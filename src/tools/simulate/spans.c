/* SPDX-License-Identifier: Apache-2.0 */
#include "spans.h"

void
spans_init(struct spans *s)
{
	*s = (struct spans){.length = 1};
}

static void
add_span(struct span *to, const struct span *from)
{
	to->decisions += from->decisions;
	to->early += from->early;
	to->regret += from->regret;
	to->spared += from->spared;
	to->unpriced += from->unpriced;
	to->hours_high += from->hours_high;
	to->dollars_high += from->dollars_high;
}

/* Makes each span twice as long. */
static void
lengthen(struct spans *s)
{
	for (int i = 0; i < SIMULATE_SPANS_MAX; i += 2) {
		struct span both = s->at[i];

		add_span(&both, &s->at[i + 1]);
		s->at[i / 2] = both;
	}
	for (int i = SIMULATE_SPANS_MAX / 2; i < SIMULATE_SPANS_MAX; i++)
		s->at[i] = (struct span){.decisions = 0};
	s->length *= 2;
}

struct span *
spans_at(struct spans *s, uint64_t number)
{
	while (number / s->length >= SIMULATE_SPANS_MAX)
		lengthen(s);
	return &s->at[number / s->length];
}

void
spans_sum(const struct spans *s, uint64_t from, uint64_t to, struct span *out)
{
	*out = (struct span){.decisions = 0};
	for (uint64_t i = from / s->length;
	     i < SIMULATE_SPANS_MAX && i < to / s->length; i++)
		add_span(out, &s->at[i]);
}
