/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/base/duration.h"
#include "core/base/stamp.h"
#include "core/base/str.h"
#include "core/base/utf8.h"
#include "status_parts.h"

/*
 * Writes the answers of /status for a terminal, and for everybody else who
 * reads text.  Everything that comes from the cluster passes through
 * status_text_safe, which replaces each character that would do something to a
 * terminal.
 *
 * Tables are laid out in two passes over the items: the first finds the width
 * of each column.  An item that does not fit is removed and counted
 * (words_settle), so the text always ends with a whole line.  The sentences
 * that other formats also use are in words.c.
 */

#define TURNS_SHOWN 20	/* maximum number of turns shown */
#define TAIL_BYTES 512	/* reserved for what follows the last item */
#define COLUMNS_LEAST 8 /* minimum width of a column of names */
#define ROWS_SHOWN 2000 /* maximum number of machines in the list */

/* --- names, times and durations ------------------------------------------- */

size_t
status_text_safe(struct buf *b, const char *s)
{
	size_t columns = 0, n;
	bool shows;

	for (; *s != '\0'; s += n, columns++) {
		n = utf8_shown(s, &shows);
		if (shows)
			buf_add(b, s, n);
		else
			buf_puts(b, "?");
	}
	return columns;
}

void
status_text_line(struct buf *b, const char *s)
{
	(void)status_text_safe(b, s);
	buf_puts(b, "\n");
}

/* Appends the text, and blanks up to a width. */
static void
column(struct buf *b, const char *s, size_t width)
{
	for (size_t n = status_text_safe(b, s); n < width; n++)
		buf_puts(b, " ");
}

static void
moment(struct buf *b, int64_t ms)
{
	char stamp[STAMP_BYTES];

	if (ms == STAMP_NONE) {
		buf_puts(b, "unknown");
		return;
	}
	stamp_format(ms, stamp);
	buf_puts(b, stamp);
}

static void
span(struct buf *b, int64_t ms)
{
	char text[DURATION_BYTES];

	duration_format(ms / 1000 * 1000, text);
	buf_puts(b, text);
}

/* --- the head ------------------------------------------------------------- */

void
status_text_nobody(struct buf *b, const struct status_head *h)
{
	if (h->lead.waits_for[0] == '\0') {
		buf_puts(b, "nobody, or not known yet");
		return;
	}
	buf_puts(b, "nobody: this replica waits for ");
	(void)status_text_safe(b, h->lead.waits_for);
	buf_puts(b, ", which does not renew the Lease, until ");
	moment(b, h->now_ms + h->lead.wait_ms);
	if (h->lead.wait_ends[0] != '\0')
		buf_printf(b, " (%s ends the wait)", h->lead.wait_ends);
}

static void
write_lead(struct buf *b, const struct status_head *h)
{
	buf_puts(b, "leader       ");
	if (!h->lead.electing) {
		buf_puts(b, "this replica, without an election\n");
		return;
	}
	if (h->lead.here)
		buf_puts(b, "this replica");
	else if (h->lead.identity[0] != '\0')
		(void)status_text_safe(b, h->lead.identity);
	else
		status_text_nobody(b, h);
	if (h->lead.since_ms != STAMP_NONE) {
		buf_puts(b, ", since ");
		moment(b, h->lead.since_ms);
	}
	buf_puts(b, "\n");
}

void
status_text_certificate(struct buf *b, const struct status_head *h)
{
	if (h->cert_not_after_ms == 0) {
		buf_puts(b, "NONE: the webhook cannot be called");
		return;
	}
	buf_puts(b, h->cert_valid ? "valid until " : "NOT VALID; its end: ");
	moment(b, h->cert_not_after_ms);
}

void
status_text_admissions(struct buf *b, const struct status_admissions *a)
{
	const struct {
		const char *name;
		uint64_t n;
	} kinds[] = {
		{"held", a->held},	     {"would be held", a->would_hold},
		{"unchanged", a->unchanged}, {"refused", a->refused},
		{"failed", a->failed},	     {"shed", a->shed}};
	const char *comma = ": ";
	uint64_t all = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		all += kinds[i].n;
	buf_printf(b, "%llu in the last %u s", (unsigned long long)all,
		   a->seconds);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].n == 0)
			continue;
		buf_printf(b, "%s%llu %s", comma,
			   (unsigned long long)kinds[i].n, kinds[i].name);
		comma = ", ";
	}
}

void
status_text_views(struct buf *b, const struct status_head *h)
{
	const struct status_report *r = &h->report;

	for (int k = 0; k < VIEW_COUNT; k++) {
		if (k == KIND_TICKET && !r->table.has_tickets)
			continue;
		buf_printf(b, "%s%s", k > 0 ? ", " : "",
			   words_resource((enum kind)k));
		if (k < KIND_COUNT)
			buf_printf(b, " %u", r->table.objects[k]);
		if (k == KIND_TICKET)
			buf_printf(b, " in %s", h->rules->tickets);
		if (!r->listed[k] || !r->table.up[k])
			buf_puts(b, " (NOT NOW)");
	}
}

static void
write_title(struct buf *b, const struct status_head *h)
{
	buf_printf(b, "karpenter-node-holder %s, ", h->version);
	moment(b, h->now_ms);
	buf_puts(b, h->observe ? ", mode observe: nothing is written, and this "
				 "is what would be\n"
			       : "\n");
}

static void
write_head(struct buf *b, const struct status_head *h)
{
	write_title(b, h);
	buf_puts(b, "replica      ");
	(void)status_text_safe(b, h->replica);
	buf_puts(b, "\n");
	write_lead(b, h);
	buf_puts(b, "certificate  ");
	status_text_certificate(b, h);
	buf_puts(b, "\nadmissions   ");
	status_text_admissions(b, &h->admissions);
	buf_puts(b, h->hold_is_other ? "\nconfig       " STATUS_HOLD : "");
	buf_puts(b,
		 h->config_stale ? "\nconfig       " STATUS_STALE "\n" : "\n");
}

/* Writes that this replica does not lead, and who leads.  The identity begins
 * with the name of the pod. */
static void
write_follower(struct buf *b, const struct status_lead *l)
{
	char pod[NAME_BYTES];

	buf_puts(b, "\nThis replica stands by and knows no machines");
	if (l->restarted) {
		buf_puts(b, STATUS_RESTARTED);
	} else if (l->identity[0] != '\0') {
		(void)str_copy(pod, sizeof(pod), l->identity);
		pod[strcspn(pod, "_")] = '\0';
		buf_puts(b, ": ask the leader, ");
		(void)status_text_safe(b, pod);
	}
	buf_puts(b, ".\n");
}

/* --- scopes, NodePools and the history ------------------------------------ */

static void
write_waits(struct buf *b, size_t indent, const struct status_waits *w)
{
	char sentence[WAIT_BYTES];

	for (unsigned i = 0; i < w->n; i++) {
		words_wait_sentence(sentence, w, i);
		column(b, "", indent);
		buf_printf(b, "waits: %s", sentence);
		if (w->at[i].until_ms != STAMP_NONE) {
			buf_puts(b, " (until ");
			moment(b, w->at[i].until_ms);
			buf_puts(b, ")");
		}
		buf_puts(b, "\n");
	}
}

static void
write_until(struct buf *b, const struct scope_status *s)
{
	if (s->state == SCOPE_QUIET)
		return;
	moment(b, s->until_ms);
	words_end(b, s);
}

static void
write_restart(struct buf *b, const struct scope_status *s)
{
	(void)status_text_safe(b, s->machine);
	buf_puts(b, s->booting ? ", created " : ", ready since ");
	moment(b, s->restarted_ms);
	buf_puts(b, s->booting ? " and not ready yet\n" : "\n");
}

static void
write_hand(struct buf *b, size_t indent, const struct status_head *h,
	   const struct hand_holds *hand)
{
	char words[HAND_BYTES];

	if (hand->held == 0)
		return;
	words_hand(h, hand, words);
	column(b, "", indent);
	buf_printf(b, "%s, until ", words);
	moment(b, hand->last_ms);
	if (hand->first_ms != hand->last_ms) {
		buf_puts(b, ", the first until ");
		moment(b, hand->first_ms);
	}
	buf_puts(b, "\n");
}

static void
write_scope(struct buf *b, size_t width, const struct status_head *h,
	    const struct scope_status *s)
{
	column(b, words_scope(h, s->name), width + 2);
	column(b, words_scope_state(s->state), 10);
	if (s->since_ms == STAMP_NONE)
		column(b, s->state == SCOPE_QUIET ? "" : "unknown", 22);
	else {
		moment(b, s->since_ms);
		buf_puts(b, "  ");
	}
	write_until(b, s);
	while (b->len > 0 && b->data[b->len - 1] == ' ')
		b->data[--b->len] = '\0';
	buf_puts(b, "\n");
	if (s->machine[0] != '\0') {
		column(b, "", width + 2);
		buf_puts(b, "restarted by ");
		write_restart(b, s);
	}
	write_hand(b, width + 2, h, &s->by_hand);
	if (s->min_scale_up > 1) {
		column(b, "", width + 2);
		buf_printf(b, "held from %u new machines on\n",
			   s->min_scale_up);
	}
	if (s->cap_max_ms != 0) {
		column(b, "", width + 2);
		buf_puts(b, "cap ");
		span(b, s->cap_max_ms);
		buf_puts(b, ", of which ");
		span(b, s->cap_used_ms);
		buf_puts(b, " are used\n");
	}
	write_waits(b, width + 2, &s->waits);
}

static void
write_annotations(struct buf *b, size_t indent, const struct nodepool_status *p)
{
	char value[NODEPOOL_BAD_BYTES], why[BAD_BYTES];
	const char *out = nodepools_out_name(p->out);

	_Static_assert(ANNOTATION_BYTES <= NODEPOOL_BAD_BYTES, "value");
	if (out != NULL) {
		column(b, "", indent);
		buf_printf(b, "left out: %s\n", out);
	}
	for (int k = 0; k < NODEPOOL_KEY_COUNT; k++) {
		const char *key = nodepool_key_name((enum nodepool_key)k) +
				  strlen(OWN_PREFIX);

		if (words_annotation(p, (enum nodepool_key)k, value)) {
			column(b, "", indent);
			buf_printf(b, "%s: %s\n", key, value);
		}
		if (!words_bad(p, (enum nodepool_key)k, value, why))
			continue;
		column(b, "", indent);
		buf_printf(b, "%s: \"", key);
		(void)status_text_safe(b, value);
		buf_printf(b, "\" does not count, %s\n", why);
	}
	if (p->nodepool.reason[0] != '\0') {
		column(b, "", indent);
		buf_puts(b, "reason: ");
		(void)status_text_safe(b, p->nodepool.reason);
		buf_puts(b, "\n");
	}
	if (p->by_ticket) {
		column(b, "", indent);
		buf_puts(b, "held until ");
		moment(b, nodepool_until_ms(&p->nodepool));
		buf_puts(b, " by ");
		(void)status_text_safe(b, p->ticket);
		buf_printf(b, "%s\n", words_least(p));
	}
	for (int i = 0; i < 2; i++) {
		if (p->also[i].words[0] == '\0')
			continue;
		column(b, "", indent);
		buf_puts(b, "also held until ");
		moment(b, p->also[i].until_ms);
		buf_puts(b, " by ");
		(void)status_text_safe(b, p->also[i].words);
		buf_puts(b, "\n");
	}
}

static void
write_nodepool(struct buf *b, size_t width, const struct nodepool_status *p)
{
	column(b, p->nodepool.name, width);
	buf_printf(b, "  %8u  %4u  %9u  %9u", p->n.machines, p->n.held,
		   p->n.by_people, p->n.opted_out);
	if (p->n.waiting > 0)
		buf_printf(b, "  %u writes failed and wait", p->n.waiting);
	buf_puts(b, "\n");
	write_annotations(b, width + 2, p);
}

static void
write_turn(struct buf *b, const struct status_head *h, const struct turn *t)
{
	moment(b, t->at_ms);
	buf_puts(b, t->nodepool ? "  NodePool " : "  ");
	(void)status_text_safe(b, t->nodepool ? t->scope
					      : words_scope(h, t->scope));
	buf_printf(b, " %s: %s", journal_what(t->what),
		   journal_cause(t->cause));
	if (t->until_ms != STAMP_NONE) {
		buf_puts(b, " ");
		moment(b, t->until_ms);
	}
	if (t->held_ms >= 0) {
		buf_puts(b, ", held for ");
		span(b, t->held_ms);
	}
	if (t->machine[0] != '\0') {
		buf_puts(b, ", machine ");
		(void)status_text_safe(b, t->machine);
	}
	if (t->reason[0] != '\0') {
		buf_puts(b, ", reason: ");
		(void)status_text_safe(b, t->reason);
	}
	buf_puts(b, "\n");
}

static void
tell_left(struct buf *b, uint64_t left, const char *where)
{
	if (left > 0)
		buf_printf(b, "… and %llu more%s\n", (unsigned long long)left,
			   where);
}

static size_t
wider(size_t width, const char *s)
{
	return strlen(s) > width ? strlen(s) : width;
}

static void
write_scopes(struct buf *b, const struct status_head *h,
	     const struct status_items *items)
{
	size_t width = COLUMNS_LEAST - 1;
	struct scope_status s;
	uint64_t left = 0;
	struct buf was;

	if (h->rules->scope == SCOPE_NODE) {
		buf_puts(b, "\nEach machine is held by itself (scope node).\n");
		return;
	}
	for (uint32_t i = 0; items->scope(items->ctx, &i, &s);)
		width = wider(width, words_scope(h, s.name));
	buf_puts(b, "\n");
	column(b, "SCOPE", width + 2);
	buf_puts(b, "STATE     SINCE                 UNTIL\n");
	for (uint32_t i = 0; was = *b, items->scope(items->ctx, &i, &s);) {
		write_scope(b, width, h, &s);
		words_settle(b, &was, (b->cap - TAIL_BYTES) / 4, &left);
	}
	tell_left(b, left, "");
	write_waits(b, 0, &h->report.waits);
}

static void
write_nodepools(struct buf *b, const struct status_items *items)
{
	size_t width = COLUMNS_LEAST;
	struct nodepool_status p;
	uint64_t left = 0;
	struct buf was;

	for (uint32_t i = 0; items->nodepool(items->ctx, &i, &p);)
		width = wider(width, p.nodepool.name);
	buf_puts(b, "\n");
	column(b, "NODEPOOL", width);
	buf_puts(b, "  MACHINES  HELD  BY PEOPLE  OPTED OUT\n");
	for (uint32_t i = 0; was = *b, items->nodepool(items->ctx, &i, &p);) {
		write_nodepool(b, width, &p);
		words_settle(b, &was, (b->cap - TAIL_BYTES) / 4 * 3, &left);
	}
	tell_left(b, left, "");
}

/* Writes a line for each ticket that holds nothing or less than it asks for. */
static void
write_tickets(struct buf *b, const struct status_items *items)
{
	struct ticket_status t;
	uint64_t left = 0;
	bool first = true;
	struct buf was;

	for (uint32_t i = 0; was = *b, items->ticket(items->ctx, &i, &t);) {
		if (words_ticket(&t) == NULL)
			continue;
		buf_puts(b, first ? "\nticket " : "ticket ");
		(void)status_text_safe(b, t.name);
		if (t.holder[0] != '\0') {
			buf_puts(b, " of ");
			(void)status_text_safe(b, t.holder);
		}
		buf_printf(b, ": %s", words_ticket(&t));
		if (t.ahead_ms > 0) {
			buf_puts(b, " (by ");
			span(b, t.ahead_ms);
			buf_puts(b, ")");
		}
		buf_puts(b, "\n");
		first = false;
		words_settle(b, &was, (b->cap - TAIL_BYTES) / 8 * 7, &left);
	}
	tell_left(b, left, " with a problem");
}

static void
write_history(struct buf *b, const struct status_head *h,
	      const struct status_items *items)
{
	uint64_t before = UINT64_MAX, left = 0;
	unsigned shown = 0;
	struct turn t;
	struct buf was;

	buf_puts(b, "\nTHE LAST 24 HOURS\n");
	while (was = *b, items->turn(items->ctx, &before, &t)) {
		if (shown++ < TURNS_SHOWN)
			write_turn(b, h, &t);
		words_settle(b, &was,
			     shown > TURNS_SHOWN ? 0 : b->cap - TAIL_BYTES,
			     &left);
	}
	if (shown == 0)
		buf_puts(b, "nothing, as far as is known\n");
	tell_left(b, left, ", in the JSON");
}

void
status_text(struct buf *b, const struct status_head *h,
	    const struct status_items *items)
{
	char left[LEFT_BYTES];

	write_head(b, h);
	if (!h->lead.here) {
		write_follower(b, &h->lead);
		return;
	}
	buf_puts(b, "watching     ");
	status_text_views(b, h);
	buf_puts(b, "\n");
	if (words_left(left, h))
		buf_printf(b, "left behind  %s\n", left);
	write_scopes(b, h, items);
	write_nodepools(b, items);
	if (h->report.table.has_tickets)
		write_tickets(b, items);
	write_history(b, h, items);
}

/* --- a machine ------------------------------------------------------------ */

static void
write_half(struct buf *b, const char *what, bool observe,
	   const struct half_status *h)
{
	const char *by = words_half_held(h);

	if (!h->present)
		return;
	column(b, what, 14);
	(void)status_text_safe(b, h->name);
	if (by == NULL)
		buf_puts(b, ", not held");
	else if (by[0] == 'p')
		buf_puts(b, ", held by a person");
	else
		buf_puts(b, observe ? ", would be held" : ", held");
	if (by != NULL && h->mark_ms != STAMP_NONE) {
		buf_puts(b, " since ");
		moment(b, h->mark_ms);
	}
	if (h->deleting)
		buf_puts(b, ", being deleted");
	if (h->written) {
		buf_printf(b, "; last write: %s, %s ", words_write(h->last.act),
			   words_outcome(h->last.how));
		moment(b, h->last.at_ms);
	}
	if (h->again_ms != STAMP_NONE) {
		buf_puts(b, "; tried again at ");
		moment(b, h->again_ms);
	}
	buf_puts(b, "\n");
}

/* Writes when Karpenter may disrupt the machine. */
static void
write_free(struct buf *b, const struct status_head *h,
	   const struct machine_status *m, const struct scope_status *scope)
{
	static const char *const words[] = {
		[FREE_NOW] = "may take it now\n",
		[FREE_SOON] = "may take it once the hold is removed, which is "
			      "due\n",
		[FREE_UNKNOWN] = "leaves it alone, nobody knows until when\n",
		[FREE_PERSON] = "leaves it alone until that person removes "
				"the hold\n",
	};
	struct machine_until until = words_until(m, scope, h->now_ms);
	enum machine_free free = words_free(h, m, &until);

	if (free == FREE_UNSAID)
		return;
	buf_puts(b, "karpenter     ");
	if (free != FREE_THEN) {
		buf_puts(b, words[free]);
		return;
	}
	buf_puts(b, "may take it from ");
	moment(b, until.at_ms);
	buf_printf(b, " on%s, if nothing else happens\n",
		   until.earliest ? " at the earliest" : "");
}

static bool
is_held_by_person(const struct machine_status *m)
{
	const char *by = words_held_by(m);

	return by != NULL && by[0] == 'p';
}

static void
write_verdict(struct buf *b, const struct status_head *h, const char *name,
	      const struct machine_status *m, const struct scope_status *scope)
{
	struct machine_until until = words_until(m, scope, h->now_ms);
	const char *by = words_held_by(m);

	(void)status_text_safe(b, name);
	/* A quiet time or a hold of its NodePool does not end this hold. */
	if (is_held_by_person(m)) {
		buf_puts(b, " is held by a person, who alone ends this\n");
		until.why = NULL;
	} else {
		buf_puts(b, by == NULL	 ? h->observe ? " would not be held"
						      : " is not held"
			    : h->observe ? " would be held by the holder"
					 : " is held by the holder");
	}
	if (until.why != NULL && until.at_ms != STAMP_NONE) {
		buf_puts(b, by == NULL ? "; its quiet time ends " : " until ");
		moment(b, until.at_ms);
		buf_puts(b, until.earliest ? " at the earliest" : "");
	}
	if (until.why != NULL)
		buf_printf(b, ": %s\n", until.why);
	if (h->observe && (m->node.carries || m->claim.carries))
		buf_puts(b,
			 "left behind   hold and mark of a holder that "
			 "enforced keep Karpenter off until uninstall or mode "
			 "enforce\n");
}

void
status_text_machine(struct buf *b, const struct status_head *h,
		    const char *name, const struct machine_status *m,
		    const struct scope_status *scope)
{
	const char *person = words_person(m);

	write_verdict(b, h, name, m, scope);
	if (m->reason[0] != '\0' && !is_held_by_person(m)) {
		buf_puts(b, "reason        ");
		status_text_line(b, m->reason);
	}
	if (words_restarted(m, scope) != NULL) {
		buf_puts(b, "because of    ");
		write_restart(b, scope);
	}
	write_free(b, h, m, scope);
	buf_puts(b, "nodepool      ");
	(void)status_text_safe(b,
			       m->nodepool[0] != '\0' ? m->nodepool : "none");
	buf_puts(b, "\nscope         ");
	(void)status_text_safe(b, scope != NULL ? words_scope(h, scope->name)
						: "none");
	buf_puts(b, "\nown deadline  ");
	if (m->own_ms == STAMP_NONE)
		buf_puts(b, "none");
	else
		moment(b, m->own_ms);
	buf_puts(b, m->booting ? ", not ready yet\n" : "\n");
	if (person != NULL)
		buf_printf(b, "person        %s: the holder leaves it alone\n",
			   person[0] == 'h'   ? "holds it"
			   : person[0] == 'r' ? "took its hold off"
					      : "gave the annotation another "
						"value");
	write_half(b, "node", h->observe, &m->node);
	write_half(b, "nodeclaim", h->observe, &m->claim);
	write_waits(b, 0, &h->report.waits);
	if (scope != NULL)
		write_waits(b, 0, &scope->waits);
}

/* --- all machines --------------------------------------------------------- */

struct widths {
	size_t name, nodepool;
};

static void
write_row(struct buf *b, const struct widths *w, const struct status_head *h,
	  const struct machine_status *m, const struct scope_status *scope)
{
	struct machine_until until = words_until(m, scope, h->now_ms);
	char why[ROW_WHY_BYTES], stamp[STAMP_BYTES] = "";
	bool with_reason;

	words_row_why(m, &until, why, &with_reason);
	if (until.at_ms != STAMP_NONE)
		stamp_format(until.at_ms, stamp);
	column(b, words_row_name(m), w->name + 2);
	column(b, m->nodepool, w->nodepool + 2);
	column(b, words_row_by(m), 9);
	column(b, stamp, 20);
	buf_puts(b, until.earliest ? " or later  " : "           ");
	buf_puts(b, why);
	if (with_reason) {
		buf_puts(b, ": ");
		(void)status_text_safe(b, m->reason);
	}
	buf_puts(b, "\n");
}

/* Writes the rows.  If b is NULL, it only finds the widths of the columns. */
static uint64_t
write_rows(struct buf *b, struct widths *w, const struct status_head *h,
	   const struct status_machines *list)
{
	struct scope_status scope;
	struct machine_status m;
	uint64_t left = 0;
	uint32_t shown = 0;

	for (int r = 0; r < MACHINE_RANKS; r++) {
		for (uint32_t i = 0; left == 0 && shown < ROWS_SHOWN &&
				     list->next(list->ctx, (enum machine_rank)r,
						&i, &m, &scope);
		     shown++) {
			struct buf was;

			if (b == NULL) {
				w->name = wider(w->name, words_row_name(&m));
				w->nodepool = wider(w->nodepool, m.nodepool);
				continue;
			}
			was = *b;
			write_row(b, w, h, &m, &scope);
			words_settle(b, &was, b->cap - TAIL_BYTES, &left);
		}
	}
	if (shown == ROWS_SHOWN && left == 0 && list->total > shown)
		return list->total - shown;
	return words_left_out(list, shown, left);
}

void
status_text_machines(struct buf *b, const struct status_head *h,
		     const struct status_machines *list)
{
	struct widths w = {COLUMNS_LEAST, COLUMNS_LEAST};
	uint64_t left;

	write_title(b, h);
	buf_puts(b, "\n");
	(void)write_rows(NULL, &w, h, list);
	column(b, "NAME", w.name + 2);
	column(b, "NODEPOOL", w.nodepool + 2);
	buf_puts(b, "HELD BY  UNTIL                          WHY\n");
	left = write_rows(b, &w, h, list);
	tell_left(b, left, ": ask for one NodePool");
	if (list->total == 0)
		buf_puts(b, "no machines\n");
	write_waits(b, 0, &h->report.waits);
}
