/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "core/base/stamp.h"
#include "status_parts.h"

#define API_VERSION "status.karpenter-node-holder.io/v1"
#define TAIL_BYTES 512	/* for what follows the last item */

/* --- members --------------------------------------------------------------- */

/* Each writes a member whose name is a constant, with the comma before it
 * unless it is the first of its object. */
static void
name(struct buf *b, const char *key)
{
	char last = b->len > 0 ? b->data[b->len - 1] : '{';

	buf_printf(b, "%s\"%s\":", last == '{' ? "" : ",", key);
}

static void
text(struct buf *b, const char *key, const char *value)
{
	name(b, key);
	if (value == NULL)
		buf_puts(b, "null");
	else
		buf_json(b, value);
}

/* "" is unknown. */
static void
text_or_null(struct buf *b, const char *key, const char *value)
{
	text(b, key, value[0] != '\0' ? value : NULL);
}

static void
truth(struct buf *b, const char *key, bool value)
{
	name(b, key);
	buf_puts(b, value ? "true" : "false");
}

static void
number(struct buf *b, const char *key, uint64_t value)
{
	name(b, key);
	buf_printf(b, "%llu", (unsigned long long)value);
}

static void
moment(struct buf *b, const char *key, int64_t ms)
{
	char stamp[STAMP_BYTES];

	if (ms != STAMP_NONE)
		stamp_format(ms, stamp);
	text(b, key, ms != STAMP_NONE ? stamp : NULL);
}

static void
duration(struct buf *b, const char *key, int64_t ms)
{
	char span[DURATION_BYTES];

	if (ms >= 0)
		duration_format(ms / 1000 * 1000, span);
	text(b, key, ms >= 0 ? span : NULL);
}

static void
open_object(struct buf *b, const char *key)
{
	name(b, key);
	buf_puts(b, "{");
}

static void
open_item(struct buf *b)
{
	buf_puts(b, b->len > 0 && b->data[b->len - 1] == '[' ? "{" : ",{");
}

static void
null(struct buf *b, const char *key)
{
	text(b, key, NULL);
}

/* --- the head ---------------------------------------------------------------- */

static void
write_lead(struct buf *b, const struct status_lead *l)
{
	open_object(b, "leader");
	truth(b, "electing", l->electing);
	text_or_null(b, "identity", l->identity);
	moment(b, "since", l->since_ms);
	truth(b, "thisReplica", l->here);
	buf_puts(b, "}");
}

static void
write_admissions(struct buf *b, const struct status_admissions *a)
{
	open_object(b, "admissions");
	open_object(b, "lastMinute");
	number(b, "seconds", a->seconds);
	number(b, "requests", a->held + a->would_hold + a->unchanged +
				      a->refused + a->failed + a->shed);
	number(b, "held", a->held);
	number(b, "wouldHold", a->would_hold);
	number(b, "unchanged", a->unchanged);
	number(b, "refused", a->refused);
	number(b, "failed", a->failed);
	number(b, "shed", a->shed);
	buf_puts(b, "}}");
}

static void
write_patterns(struct buf *b, const char *key, const struct patterns *p)
{
	name(b, key);
	buf_puts(b, "[");
	for (size_t i = 0; i < p->n; i++) {
		buf_puts(b, i == 0 ? "" : ",");
		buf_json(b, p->at[i]);
	}
	buf_puts(b, "]");
}

static void
write_min_scale_up(struct buf *b, const struct rules *r)
{
	if (r->min_scale_up_percent == 0) {
		number(b, "minScaleUp", r->min_scale_up);
		return;
	}
	name(b, "minScaleUp");
	buf_printf(b, "\"%u%%\"", r->min_scale_up_percent);
}

static void
write_rules(struct buf *b, const struct rules *r)
{
	open_object(b, "configuration");
	text(b, "scope", words_scope_kind(r->scope));
	write_min_scale_up(b, r);
	duration(b, "holdDuration", r->hold_ms);
	duration(b, "startupTimeout", r->startup_ms);
	duration(b, "maxHoldDuration", r->cap.max_ms);
	duration(b, "releaseWindow", r->cap.window_ms);
	text(b, "replacements", r->replacements == REPLACEMENTS_COUNT
					? "count"
					: "ignore");
	open_object(b, "holdAnnotation");
	text(b, "key", r->hold.key);
	text(b, "value", r->hold.value);
	buf_puts(b, "}");
	open_object(b, "nodePools");
	write_patterns(b, "include", &r->include);
	write_patterns(b, "exclude", &r->exclude);
	buf_puts(b, "}}");
}

static void
write_head(struct buf *b, const struct status_head *h, const char *kind)
{
	buf_puts(b, "{");
	text(b, "apiVersion", API_VERSION);
	text(b, "kind", kind);
	moment(b, "time", h->now_ms);
	text(b, "mode", h->observe ? "observe" : "enforce");
}

static void
write_views(struct buf *b, const struct status_report *r)
{
	name(b, "views");
	buf_puts(b, "[");
	for (int k = 0; k < VIEW_COUNT; k++) {
		open_item(b);
		text(b, "resource", words_resource((enum kind)k));
		truth(b, "listed", r->listed[k]);
		truth(b, "watching", r->table.up[k]);
		if (k < KIND_COUNT) {
			number(b, "objects", r->table.objects[k]);
			number(b, "held", r->table.held[k]);
		} else {
			null(b, "objects");
			null(b, "held");
		}
		buf_puts(b, "}");
	}
	buf_puts(b, "]");
}

/* --- scopes -------------------------------------------------------------------- */

static void
write_wait(struct buf *b, const struct status_waits *w, unsigned i)
{
	char sentence[WAIT_BYTES];

	words_wait_sentence(sentence, w, i);
	open_item(b);
	text(b, "reason", words_wait(w->at[i].why));
	text(b, "resource", words_resource(w->at[i].kind));
	moment(b, "until", w->at[i].until_ms);
	text(b, "message", sentence);
	buf_puts(b, "}");
}

static void
write_waits(struct buf *b, const struct status_waits *whole,
	    const struct status_waits *own)
{
	name(b, "waitsFor");
	buf_puts(b, "[");
	for (unsigned i = 0; i < whole->n; i++)
		write_wait(b, whole, i);
	for (unsigned i = 0; own != NULL && i < own->n; i++)
		write_wait(b, own, i);
	buf_puts(b, "]");
}

/* s: NULL if there is none. */
static void
write_restart(struct buf *b, const struct scope_status *s)
{
	if (s == NULL || s->machine[0] == '\0') {
		null(b, "restartedBy");
		return;
	}
	open_object(b, "restartedBy");
	text(b, "machine", s->machine);
	moment(b, "time", s->restarted_ms);
	truth(b, "booting", s->booting);
	buf_puts(b, "}");
}

static void
write_hand(struct buf *b, const struct hand_holds *hand)
{
	if (hand->held == 0) {
		null(b, "byHand");
		return;
	}
	open_object(b, "byHand");
	number(b, "nodePools", hand->nodepools);
	number(b, "held", hand->held);
	moment(b, "firstUntil", hand->first_ms);
	moment(b, "lastUntil", hand->last_ms);
	buf_puts(b, "}");
}

static void
write_cap(struct buf *b, const struct scope_status *s)
{
	if (s->cap_max_ms == 0) {
		null(b, "cap");
		return;
	}
	open_object(b, "cap");
	duration(b, "max", s->cap_max_ms);
	duration(b, "used", s->cap_used_ms);
	duration(b, "window", s->cap_window_ms);
	buf_puts(b, "}");
}

static void
write_scope(struct buf *b, const struct status_head *h,
	    const struct scope_status *s)
{
	open_item(b);
	text(b, "name", words_scope(h, s->name));
	text(b, "state", words_scope_state(s->state));
	moment(b, "since", s->since_ms);
	moment(b, "until", s->until_ms);
	truth(b, "untilCap", s->until_cap);
	truth(b, "untilHand", s->until_hand);
	truth(b, "earliest", s->earliest);
	number(b, "machines", s->machines);
	number(b, "minScaleUp", s->min_scale_up);
	write_restart(b, s);
	write_hand(b, &s->by_hand);
	write_cap(b, s);
	write_waits(b, &h->report.waits, &s->waits);
	buf_puts(b, "}");
}

/* --- NodePools ------------------------------------------------------------------ */

static void
write_annotations(struct buf *b, const struct nodepool_status *p)
{
	char value[ANNOTATION_BYTES];

	open_object(b, "annotations");
	for (int k = 0; k < NODEPOOL_KEY_COUNT; k++)
		if (words_annotation(p, (enum nodepool_key)k, value))
			text(b, nodepool_key_name((enum nodepool_key)k), value);
	buf_puts(b, "}");
}

static void
write_invalid(struct buf *b, const struct nodepool_status *p)
{
	char value[NODEPOOL_BAD_BYTES], why[BAD_BYTES];

	name(b, "invalid");
	buf_puts(b, "[");
	for (int k = 0; k < NODEPOOL_KEY_COUNT; k++) {
		if (!words_bad(p, (enum nodepool_key)k, value, why))
			continue;
		open_item(b);
		text(b, "annotation", nodepool_key_name((enum nodepool_key)k));
		text(b, "value", value);
		text(b, "why", why);
		buf_puts(b, "}");
	}
	buf_puts(b, "]");
}

static void
write_nodepool(struct buf *b, const struct nodepool_status *p)
{
	open_item(b);
	text(b, "name", p->nodepool.name);
	number(b, "machines", p->n.machines);
	number(b, "held", p->n.held);
	number(b, "heldByPeople", p->n.by_people);
	number(b, "optedOut", p->n.opted_out);
	number(b, "waiting", p->n.waiting);
	text(b, "leftOut", nodepools_out_name(p->out));
	write_annotations(b, p);
	write_invalid(b, p);
	text_or_null(b, "reason", p->nodepool.reason);
	buf_puts(b, "}");
}

/* --- the history ---------------------------------------------------------------- */

static void
write_turn(struct buf *b, const struct status_head *h, const struct turn *t)
{
	open_item(b);
	moment(b, "time", t->at_ms);
	text(b, "what", journal_what(t->what));
	text(b, "cause", journal_cause(t->cause));
	text(b, "scope", t->nodepool ? NULL : words_scope(h, t->scope));
	text(b, "nodePool", t->nodepool ? t->scope : NULL);
	text_or_null(b, "machine", t->machine);
	duration(b, "heldFor", t->held_ms);
	moment(b, "until", t->until_ms);
	text_or_null(b, "reason", t->reason);
	buf_puts(b, "}");
}

static void
write_items(struct buf *b, const struct status_head *h,
	    const struct status_items *items)
{
	uint64_t scopes = 0, nodepools = 0, turns = 0, before = UINT64_MAX;
	/* Each part may take what those before it have left. */
	size_t room = b->cap - TAIL_BYTES;
	struct buf was;

	name(b, "scopes");
	buf_puts(b, "[");
	was = *b;
	for (struct { uint32_t i; struct scope_status s; } x = {0};
	     items->scope(items->ctx, &x.i, &x.s); was = *b) {
		write_scope(b, h, &x.s);
		words_settle(b, &was, room / 4, &scopes);
	}
	buf_puts(b, "]");
	name(b, "nodePools");
	buf_puts(b, "[");
	was = *b;
	for (struct { uint32_t i; struct nodepool_status p; } x = {0};
	     items->nodepool(items->ctx, &x.i, &x.p); was = *b) {
		write_nodepool(b, &x.p);
		words_settle(b, &was, room / 4 * 3, &nodepools);
	}
	buf_puts(b, "]");
	name(b, "history");
	buf_puts(b, "[");
	was = *b;
	for (struct turn t; items->turn(items->ctx, &before, &t); was = *b) {
		write_turn(b, h, &t);
		words_settle(b, &was, room, &turns);
	}
	buf_puts(b, "]");
	open_object(b, "leftOut");
	number(b, "scopes", scopes);
	number(b, "nodePools", nodepools);
	number(b, "history", turns);
	buf_puts(b, "}");
}

/* In hex: JSON's numbers are too small for it. */
static void
write_authority(struct buf *b, uint64_t id)
{
	char hex[17];

	(void)snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)id);
	text(b, "authority", id != 0 ? hex : NULL);
}

void
status_json(struct buf *b, const struct status_head *h,
	    const struct status_items *items)
{
	write_head(b, h, "HolderStatus");
	text(b, "version", h->version);
	text_or_null(b, "replica", h->replica);
	write_lead(b, &h->lead);
	open_object(b, "certificate");
	truth(b, "valid", h->cert_valid);
	moment(b, "notAfter", h->cert_not_after_ms != 0 ? h->cert_not_after_ms
							: STAMP_NONE);
	write_authority(b, h->cert_authority);
	buf_puts(b, "}");
	write_admissions(b, &h->admissions);
	write_rules(b, h->rules);
	if (h->lead.here) {
		write_views(b, &h->report);
		write_items(b, h, items);
	}
	buf_puts(b, "}\n");
}

/* --- a machine -------------------------------------------------------------------- */

static void
write_half(struct buf *b, const char *key, const struct half_status *h)
{
	if (!h->present) {
		null(b, key);
		return;
	}
	open_object(b, key);
	text(b, "name", h->name);
	text(b, "held", words_half_held(h));
	truth(b, "carriesHold", h->carries);
	moment(b, "heldSince", h->mark_ms);
	truth(b, "deleting", h->deleting);
	if (h->written) {
		open_object(b, "lastWrite");
		text(b, "write", words_write(h->last.act));
		text(b, "outcome", words_outcome(h->last.how));
		moment(b, "time", h->last.at_ms);
		buf_puts(b, "}");
	} else {
		null(b, "lastWrite");
	}
	moment(b, "nextTry", h->again_ms);
	buf_puts(b, "}");
}

/* Whether it is held, why, and until when. */
static void
write_verdict(struct buf *b, const struct status_head *h,
	      const struct machine_status *m, const struct scope_status *scope)
{
	struct machine_until until = words_until(m, scope, h->now_ms);
	enum machine_free free = words_free(h, m, &until);

	text_or_null(b, "nodePool", m->nodepool);
	truth(b, "held", words_held_by(m) != NULL);
	text(b, "by", words_held_by(m));
	text(b, "why", until.why);
	text_or_null(b, "reason", m->reason);
	moment(b, "until", until.at_ms);
	truth(b, "earliest", until.earliest);
	moment(b, "freeFrom", free == FREE_NOW	  ? h->now_ms
			      : free == FREE_THEN ? until.at_ms
						  : STAMP_NONE);
	text(b, "person", words_person(m));
}

void
status_json_machine(struct buf *b, const struct status_head *h,
		    const char *asked, const struct machine_status *m,
		    const struct scope_status *scope)
{
	write_head(b, h, "MachineStatus");
	text(b, "name", asked);
	write_verdict(b, h, m, scope);
	text(b, "scope",
	     scope != NULL ? words_scope(h, scope->name) : NULL);
	write_restart(b, words_restarted(m, scope));
	moment(b, "ownDeadline", m->own_ms);
	truth(b, "booting", m->booting);
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
	name(b, "machines");
	buf_puts(b, "[");
	for (int r = 0; r < MACHINE_RANKS; r++) {
		for (uint32_t i = 0;
		     left == 0 && list->next(list->ctx, (enum machine_rank)r,
					     &i, &m, &scope); shown++) {
			const struct buf was = *b;

			open_item(b);
			text(b, "name", words_row_name(&m));
			text_or_null(b, "nodeClaim", m.claim.name);
			write_verdict(b, h, &m, &scope);
			buf_puts(b, "}");
			words_settle(b, &was, b->cap - TAIL_BYTES, &left);
		}
	}
	buf_puts(b, "]");
	number(b, "leftOut", words_left_out(list, shown, left));
	buf_puts(b, "}\n");
}
