/* SPDX-License-Identifier: Apache-2.0 */
#include "news.h"

static const struct scope_news none = {.turned_ms = STAMP_NONE};

struct scope_news *
news_of(struct news *n, const struct timers *ts, uint32_t scope)
{
	struct scope_news *w = &n->at[scope];
	bool listed = w->listed;

	if (w->made != timers_scope(ts, scope)->made) {
		*w = none;
		w->made = timers_scope(ts, scope)->made;
		w->listed = listed;
	}
	return w;
}

const struct scope_news *
news_read(const struct news *n, const struct timers *ts, uint32_t scope)
{
	const struct scope_news *w = &n->at[scope];

	return w->made == timers_scope(ts, scope)->made ? w : &none;
}

void
news_list(struct news *n, const struct timers *ts, uint32_t scope)
{
	struct scope_news *w = news_of(n, ts, scope);

	if (w->listed)
		return;
	w->listed = true;
	n->scopes[n->n++] = scope;
}

void
news_forget(struct news *n)
{
	while (n->n > 0)
		n->at[n->scopes[--n->n]].listed = false;
	n->latency_open = false;
}

void
news_shift(struct news *n, const struct timers *ts, int64_t by_ms)
{
	for (uint32_t i = 0; i < ts->scopes_top; i++) {
		struct scope_news *w = news_of(n, ts, i);

		if (w->turned_ms != STAMP_NONE)
			w->turned_ms += by_ms;
		if (w->told.created_ms != STAMP_NONE)
			w->told.created_ms += by_ms;
		if (w->told.at_ms != STAMP_NONE)
			w->told.at_ms += by_ms;
	}
}
