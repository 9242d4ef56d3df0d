/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "moment.h"
#include "state_parts.h"

/* The table's mutex also protects the step machine of the Lease, so that the
 * lead and the leader's work change together. */

/* Passes the history in the Lease to the controller, once in each lead.  With
 * leader election this happens before the leader sees any object.  Without
 * leader election the Lease may not have been read yet, and a later call of
 * recall passes the history on. */
static void
recall(struct state_table *t, struct now now)
{
	const char *known = t->lease == NULL ? NULL : lease_history(t->lease);

	if (!t->leads || t->recalled || known == NULL)
		return;
	t->recalled = true;
	controller_recall(t->controller, known, lease_term(t->lease), now);
}

void
state_hold(struct state *s, struct hold_key *out)
{
	(void)pthread_mutex_lock(&s->hold_lock);
	*out = s->hold;
	(void)pthread_mutex_unlock(&s->hold_lock);
}

/* Takes the hold from the Lease's step machine, which changes it only while
 * this replica does not lead. */
static void
take_hold(struct state *s, const struct lease *l)
{
	const struct hold_key *k = lease_hold(l);

	if (object_hold_compare(k, &s->hold) == 0)
		return;
	(void)pthread_mutex_lock(&s->hold_lock);
	s->hold = *k;
	(void)pthread_mutex_unlock(&s->hold_lock);
	atomic_store(&s->hold_is_other,
		     object_hold_compare(k, &l->config.hold) != 0);
	controller_hold(s->table->controller, k);
}

void
state_follow(struct state *s, struct now now)
{
	struct state_table *t = s->table;
	bool leads = t->lease == NULL || lease_leads(t->lease, now.boot_ms);

	if (t->lease != NULL && !t->leads)
		take_hold(s, t->lease);
	if (leads == t->leads)
		return;
	t->restored = t->recalled = false;
	t->leads = leads;
	/* A replica that does not lead watches NodePools only, so when a lead
	 * begins, only the watcher of NodePools has to restart. */
	for (int k = 0; k < VIEW_COUNT; k++)
		t->turned[k] |= !leads || k == KIND_NODEPOOL;
	controller_lead(t->controller, leads, now);
	recall(t, now);
	(void)pthread_cond_broadcast(&t->turn);
}

/* Restores the soft state that the previous leader has stored, and stores the
 * soft state for the next leader. */
void
state_soft(struct state *s, struct now now)
{
	struct state_table *t = s->table;
	const char *known = t->lease == NULL ? NULL : lease_state(t->lease);
	struct buf b;
	bool always;

	if (!t->leads || known == NULL)
		return;
	if (!t->restored)
		controller_restore(t->controller, known,
				   lease_state_ms(t->lease), now);
	t->restored = true;
	recall(t, now);
	buf_init(&b, t->history, sizeof(t->history));
	if (controller_history(t->controller, &b, lease_term(t->lease), now))
		(void)lease_history_set(t->lease, t->history);
	/* Without leader election there is no renewTime, so the state itself is
	 * written again to show that its writer is alive. */
	always = !t->lease->config.enabled &&
		 now.boot_ms >= t->soft_boot_ms + t->soft_ms;
	buf_init(&b, t->soft, sizeof(t->soft));
	if (!controller_soft(t->controller, &b, always, now))
		return;
	t->soft_boot_ms = now.boot_ms;
	(void)lease_state_set(t->lease, t->soft);
}

int
state_elect(struct state *s, const struct lease_config *c, const char *deletes,
	    int64_t soft_ms, struct err *e)
{
	struct state_table *t = s->table;

	t->lease = calloc(1, sizeof(*t->lease));
	if (t->lease == NULL)
		return err_set(e, ERR_SYSTEM, "no memory for the Lease");
	str_cut(t->lease_delete, sizeof(t->lease_delete), deletes);
	t->soft_ms = soft_ms;
	lease_init(t->lease, c, clock_boot_us());
	state_follow(s, clock_now(s->clock));
	/* state_follow has set these flags, but no watcher runs yet that would
	 * have to list again. */
	memset(t->turned, 0, sizeof(t->turned));
	return 0;
}

struct lease_todo
state_lease_next(struct state *s, struct lease_record *copy)
{
	struct now now = clock_now(s->clock);
	struct lease_todo todo;

	(void)lock(s);
	todo = lease_next(s->table->lease, now);
	state_follow(s, now);
	if (todo.step == LEASE_CREATE || todo.step == LEASE_UPDATE) {
		lease_record_copy(copy, todo.record);
		todo.record = copy;
	}
	unlock(s);
	return todo;
}

void
state_lease_done(struct state *s, const struct lease_outcome *o)
{
	struct now now = clock_now(s->clock);

	(void)lock(s);
	lease_done(s->table->lease, o, now);
	state_follow(s, now);
	unlock_and_wake(s);
}

bool
state_lease_note(struct state *s, struct lease_note *out)
{
	bool any;

	(void)lock(s);
	any = lease_note(s->table->lease, out);
	unlock(s);
	return any;
}

void
state_lease_wait(struct state *s, int64_t ms)
{
	struct timespec until = moment_after(ms);

	(void)lock(s);
	if (!s->table->lease_stopped)
		(void)pthread_cond_timedwait(&s->table->turn, &s->table->lock,
					     &until);
	unlock(s);
}

void
state_lease_stop(struct state *s)
{
	(void)lock(s);
	s->table->lease_stopped = true;
	lease_stop(s->table->lease);
	(void)pthread_cond_broadcast(&s->table->turn);
	unlock(s);
}

bool
state_lead_turned(struct state *s, enum kind kind)
{
	bool turned;

	(void)lock(s);
	turned = s->table->turned[kind];
	s->table->turned[kind] = false;
	unlock(s);
	return turned;
}

bool
state_leads(struct state *s)
{
	const struct state_table *t = s->table;
	bool leads;

	(void)lock(s);
	/* The Lease may have run out before any thread called state_follow, for
	 * example right after the machine slept. */
	leads = t->leads &&
		(t->lease == NULL || lease_leads(t->lease, clock_boot_ms()));
	unlock(s);
	return leads;
}

int64_t
state_lead_ms(struct state *s)
{
	struct now now = clock_now(s->clock);
	int64_t ms = 0;

	(void)lock(s);
	state_follow(s, now);
	if (s->table->leads)
		ms = s->table->lease == NULL
			     ? INT64_MAX
			     : lease_fence_ms(s->table->lease) - now.boot_ms;
	unlock(s);
	return ms > 0 ? ms : 0;
}

bool
state_await_lead(struct state *s)
{
	struct timespec until = moment_after(1000);
	bool leads;

	(void)lock(s);
	while (!s->table->leads && !atomic_load(&s->stopping) &&
	       pthread_cond_timedwait(&s->table->turn, &s->table->lock,
				      &until) == 0)
		;
	leads = s->table->leads;
	unlock(s);
	return leads;
}
