/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/controller.h"

#include "controller_parts.h"

/* This file does what has become due with time: first the machines' deadlines,
 * then the scopes that become held or are no longer held because of these
 * deadlines, then the backoffs that end. */

static void
queue_scope(struct controller *s, uint32_t scope)
{
	uint32_t n;
	const uint32_t *ids = timers_of_scope(&s->timers, scope, &n);

	for (uint32_t i = 0; i < n; i++)
		controller_queue(s, ids[i]);
}

static void
turn(struct controller *s, uint32_t scope, struct now now)
{
	queue_scope(s, scope);
	controller_tell_turn(s, scope, now);
}

void
controller_advance(struct controller *s, struct now now)
{
	uint32_t id, scope;

	for (id = 0; s->refresh_all && id < s->machines.top; id++)
		controller_refresh(s, id, now.server_ms);
	s->refresh_all = false;
	while (timers_due(&s->timers, now.server_ms, &id))
		controller_refresh(s, id, now.server_ms);
	timers_usable(&s->timers, views_all_synced(&s->views));
	if (!views_all_synced(&s->views))
		release_unseen(&s->release);
	controller_nodepools_turn(s, now);
	controller_nodepools_teach(s, now);
	while ((scope = timers_turned(&s->timers, now)) != NO_ID)
		turn(s, scope, now);
	controller_tell_news(s, now);
	while (writes_due(&s->writes, now.boot_ms, &id))
		controller_queue(s, id);
}
