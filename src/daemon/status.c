/* SPDX-License-Identifier: Apache-2.0 */
#include "status.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/duration.h"
#include "core/base/limits.h"
#include "core/base/str.h"
#include "edge/file.h"
#include "wire/status/query.h"
#include "wire/status/status.h"

/*
 * The answers to /status, /status/machines, /status/machines/NAME and
 * /status/time.  An answer is written while the table is read, one item at a
 * time, so the table's lock is held only briefly.  Figures about all machines
 * are counted in advance: at most once a second, or when a scope has been held
 * or released (count_anew).  Only a leader knows the machines; other replicas
 * name the leader.
 */
/* Size of the buffer for a refusal.  As HTML it contains the style sheet of the
 * page. */
#define SHORT_BYTES 8192

int
status_init(struct status *t, struct state *s, struct serving_cert *pair,
	    const struct config *config, struct err *e)
{
	t->shared = s;
	t->pair = pair;
	t->config = config;
	(void)strcpy(t->host, "holder");
	(void)gethostname(t->host, sizeof(t->host) - 1);
	recent_init(&t->recent, clock_boot_ms());
	t->figures = figures_new();
	return t->figures == NULL
		       ? err_set(e, ERR_SYSTEM, "no memory for /status")
		       : 0;
}

void
status_done(struct status *t)
{
	figures_free(t->figures);
	t->figures = NULL;
}

/* --- answers -------------------------------------------------------------- */

#define PLAIN_FIELDS                                                           \
	{"Cache-Control", "no-store"},                                         \
	{                                                                      \
		"X-Content-Type-Options", "nosniff"                            \
	}
#define HTML_FIELDS                                                            \
	PLAIN_FIELDS, {"Content-Security-Policy", status_policy},              \
	{                                                                      \
		"Referrer-Policy", "no-referrer"                               \
	}
static const struct server_field plain_fields[] = {PLAIN_FIELDS, {NULL, NULL}};
static const struct server_field html_fields[] = {HTML_FIELDS, {NULL, NULL}};
static const struct server_field page_fields[] = {
	HTML_FIELDS, {"Refresh", STATUS_REFRESH}, {NULL, NULL}};

static void
set_head(struct server_reply *a, int code, enum status_format f)
{
	a->status = code;
	a->content_type = status_type(f);
	a->fields = f == STATUS_HTML ? html_fields : plain_fields;
}

/* Answers with a text, which the server copies. */
static void
answer_short(struct server_reply *a, int code, enum status_format f,
	     const struct buf *b)
{
	set_head(a, code, f);
	a->body = b->data;
	a->body_bytes = b->len;
	a->close = true;
}

static void
refuse(struct server_reply *a, int code, enum status_format f,
       const char *message)
{
	static _Thread_local char text[SHORT_BYTES];
	struct buf b;

	buf_init(&b, text, sizeof(text));
	status_write_refusal(&b, f, code, message);
	answer_short(a, code, f, &b);
}

void
status_send(struct server_reply *a, char *text, size_t len)
{
	char *less = realloc(text, len + 1);

	a->body = less != NULL ? less : text;
	a->body_bytes = len;
	a->body_free = free;
}

static void
send_text(struct server_reply *a, enum status_format f, char *text,
	  const struct buf *b)
{
	if (b->full) {
		free(text);
		refuse(a, 500, f, "the answer has no room");
		return;
	}
	set_head(a, 200, f);
	status_send(a, text, b->len);
	a->close = true;
}

/* Finds the format that the request asks for and, unless `nodepool` is NULL,
 * the NodePool ("" if the request names none).  Returns -1 if it has refused
 * the request. */
static int
wanted(const struct server_request *q, struct server_reply *a,
       enum status_format *f, char nodepool[NODEPOOL_BYTES])
{
	char name[8] = "";
	struct query_param params[] = {
		{"format", name, sizeof(name), false},
		{"nodepool", nodepool, NODEPOOL_BYTES, false},
	};
	struct err e = {0};

	if (nodepool != NULL)
		nodepool[0] = '\0';
	*f = query_accept(q->accept);
	if (query_read(q->query, params, nodepool != NULL ? 2 : 1, &e) == 0 &&
	    (!params[0].found || query_format(name, f, &e) == 0))
		return 0;
	refuse(a, 400, *f, e.text);
	return -1;
}

static int
format_of(const struct server_request *q, struct server_reply *a,
	  enum status_format *f)
{
	return wanted(q, a, f, NULL);
}

static void
refuse_busy(struct server_reply *a, enum status_format f)
{
	refuse(a, 503, f, "too many ask at once: try again");
	if (f == STATUS_HTML)
		a->fields = page_fields; /* The page reloads itself. */
}

/* Allocates STATUS_PAGE_BYTES for an answer.  If there is no memory, it refuses
 * the request and returns NULL. */
static char *
room_for(struct server_reply *a, enum status_format f)
{
	char *text = malloc(STATUS_PAGE_BYTES);

	if (text == NULL)
		refuse_busy(a, f);
	return text;
}

void
status_busy(const struct server_request *q, struct server_reply *a)
{
	enum status_format f = STATUS_HTML;
	char nodepool[NODEPOOL_BYTES];
	bool list = strcmp(q->path, "/status/machines") == 0;

	if (strcmp(q->path, "/") == 0 ||
	    wanted(q, a, &f, list ? nodepool : NULL) == 0)
		refuse_busy(a, f);
}

/* --- /status -------------------------------------------------------------- */

/* Counts the machines again if the figures are a second old, or if a scope was
 * held or released since. */
static void
count_anew(struct status *t, const struct status_report *r)
{
	int64_t boot_ms = clock_boot_ms();

	if (t->counted && t->counted_turns == r->turns &&
	    boot_ms - t->counted_boot_ms < STATUS_FIGURES_MS)
		return;
	state_count(t->shared, t->figures);
	t->counted = true;
	t->counted_boot_ms = boot_ms;
	t->counted_turns = r->turns;
}

/* Returns whether the configuration file has another content than the one that
 * was read at the start.  A file that cannot be read has not. */
static bool
config_is_stale(const struct config *c)
{
	struct err e = {0};
	char *bytes;
	bool stale;
	size_t n;

	if (c->file == NULL ||
	    file_read(c->file, CONFIG_BYTES_MAX, &bytes, &n, &e))
		return false;
	stale = str_digest(STR_DIGEST_NONE, bytes, n) != c->file_digest;
	free(bytes);
	return stale;
}

static void
fill_head(struct status *t, struct status_head *h)
{
	struct state_lead lead;

	state_lead(t->shared, &lead);
	*h = (struct status_head){
		.now_ms = clock_now(t->shared->clock).server_ms,
		.version = HOLDER_VERSION,
		.observe = t->config->rules.mode == MODE_OBSERVE,
		.lead = {.electing = lead.electing,
			 .here = lead.here,
			 .restarted = lead.restarted,
			 .since_ms = lead.since_ms,
			 .wait_ms = lead.wait_ms},
		.cert_not_after_ms = atomic_load(&t->pair->not_after_ms),
		.cert_valid = serving_cert_valid(t->pair),
		.cert_authority = atomic_load(&t->pair->authority),
		.rules = &t->config->rules,
		.hold_is_other = atomic_load(&t->shared->hold_is_other),
		.config_stale = config_is_stale(t->config),
	};
	state_hold(t->shared, &h->hold);
	if (lead.identity[0] == '\0')
		(void)str_copy(lead.identity, sizeof(lead.identity), t->host);
	(void)str_copy(h->replica, sizeof(h->replica), lead.identity);
	(void)str_copy(h->lead.identity, sizeof(h->lead.identity),
		       lead.here ? lead.identity : lead.holder);
	memcpy(h->lead.waits_for, lead.waits_for, sizeof(lead.waits_for));
	memcpy(h->lead.wait_ends, lead.wait_ends, sizeof(lead.wait_ends));
	recent_read(&t->recent, &t->shared->counters, clock_boot_ms(),
		    &h->admissions);
	state_status(t->shared, &h->report);
	/* The history may seem to begin in the future, if our clock was ahead
	 * at that time. */
	h->known_ms = h->report.history_ms != STAMP_NONE &&
				      h->report.history_ms < h->now_ms
			      ? h->report.history_ms
			      : h->now_ms;
	/* The controller learns of a new lead a moment after the elector. */
	h->lead.here = h->lead.here && h->report.leads;
	if (!h->lead.here)
		return;
	count_anew(t, &h->report);
	h->hand = figures_hand(t->figures);
}

void
status_count(struct status *t)
{
	struct status_report r;

	state_status(t->shared, &r);
	count_anew(t, &r);
}

static bool
next_scope(void *ctx, uint32_t *i, struct scope_status *out)
{
	struct status *t = ctx;

	return state_scope_status(t->shared, t->figures, i, out);
}

static bool
next_nodepool(void *ctx, uint32_t *i, struct nodepool_status *out)
{
	struct status *t = ctx;

	return state_nodepool_status(t->shared, t->figures, i, out);
}

static bool
next_ticket(void *ctx, uint32_t *i, struct ticket_status *out)
{
	return state_ticket_status(((struct status *)ctx)->shared, i, out);
}

static bool
next_turn(void *ctx, uint64_t *before, struct turn *out)
{
	struct status *t = ctx;

	return state_turn(t->shared, before, out) &&
	       out->at_ms > clock_now(t->shared->clock).server_ms - JOURNAL_MS;
}

static void
overview(struct status *t, struct server_reply *a, enum status_format f,
	 const struct status_view *v)
{
	const struct status_items items = {.ctx = t,
					   .scope = next_scope,
					   .nodepool = next_nodepool,
					   .ticket = next_ticket,
					   .turn = next_turn};
	char *text = room_for(a, f);
	struct status_head h;
	struct buf b;

	if (text == NULL)
		return;
	fill_head(t, &h);
	h.view = *v;
	buf_init(&b, text, STATUS_PAGE_BYTES);
	status_write(&b, f, &h, &items);
	send_text(a, f, text, &b);
	if (f == STATUS_HTML && !v->still)
		a->fields = page_fields;
}

void
status_overview(struct status *t, const struct server_request *q,
		struct server_reply *a)
{
	const struct status_view v = {.last_ms = 0};
	enum status_format f;

	if (format_of(q, a, &f) == 0)
		overview(t, a, f, &v);
}

void
status_browse(struct status *t, const struct server_request *q,
	      struct server_reply *a)
{
	char last[DURATION_BYTES], refresh[4];
	struct query_param params[] = {
		{"last", last, sizeof(last), false},
		{"refresh", refresh, sizeof(refresh), false},
	};
	struct status_view v = {.last_ms = 0};
	struct err e = {0};

	if (query_read(q->query, params, 2, &e)) {
		refuse(a, 400, STATUS_HTML, e.text);
		return;
	}
	v.still = params[1].found;
	if (v.still && strcmp(refresh, "off") != 0)
		refuse(a, 400, STATUS_HTML, "refresh: expected off");
	else if (params[0].found &&
		 (duration_parse(last, &v.last_ms) ||
		  v.last_ms < STATUS_LAST_MS || v.last_ms > JOURNAL_MS))
		refuse(a, 400, STATUS_HTML,
		       "last: expected a duration from 5m to 24h");
	else
		overview(t, a, STATUS_HTML, &v);
}

/* --- /status/machines/NAME ------------------------------------------------ */

static void
refuse_follower(struct server_reply *a, enum status_format f,
		const struct status_head *h)
{
	char text[NAME_BYTES + 128];
	struct buf b;

	buf_init(&b, text, sizeof(text));
	buf_puts(&b, "this replica stands by and knows no machines");
	if (h->lead.restarted)
		buf_puts(&b, STATUS_RESTARTED);
	else if (h->lead.identity[0] != '\0')
		buf_printf(&b, ": ask the leader, %.*s",
			   (int)strcspn(h->lead.identity, "_"),
			   h->lead.identity);
	refuse(a, 503, f, text);
}

static void
refuse_unknown(struct server_reply *a, enum status_format f, const char *name)
{
	char cut[NAME_BYTES], text[NAME_BYTES + 64];
	struct buf b;

	str_cut(cut, sizeof(cut), name);
	buf_init(&b, text, sizeof(text));
	buf_printf(&b, "no Node or NodeClaim of Karpenter is called \"%s\"",
		   cut);
	refuse(a, 404, f, text);
}

static bool
scope_of(struct status *t, const struct machine_status *m,
	 struct scope_status *out)
{
	uint32_t i = m->scope;

	/* If the scope has gone since *m was read, i may be the index of
	 * another scope. */
	return i != NO_ID &&
	       state_scope_status(t->shared, t->figures, &i, out) &&
	       i == m->scope + 1;
}

static void
answer_machine(struct status *t, struct server_reply *a, enum status_format f,
	       const struct status_head *h, const char *name,
	       const struct machine_status *m)
{
	struct scope_status scope;
	bool has = scope_of(t, m, &scope);
	char *text = room_for(a, f);
	struct buf b;

	if (text == NULL)
		return;
	buf_init(&b, text, STATUS_PAGE_BYTES);
	status_write_machine(&b, f, h, name, m, has ? &scope : NULL);
	send_text(a, f, text, &b);
}

void
status_machine(struct status *t, const struct server_request *q,
	       struct server_reply *a)
{
	const char *name = q->path + strlen(STATUS_MACHINES);
	struct machine_status m;
	enum status_format f;
	struct status_head h;

	if (format_of(q, a, &f))
		return;
	if (name[0] == '\0') {
		refuse(a, 400, f,
		       "expected " STATUS_MACHINES
		       "NAME, the name of a Node or NodeClaim");
		return;
	}
	fill_head(t, &h);
	if (!h.lead.here)
		refuse_follower(a, f, &h);
	else if (state_machine(t->shared, name, &m))
		answer_machine(t, a, f, &h, name, &m);
	else if (!h.report.listed[KIND_NODE] ||
		 !h.report.listed[KIND_NODECLAIM])
		refuse(a, 503, f,
		       "the Nodes and NodeClaims are not all known "
		       "yet: try again");
	else
		refuse_unknown(a, f, name);
}

/* --- /status/machines ----------------------------------------------------- */

struct list {
	struct status *t;
	char nodepool[NODEPOOL_BYTES];
};

static bool
next_machine(void *ctx, enum machine_rank rank, uint32_t *i,
	     struct machine_status *m, struct scope_status *scope)
{
	struct list *l = ctx;

	if (!state_machine_next(l->t->shared, i, rank, l->nodepool, m))
		return false;
	if (!scope_of(l->t, m, scope))
		*scope = (struct scope_status){.since_ms = STAMP_NONE,
					       .until_ms = STAMP_NONE};
	return true;
}

static void
answer_machines(struct list *l, struct server_reply *a, enum status_format f,
		const struct status_head *h)
{
	const struct status_machines list = {
		.ctx = l,
		.next = next_machine,
		.total = state_machines_counted(l->t->shared, l->t->figures,
						l->nodepool),
	};
	char *text = room_for(a, f);
	struct buf b;

	if (text == NULL)
		return;
	buf_init(&b, text, STATUS_PAGE_BYTES);
	status_write_machines(&b, f, h, &list);
	send_text(a, f, text, &b);
}

void
status_machines(struct status *t, const struct server_request *q,
		struct server_reply *a)
{
	struct list l = {.t = t};
	enum status_format f;
	struct status_head h;

	if (wanted(q, a, &f, l.nodepool))
		return;
	fill_head(t, &h);
	if (h.lead.here)
		answer_machines(&l, a, f, &h);
	else
		refuse_follower(a, f, &h);
}

/* --- /status/time --------------------------------------------------------- */

static void
answer_time(struct server_reply *a, int64_t ms)
{
	static _Thread_local char text[STAMP_BYTES + 1];
	struct buf b;

	buf_init(&b, text, sizeof(text));
	stamp_format(ms, text);
	b.len = strlen(text);
	buf_puts(&b, "\n");
	answer_short(a, 200, STATUS_TEXT, &b);
}

void
status_time(struct status *t, const struct server_request *q,
	    struct server_reply *a)
{
	char span[DURATION_BYTES], until[STAMP_US_BYTES + 8];
	struct query_param params[] = {
		{"for", span, sizeof(span), false},
		{"until", until, sizeof(until), false},
	};
	int64_t now_ms = clock_now(t->shared->clock).server_ms, ms = 0;
	/* The format is used for errors only, because a time is always plain
	 * text.  kubectl shows an error's message only if the answer is a
	 * Status object. */
	enum status_format f = query_accept(q->accept);
	struct err e = {0};

	if (query_read(q->query, params, 2, &e))
		refuse(a, 400, f, e.text);
	else if (params[0].found && params[1].found)
		refuse(a, 400, f, "for, until: expected one of the two");
	else if (params[0].found && (duration_parse(span, &ms) || ms <= 0))
		refuse(a, 400, f,
		       "for: expected a duration above 0, such as 2h or 1h30m, "
		       "and at most 87600h");
	else if (params[1].found && stamp_parse(until, &ms))
		refuse(a, 400, f,
		       "until: expected an RFC 3339 time such as "
		       "2026-01-02T03:04:05Z");
	else if (params[1].found && ms <= now_ms)
		refuse(a, 400, f, "until: expected a time that lies ahead");
	else
		answer_time(a, params[1].found ? ms : now_ms + ms);
}
