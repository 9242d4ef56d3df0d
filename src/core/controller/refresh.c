/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/controller.h"

#include <string.h>

#include "core/base/str.h"
#include "controller_parts.h"

/*
 * This file computes what the timer table has to know of a machine: its
 * deadline, and the time from which it counts
 * (docs/rules.md#each-machine-has-its-own-quiet-time).  Code that changes a
 * fact on which these depend calls controller_refresh.  This file also drops
 * what is gone, and remembers which objects cannot be read.
 */

#define COUNTS_ALWAYS (STAMP_NONE + 1) /* before all times */

void
controller_queue(struct controller *s, uint32_t id)
{
	uint32_t head = machines_head(&s->machines, id);

	if (machines_at(&s->machines, head)->used)
		queue_put(&s->queue, head,
			  machines_at(&s->machines, head)->exposed);
}

void
controller_queue_all(struct controller *s)
{
	for (uint32_t id = 0; id < s->machines.top; id++)
		if (machines_at(&s->machines, id)->used)
			controller_queue(s, id);
}

/* Returns the server time from which the machine counts (replacements.h). */
static int64_t
counts_ms(const struct controller *s, const struct entry *claim)
{
	if (claim == NULL)
		return views_claimless(&s->views) ? COUNTS_ALWAYS : STAMP_NONE;
	return replacements_counts_ms(&s->replacements, claim);
}

/* An unread claim counts as not ready. */
static bool
is_ready(const struct entry *claim)
{
	return claim->ready_ms != STAMP_NONE && !claim->unread;
}

/* Returns when the machine was last active.  A claim that is not ready is taken
 * as ready at the end of its startupTimeout.  A Node without a claim was active
 * when it was created. */
static int64_t
activity_ms(const struct controller *s, const struct entry *e)
{
	if (e->kind == KIND_NODE)
		return e->created_ms;
	return is_ready(e) ? e->ready_ms : e->created_ms + s->rules.startup_ms;
}

/* Returns when the quiet time of a machine ends that became ready at active_ms,
 * or is assumed to do so.  The cap limits each deadline, so that one machine
 * alone never fills the cap's bucket. */
static int64_t
deadline_ms(const struct rules *rules, int64_t created_ms, int64_t active_ms,
	    const struct nodepool_terms *t)
{
	int64_t max_ms = rules->cap.max_ms;
	int64_t ms = active_ms + t->hold_ms;

	if (max_ms > 0 && ms > created_ms + max_ms)
		ms = created_ms + max_ms;
	return ms;
}

/* Sets the times of a machine that was rebooted after it had been ready
 * (docs/rules.md#reboots).  For its scope nothing changes.  Its own quiet time
 * begins again with each readiness, whatever its age.  If the first readiness
 * was not seen, the machine comes to count only when its scope can no longer be
 * held because of it. */
static void
after_reboot(const struct controller *s, const struct entry *e,
	     const struct nodepool_terms *terms, int64_t now_ms,
	     struct timer_facts *f)
{
	int64_t first_ms = e->first_ready_ms;

	f->booting = false;
	f->own_ms = STAMP_NONE;
	if (first_ms != STAMP_NONE)
		f->deadline_ms = f->own_ms =
			deadline_ms(&s->rules, e->created_ms, first_ms, terms);
	if (e->ready_ms != first_ms)
		f->own_ms =
			deadline_ms(&s->rules, e->ready_ms, e->ready_ms, terms);
	if (first_ms != STAMP_NONE)
		return;
	f->deadline_ms =
		f->own_ms != STAMP_NONE
			? f->own_ms
			: e->seen_ms + s->rules.startup_ms + terms->hold_ms;
	if (f->counts_ms != STAMP_NONE && f->deadline_ms > now_ms)
		f->counts_ms = f->deadline_ms;
}

/* Returns whether the share of machines that minScaleUp requires cannot be
 * computed yet, so that no further machine comes to count. */
static bool
share_unknown(const struct controller *s, uint32_t head)
{
	return s->rules.min_scale_up_percent > 0 &&
	       !views_machines_known(&s->views) &&
	       !timers_at(&s->timers, head)->counted;
}

/* Returns the machine's deadline, the moment from which it counts
 * (docs/rules.md#launch-failures-hold-nobody-else), and the other facts for
 * timers_put. */
static struct timer_facts
facts_of(const struct controller *s, uint32_t head,
	 const struct nodepool_terms *terms, int64_t now_ms)
{
	const struct entry *claim = machines_claim(&s->machines, head);
	const struct entry *e = machines_at(&s->machines, head);
	struct timer_facts f = {
		.nodepool = machines_nodepool(&s->machines, e),
		.deadline_ms = deadline_ms(&s->rules, e->created_ms,
					   activity_ms(s, e), terms),
		.counts_ms = counts_ms(s, claim),
		.created_ms = e->created_ms,
		.hold_ms = terms->hold_ms,
		.least = claim != NULL && claim->again,
		.booting = claim != NULL && !is_ready(claim),
		.machine = claim != NULL || views_claimless(&s->views),
	};

	f.own_ms = f.deadline_ms;
	if (claim != NULL && claim->rebooted && !claim->unread)
		after_reboot(s, claim, terms, now_ms, &f);
	/* A machine that was released by hand stays in its scope, so the holds
	 * of other machines still spread to it. */
	if (e->created_stamp_ms < terms->released_ms) {
		f.deadline_ms = f.own_ms = f.counts_ms = STAMP_NONE;
	} else if (f.counts_ms != STAMP_NONE && share_unknown(s, head)) {
		f.counts_ms = COUNTS_LATER;
	}
	return f;
}

struct nodepool_terms
controller_terms(const struct controller *s, uint32_t head, int64_t now_ms)
{
	return nodepools_terms(
		&s->nodepools,
		machines_nodepool(&s->machines,
				  machines_at(&s->machines, head)),
		now_ms);
}

int64_t
controller_own_ms(const struct controller *s, uint32_t head, int64_t now_ms)
{
	struct nodepool_terms terms = controller_terms(s, head, now_ms);

	return timers_at(&s->timers, head)->used
		       ? facts_of(s, head, &terms, now_ms).own_ms
		       : STAMP_NONE;
}

/* Call this when a machine is being deleted or is gone, before its timer is
 * dropped.  The deletion of its Node may be seen before that of its claim. */
static void
boot_ends(struct controller *s, uint32_t id, int64_t now_ms)
{
	const struct entry *claim = machines_at(&s->machines, id);

	if (claim->kind == KIND_NODECLAIM && !machines_entry_was_ready(claim) &&
	    !claim->disrupted)
		timers_boot_failed(&s->timers, id, now_ms);
}

static void
set_timer(struct controller *s, uint32_t head, int64_t now_ms)
{
	const struct machines *m = &s->machines;
	struct nodepool_terms terms = controller_terms(s, head, now_ms);
	struct entry *claim = machines_claim(m, head);
	bool deleted = machines_deleting(m, head);
	struct timer_facts f;

	if (deleted)
		boot_ends(s, head, now_ms);
	if (claim != NULL && !terms.uncounted)
		replacements_judge(&s->replacements, claim, now_ms);
	f = facts_of(s, head, &terms, now_ms);
	if (terms.uncounted || deleted)
		timers_drop(&s->timers, head);
	else if (timers_put(&s->timers, head, &f, now_ms))
		counter_add(s->counters, COUNTER_TABLE_FULL);
}

void
controller_refresh(struct controller *s, uint32_t id, int64_t now_ms)
{
	uint32_t head = machines_head(&s->machines, id);

	if (!machines_at(&s->machines, id)->used)
		return;
	if (head != id) {
		/* The entry is no longer a head, so it may not keep a timer,
		 * and no hold or release is due for it. */
		timers_drop(&s->timers, id);
		writes_want_hold(&s->writes, id, false);
		release_not_due(&s->release, id);
	}
	set_timer(s, head, now_ms);
	controller_queue(s, head);
}

void
controller_count_skipped(struct controller *s, enum kind kind)
{
	static const enum counter counters[VIEW_COUNT] = {
		[KIND_NODE] = COUNTER_SKIPPED_NODES,
		[KIND_NODECLAIM] = COUNTER_SKIPPED_CLAIMS,
		[KIND_NODEPOOL] = COUNTER_SKIPPED_NODEPOOLS,
		[KIND_EVENT] = COUNTER_SKIPPED_EVENTS,
		[KIND_TICKET] = COUNTER_SKIPPED_TICKETS,
	};

	counter_add(s->counters, counters[kind]);
}

void
controller_unread(struct controller *s, enum kind kind, const char *name,
		  bool unread)
{
	char *last = s->unread[kind];

	if (unread) {
		controller_count_skipped(s, kind);
		(void)str_copy(last, NAME_BYTES, name);
	} else if (strcmp(last, name) == 0) {
		last[0] = '\0';
	}
}

void
controller_drop(struct controller *s, uint32_t id, struct now now)
{
	struct touched t = {0};

	if (views_leads(&s->views))
		replacements_deleted(&s->replacements, id, now.server_ms,
				     STAMP_NONE, true, now.server_ms);
	boot_ends(s, id, now.server_ms);
	controller_unread(
		s, machines_at(&s->machines, id)->kind,
		machines_name(&s->machines, machines_at(&s->machines, id)),
		false);
	timers_drop(&s->timers, id);
	writes_drop(&s->writes, id);
	machines_drop(&s->machines, id, &t);
	/* If the id is queued, it stays in the queue, where take_action skips
	 * it. */
	release_not_due(&s->release, id);
	for (uint32_t i = 0; i < t.n; i++)
		controller_refresh(s, t.id[i], now.server_ms);
}
