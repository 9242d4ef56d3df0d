/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "core/base/duration.h"
#include "core/base/stamp.h"
#include "status_parts.h"
#include "wire/json/json_printf.h"

/*
 * Writes the answers of /status in JSON.  docs/status.md has the schema, and
 * programs rely on it: a member keeps its name and its type, and is null if it
 * is not known.
 *
 * Each item (scope, NodePool, ticket or turn) is fetched just before it is
 * written, so that the caller's lock is held for one item at a time.  If an
 * item does not fit, it is removed and counted in `left` (words_settle), so the
 * answer is always a complete document.
 */

#define API_VERSION "status.karpenter-node-holder.io/v1"
#define TAIL_BYTES 512 /* reserved for the text after the last item */

/* --- values as text ------------------------------------------------------- */

/* Values for a %s of json_printf: a text, or NULL if there is no such time.
 * The text lives until the end of the block that uses the macro. */
#define MOMENT(ms) moment(ms, (char[STAMP_BYTES]){""})
#define SPAN(ms) span(ms, (char[DURATION_BYTES]){""})

static const char *
moment(int64_t ms, char out[STAMP_BYTES])
{
	if (ms == STAMP_NONE)
		return NULL;
	stamp_format(ms, out);
	return out;
}

static const char *
span(int64_t ms, char out[DURATION_BYTES])
{
	if (ms < 0)
		return NULL;
	duration_format(ms / 1000 * 1000, out);
	return out;
}

/* Returns the text as a value, which is null for "". */
static const char *
known(const char *s)
{
	return s[0] != '\0' ? s : NULL;
}

/* --- the head ------------------------------------------------------------- */

static void
write_lead(struct buf *b, const struct status_head *h)
{
	const struct status_lead *l = &h->lead;

	json_printf(b,
		    ",'leader':{'electing':%s,'identity':%s,'since':%s,"
		    "'thisReplica':%s",
		    json_bool(l->electing), known(l->identity),
		    MOMENT(l->since_ms), json_bool(l->here));
	if (l->waits_for[0] != '\0')
		json_printf(b,
			    ",'waitsFor':{'identity':%s,'until':%s,"
			    "'command':%s}",
			    l->waits_for, MOMENT(h->now_ms + l->wait_ms),
			    known(l->wait_ends));
	buf_puts(b, "}");
}

static void
write_admissions(struct buf *b, const struct status_admissions *a)
{
	unsigned long long held = a->held, would = a->would_hold,
			   unchanged = a->unchanged, refused = a->refused,
			   failed = a->failed, shed = a->shed;

	json_printf(b,
		    ",'admissions':{'lastMinute':{'seconds':%u,"
		    "'requests':%llu,'held':%llu,'wouldHold':%llu,"
		    "'unchanged':%llu,'refused':%llu,'failed':%llu,"
		    "'shed':%llu}}",
		    a->seconds,
		    held + would + unchanged + refused + failed + shed, held,
		    would, unchanged, refused, failed, shed);
}

static void
write_patterns(struct buf *b, const char *key, const struct patterns *p)
{
	json_printf(b, ",%s:[", key);
	for (size_t i = 0; i < p->n; i++)
		json_printf(b, ",%s", p->at[i]);
	buf_puts(b, "]");
}

static void
write_rules(struct buf *b, const struct status_head *h)
{
	const struct rules *r = h->rules;

	json_printf(b, ",'configuration':{'scope':%s",
		    words_scope_kind(r->scope));
	if (r->min_scale_up_percent == 0)
		json_printf(b, ",'minScaleUp':%u", r->min_scale_up);
	else
		json_printf(b, ",'minScaleUp':'%u%%'", r->min_scale_up_percent);
	json_printf(b,
		    ",'holdDuration':%s,'startupTimeout':%s,"
		    "'maxHoldDuration':%s,'releaseWindow':%s,"
		    "'replacements':%s,'drift':%s,"
		    "'holdAnnotation':{'key':%s,'value':%s,'configured':%s},"
		    "'nodePools':{",
		    SPAN(r->hold_ms), SPAN(r->startup_ms), SPAN(r->cap.max_ms),
		    SPAN(r->cap.window_ms),
		    r->replacements == REPLACEMENTS_COUNT ? "count" : "ignore",
		    r->drift == DRIFT_ALLOW ? "allow" : "hold", h->hold.key,
		    h->hold.value, json_bool(!h->hold_is_other));
	write_patterns(b, "include", &r->include);
	write_patterns(b, "exclude", &r->exclude);
	buf_puts(b, "}");
	if (r->tickets[0] != '\0')
		json_printf(b, ",'tickets':{'namespace':%s}", r->tickets);
	json_printf(b, ",'fileChanged':%s}", json_bool(h->config_stale));
}

static void
write_head(struct buf *b, const struct status_head *h, const char *kind)
{
	json_printf(b,
		    "{'apiVersion':'" API_VERSION "','kind':%s,'time':%s,"
		    "'mode':%s",
		    kind, MOMENT(h->now_ms),
		    h->observe ? "observe" : "enforce");
}

static void
write_views(struct buf *b, const struct status_report *r)
{
	json_printf(b, ",'views':[");
	for (int k = 0; k < VIEW_COUNT; k++) {
		if (k == KIND_TICKET && !r->table.has_tickets)
			continue;
		json_printf(b, ",{'resource':%s,'listed':%s,'watching':%s",
			    words_resource((enum kind)k),
			    json_bool(r->listed[k]), json_bool(r->table.up[k]));
		if (k < KIND_COUNT)
			json_printf(b, ",'objects':%u,'held':%u}",
				    r->table.objects[k], r->table.held[k]);
		else
			json_printf(b, ",'objects':null,'held':null}");
	}
	buf_puts(b, "]");
}

/* --- scopes --------------------------------------------------------------- */

static void
write_wait(struct buf *b, const struct status_waits *w, unsigned i)
{
	char sentence[WAIT_BYTES];

	words_wait_sentence(sentence, w, i);
	json_printf(b, ",{'reason':%s,'resource':%s,'until':%s,'message':%s}",
		    words_wait(w->at[i].why), words_resource(w->at[i].kind),
		    MOMENT(w->at[i].until_ms), sentence);
}

static void
write_waits(struct buf *b, const struct status_waits *whole,
	    const struct status_waits *own)
{
	json_printf(b, ",'waitsFor':[");
	for (unsigned i = 0; i < whole->n; i++)
		write_wait(b, whole, i);
	for (unsigned i = 0; own != NULL && i < own->n; i++)
		write_wait(b, own, i);
	buf_puts(b, "]");
}

/* Writes what restarted the quiet time last.  It writes null if s is NULL, or
 * if it is not known which machine restarted the quiet time. */
static void
write_restart(struct buf *b, const struct scope_status *s)
{
	if (s == NULL || s->machine[0] == '\0')
		json_printf(b, ",'restartedBy':null");
	else
		json_printf(b,
			    ",'restartedBy':{'machine':%s,'time':%s,"
			    "'booting':%s}",
			    s->machine, MOMENT(s->restarted_ms),
			    json_bool(s->booting));
}

static void
write_hand(struct buf *b, const struct hand_holds *hand)
{
	if (hand->held == 0)
		json_printf(b, ",'byHand':null");
	else
		json_printf(b,
			    ",'byHand':{'nodePools':%u,'held':%u,'tickets':%u,"
			    "'firstUntil':%s,'lastUntil':%s}",
			    hand->nodepools, hand->held, hand->tickets,
			    MOMENT(hand->first_ms), MOMENT(hand->last_ms));
}

static void
write_cap(struct buf *b, const struct scope_status *s)
{
	if (s->cap_max_ms == 0)
		json_printf(b, ",'cap':null");
	else
		json_printf(b, ",'cap':{'max':%s,'used':%s,'window':%s}",
			    SPAN(s->cap_max_ms), SPAN(s->cap_used_ms),
			    SPAN(s->cap_window_ms));
}

static void
write_scope(struct buf *b, const struct status_head *h,
	    const struct scope_status *s)
{
	json_printf(b,
		    ",{'name':%s,'state':%s,'since':%s,'until':%s,"
		    "'untilCap':%s,'untilHand':%s,'earliest':%s,"
		    "'machines':%u,'minScaleUp':%u",
		    words_scope(h, s->name), words_scope_state(s->state),
		    MOMENT(s->since_ms), MOMENT(s->until_ms),
		    json_bool(s->until_cap), json_bool(s->until_hand),
		    json_bool(s->earliest), s->machines, s->min_scale_up);
	write_restart(b, s);
	write_hand(b, &s->by_hand);
	write_cap(b, s);
	write_waits(b, &h->report.waits, &s->waits);
	buf_puts(b, "}");
}

/* --- NodePools ------------------------------------------------------------ */

static void
write_annotations(struct buf *b, const struct nodepool_status *p)
{
	char value[ANNOTATION_BYTES];

	json_printf(b, ",'annotations':{");
	for (int k = 0; k < NODEPOOL_KEY_COUNT; k++)
		if (words_annotation(p, (enum nodepool_key)k, value))
			json_printf(b, ",%s:%s",
				    nodepool_key_name((enum nodepool_key)k),
				    value);
	buf_puts(b, "}");
}

static void
write_invalid(struct buf *b, const struct nodepool_status *p)
{
	char value[NODEPOOL_BAD_BYTES], why[BAD_BYTES];

	json_printf(b, ",'invalid':[");
	for (int k = 0; k < NODEPOOL_KEY_COUNT; k++)
		if (words_bad(p, (enum nodepool_key)k, value, why))
			json_printf(b, ",{'annotation':%s,'value':%s,'why':%s}",
				    nodepool_key_name((enum nodepool_key)k),
				    value, why);
	buf_puts(b, "]");
}

static void
write_nodepool(struct buf *b, const struct nodepool_status *p)
{
	json_printf(b,
		    ",{'name':%s,'machines':%u,'held':%u,'heldByPeople':%u,"
		    "'optedOut':%u,'unheld':%u,'waiting':%u,'leftOut':%s",
		    p->nodepool.name, p->n.machines, p->n.held, p->n.by_people,
		    p->n.opted_out, p->n.unheld, p->n.waiting,
		    nodepools_out_name(p->out));
	write_annotations(b, p);
	write_invalid(b, p);
	json_printf(b, ",'reason':%s", known(p->nodepool.reason));
	if (p->by_ticket)
		json_printf(b, ",'ticket':%s,'ticketUntil':%s,'ticketLeast':%s",
			    p->ticket, MOMENT(nodepool_until_ms(&p->nodepool)),
			    json_bool(words_least(p)[0] != '\0'));
	buf_puts(b, "}");
}

/* --- tickets -------------------------------------------------------------- */

static void
write_ticket(struct buf *b, const struct ticket_status *t)
{
	json_printf(b,
		    ",{'name':%s,'holder':%s,'reason':%s,'until':%s,"
		    "'nodePools':%u,'problem':%s,'renewed':%s,'ahead':%s}",
		    t->name, known(t->holder), known(t->reason),
		    MOMENT(t->until_ms), t->nodepools, words_ticket(t),
		    MOMENT(t->renewed_ms),
		    t->ahead_ms > 0 ? SPAN(t->ahead_ms) : NULL);
}

/* --- the history ---------------------------------------------------------- */

static void
write_turn(struct buf *b, const struct status_head *h, const struct turn *t)
{
	json_printf(b,
		    ",{'time':%s,'what':%s,'cause':%s,'scope':%s,'nodePool':%s,"
		    "'machine':%s,'heldFor':%s,'until':%s,'reason':%s}",
		    MOMENT(t->at_ms), journal_what(t->what),
		    journal_cause(t->cause),
		    t->nodepool ? NULL : words_scope(h, t->scope),
		    t->nodepool ? t->scope : NULL, known(t->machine),
		    SPAN(t->held_ms), MOMENT(t->until_ms), known(t->reason));
}

static void
write_items(struct buf *b, const struct status_head *h,
	    const struct status_items *items)
{
	uint64_t scopes = 0, nodepools = 0, tickets = 0, turns = 0;
	uint64_t before = UINT64_MAX;
	/* Each list may use the room that the lists before it have left. */
	size_t room = b->cap - TAIL_BYTES;
	struct buf was;

	json_printf(b, ",'scopes':[");
	was = *b;
	for (struct {
		     uint32_t i;
		     struct scope_status s;
	     } x = {0};
	     items->scope(items->ctx, &x.i, &x.s); was = *b) {
		write_scope(b, h, &x.s);
		words_settle(b, &was, room / 4, &scopes);
	}
	buf_puts(b, "]");
	json_printf(b, ",'nodePools':[");
	was = *b;
	for (struct {
		     uint32_t i;
		     struct nodepool_status p;
	     } x = {0};
	     items->nodepool(items->ctx, &x.i, &x.p); was = *b) {
		write_nodepool(b, &x.p);
		words_settle(b, &was, room / 4 * 3, &nodepools);
	}
	buf_puts(b, "]");
	if (h->report.table.has_tickets) {
		json_printf(b, ",'tickets':[");
		was = *b;
		for (struct {
			     uint32_t i;
			     struct ticket_status t;
		     } x = {0};
		     items->ticket(items->ctx, &x.i, &x.t); was = *b) {
			write_ticket(b, &x.t);
			words_settle(b, &was, room / 8 * 7, &tickets);
		}
		buf_puts(b, "]");
	}
	json_printf(b, ",'history':[");
	was = *b;
	for (struct turn t; items->turn(items->ctx, &before, &t); was = *b) {
		write_turn(b, h, &t);
		words_settle(b, &was, room, &turns);
	}
	buf_puts(b, "]");
	json_printf(b,
		    ",'leftOut':{'scopes':%llu,'nodePools':%llu,"
		    "'history':%llu",
		    (unsigned long long)scopes, (unsigned long long)nodepools,
		    (unsigned long long)turns);
	if (h->report.table.has_tickets)
		json_printf(b, ",'tickets':%llu", (unsigned long long)tickets);
	buf_puts(b, "}");
}

void
status_json(struct buf *b, const struct status_head *h,
	    const struct status_items *items)
{
	/* In hex, as JSON's numbers are exact up to 2^53 only. */
	char authority[17];

	(void)snprintf(authority, sizeof(authority), "%016llx",
		       (unsigned long long)h->cert_authority);
	write_head(b, h, "HolderStatus");
	json_printf(b, ",'version':%s,'replica':%s", h->version,
		    known(h->replica));
	write_lead(b, h);
	json_printf(b,
		    ",'certificate':{'valid':%s,'notAfter':%s,'authority':%s}",
		    json_bool(h->cert_valid),
		    MOMENT(h->cert_not_after_ms != 0 ? h->cert_not_after_ms
						     : STAMP_NONE),
		    h->cert_authority != 0 ? authority : NULL);
	write_admissions(b, &h->admissions);
	write_rules(b, h);
	if (h->lead.here) {
		write_views(b, &h->report);
		write_items(b, h, items);
	}
	buf_puts(b, "}\n");
}

/* --- a machine ------------------------------------------------------------ */

static void
write_half(struct buf *b, const char *key, const struct half_status *h)
{
	if (!h->present) {
		json_printf(b, ",%s:null", key);
		return;
	}
	json_printf(b,
		    ",%s:{'name':%s,'held':%s,'carriesHold':%s,"
		    "'heldSince':%s,'deleting':%s",
		    key, h->name, words_half_held(h), json_bool(h->carries),
		    MOMENT(h->mark_ms), json_bool(h->deleting));
	if (h->written)
		json_printf(b,
			    ",'lastWrite':{'write':%s,'outcome':%s,'time':%s}",
			    words_write(h->last.act),
			    words_outcome(h->last.how), MOMENT(h->last.at_ms));
	else
		json_printf(b, ",'lastWrite':null");
	json_printf(b, ",'nextTry':%s}", MOMENT(h->again_ms));
}

/* Writes whether the machine is held, why, and until when. */
static void
write_verdict(struct buf *b, const struct status_head *h,
	      const struct machine_status *m, const struct scope_status *scope)
{
	struct machine_until until = words_until(m, scope, h->now_ms);
	enum machine_free free = words_free(h, m, &until);

	json_printf(b,
		    ",'nodePool':%s,'held':%s,'by':%s,'why':%s,'reason':%s,"
		    "'until':%s,'earliest':%s,'freeFrom':%s,'person':%s",
		    known(m->nodepool), json_bool(words_held_by(m) != NULL),
		    words_held_by(m), until.why, known(m->reason),
		    MOMENT(until.at_ms), json_bool(until.earliest),
		    MOMENT(free == FREE_NOW    ? h->now_ms
			   : free == FREE_THEN ? until.at_ms
					       : STAMP_NONE),
		    words_person(m));
}

void
status_json_machine(struct buf *b, const struct status_head *h,
		    const char *asked, const struct machine_status *m,
		    const struct scope_status *scope)
{
	write_head(b, h, "MachineStatus");
	json_printf(b, ",'name':%s", asked);
	write_verdict(b, h, m, scope);
	json_printf(b, ",'scope':%s",
		    scope != NULL ? words_scope(h, scope->name) : NULL);
	write_restart(b, words_restarted(m, scope));
	json_printf(b, ",'ownDeadline':%s,'booting':%s", MOMENT(m->own_ms),
		    json_bool(m->booting));
	write_half(b, "node", &m->node);
	write_half(b, "nodeClaim", &m->claim);
	write_waits(b, &h->report.waits, scope != NULL ? &scope->waits : NULL);
	buf_puts(b, "}\n");
}

void
status_json_machines(struct buf *b, const struct status_head *h,
		     const struct status_machines *list)
{
	struct scope_status scope;
	struct machine_status m;
	uint64_t left = 0;
	uint32_t shown = 0;

	write_head(b, h, "MachineStatusList");
	json_printf(b, ",'machines':[");
	for (int r = 0; r < MACHINE_RANKS; r++) {
		for (uint32_t i = 0;
		     left == 0 && list->next(list->ctx, (enum machine_rank)r,
					     &i, &m, &scope);
		     shown++) {
			const struct buf was = *b;

			json_printf(b, ",{'name':%s,'nodeClaim':%s",
				    words_row_name(&m), known(m.claim.name));
			write_verdict(b, h, &m, &scope);
			buf_puts(b, "}");
			words_settle(b, &was, b->cap - TAIL_BYTES, &left);
		}
	}
	json_printf(b, "],'leftOut':%llu}\n",
		    (unsigned long long)words_left_out(list, shown, left));
}
