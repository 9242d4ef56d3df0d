/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/controller.h"

#include "controller_parts.h"

/* This file answers two questions of controller_next: whether the lead may act
 * yet, and for how long there is nothing to do. */

static void
sooner(int64_t *wait_ms, int64_t at, int64_t now)
{
	int64_t ms = at > now ? at - now : 0;

	if (ms < *wait_ms)
		*wait_ms = ms;
}

bool
controller_begins(struct controller *s, struct now now, int64_t *wait_ms)
{
	const char *unseen = views_unseen(&s->views);
	uint32_t marked = 0;
	int64_t next;

	for (int k = 0; k < KIND_COUNT; k++)
		marked += s->machines.marked[k];
	if (unseen == NULL && s->release.failed != VIEW_COUNT)
		unseen = object_kind_name(s->release.failed);
	views_block(&s->views, unseen, marked, now.boot_ms, &s->notes);
	if (views_begin(&s->views, rules_tell_replacements(&s->rules),
			rules_tickets(&s->rules), now.boot_ms, &s->notes))
		return false;
	next = views_next_boot_ms(&s->views);
	if (next != STAMP_NONE)
		sooner(wait_ms, next, now.boot_ms);
	return true;
}

int64_t
controller_wait(const struct controller *s, struct now now)
{
	int64_t wait = INT64_MAX, key, next = timers_next_ms(&s->timers);
	uint32_t id;

	if (next != STAMP_NONE)
		sooner(&wait, next, now.server_ms);
	next = timers_cap_next_ms(&s->timers);
	if (next != STAMP_NONE)
		sooner(&wait, next, now.boot_ms);
	next = controller_news_next_boot_ms(s);
	if (next != STAMP_NONE)
		sooner(&wait, next, now.boot_ms);
	next = nodepools_next_ms(&s->nodepools);
	if (next != STAMP_NONE)
		sooner(&wait, next, now.server_ms);
	if (heap_top(&s->writes.later, &id, &key))
		sooner(&wait, key, now.boot_ms);
	next = release_next_boot_ms(&s->release);
	if (next != STAMP_NONE && views_all_synced(&s->views))
		sooner(&wait, next, now.boot_ms);
	next = views_next_boot_ms(&s->views);
	if (next != STAMP_NONE)
		sooner(&wait, next, now.boot_ms);
	/* Nothing is written before the pause is over. */
	if (!queue_is_empty(&s->queue))
		sooner(&wait, s->writes.paused_boot_ms, now.boot_ms);
	if (wait < s->writes.paused_boot_ms - now.boot_ms)
		wait = s->writes.paused_boot_ms - now.boot_ms;
	return wait;
}
