/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/status.h"

#include <string.h>

#include "controller_parts.h"
#include "core/base/str.h"
#include "figures.h"

/*
 * This file makes the reports for /status: on the whole controller, on one
 * scope, NodePool, ticket or machine, and on all machines one after another.
 * It only reads the controller.  A report reads a bounded number of machines,
 * because the owner holds its lock during the report.  Totals over all machines
 * come from figures.c, which has counted them before.
 */

/* Returns a moment of boot time as server time, or STAMP_NONE if it is 0 or in
 * the past. */
static int64_t
ahead_ms(int64_t boot_ms, struct now now)
{
	return boot_ms > now.boot_ms ? now.server_ms + boot_ms - now.boot_ms
				     : STAMP_NONE;
}

/* --- the whole status ----------------------------------------------------- */

static void
add_wait(struct status_waits *w, enum status_wait why, enum kind kind,
	 uint32_t machines, int64_t until_ms)
{
	w->at[w->n].why = why;
	w->at[w->n].kind = kind;
	w->at[w->n].name[0] = '\0';
	w->at[w->n].machines = machines;
	w->at[w->n++].until_ms = until_ms;
}

static void
add_list(const struct release *r, struct now now, struct status_waits *w)
{
	if (!r->in_flight && !r->wanted)
		return;
	if (r->failed == VIEW_COUNT && r->tries == 0)
		add_wait(w, WAIT_LIST, VIEW_COUNT, 0, STAMP_NONE);
	else
		add_wait(w, WAIT_LIST_FAILED, r->failed, 0,
			 ahead_ms(r->not_before_boot_ms, now));
}

static void
whole_waits(const struct controller *s, struct now now, struct status_waits *w)
{
	for (int k = 0; k < VIEW_COUNT; k++) {
		const struct view *v = &s->views.at[k];

		if (k < KIND_EVENT && (!v->listed || !v->up))
			add_wait(w, WAIT_UNSEEN, (enum kind)k, 0, STAMP_NONE);
		if (k >= KIND_EVENT || (!v->skipped && s->unread[k][0] == '\0'))
			continue;
		add_wait(w, WAIT_UNREAD, (enum kind)k, 0, STAMP_NONE);
		str_cut(w->at[w->n - 1].name, sizeof(w->at[0].name),
			s->unread[k]);
	}
	add_list(&s->release, now, w);
	if (writes_paused(&s->writes, now.boot_ms))
		add_wait(w, WAIT_PAUSED, VIEW_COUNT, 0,
			 ahead_ms(s->writes.paused_boot_ms, now));
}

void
controller_status(const struct controller *s, struct now now,
		  struct status_report *out)
{
	*out = (struct status_report){.leads = views_leads(&s->views),
				      .turns = s->journal.turns_n,
				      .history_ms = s->journal.since_ms};
	controller_report(s, &out->table);
	for (int k = 0; k < VIEW_COUNT; k++)
		out->listed[k] = s->views.at[k].listed;
	whole_waits(s, now, &out->waits);
}

bool
controller_turn(const struct controller *s, uint64_t *before, struct turn *out)
{
	return journal_turn_at(&s->journal, before, out);
}

/* --- scopes --------------------------------------------------------------- */

/* Names the machine that restarted the quiet time last, unless its id has been
 * given to another machine since the count. */
static void
restarted_by(const struct controller *s, const struct quiet *q,
	     struct scope_status *out)
{
	const struct timer *t;

	out->restarted_ms = STAMP_NONE;
	if (q->id == NO_ID)
		return;
	t = timers_at(&s->timers, q->id);
	if (!t->used || t->created_ms != q->created_ms)
		return;
	(void)str_copy(out->machine, sizeof(out->machine),
		       controller_machine_name(s, q->id));
	out->booting = t->booting;
	out->restarted_ms = t->created_ms;
	if (!t->booting && q->id < s->machines.top &&
	    machines_at(&s->machines, q->id)->kind == KIND_NODECLAIM)
		out->restarted_ms = machines_at(&s->machines, q->id)->ready_ms;
}

/* Sets until when the scope stays as it is, by the same rules as for the log
 * (tell.c). */
static void
scope_until(const struct controller *s, uint32_t scope, const struct quiet *q,
	    struct now now, struct scope_status *out)
{
	const struct scope *sc = timers_scope(&s->timers, scope);
	int64_t cap_ms = timers_cap_in_ms(&s->timers, scope, now.boot_ms);

	out->until_ms = STAMP_NONE;
	if (out->state == SCOPE_CAPPED)
		out->until_ms =
			now.server_ms + cap_window_ms(&sc->cap, now.boot_ms);
	if (out->state != SCOPE_HELD)
		return;
	if (q->at_ms > now.server_ms) {
		out->until_ms = q->at_ms;
		out->earliest = q->earliest;
	} else if (sc->again_until_ms > now.server_ms) {
		out->until_ms = sc->again_until_ms;
		out->earliest = true;
	}
	if (cap_ms == INT64_MAX || (out->until_ms != STAMP_NONE &&
				    now.server_ms + cap_ms >= out->until_ms))
		return;
	out->until_ms = now.server_ms + cap_ms;
	out->until_cap = true;
	out->earliest = false;
}

/* Adds the holds by hand, which hold all of the scope whatever the scope itself
 * does. */
static void
add_hand(const struct controller *s, struct now now, struct scope_status *out)
{
	const struct hand_holds *hand = &out->by_hand;

	if (out->state != SCOPE_HELD) {
		out->hand_alone = true;
		out->since_ms =
			controller_by_hand_ms(s, out->name, now.server_ms);
		out->until_ms = STAMP_NONE;
	}
	out->state = SCOPE_HELD;
	if (hand->first_ms < out->until_ms)
		return;
	out->until_ms = hand->first_ms;
	out->until_hand = true;
	out->until_cap = out->earliest = false;
}

static void
fill_scope(const struct controller *s, const struct figures *f, uint32_t scope,
	   struct now now, struct scope_status *out)
{
	const struct scope *sc = timers_scope(&s->timers, scope);
	const struct cap_rules *r = &s->rules.cap;
	struct quiet q = figures_scope(f, scope);

	*out = (struct scope_status){
		.state = sc->held ? SCOPE_HELD
			 : sc->busy && cap_window_ms(&sc->cap, now.boot_ms) > 0
				 ? SCOPE_CAPPED
				 : SCOPE_QUIET,
		.since_ms = controller_turned_ms(s, scope),
		.machines = sc->timers,
		.min_scale_up = timers_min_scale_up(&s->timers, scope),
		.cap_max_ms = r->max_ms,
		.cap_used_ms = cap_debt_ms(&sc->cap, r, now.boot_ms),
		.cap_window_ms = r->window_ms,
	};
	memcpy(out->name, sc->name, sizeof(out->name));
	scope_until(s, scope, &q, now, out);
	if (figures_scope_hand(s, f, scope, now.server_ms, &out->by_hand))
		add_hand(s, now, out);
	restarted_by(s, &q, out);
	if (sc->held && sc->live == 0 && sc->coming > 0)
		add_wait(&out->waits, WAIT_COMING, VIEW_COUNT, sc->coming,
			 STAMP_NONE);
}

bool
controller_scope_status(const struct controller *s, const struct figures *f,
			uint32_t *i, struct now now, struct scope_status *out)
{
	for (; *i < s->timers.scopes_top; (*i)++) {
		const struct scope *sc = timers_scope(&s->timers, *i);

		if (sc->timers == 0 && !sc->held)
			continue;
		fill_scope(s, f, (*i)++, now, out);
		return true;
	}
	return false;
}

/* --- NodePools ------------------------------------------------------------ */

static void
put_also(struct nodepool_also *also, const struct ticket_entry *e)
{
	if (e == NULL)
		return;
	also->until_ms = e->until_ms;
	tickets_words(e, also->words, sizeof(also->words));
}

/* Sets the tickets that hold the NodePool beside the hold that is named.  Who
 * releases the NodePool has to know all whose hold it ends. */
static void
fill_also(const struct controller *s, uint32_t place, enum manual_by by,
	  int64_t now_ms, struct nodepool_status *out)
{
	const struct ticket_entry *last =
		tickets_hold(&s->tickets, place, now_ms).last;

	if (last == NULL)
		return;
	if (by == MANUAL_PERSON)
		put_also(&out->also[0], last);
	put_also(&out->also[1],
		 tickets_other(&s->tickets, place, now_ms, last));
}

bool
controller_nodepool_status(const struct controller *s, const struct figures *f,
			   uint32_t *i, struct now now,
			   struct nodepool_status *out)
{
	struct nodepool_terms terms;
	struct manual m;
	uint32_t ref;

	for (; *i < s->nodepools.top; (*i)++) {
		const struct nodepool *p = &s->nodepools.at[*i];

		if (p->name[0] == '\0')
			continue;
		terms = nodepools_terms_at(&s->nodepools, *i, now.server_ms);
		m = controller_manual(s, *i, now.server_ms);
		*out = (struct nodepool_status){
			.nodepool = *p,
			.by_hand =
				!terms.out && p->hold_until_ms > now.server_ms,
			.by_ticket = m.by == MANUAL_TICKET,
			.released_ahead = p->released_at_ms > now.server_ms,
			.out = terms.uncounted,
		};
		if (out->by_ticket)
			memcpy(out->ticket, m.reason, sizeof(out->ticket));
		if (m.by != MANUAL_NONE)
			fill_also(s, *i, m.by, now.server_ms, out);
		ref = strings_find(&s->machines.strings, p->name);
		if (ref != NO_ID)
			out->n = figures_nodepool(f, ref);
		(*i)++;
		return true;
	}
	return false;
}

/* --- tickets -------------------------------------------------------------- */

bool
controller_ticket_status(const struct controller *s, uint32_t *i,
			 struct now now, struct ticket_status *out)
{
	const struct ticket_entry *e;

	while (*i < s->tickets.top && s->tickets.at[*i].ticket.name[0] == '\0')
		(*i)++;
	if (*i >= s->tickets.top)
		return false;
	e = &s->tickets.at[(*i)++];
	*out = (struct ticket_status){.until_ms = e->until_ms > now.server_ms
							  ? e->until_ms
							  : STAMP_NONE,
				      .renewed_ms = e->ticket.renewed_ms,
				      .flaw = e->flaw};
	if (e->ticket.renewed_ms > e->seen_ms - e->set_ms)
		out->ahead_ms = e->ticket.renewed_ms - e->seen_ms + e->set_ms;
	memcpy(out->fault, e->ticket.fault, sizeof(out->fault));
	memcpy(out->name, e->ticket.name, sizeof(out->name));
	memcpy(out->holder, e->ticket.holder, sizeof(out->holder));
	memcpy(out->reason, e->ticket.reason, sizeof(out->reason));
	for (uint32_t k = 0; k < s->nodepools.top; k++)
		out->nodepools +=
			out->until_ms != STAMP_NONE &&
			s->nodepools.at[k].name[0] != '\0' &&
			tickets_holds(e, k) &&
			!nodepools_terms_at(&s->nodepools, k, now.server_ms)
				 .out;
	return true;
}

/* --- one machine ---------------------------------------------------------- */

static void
fill_half(const struct controller *s, const struct entry *e, struct now now,
	  struct half_status *out)
{
	enum write_state state;
	uint32_t id, place;

	*out = (struct half_status){.present = e != NULL,
				    .mark_ms = STAMP_NONE,
				    .again_ms = STAMP_NONE};
	if (e == NULL)
		return;
	id = machines_id(&s->machines, e);
	place = s->writes.at[id].pending;
	state = writes_state(&s->writes, id);
	(void)str_copy(out->name, sizeof(out->name),
		       machines_name(&s->machines, e));
	out->deleting = e->deleting;
	out->tenure = machines_entry_tenure(e);
	out->other = out->tenure == TENURE_PERSON && e->hold == HOLD_OTHER;
	out->carries = e->carries;
	if (e->mark == MARK_TIME)
		out->mark_ms = e->mark_ms;
	out->in_flight = state == WRITE_IN_FLIGHT || state == WRITE_SHOWN;
	/* Once its backoff is over, the write waits in the queue and has no
	 * time at which it is tried again. */
	if (writes_backing_off(&s->writes, id) &&
	    heap_has(&s->writes.later, place - 1))
		out->again_ms =
			ahead_ms(heap_key(&s->writes.later, place - 1), now);
}

static void
fill_written(const struct controller *s, const struct entry *e,
	     struct half_status *out)
{
	char uid[UID_BYTES];

	if (e == NULL)
		return;
	machines_uid(&s->machines, e, uid);
	out->written = journal_written(&s->journal, uid, &out->last);
}

/* Fills in until when the machine's NodePool is held by hand, and why. */
static void
fill_manual(const struct controller *s, struct now now,
	    struct machine_status *out)
{
	const struct nodepool *p = nodepools_find(&s->nodepools, out->nodepool);
	struct manual m = {.until_ms = STAMP_NONE};

	if (p != NULL)
		m = controller_manual(s, (uint32_t)(p - s->nodepools.at),
				      now.server_ms);
	out->manual_ms = m.until_ms;
	out->by_ticket = m.by == MANUAL_TICKET;
	(void)str_copy(out->reason, sizeof(out->reason), m.reason);
}

static void
fill_machine(const struct controller *s, uint32_t head, struct now now,
	     struct machine_status *out)
{
	const struct machines *m = &s->machines;
	const struct entry *claim = machines_claim(m, head);
	const struct entry *node = machines_node(m, head);
	const struct timer *t = timers_at(&s->timers, head);

	*out = (struct machine_status){
		.registered = node != NULL && node->registered,
		.booting = claim != NULL && claim->ready_ms == STAMP_NONE &&
			   !claim->rebooted,
		.drifts = controller_drifts(s, head),
		.own_ms = controller_own_ms(s, head, now.server_ms),
		.scope = t->used && t->scope != NO_SCOPE ? t->scope : NO_ID,
	};
	if (t->used && out->booting && now.server_ms + t->hold_ms < out->own_ms)
		out->own_ms = now.server_ms + t->hold_ms;
	fill_half(s, claim, now, &out->claim);
	fill_half(s, node, now, &out->node);
	(void)str_copy(out->nodepool, sizeof(out->nodepool),
		       machines_nodepool(m, machines_at(m, head)));
	out->goal = controller_goal(s, head, now, &out->why);
	fill_manual(s, now, out);
}

bool
controller_machine(const struct controller *s, const char *name, struct now now,
		   struct machine_status *out)
{
	uint32_t id = machines_find_name(&s->machines, name);

	if (id == NO_ID)
		return false;
	id = machines_head(&s->machines, id);
	fill_machine(s, id, now, out);
	fill_written(s, machines_claim(&s->machines, id), &out->claim);
	fill_written(s, machines_node(&s->machines, id), &out->node);
	return true;
}

/* --- all machines --------------------------------------------------------- */

static enum machine_rank
rank_of(const struct controller *s, uint32_t head)
{
	const struct entry *claim = machines_claim(&s->machines, head);
	const struct entry *halves[] = {claim,
					machines_node(&s->machines, head)};
	enum machine_rank rank = MACHINE_REST;

	for (int i = 0; i < 2; i++) {
		enum tenure t;

		if (halves[i] == NULL)
			continue;
		t = machines_entry_tenure(halves[i]);
		if (t == TENURE_PERSON || t == TENURE_YIELDED ||
		    writes_state(&s->writes,
				 machines_id(&s->machines, halves[i])) ==
			    WRITE_BACKING_OFF)
			rank = MACHINE_LOOK;
		else if (t == TENURE_OURS && rank == MACHINE_REST)
			rank = MACHINE_HELD;
	}
	return rank;
}

int
controller_machine_next(const struct controller *s, uint32_t *i,
			enum machine_rank rank, const char *nodepool,
			struct now now, struct machine_status *out)
{
	const struct machines *m = &s->machines;
	uint32_t ref = nodepool[0] != '\0' ? strings_find(&m->strings, nodepool)
					   : NO_ID;
	uint32_t end = *i + STATUS_SLICE;

	if (nodepool[0] != '\0' && ref == NO_ID)
		return -1;
	for (; *i < m->top && *i < end; ++*i) {
		const struct entry *e = machines_at(m, *i);

		if (!e->used || machines_head(m, *i) != *i ||
		    (ref != NO_ID && e->nodepool != ref) ||
		    rank_of(s, *i) != rank)
			continue;
		fill_machine(s, (*i)++, now, out);
		return 1;
	}
	return *i < m->top ? 0 : -1;
}
