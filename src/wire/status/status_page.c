/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/duration.h"
#include "core/base/stamp.h"
#include "core/base/str.h"
#include "status_parts.h"

/*
 * Writes for a browser what status_text.c writes for a terminal: the page of
 * /status, and the list of machines.  All links are relative, because the page
 * may be behind the API server's proxy.  The page has no script, and its style
 * is that of status_html.c, which also has the functions that escape.
 *
 * People read a page, so each list also has a maximum length, and its most
 * important items come first.  An item that does not fit is removed and
 * counted, so the page is always complete HTML.
 */

/* Maximum numbers of items in the lists of the page.  MACHINES_SHOWN is for the
 * list of machines, which is an answer of its own. */
#define SCOPES_SHOWN 20
#define NODEPOOLS_SHOWN 100
#define TURNS_SHOWN 30
#define MACHINES_SHOWN 500
/* Bytes that are reserved for what follows the last machine. */
#define LIST_TAIL_BYTES 512
/* Bytes that are reserved for the parts of the page that have no bound of their
 * own: axis, legend, headings, this replica. */
#define TAIL_BYTES 16384

/* --- the head ------------------------------------------------------------- */

struct tally {
	unsigned scopes, held, capped;
	struct scope_status held_one;
};

static void
count_scopes(const struct status_items *items, struct tally *t)
{
	struct scope_status s;

	for (uint32_t i = 0; items->scope(items->ctx, &i, &s); t->scopes++) {
		if (s.state == SCOPE_HELD && t->held++ == 0)
			t->held_one = s;
		t->capped += s.state == SCOPE_CAPPED;
	}
}

static bool
is_by_hand(const struct nodepool_status *p)
{
	return p->by_hand || p->by_ticket;
}

/* Writes " until …" with the time at which the scope's state ends, and what
 * ends the state or why it may end later. */
static void
put_until(struct buf *b, const struct status_head *h,
	  const struct scope_status *s)
{
	if (s->state == SCOPE_QUIET)
		return;
	if (s->until_ms == STAMP_NONE) {
		buf_puts(b, ", nobody knows until when");
		return;
	}
	buf_puts(b, " until ");
	html_moment(b, s->until_ms, h->now_ms);
	words_end(b, s);
}

static void
put_scope(struct buf *b, const struct status_head *h, const char *name)
{
	name = words_scope(h, name);
	html_name(b, name[0] != '\0' ? name : "machines without a NodePool");
}

static const char *
state_of(const struct status_head *h, const struct tally *t)
{
	if (!h->lead.here)
		return "stands by";
	if (t->held > 0 ||
	    (h->rules->scope == SCOPE_NODE && h->report.table.timers > 0))
		return "held";
	return t->capped > 0	  ? "released"
	       : h->hand.held > 0 ? "partly held"
				  : "quiet";
}

/* Writes a sentence such as "1 of 2 NodePools is held by tickets, until …. " */
static void
put_hand(struct buf *b, const struct status_head *h,
	 const struct hand_holds *hand)
{
	char words[HAND_BYTES];

	words_hand(h, hand, words);
	buf_printf(b, "%s, until ", words);
	html_moment(b, hand->last_ms, h->now_ms);
	if (hand->first_ms != hand->last_ms) {
		buf_puts(b, ", the first until ");
		html_moment(b, hand->first_ms, h->now_ms);
	}
	buf_puts(b, ". ");
}

static void
put_counts(struct buf *b, const struct status_head *h)
{
	const struct controller_report *r = &h->report.table;
	const uint32_t *held = h->observe ? r->would : r->held;

	buf_printf(b, "%s%u of %u Nodes %s the holder's hold",
		   h->observe ? "With mode enforce, " : "", held[KIND_NODE],
		   r->objects[KIND_NODE], h->observe ? "would carry" : "carry");
	if (held[KIND_NODECLAIM] > 0)
		buf_printf(b, ", and %u NodeClaim%s", held[KIND_NODECLAIM],
			   held[KIND_NODECLAIM] == 1 ? "" : "s");
	buf_puts(b, ".");
}

/* Writes the main sentence of the page: what is held, and until when. */
static void
put_verdict(struct buf *b, const struct status_head *h, const struct tally *t)
{
	buf_printf(b, "<p class=\"v %s\">", state_of(h, t));
	if (h->rules->scope == SCOPE_NODE) {
		buf_puts(b, "Each machine is held by itself (scope node). ");
	} else if (t->held == 1) {
		buf_puts(b, "The scope ");
		put_scope(b, h, t->held_one.name);
		buf_puts(b, h->observe ? " would be held" : " is held");
		put_until(b, h, &t->held_one);
		buf_puts(b, ". ");
	} else if (t->held > 1) {
		buf_printf(b, "%u of %u scopes %s held. ", t->held, t->scopes,
			   h->observe ? "would be" : "are");
	} else if (t->capped > 0) {
		buf_printf(b,
			   "%u of %u scopes %s busy, and released by %s "
			   "cap. ",
			   t->capped, t->scopes, t->capped == 1 ? "is" : "are",
			   t->capped == 1 ? "its" : "their");
	} else {
		buf_puts(b, h->hand.held > 0
				    ? "No scope is held. "
				    : "All is quiet: no scope is held. ");
	}
	if (h->hand.held > 0)
		put_hand(b, h, &h->hand);
	put_counts(b, h);
	buf_puts(b, "</p>");
}

static void
put_nobody(struct buf *b, const struct status_head *h)
{
	char line[1024];
	struct buf t;

	buf_init(&t, line, sizeof(line));
	status_text_nobody(&t, h);
	html_text(b, line);
}

/* Writes that this replica does not lead, and who leads.  The identity begins
 * with the name of the pod. */
static void
put_follower(struct buf *b, const struct status_head *h)
{
	const struct status_lead *l = &h->lead;
	char pod[NAME_BYTES];

	buf_puts(b, "<p class=\"v\">This replica stands by and knows no "
		    "machines");
	if (l->restarted) {
		buf_puts(b, STATUS_RESTARTED ".</p>");
		return;
	}
	buf_puts(b, ". ");
	if (l->identity[0] == '\0') {
		buf_puts(b, "Leader: ");
		put_nobody(b, h);
		buf_puts(b, ".</p>");
		return;
	}
	(void)str_copy(pod, sizeof(pod), l->identity);
	pod[strcspn(pod, "_")] = '\0';
	buf_puts(b, "The leader is ");
	html_name(b, pod);
	buf_puts(b, ": <code>kubectl karpenter-holder open</code> leads to its "
		    "page.</p>");
}

static void
put_time(struct buf *b, const struct status_head *h)
{
	char now[STAMP_BYTES];

	stamp_format(h->now_ms, now);
	buf_printf(b,
		   " of <time datetime=\"%s\">%.10s %.8s</time> by the API "
		   "server's clock; all times are UTC.",
		   now, now, now + 11);
}

static void
put_renewal(struct buf *b, const struct status_head *h)
{
	char last[DURATION_BYTES];

	duration_format(h->view.last_ms, last);
	buf_puts(b, "<p class=\"d\">As");
	put_time(b, h);
	buf_printf(b, " %s <a href=\"./?last=%s%s</a>.</p>",
		   h->view.still
			   ? "This page does not renew itself:"
			   : "This page renews itself every " STATUS_REFRESH
			     " s:",
		   last,
		   h->view.still ? "\">renew it" : "&amp;refresh=off\">stop");
}

static void
put_waits(struct buf *b, const struct status_head *h,
	  const struct status_waits *w)
{
	char sentence[WAIT_BYTES];

	for (unsigned i = 0; i < w->n; i++) {
		words_wait_sentence(sentence, w, i);
		buf_printf(b, "<p class=\"x\">Waits: %s", sentence);
		if (w->at[i].until_ms != STAMP_NONE) {
			buf_puts(b, ", until ");
			html_moment(b, w->at[i].until_ms, h->now_ms);
		}
		buf_puts(b, ".</p>");
	}
}

static void
put_observe(struct buf *b, const struct status_head *h)
{
	if (h->observe)
		buf_puts(b, "<p class=\"x\">Mode observe: nothing is written, "
			    "and this is what would be.</p>");
}

static void
put_head(struct buf *b, const struct status_head *h, const struct tally *t)
{
	char title[64], left[LEFT_BYTES];

	(void)snprintf(title, sizeof(title), "%s | karpenter-node-holder",
		       state_of(h, t));
	html_begin(b, title);
	buf_puts(b, "<header><h1>karpenter-node-holder</h1>");
	if (h->lead.here)
		put_verdict(b, h, t);
	else
		put_follower(b, h);
	put_renewal(b, h);
	put_observe(b, h);
	if (h->cert_not_after_ms == 0 || !h->cert_valid)
		buf_puts(b, "<p class=\"x\">There is no valid certificate: the "
			    "webhook cannot be called.</p>");
	if (h->lead.here && words_left(left, h))
		buf_printf(b, "<p class=\"x\">Left behind: %s.</p>", left);
	if (h->lead.here)
		put_waits(b, h, &h->report.waits);
	buf_puts(b, "</header>\n<main>");
}

/* --- scopes --------------------------------------------------------------- */

static void
put_scope_item(struct buf *b, const struct status_head *h,
	       const struct scope_status *s)
{
	const char *state = words_scope_state(s->state);

	buf_puts(b, "<li class=\"s\"><h3>");
	put_scope(b, h, s->name);
	buf_printf(b, " <span class=\"b %s\">%s</span></h3><p>%u machine%s, %s",
		   state, state, s->machines, s->machines == 1 ? "" : "s",
		   state);
	if (s->since_ms != STAMP_NONE) {
		buf_puts(b, " since ");
		html_moment(b, s->since_ms, h->now_ms);
	}
	put_until(b, h, s);
	buf_puts(b, ".</p>");
	if (s->by_hand.held > 0) {
		buf_puts(b, "<p>");
		put_hand(b, h, &s->by_hand);
		buf_puts(b, "</p>");
	}
	if (s->machine[0] != '\0') {
		buf_puts(b, "<p>Restarted by ");
		html_machine(b, "status/machines", s->machine);
		buf_puts(b, s->booting ? ", created " : ", ready since ");
		html_moment(b, s->restarted_ms, h->now_ms);
		buf_puts(b, s->booting ? " and not ready yet.</p>" : ".</p>");
	}
	if (s->min_scale_up > 1)
		buf_printf(b,
			   "<p class=\"d\">Held from %u new machines "
			   "on.</p>",
			   s->min_scale_up);
	if (s->cap_max_ms != 0) {
		buf_puts(b, "<p class=\"d\">Cap ");
		html_span(b, s->cap_max_ms);
		buf_puts(b, ", of which ");
		html_span(b, s->cap_used_ms);
		buf_puts(b, " are used.</p>");
	}
	put_waits(b, h, &s->waits);
	buf_puts(b, "</li>\n");
}

static void
put_left(struct buf *b, uint64_t left)
{
	if (left > 0)
		buf_printf(b,
			   "<p class=\"d\">… and %llu more, in the "
			   "<a href=\"status?format=json\">JSON</a></p>",
			   (unsigned long long)left);
}

static void
put_scopes(struct buf *b, const struct status_head *h,
	   const struct status_items *items, size_t limit)
{
	struct scope_status s;
	uint64_t left = 0;
	unsigned shown = 0;

	if (h->rules->scope == SCOPE_NODE)
		return;
	buf_puts(b, "<section><h2>Scopes</h2><ul>");
	for (int quiet = 0; quiet < 2; quiet++) {
		for (uint32_t i = 0; items->scope(items->ctx, &i, &s);) {
			const struct buf was = *b;

			if ((s.state == SCOPE_QUIET) != quiet)
				continue;
			if (shown++ < SCOPES_SHOWN)
				put_scope_item(b, h, &s);
			words_settle(b, &was, shown > SCOPES_SHOWN ? 0 : limit,
				     &left);
		}
	}
	buf_puts(b, "</ul>");
	if (shown == 0)
		buf_puts(b, "<p>No scope has machines.</p>");
	put_left(b, left);
	buf_puts(b, "</section>\n");
}

/* --- the timeline --------------------------------------------------------- */

static const struct {
	const char *value, *words;
	int64_t ms;
} spans[] = {{"1h", "1 hour", 3600000},
	     {"6h", "6 hours", 21600000},
	     {"24h", "24 hours", JOURNAL_MS}};
#define SPANS_N (sizeof(spans) / sizeof(spans[0]))

/* Returns the shortest span in which the latest hold began. */
static int64_t
span_of(const struct status_head *h, const struct status_items *items)
{
	uint64_t before = UINT64_MAX;
	size_t i = 0;
	struct turn t;

	if (!items->turn(items->ctx, &before, &t))
		return spans[0].ms;
	while (i + 1 < SPANS_N &&
	       h->now_ms - t.at_ms + (t.held_ms > 0 ? t.held_ms : 0) >
		       spans[i].ms)
		i++;
	return spans[i].ms;
}

static void
put_timeline(struct buf *b, const struct status_head *h,
	     const struct status_items *items, size_t limit)
{
	buf_puts(b, "<section><h2>The last ");
	html_span(b, h->view.last_ms);
	buf_puts(b, "</h2><nav aria-label=\"Timeline\"><p class=\"k\">");
	for (size_t i = 0; i < SPANS_N; i++) {
		if (spans[i].ms == h->view.last_ms)
			buf_printf(b, "<b>%s</b> ", spans[i].words);
		else
			buf_printf(b, "<a href=\"./?last=%s%s\">%s</a> ",
				   spans[i].value,
				   h->view.still ? "&amp;refresh=off" : "",
				   spans[i].words);
	}
	buf_puts(b, "</p></nav>");
	status_timeline(b, h, items, limit);
	buf_puts(b, "</section>\n");
}

/* --- NodePools ------------------------------------------------------------ */

static bool
has_bad(const struct nodepool_status *p)
{
	char value[NODEPOOL_BAD_BYTES], why[BAD_BYTES];

	for (int k = 0; k < NODEPOOL_KEY_COUNT; k++)
		if (words_bad(p, (enum nodepool_key)k, value, why))
			return true;
	return false;
}

/* Returns the rank of the NodePool in the list: 0 if a person has to act or has
 * acted, 1 if something is held, and 2 otherwise. */
static int
rank(const struct nodepool_status *p)
{
	if (p->n.waiting > 0 || is_by_hand(p) || has_bad(p))
		return 0;
	return p->n.held + p->n.by_people + p->n.opted_out > 0 ? 1 : 2;
}

static void
put_annotations(struct buf *b, const struct status_head *h,
		const struct nodepool_status *p)
{
	char value[NODEPOOL_BAD_BYTES], why[BAD_BYTES];
	const char *out = nodepools_out_name(p->out);

	_Static_assert(ANNOTATION_BYTES <= NODEPOOL_BAD_BYTES, "value");
	if (p->n.waiting > 0)
		buf_printf(b,
			   "<p class=\"x\">%u writes failed, and wait to be "
			   "tried again.</p>",
			   p->n.waiting);
	if (out != NULL)
		buf_printf(b, "<p>left out: %s</p>", out);
	for (int k = 0; k < NODEPOOL_KEY_COUNT; k++) {
		const char *key = nodepool_key_name((enum nodepool_key)k) +
				  strlen(OWN_PREFIX);

		if (words_annotation(p, (enum nodepool_key)k, value))
			buf_printf(b, "<p>%s: %s</p>", key, value);
		if (!words_bad(p, (enum nodepool_key)k, value, why))
			continue;
		buf_printf(b, "<p class=\"x\">%s: &quot;", key);
		html_name(b, value);
		buf_printf(b, "&quot; does not count, %s</p>", why);
	}
	if (p->nodepool.reason[0] != '\0') {
		buf_puts(b, "<p>reason: ");
		html_name(b, p->nodepool.reason);
		buf_puts(b, "</p>");
	}
	if (p->by_ticket) {
		buf_puts(b, "<p>held until ");
		html_moment(b, nodepool_until_ms(&p->nodepool), h->now_ms);
		buf_puts(b, " by ");
		html_name(b, p->ticket);
		buf_printf(b, "%s</p>", words_least(p));
	}
}

static void
put_nodepool(struct buf *b, const struct status_head *h,
	     const struct nodepool_status *p)
{
	struct buf was;
	size_t len;

	buf_puts(b, "<tr><th scope=\"row\">");
	html_name(b, p->nodepool.name);
	buf_printf(b,
		   "</th><td class=\"r\">%u</td><td class=\"r\">%u</td>"
		   "<td class=\"r\">%u</td><td class=\"r\">%u</td></tr>\n",
		   p->n.machines, p->n.held, p->n.by_people, p->n.opted_out);
	was = *b;
	buf_puts(b, "<tr class=\"i\"><td colspan=\"5\">");
	len = b->len;
	put_annotations(b, h, p);
	if (b->len > len || b->full) {
		buf_puts(b, "</td></tr>\n");
		return;
	}
	*b = was;
	b->data[b->len] = '\0';
}

static void
put_nodepools(struct buf *b, const struct status_head *h,
	      const struct status_items *items, size_t limit)
{
	struct nodepool_status p;
	uint64_t left = 0;
	unsigned shown = 0;

	buf_puts(b, "<section><h2>NodePools</h2><table><thead><tr>"
		    "<th scope=\"col\">NodePool</th>"
		    "<th scope=\"col\" class=\"r\">Machines</th>"
		    "<th scope=\"col\" class=\"r\">Held</th>"
		    "<th scope=\"col\" class=\"r\">By people</th>"
		    "<th scope=\"col\" class=\"r\">Opted out</th>"
		    "</tr></thead><tbody>\n");
	for (int r = 0; r < 3; r++) {
		for (uint32_t i = 0; items->nodepool(items->ctx, &i, &p);) {
			const struct buf was = *b;

			if (rank(&p) != r)
				continue;
			if (shown++ < NODEPOOLS_SHOWN)
				put_nodepool(b, h, &p);
			words_settle(b, &was,
				     shown > NODEPOOLS_SHOWN ? 0 : limit,
				     &left);
		}
	}
	buf_puts(b, "</tbody></table>");
	if (shown == 0)
		buf_puts(b, "<p>No NodePool has been seen.</p>");
	put_left(b, left);
	buf_puts(b, "</section>\n");
}

/* --- the history ---------------------------------------------------------- */

static void
put_turn(struct buf *b, const struct status_head *h, const struct turn *t)
{
	buf_puts(b, "<tr><td>");
	html_moment(b, t->at_ms, h->now_ms);
	buf_puts(b, "</td><td>");
	if (t->nodepool) {
		buf_puts(b, "NodePool ");
		html_name(b, t->scope);
	} else {
		put_scope(b, h, t->scope);
	}
	buf_printf(b, " %s: %s", journal_what(t->what),
		   journal_cause(t->cause));
	/* The hold may have ended before this time, so nothing says how far
	 * away it is. */
	if (t->until_ms != STAMP_NONE) {
		buf_puts(b, " ");
		html_time(b, t->until_ms, h->now_ms);
	}
	if (t->held_ms >= 0) {
		buf_puts(b, ", held for ");
		html_span(b, t->held_ms);
	}
	if (t->machine[0] != '\0') {
		buf_puts(b, ", machine ");
		html_machine(b, "status/machines", t->machine);
	}
	if (t->reason[0] != '\0') {
		buf_puts(b, ", reason: ");
		html_name(b, t->reason);
	}
	buf_puts(b, "</td></tr>\n");
}

static void
put_turns(struct buf *b, const struct status_head *h,
	  const struct status_items *items, size_t limit)
{
	uint64_t before = UINT64_MAX, left = 0;
	unsigned shown = 0;
	struct turn t;

	buf_puts(b, "<section><h2>What happened in the last 24 hours</h2>");
	for (struct buf was; items->turn(items->ctx, &before, &t);) {
		if (shown++ == 0)
			buf_puts(b, "<table><thead><tr><th scope=\"col\">When"
				    "</th><th scope=\"col\">What</th></tr>"
				    "</thead><tbody>\n");
		was = *b;
		if (shown <= TURNS_SHOWN)
			put_turn(b, h, &t);
		words_settle(b, &was, shown > TURNS_SHOWN ? 0 : limit, &left);
	}
	buf_puts(b, shown > 0 ? "</tbody></table>"
			      : "<p>Nothing, as far as is known.</p>");
	put_left(b, left);
	buf_puts(b, "</section>\n");
}

/* --- this replica --------------------------------------------------------- */

static void
put_lead(struct buf *b, const struct status_head *h)
{
	if (!h->lead.electing)
		buf_puts(b, "this replica, without an election");
	else if (h->lead.here)
		buf_puts(b, "this replica");
	else if (h->lead.identity[0] != '\0')
		html_name(b, h->lead.identity);
	else
		put_nobody(b, h);
	if (h->lead.electing && h->lead.since_ms != STAMP_NONE) {
		buf_puts(b, ", since ");
		html_moment(b, h->lead.since_ms, h->now_ms);
	}
}

static void
put_line(struct buf *b, const char *term, const char *line)
{
	buf_printf(b, "<dt>%s</dt><dd>", term);
	html_text(b, line);
	buf_puts(b, "</dd>");
}

static void
put_replica(struct buf *b, const struct status_head *h)
{
	char line[256];
	struct buf t;

	buf_puts(b, "<section><h2>This replica</h2><dl><dt>Replica</dt><dd>");
	html_name(b, h->replica);
	buf_printf(b, "</dd><dt>Version</dt><dd>%s</dd><dt>Leader</dt><dd>",
		   h->version);
	put_lead(b, h);
	buf_puts(b, "</dd>");
	buf_init(&t, line, sizeof(line));
	status_text_certificate(&t, h);
	put_line(b, "Certificate", line);
	buf_init(&t, line, sizeof(line));
	status_text_admissions(&t, &h->admissions);
	put_line(b, "Admissions", line);
	if (h->hold_is_other)
		put_line(b, "Configuration", STATUS_HOLD);
	if (h->config_stale)
		put_line(b, "Configuration", STATUS_STALE);
	if (h->lead.here) {
		buf_init(&t, line, sizeof(line));
		status_text_views(&t, h);
		put_line(b, "Watching", line);
	}
	buf_puts(b, "</dl></section></main>\n<footer><p class=\"d\">The same "
		    "as <a href=\"status?format=text\">text</a> and <a href=\""
		    "status?format=json\">JSON</a>. Machine by machine: "
		    "<a href=\"status/machines?format=html\">the list</a>, "
		    "<code>status/machines/NAME</code>, or <code>kubectl "
		    "karpenter-holder why NAME</code>.</p></footer>");
}

void
status_page(struct buf *b, const struct status_head *h,
	    const struct status_items *items)
{
	size_t room = b->cap - TAIL_BYTES;
	struct tally t = {.scopes = 0};
	struct status_head chosen = *h;

	if (h->view.last_ms == 0)
		chosen.view.last_ms = span_of(h, items);
	h = &chosen;
	if (h->lead.here)
		count_scopes(items, &t);
	put_head(b, h, &t);
	if (h->lead.here) {
		put_timeline(b, h, items, room / 4);
		put_scopes(b, h, items, room / 5 * 2);
		put_nodepools(b, h, items, room / 5 * 4);
		put_turns(b, h, items, room);
	}
	put_replica(b, h);
	html_end(b);
}

/* --- all machines --------------------------------------------------------- */

static void
put_row(struct buf *b, const struct status_head *h,
	const struct machine_status *m, const struct scope_status *scope)
{
	struct machine_until until = words_until(m, scope, h->now_ms);
	char why[ROW_WHY_BYTES];
	bool with_reason;

	words_row_why(m, &until, why, &with_reason);
	buf_puts(b, "<tr><th scope=\"row\">");
	html_machine(b, "machines", words_row_name(m));
	buf_puts(b, "</th><td>");
	html_name(b, m->nodepool);
	buf_printf(b, "</td><td>%s</td><td>", words_row_by(m));
	if (until.at_ms != STAMP_NONE)
		html_moment(b, until.at_ms, h->now_ms);
	buf_puts(b, until.earliest ? " or later</td><td>" : "</td><td>");
	html_text(b, why);
	if (with_reason) {
		buf_puts(b, ": ");
		html_name(b, m->reason);
	}
	buf_puts(b, "</td></tr>\n");
}

static uint64_t
put_rows(struct buf *b, const struct status_head *h,
	 const struct status_machines *list)
{
	struct scope_status scope;
	struct machine_status m;
	uint64_t left = 0;
	uint32_t seen = 0;

	for (int r = 0; r < MACHINE_RANKS; r++) {
		for (uint32_t i = 0;
		     left == 0 && list->next(list->ctx, (enum machine_rank)r,
					     &i, &m, &scope);
		     seen++) {
			const struct buf was = *b;

			put_row(b, h, &m, &scope);
			words_settle(b, &was,
				     seen == MACHINES_SHOWN
					     ? 0
					     : b->cap - LIST_TAIL_BYTES,
				     &left);
		}
	}
	return words_left_out(list, seen, left);
}

void
status_page_machines(struct buf *b, const struct status_head *h,
		     const struct status_machines *list)
{
	uint64_t left;

	html_begin(b, "machines | karpenter-node-holder");
	buf_puts(b, "<header><h1>karpenter-node-holder</h1><p>");
	buf_printf(b, "%u machine%s as", list->total,
		   list->total == 1 ? "" : "s");
	put_time(b, h);
	buf_puts(b, " <a href=\"../\">All</a></p>");
	put_observe(b, h);
	put_waits(b, h, &h->report.waits);
	buf_puts(b, "</header>\n<main><section><h2>Machines</h2><table><thead>"
		    "<tr><th scope=\"col\">Machine</th>"
		    "<th scope=\"col\">NodePool</th>"
		    "<th scope=\"col\">Held by</th>"
		    "<th scope=\"col\">Until</th>"
		    "<th scope=\"col\">Why</th></tr></thead><tbody>\n");
	left = put_rows(b, h, list);
	buf_puts(b, "</tbody></table>");
	if (left > 0)
		buf_printf(b,
			   "<p class=\"d\">… and %llu more: ask for one "
			   "NodePool, <code>?nodepool=NAME</code></p>",
			   (unsigned long long)left);
	buf_puts(b, "</section></main>");
	html_end(b);
}
