/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <time.h>

#include "core/base/str.h"
#include "state_parts.h"

/* The reports for /status.  Each call of the controller looks at a bounded
 * number of objects, and the mutex is released after each call. */

/* After this many slices a reader rests for REST_NS, so that other threads get
 * the mutex.  The mutex is not fair: a thread that unlocks it and locks it
 * again at once usually gets it before the threads that wait. */
#define SLICES_A_REST 16
#define REST_NS 50000

static void
rest(unsigned slices)
{
	struct timespec t = {.tv_nsec = REST_NS};

	if (slices % SLICES_A_REST == 0)
		(void)nanosleep(&t, NULL);
}

void
state_lead(struct state *s, struct state_lead *out)
{
	const struct lease *l;
	struct lease_wait wait;
	int64_t since_us = STAMP_NONE, boot_ms = clock_boot_ms();

	*out = (struct state_lead){.here = state_leads(s),
				   .since_ms = STAMP_NONE};
	(void)lock(s);
	l = s->table->lease;
	if (l != NULL) {
		out->electing = l->config.enabled;
		str_cut(out->identity, sizeof(out->identity),
			l->config.identity);
		str_cut(out->holder, sizeof(out->holder),
			lease_holder(l, boot_ms, &since_us));
		if (lease_waits(l, boot_ms, &wait)) {
			str_cut(out->waits_for, sizeof(out->waits_for),
				wait.holder);
			out->wait_ms = wait.end_ms - boot_ms;
			if (wait.deletion_helps)
				memcpy(out->wait_ends, s->table->lease_delete,
				       sizeof(out->wait_ends));
		}
		out->restarted =
			(out->holder[0] != '\0' || out->waits_for[0] != '\0') &&
			lease_is_orphan(l);
		if (out->restarted)
			out->holder[0] = '\0';
	}
	unlock(s);
	if (since_us != STAMP_NONE && !out->restarted)
		out->since_ms = since_us / 1000;
}

void
state_status(struct state *s, struct status_report *out)
{
	struct now now = clock_now(s->clock);

	controller_status(lock(s), now, out);
	unlock(s);
}

void
state_count(struct state *s, struct figures *f)
{
	struct now now = clock_now(s->clock);
	unsigned slices = 0;
	bool more;

	figures_begin(f);
	do {
		more = figures_count(lock(s), f, now);
		unlock(s);
		rest(++slices);
	} while (more);
}

bool
state_turn(struct state *s, uint64_t *before, struct turn *out)
{
	bool any = controller_turn(lock(s), before, out);

	unlock(s);
	return any;
}

bool
state_scope_status(struct state *s, const struct figures *f, uint32_t *i,
		   struct scope_status *out)
{
	struct now now = clock_now(s->clock);
	bool any = controller_scope_status(lock(s), f, i, now, out);

	unlock(s);
	return any;
}

bool
state_nodepool_status(struct state *s, const struct figures *f, uint32_t *i,
		      struct nodepool_status *out)
{
	struct now now = clock_now(s->clock);
	bool any = controller_nodepool_status(lock(s), f, i, now, out);

	unlock(s);
	return any;
}

bool
state_ticket_status(struct state *s, uint32_t *i, struct ticket_status *out)
{
	struct now now = clock_now(s->clock);
	bool any = controller_ticket_status(lock(s), i, now, out);

	unlock(s);
	return any;
}

bool
state_machine(struct state *s, const char *name, struct machine_status *out)
{
	struct now now = clock_now(s->clock);
	bool any = controller_machine(lock(s), name, now, out);

	unlock(s);
	return any;
}

bool
state_machine_next(struct state *s, uint32_t *i, enum machine_rank rank,
		   const char *nodepool, struct machine_status *out)
{
	unsigned slices = 0;
	int found;

	for (;;) {
		struct now now = clock_now(s->clock);

		found = controller_machine_next(lock(s), i, rank, nodepool, now,
						out);
		unlock(s);
		if (found != 0)
			return found > 0;
		rest(++slices);
	}
}

uint32_t
state_machines_counted(struct state *s, const struct figures *f,
		       const char *nodepool)
{
	uint32_t n = figures_machines(lock(s), f, nodepool);

	unlock(s);
	return n;
}
