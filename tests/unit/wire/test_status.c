/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "suite.h"
#include "wire/json/json.h"
#include "wire/status/query.h"
#include "wire/status/status.h"

/* What /status writes, word by word, and what it makes of hostile names. */

#define T 1767323045000	/* 2026-01-02T03:04:05Z */
#define MIN 60000
#define HOSTILE "</pre><script>\"'&\x1b[31m\xc2\x9b\xe2\x80\xae\xff"

static char text[STATUS_PAGE_BYTES];
static struct rules rules;
static struct status_head head;
static struct scope_status scope;
static struct nodepool_status nodepool;
static struct turn turn;
static uint32_t scopes_n, nodepools_n;
static uint64_t turns_n;
/* The second one of each, where it is not as the first. */
static struct scope_status *other_scope;
static struct nodepool_status *other_nodepool;
static struct turn *older_turn;

static bool
a_scope(void *ctx, uint32_t *i, struct scope_status *out)
{
	(void)ctx;
	*out = *i == 1 && other_scope != NULL ? *other_scope : scope;
	return (*i)++ < scopes_n;
}

static bool
a_nodepool(void *ctx, uint32_t *i, struct nodepool_status *out)
{
	(void)ctx;
	*out = *i == 1 && other_nodepool != NULL ? *other_nodepool : nodepool;
	return (*i)++ < nodepools_n;
}

static bool
a_turn(void *ctx, uint64_t *before, struct turn *out)
{
	(void)ctx;
	if (*before > turns_n)
		*before = turns_n;
	*out = *before == 1 && older_turn != NULL ? *older_turn : turn;
	if (*before == 0)
		return false;
	--*before;
	return true;
}

static bool
a_ticket(void *ctx, uint32_t *i, struct ticket_status *out)
{
	static const struct ticket_status tickets[] = {
		{.name = "ci-42", .holder = "runner-7", .reason = "helm upgrade",
		 .until_ms = T + 60 * MIN, .nodepools = 3, .renewed_ms = T},
		{.name = "old", .until_ms = STAMP_NONE,
		 .renewed_ms = STAMP_NONE, .flaw = TICKET_OVER},
		{.name = "typo", .holder = "me", .until_ms = T + MIN},
		{.name = "fast", .until_ms = T + MIN, .nodepools = 1,
		 .flaw = TICKET_AHEAD, .ahead_ms = 3 * MIN},
		{.name = "bad", .until_ms = STAMP_NONE,
		 .flaw = TICKET_UNREADABLE, .fault = "it cannot be read: why"},
		{.name = "ended", .until_ms = STAMP_NONE},
	};

	(void)ctx;
	if (*i == sizeof(tickets) / sizeof(tickets[0]))
		return false;
	*out = tickets[(*i)++];
	return true;
}

static const struct status_items items = {.scope = a_scope,
					  .nodepool = a_nodepool,
					  .ticket = a_ticket,
					  .turn = a_turn};

/* The example of docs/status.md. */
static void
setup(void)
{
	rules = (struct rules){.scope = SCOPE_CLUSTER,
			       .hold_ms = 10 * MIN,
			       .startup_ms = 15 * MIN,
			       .min_scale_up = 1,
			       .min_scale_up_percent = 20,
			       .cap = {60 * MIN, 5 * MIN}};
	head = (struct status_head){
		.now_ms = T + 10 * MIN,
		.version = "0.1.0",
		.replica = "pod-1_ab",
		.lead = {.electing = true, .here = true,
			 .identity = "pod-1_ab", .since_ms = T - 60 * MIN},
		.cert_not_after_ms = T + 90 * (int64_t)86400000,
		.cert_valid = true,
		.admissions = {.seconds = 60, .held = 12, .unchanged = 2},
		.rules = &rules,
		.hand = {.nodepools = 1, .held = 1,
			 .first_ms = T + 720 * MIN, .last_ms = T + 720 * MIN},
	};
	head.report = (struct status_report){
		.leads = true,
		.table = {.objects = {12, 12}, .held = {12, 0},
			  .up = {true, true, true, true}},
		.listed = {true, true, true, true},
	};
	head.known_ms = T - 60 * MIN;
	head.view.last_ms = 60 * MIN;
	scope = (struct scope_status){
		.state = SCOPE_HELD, .since_ms = T,
		.until_ms = T + 20 * MIN, .earliest = true, .machines = 12,
		.min_scale_up = 3,
		.machine = "web-x7k2p", .restarted_ms = T + 9 * MIN,
		.booting = true, .cap_max_ms = 60 * MIN,
		.cap_used_ms = 10 * MIN + 900, .cap_window_ms = 5 * MIN,
		.by_hand = {.nodepools = 2, .held = 1,
			    .first_ms = T + 720 * MIN,
			    .last_ms = T + 720 * MIN},
	};
	nodepool = (struct nodepool_status){
		.n = {.machines = 12, .held = 12},
		.by_hand = true,
	};
	nodepool_init(&nodepool.nodepool);
	strcpy(nodepool.nodepool.name, "web");
	strcpy(nodepool.nodepool.reason, "Black Friday");
	nodepool.nodepool.hold_until_ms = T + 720 * MIN;
	nodepool_set(&nodepool.nodepool, NODEPOOL_HOLD_DURATION,
		     "ten minutes");
	turn = (struct turn){.at_ms = T, .machine = "web-x7k2p",
			     .held_ms = -1, .until_ms = STAMP_NONE};
	scopes_n = nodepools_n = 1;
	turns_n = 1;
	other_scope = NULL;
	other_nodepool = NULL;
	older_turn = NULL;
}

/* Each element that the text opens is closed where it has to be, and each
 * attribute has its quotes: nothing in it is out of its place. */
static void
is_well_formed(void)
{
	char open[20][12];
	size_t n = 0, len;
	const char *p = strchr(text, '\n');

	while ((p = strchr(p, '<')) != NULL) {
		bool closes = *++p == '/';
		const char *name = p + closes;
		size_t quotes = 0;

		len = strcspn(name, " />");
		if (len == 0 || len >= 12 || n == 20)
			ck_abort_msg("%.40s", name);
		for (; *p != '>' || quotes % 2 == 1; p++) {
			quotes += *p == '"';
			if (*p == '<' || *p == '\0')
				ck_abort_msg("%.40s", name);
		}
		if (p[-1] == '/')
			continue;
		if (closes) {
			if (n == 0 || strlen(open[n - 1]) != len ||
			    memcmp(open[n - 1], name, len) != 0)
				ck_abort_msg("%.40s", name);
			n--;
			continue;
		}
		memcpy(open[n], name, len);
		open[n++][len] = '\0';
	}
	ck_assert_uint_eq(n, 0);
}

static size_t
write(enum status_format f)
{
	struct buf b;

	buf_init(&b, text, sizeof(text));
	status_write(&b, f, &head, &items);
	ck_assert(!b.full);
	ck_assert_uint_eq(strlen(text), b.len);
	if (f == STATUS_HTML)
		is_well_formed();
	return b.len;
}

/* Parses what was written. */
static struct json *
parse(size_t n)
{
	static const struct json_bounds bounds = {
		.depth_max = 10, .values_max = 1000000,
		.kept_values_max = 1000000, .kept_bytes_max = sizeof(text)};
	struct err e = {0};
	struct json *root = json_parse(text, n, &bounds, &e);

	ck_assert_msg(root != NULL, "%s in %.200s", e.text, text);
	return root;
}

static const char *
at(const struct json *root, const char *list, const char *member)
{
	return json_string(json_member(json_first(json_member(root, list)),
				       member));
}

#define LINE(s) s "\n"
static const char leader[] =
	LINE("karpenter-node-holder 0.1.0, 2026-01-02T03:14:05Z")
	LINE("replica      pod-1_ab")
	LINE("leader       this replica, since 2026-01-02T02:04:05Z")
	LINE("certificate  valid until 2026-04-02T03:04:05Z")
	LINE("admissions   14 in the last 60 s: 12 held, 2 unchanged")
	LINE("watching     nodes 12, nodeclaims 12, nodepools, events")
	LINE("")
	LINE("SCOPE    STATE     SINCE                 UNTIL")
	LINE("cluster  held      2026-01-02T03:04:05Z  2026-01-02T03:24:05Z at the earliest: machines are booting")
	LINE("         restarted by web-x7k2p, created 2026-01-02T03:13:05Z and not ready yet")
	LINE("         1 of 2 NodePools is held by hold-until, until 2026-01-02T15:04:05Z")
	LINE("         held from 3 new machines on")
	LINE("         cap 1h, of which 10m are used")
	LINE("")
	LINE("NODEPOOL  MACHINES  HELD  BY PEOPLE  OPTED OUT")
	LINE("web             12    12          0          0")
	LINE("          hold-until: 2026-01-02T15:04:05Z")
	LINE("          hold-duration: \"ten minutes\" does not count, expected a duration above 0 such as 10m")
	LINE("          reason: Black Friday")
	LINE("")
	LINE("THE LAST 24 HOURS")
	LINE("2026-01-02T03:04:05Z  cluster held: scale-up, machine web-x7k2p");

START_TEST(test_text)
{
	(void)write(STATUS_TEXT);
	ck_assert_str_eq(text, leader);
}
END_TEST

START_TEST(test_json)
{
	struct json *root = parse(write(STATUS_JSON));
	const struct json *sc = json_first(json_member(root, "scopes"));
	const struct json *p = json_first(json_member(root, "nodePools"));

	ck_assert_str_eq(json_string(json_member(root, "apiVersion")),
			 "status.karpenter-node-holder.io/v1");
	ck_assert_str_eq(json_string(json_member(root, "kind")),
			 "HolderStatus");
	ck_assert_str_eq(json_string(json_member(root, "time")),
			 "2026-01-02T03:14:05Z");
	ck_assert(json_says(root, "mode", "enforce"));
	ck_assert(json_is_true(
		json_member(json_member(root, "leader"), "thisReplica")));
	ck_assert(json_says(sc, "name", "cluster"));
	ck_assert(json_says(sc, "state", "held"));
	ck_assert(json_says(sc, "until", "2026-01-02T03:24:05Z"));
	ck_assert(json_says(json_member(sc, "restartedBy"), "machine",
			    "web-x7k2p"));
	ck_assert(json_says(json_member(sc, "cap"), "used", "10m"));
	ck_assert_ptr_nonnull(strstr(text, "\"minScaleUp\":3,"));
	ck_assert(json_says(json_member(root, "configuration"), "minScaleUp",
			    "20%"));
	ck_assert(json_is_null(json_member(p, "leftOut")));
	ck_assert(json_says(json_member(p, "annotations"),
			    "karpenter-node-holder.io/hold-until",
			    "2026-01-02T15:04:05Z"));
	ck_assert_str_eq(at(p, "invalid", "value"), "ten minutes");
	ck_assert(json_says(p, "reason", "Black Friday"));
	ck_assert_str_eq(at(root, "history", "cause"), "scale-up");
	ck_assert(json_is_null(
		json_member(json_first(json_member(root, "history")),
			    "heldFor")));
	json_free(root);
}
END_TEST

static void
shows(const char *what)
{
	/* Check ends with a message that is too long for it. */
	ck_assert_msg(strstr(text, what) != NULL, "no %s in %.4000s", what,
		      strstr(text, "</head>"));
}

/* Tickets are told only where they are followed. */
START_TEST(test_tickets)
{
	const struct json *t;
	struct json *root;

	write(STATUS_JSON);
	ck_assert_ptr_null(strstr(text, "ickets\":["));
	head.report.table.has_tickets = true;
	strcpy(rules.tickets, "there");
	nodepool.by_ticket = true;
	nodepool.nodepool.ticket_ms = T + 24 * 60 * MIN;
	strcpy(nodepool.ticket, "ticket ci-42 of runner-7");
	root = parse(write(STATUS_JSON));
	ck_assert(json_says(json_member(json_member(root, "configuration"),
					"tickets"),
			    "namespace", "there"));
	t = json_first(json_member(root, "tickets"));
	ck_assert(json_says(t, "name", "ci-42"));
	ck_assert(json_says(t, "holder", "runner-7"));
	ck_assert(json_says(t, "reason", "helm upgrade"));
	ck_assert(json_says(t, "until", "2026-01-02T04:04:05Z"));
	ck_assert_ptr_nonnull(
		strstr(text, "\"nodePools\":3,\"problem\":null,"
			     "\"renewed\":\"2026-01-02T03:04:05Z\","
			     "\"ahead\":null"));
	ck_assert_ptr_nonnull(strstr(text, "\"ahead\":\"3m\""));
	ck_assert_ptr_nonnull(
		strstr(text, "\"problem\":\"it cannot be read: why\""));
	ck_assert_ptr_nonnull(strstr(text, "\"ticketLeast\":false"));
	ck_assert_ptr_nonnull(
		strstr(text, "\"name\":\"old\",\"holder\":null,\"reason\":null,"
			     "\"until\":null,\"nodePools\":0,\"problem\":\"it "
			     "was over already when it was seen\","
			     "\"renewed\":null"));
	t = json_first(json_member(root, "nodePools"));
	ck_assert(json_says(t, "ticket", "ticket ci-42 of runner-7"));
	ck_assert(json_says(t, "ticketUntil", "2026-01-03T03:04:05Z"));
	json_free(root);
	write(STATUS_TEXT);
	ck_assert_ptr_nonnull(strstr(text, ", events, tickets in there"));
	/* The reason is that of the annotations. */
	ck_assert_ptr_nonnull(strstr(text, "reason: Black Friday\n          "
				     "held until 2026-01-03T03:04:05Z by "
				     "ticket ci-42 of runner-7"));
	ck_assert_ptr_nonnull(
		strstr(text, "\n\nticket old: it was over already when it was "
			     "seen\nticket typo of me: it matches no NodePool "
			     "that may be held\nticket fast: its renewTime is "
			     "ahead of the API server's clock, so it counts "
			     "from when it was seen (by 3m)\nticket bad: it "
			     "cannot be read: why\n\nTHE LAST"));
	write(STATUS_HTML);
	shows("<p>held until <time datetime=\"2026-01-03T03:04:05Z\">2026-01-03 "
	      "03:04:05</time> (in 23h50m) by <bdi>ticket ci-42 of "
	      "runner-7</bdi></p>");
	shows("pool <bdi>web</bdi> <span class=\"d\">held by tickets now</span>");
	/* They have ended, or end within the minute. */
	nodepool.nodepool.ticket_least_ms = nodepool.nodepool.ticket_ms;
	(void)write(STATUS_TEXT);
	ck_assert_ptr_nonnull(
		strstr(text, " of runner-7, because tickets hold for a minute "
			     "at least\n"));
	(void)write(STATUS_HTML);
	shows("</bdi>, because tickets hold for a minute at least</p>");
	(void)write(STATUS_JSON);
	ck_assert_ptr_nonnull(strstr(text, "\"ticketLeast\":true"));
}
END_TEST

/* A configuration file that was edited after it was read. */
START_TEST(test_a_stale_configuration)
{
	write(STATUS_JSON);
	ck_assert_ptr_nonnull(strstr(text, "\"fileChanged\":false}"));
	head.config_stale = true;
	write(STATUS_JSON);
	ck_assert_ptr_nonnull(strstr(text, "\"fileChanged\":true}"));
	write(STATUS_TEXT);
	ck_assert_ptr_nonnull(
		strstr(text, "\nconfig       the file has changed since"));
	write(STATUS_HTML);
	ck_assert_ptr_nonnull(strstr(text, "<dt>Configuration</dt><dd>the file "
					   "has changed"));
}
END_TEST

/* A replica that stands by says who leads, and nothing of machines. */
START_TEST(test_follower)
{
	struct json *root;

	head.lead.here = false;
	(void)write(STATUS_TEXT);
	ck_assert_str_eq(
		strstr(text, "leader  "),
		LINE("leader       pod-1_ab, since 2026-01-02T02:04:05Z")
		LINE("certificate  valid until 2026-04-02T03:04:05Z")
		LINE("admissions   14 in the last 60 s: 12 held, 2 unchanged")
		LINE("")
		LINE("This replica stands by and knows no machines: ask the "
		     "leader, pod-1."));
	root = parse(write(STATUS_JSON));
	ck_assert_ptr_null(json_member(root, "scopes"));
	ck_assert_ptr_null(json_member(root, "nodePools"));
	ck_assert(json_says(json_member(root, "leader"), "identity",
			    "pod-1_ab"));
	json_free(root);
	head.lead.identity[0] = '\0';
	head.lead.since_ms = STAMP_NONE;
	(void)write(STATUS_TEXT);
	ck_assert_ptr_nonnull(strstr(text, "leader       nobody, or not"));
	ck_assert_ptr_nonnull(strstr(text, "knows no machines.\n"));
	head.lead.restarted = true;
	for (int f = STATUS_TEXT; f <= STATUS_HTML; f += STATUS_HTML) {
		(void)write((enum status_format)f);
		ck_assert_ptr_nonnull(strstr(text,
			"knows no machines: its own pod led before it "
			"restarted, and nobody leads until that Lease has run "
			"out."));
	}
	root = parse(write(STATUS_JSON));
	ck_assert(json_is_null(json_member(json_member(root, "leader"),
					   "identity")));
	json_free(root);
}
END_TEST

/* A replica that waits for a Lease that nobody renews says whose Lease it is,
 * for how long it waits, and how to end that. */
START_TEST(test_waits_for_nobody)
{
	static const char line[] =
		"nobody: this replica waits for ghost_1, which does not renew "
		"the Lease, until 2026-01-02T03:14:45Z";
	static const char command[] = "kubectl -n ns delete lease a";
	char want[400];
	struct json *root;
	const struct json *waits;

	head.lead.here = false;
	head.lead.identity[0] = '\0';
	head.lead.since_ms = STAMP_NONE;
	(void)strcpy(head.lead.waits_for, "ghost_1");
	head.lead.wait_ms = 40000;
	for (int helps = 0; helps < 2; helps++) {
		if (helps)
			(void)strcpy(head.lead.wait_ends, command);
		(void)snprintf(want, sizeof(want), "%s%s%s%s\n", line,
			       helps ? " (" : "", helps ? command : "",
			       helps ? " ends the wait)" : "");
		(void)write(STATUS_TEXT);
		ck_assert_ptr_nonnull(strstr(text, want));
		want[strlen(want) - 1] = '\0';
		(void)strcat(want, "</dd>");
		(void)write(STATUS_HTML);
		ck_assert_ptr_nonnull(strstr(text, want));
		root = parse(write(STATUS_JSON));
		waits = json_member(json_member(root, "leader"), "waitsFor");
		ck_assert(json_says(waits, "identity", "ghost_1"));
		ck_assert(json_says(waits, "until", "2026-01-02T03:14:45Z"));
		ck_assert(helps ? json_says(waits, "command", command)
				: json_is_null(json_member(waits, "command")));
		json_free(root);
	}
}
END_TEST

/* --- what else there may be ------------------------------------------------------- */

static void
capped(void)
{
	scope.state = SCOPE_CAPPED;
}

static void
until_cap(void)
{
	scope.until_cap = true;
}

static void
nobody_knows(void)
{
	scope.until_ms = STAMP_NONE;
	scope.earliest = false;
}

static void
quiet(void)
{
	scope.state = SCOPE_QUIET;
	scope.until_ms = STAMP_NONE;
}

/* Nothing but hold-untils holds it. */
static void
all_by_hand(void)
{
	scope.hand_alone = scope.until_hand = true;
	scope.earliest = false;
	scope.since_ms = STAMP_NONE;
	scope.until_ms = T + 30 * MIN;
	scope.machine[0] = '\0';
	scope.by_hand = (struct hand_holds){2, 2, 0, T + 30 * MIN, T + 720 * MIN};
}

static void
all_by_tickets(void)
{
	all_by_hand();
	scope.since_ms = T;
	scope.by_hand.tickets = 2;
}

static void
by_hand_and_tickets(void)
{
	all_by_hand();
	scope.by_hand.tickets = 1;
}

static void
none_by_hand(void)
{
	quiet();
	scope.by_hand.held = head.hand.held = 0;
	nodepool.by_hand = false;
}

static void
ready(void)
{
	scope.booting = scope.earliest = false;
}

static void
unseen(void)
{
	head.report.listed[KIND_NODEPOOL] = false;
	head.report.waits.n = 1;
	head.report.waits.at[0].why = WAIT_UNSEEN;
	head.report.waits.at[0].kind = KIND_NODEPOOL;
	head.report.waits.at[0].until_ms = STAMP_NONE;
}

static void
coming(void)
{
	scope.waits.n = 1;
	scope.waits.at[0].why = WAIT_COMING;
	scope.waits.at[0].kind = VIEW_COUNT;
	scope.waits.at[0].machines = 3;
	scope.waits.at[0].until_ms = T;
}

static void
observing(void)
{
	head.observe = true;
}

static void
claims_left(void)
{
	observing();
	head.report.table.held[KIND_NODE] = 0;
	head.report.table.held[KIND_NODECLAIM] = 2;
}

static void
down(void)
{
	head.report.table.up[KIND_NODE] = false;
}

static void
expired_certificate(void)
{
	head.cert_valid = false;
}

static void
shedding(void)
{
	head.admissions.shed = 3;
}

static void
uncapped(void)
{
	scope.cap_max_ms = 0;
}

static void
foreign_name(void)
{
	rules.scope = SCOPE_NODEPOOL;
	strcpy(scope.name, "w\xc3\xa9" "b");
}

static void
refused(void)
{
	nodepool.n.waiting = 3;
}

static void
no_certificate(void)
{
	head.cert_not_after_ms = 0;
	head.cert_valid = false;
}

static void
alone(void)
{
	head.lead.electing = false;
}

static void
each_for_itself(void)
{
	rules.scope = SCOPE_NODE;
	scopes_n = 0;
}

static void
excluded(void)
{
	nodepool.out = NODEPOOL_EXCLUDED;
	nodepool.by_hand = false;
}

static void
never_consolidated(void)
{
	nodepool.out = NODEPOOL_INERT;
	nodepool.by_hand = false;
}

static void
would_hold(void)
{
	head.admissions.would_hold = 3;
}

static void
released_ahead(void)
{
	nodepool.nodepool.released_at_ms = T + 99 * MIN;
	nodepool.released_ahead = true;
}

static void
released(void)
{
	turn.what = TURN_RELEASED;
	turn.cause = TURN_BY_QUIET;
	turn.held_ms = 12 * MIN + 30500;
}

static void
released_at_once(void)
{
	released();
	turn.held_ms = 0;
}

static void
by_hand(void)
{
	turn.cause = TURN_BY_HAND;
	turn.nodepool = true;
	strcpy(turn.scope, "web");
	turn.machine[0] = '\0';
	turn.until_ms = T + 30 * MIN;
}

static void
over_by_now(void)
{
	by_hand();
	turn.until_ms = T + 130 * MIN;
	turn.cause = TURN_BY_TICKET;
}

static void
ticket_ended(void)
{
	over_by_now();
	turn.what = TURN_RELEASED;
	turn.cause = TURN_BY_TICKET_END;
	turn.held_ms = MIN;
	turn.until_ms = STAMP_NONE;
}

static void
resumed_by_hand(void)
{
	by_hand();
	turn.what = TURN_RESUMED;
	turn.cause = TURN_BY_RESUME;
	turn.until_ms = STAMP_NONE;
	turn.held_ms = 20 * MIN;
	strcpy(turn.reason, "a sale");
}

static void
nothing_yet(void)
{
	turns_n = 0;
}

static const struct {
	void (*is)(void);
	const char *text, *json;
} others[] = {
	{capped, "released  2026-01-02T03:04:05Z  2026-01-02T03:24:05Z at the "
		 "earliest: its cap is used up\n", "\"state\":\"released\""},
	{until_cap, "2026-01-02T03:24:05Z, when its cap is used up\n",
	 "\"untilCap\":true"},
	{nobody_knows, "held      2026-01-02T03:04:05Z  unknown\n",
	 "\"until\":null,\"untilCap\":false,\"untilHand\":false,\"earliest\":false"},
	{quiet, "cluster  quiet     2026-01-02T03:04:05Z\n",
	 "\"state\":\"quiet\""},
	{all_by_hand, "2026-01-02T03:34:05Z, by hold-until\n"
		      "         2 of 2 NodePools are held by hold-until, until "
		      "2026-01-02T15:04:05Z, the first until "
		      "2026-01-02T03:34:05Z\n",
	 "\"untilHand\":true"},
	{all_by_hand, "cluster  held  ",
	 "\"byHand\":{\"nodePools\":2,\"held\":2,\"tickets\":0,\"firstUntil\":"
	 "\"2026-01-02T03:34:05Z\",\"lastUntil\":\"2026-01-02T15:04:05Z\"}"},
	{all_by_tickets, "cluster  held      2026-01-02T03:04:05Z  "
			 "2026-01-02T03:34:05Z, by tickets\n"
			 "         2 of 2 NodePools are held by tickets, until ",
	 "\"held\":2,\"tickets\":2,"},
	{by_hand_and_tickets, "2 of 2 NodePools are held by hold-until or tickets",
	 "\"held\":2,\"tickets\":1,"},
	{none_by_hand, "cluster  quiet ", "\"byHand\":null"},
	{ready, "restarted by web-x7k2p, ready since 2026-01-02T03:13:05Z\n",
	 "\"booting\":false"},
	{unseen, "waits: nodepools cannot be listed or watched at the moment, "
		 "so nothing is released\n",
	 "{\"reason\":\"notSeen\",\"resource\":\"nodepools\",\"until\":null,"},
	{unseen, "nodeclaims 12, nodepools (NOT NOW), events\n",
	 "\"resource\":\"nodepools\",\"listed\":false,\"watching\":true"},
	{coming, "waits: 3 new machines are about to count "
		 "(until 2026-01-02T03:04:05Z)\n",
	 "{\"reason\":\"newMachines\",\"resource\":null,\"until\":"
	 "\"2026-01-02T03:04:05Z\""},
	{observing,
	 "Z, mode observe: nothing is written, and this is what would be\n",
	 "\"mode\":\"observe\""},
	{claims_left, "left behind  our hold is on 0 Nodes and 2 NodeClaims since",
	 "\"resource\":\"nodeclaims\",\"listed\":true,\"watching\":true,"
	 "\"objects\":12,\"held\":2"},
	{down, "watching     nodes 12 (NOT NOW), nodeclaims 12, nodepools, ",
	 "\"resource\":\"nodes\",\"listed\":true,\"watching\":false"},
	{expired_certificate,
	 "certificate  NOT VALID; its end: 2026-04-02T03:04:05Z\n",
	 "{\"valid\":false,\"notAfter\":\"2026-04-02T03:04:05Z\","
	 "\"authority\":null}"},
	{shedding, "17 in the last 60 s: 12 held, 2 unchanged, 3 shed\n",
	 "\"requests\":17,\"held\":12,"},
	{uncapped, "new machines on\n\nNODEPOOL", "\"cap\":null"},
	{foreign_name, "w\xc3\xa9" "b      held  ",
	 "\"name\":\"w\xc3\xa9" "b\""},
	{refused, "          0  3 writes failed and wait\n",
	 "\"waiting\":3"},
	{no_certificate, "certificate  NONE: the webhook cannot be called\n",
	 "\"certificate\":{\"valid\":false,\"notAfter\":null,\"authority\":null}"},
	{alone, "leader       this replica, without an election\n",
	 "\"electing\":false"},
	{each_for_itself, "\nEach machine is held by itself (scope node).\n",
	 "\"scopes\":[]"},
	{would_hold,
	 "17 in the last 60 s: 12 held, 3 would be held, 2 unchanged\n",
	 "\"requests\":17,\"held\":12,\"wouldHold\":3,\"unchanged\":2,"},
	{never_consolidated, "\n          left out: never-consolidated\n",
	 "\"leftOut\":\"never-consolidated\","},
	{excluded, "\n          left out: excluded\n",
	 "\"leftOut\":\"excluded\",\"annotations\":{}"},
	{released_ahead,
	 "released-at: \"2026-01-02T04:43:05Z\" does not count, it lies ahead",
	 "hold-until\":\"2026-01-02T15:04:05Z\"},\"invalid\":[{\"annotation\":"
	 "\"karpenter-node-holder.io/released-at\""},
	{released, "cluster released: quiet, held for 12m30s, machine web",
	 "\"heldFor\":\"12m30s\""},
	{released_at_once, "released: quiet, held for 0s, machine web",
	 "\"heldFor\":\"0s\""},
	{by_hand, "NodePool web held: hold-until 2026-01-02T03:34:05Z\n",
	 "\"scope\":null,\"nodePool\":\"web\",\"machine\":null,"},
	{resumed_by_hand,
	 "NodePool web resumed: by-hand, held for 20m, reason: a sale\n",
	 "\"nodePool\":\"web\",\"machine\":null,\"heldFor\":\"20m\","
	 "\"until\":null,\"reason\":\"a sale\"}"},
	{nothing_yet, "nothing, as far as is known\n",
	 "\"history\":[]"},
};

START_TEST(test_other)
{
	others[_i].is();
	(void)write(STATUS_TEXT);
	ck_assert_msg(strstr(text, others[_i].text) != NULL, "%d: %s", _i,
		      text);
	json_free(parse(write(STATUS_JSON)));
	ck_assert_msg(strstr(text, others[_i].json) != NULL, "%d: %s", _i,
		      text);
}
END_TEST

/* --- the page ------------------------------------------------------------------------ */

START_TEST(test_page)
{
	(void)write(STATUS_HTML);
	shows("<title>held | karpenter-node-holder</title>");
	shows("<p class=\"v held\">The scope <bdi>cluster</bdi> is held until "
	      "<time datetime=\"2026-01-02T03:24:05Z\">03:24:05</time> (in 10m) "
	      "at the earliest: machines are booting. 1 of 1 NodePool "
	      "is held by hold-until, until <time datetime=\"2026-01-02T15:04:05Z\">"
	      "15:04:05</time> (in 11h50m). 12 of 12 Nodes carry the holder's "
	      "hold.</p>");
	shows("<p>1 of 2 NodePools is held by hold-until, until <time datetime=\"2026-"
	      "01-02T15:04:05Z\">15:04:05</time> (in 11h50m). </p>");
	shows("As of <time datetime=\"2026-01-02T03:14:05Z\">2026-01-02 03:14:05"
	      "</time>");
	shows("<p>12 machines, held since <time datetime=\"2026-01-02T03:04:05Z"
	      "\">03:04:05</time> (10m ago) until ");
	shows("Restarted by <a href=\"status/machines/web-x7k2p?format=html\">"
	      "<bdi>web-x7k2p</bdi></a>, created <time datetime=\"2026-01-02T"
	      "03:13:05Z\">03:13:05</time> (1m ago) and not ready yet.");
	shows("Held from 3 new machines on.");
	shows("Cap 1h, of which 10m are used.");
	shows("<th scope=\"row\"><bdi>web</bdi></th><td class=\"r\">12</td>"
	      "<td class=\"r\">12</td><td class=\"r\">0</td><td class=\"r\">0"
	      "</td>");
	shows("<p>hold-until: 2026-01-02T15:04:05Z</p>");
	shows("hold-duration: &quot;<bdi>ten minutes</bdi>&quot; does not count, "
	      "expected a duration above 0 such as 10m");
	shows("<p>reason: <bdi>Black Friday</bdi></p>");
	shows("</td><td><bdi>cluster</bdi> held: scale-up, machine <a href");
	shows("<dd>14 in the last 60 s: 12 held, 2 unchanged</dd>");
	shows("<a href=\"./?last=1h&amp;refresh=off\">stop</a>");
	head.view.still = true;
	(void)write(STATUS_HTML);
	shows("<a href=\"./?last=1h\">renew it</a>");
	shows("<a href=\"./?last=24h&amp;refresh=off\">24 hours</a>");
}
END_TEST

/* It says in one sentence who leads and how to reach it. */
START_TEST(test_page_of_a_follower)
{
	head.lead.here = false;
	(void)write(STATUS_HTML);
	shows("<title>stands by | ");
	shows("The leader is <bdi>pod-1</bdi>: <code>kubectl karpenter-holder open"
	      "</code> leads to its page.</p>");
	ck_assert_ptr_null(strstr(text, "Scopes"));
	ck_assert_ptr_null(strstr(text, "NodePools"));
	/* It sees nothing because it need not. */
	unseen();
	(void)write(STATUS_HTML);
	ck_assert_ptr_null(strstr(text, "Waits"));
	head.lead.identity[0] = '\0';
	(void)write(STATUS_HTML);
	shows("Leader: nobody, or not known yet.");
}
END_TEST

static void
two_scopes(void)
{
	scopes_n = 2;
}

static void
just_now(void)
{
	scope.since_ms = head.now_ms + 400;
}

static void
tomorrow(void)
{
	scope.until_ms = T + 1440 * MIN;
}

static void
one_boots_for_itself(void)
{
	each_for_itself();
	head.report.table.timers = 1;
}

static void
a_claim_is_held(void)
{
	head.report.table.held[KIND_NODECLAIM] = 1;
}

static void
five_would_be_held(void)
{
	observing();
	head.report.table.would[KIND_NODE] = 5;
}

static const struct {
	void (*is)(void);
	const char *says;
} pages[] = {
	{capped, "\"v released\">1 of 1 scopes is busy, and released by its cap"},
	{capped, "03:24:05</time> (in 10m) at the earliest: its cap is"},
	{until_cap, "03:24:05</time> (in 10m), when its cap is used up."},
	{nobody_knows, "is held, nobody knows until when."},
	{quiet, "<p class=\"v partly held\">No scope is held. 1 of 1 NodePool is "
		"held by hold-until, until <time"},
	{quiet, "<title>partly held | "},
	{none_by_hand, "All is quiet: no scope is held. 12"},
	{none_by_hand, "<title>quiet | "},
	{all_by_hand, "<title>held | "},
	{all_by_hand, "is held until <time datetime=\"2026-01-02T03:34:05Z\">"
		      "03:34:05</time> (in 20m), by hold-until."},
	{all_by_tickets, "held since <time datetime=\"2026-01-02T03:04:05Z\">"
			 "03:04:05</time> (10m ago) until "},
	{all_by_tickets, "(in 20m), by tickets."},
	{all_by_tickets, "scope <bdi>cluster</bdi> <span class=\"d\">held once, "
			 "for 10m, and now</span>"},
	{over_by_now, "NodePool <bdi>web</bdi> held: ticket <time datetime=\""
		      "2026-01-02T05:14:05Z\">05:14:05</time></td>"},
	{ticket_ended, "NodePool <bdi>web</bdi> released: ticket-ended, held "
		       "for 1m</td>"},
	{two_scopes, "2 of 2 scopes are held."},
	{just_now, "03:14:05</time> (0s ago) until <time"},
	{unseen, "Waits: nodepools cannot be listed or watched at the moment"},
	{coming, "3 new machines are about to count, until <time"},
	{observing, "cluster</bdi> would be held until "},
	{observing, "With mode enforce, 0 of 12 Nodes would carry "},
	{no_certificate, "no valid certificate: the webhook cannot be called"},
	{expired_certificate, "no valid certificate: the webhook cannot be called"},
	{tomorrow, "<time datetime=\"2026-01-03T03:04:05Z\">2026-01-03 03:04:05<"},
	{a_claim_is_held, " hold, and 1 NodeClaim.</p>"},
	{five_would_be_held, "With mode enforce, 5 of 12 Nodes would carry "},
	{each_for_itself, "<title>partly held | "},
	{one_boots_for_itself, "<title>held | "},
	{alone, "<dd>this replica, without an election</dd>"},
	{each_for_itself, "Each machine is held by itself (scope node)."},
	{excluded, "<p>left out: excluded</p>"},
	{refused, "3 writes failed, and wait to be tried again."},
	{released, "released: quiet, held for 13m, machine"},
	{by_hand, "NodePool <bdi>web</bdi> held: hold-until <time"},
	{nothing_yet, "Nothing, as far as is known."},
};

START_TEST(test_page_says)
{
	pages[_i].is();
	(void)write(STATUS_HTML);
	shows(pages[_i].says);
}
END_TEST

static void
comes_first(const char *first, const char *second)
{
	shows(first);
	shows(second);
	ck_assert_msg(strstr(text, first) < strstr(text, second), "%s", second);
}

/* What is worth a look comes first, wherever it is in the table. */
START_TEST(test_page_in_order)
{
	struct nodepool_status busy_pool = nodepool, bad_pool = nodepool;
	struct scope_status busy = scope;

	rules.scope = SCOPE_NODEPOOL;
	quiet();
	scope.since_ms = STAMP_NONE;
	strcpy(scope.name, "calm");
	strcpy(busy.name, "busy");
	other_scope = &busy;
	scopes_n = 2;
	(void)write(STATUS_HTML);
	comes_first("<h3><bdi>busy", "<h3><bdi>calm");
	comes_first("<li><span>scope <bdi>busy", "<li><span>scope <bdi>calm");

	busy_pool.n.waiting = 3;
	bad_pool.by_hand = nodepool.by_hand = false;
	nodepool_init(&nodepool.nodepool);
	strcpy(nodepool.nodepool.name, "plain");
	nodepools_n = 2;
	for (int i = 0; i < 2; i++) {
		other_nodepool = i == 0 ? &busy_pool : &bad_pool;
		(void)write(STATUS_HTML);
		comes_first("\"row\"><bdi>web", "\"row\"><bdi>plain");
	}
}
END_TEST

/* Unless the reader chooses, the page shows the latest hold from its beginning
 * on, and as little before as it can. */
START_TEST(test_span)
{
	static const struct {
		int64_t ago, held;
		const char *shown;
	} spans[] = {
		{50 * MIN, -1, "<b>1 hour</b>"},
		{50 * MIN, 20 * MIN, "<b>6 hours</b>"},
		{5 * 60 * MIN, -1, "<b>6 hours</b>"},
		{7 * 60 * MIN, -1, "<b>24 hours</b>"},
		{50 * MIN, 30 * 60 * MIN, "<b>24 hours</b>"},
	};

	head.view.last_ms = 0;
	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
		turn.at_ms = head.now_ms - spans[i].ago;
		turn.held_ms = spans[i].held;
		(void)write(STATUS_HTML);
		shows(spans[i].shown);
	}
	turns_n = 0;
	(void)write(STATUS_HTML);
	shows("<b>1 hour</b>");
}
END_TEST

/* One hour ends with now.  x and width are shares of it. */
START_TEST(test_timeline)
{
	(void)write(STATUS_HTML);
	/* Held since ten minutes ago. */
	shows("held once, for 10m, and now</span>");
	shows("<rect class=\"o\" x=\"83.33%\" width=\"16.67%\" y=\"14\" "
	      "height=\"14\"/><text y=\"10\" x=\"83.33%\">held "
	      "03:04</text>");
	/* It has turned this moment, or a little later. */
	for (int later = 0; later < 2; later++) {
		scope.since_ms = head.now_ms + later;
		(void)write(STATUS_HTML);
		shows("held once, for 0s, and now</span>");
		shows("<rect class=\"o\" x=\"99.70%\" width=\"0.30%\"");
	}
	scope.since_ms = T;
	(void)write(STATUS_HTML);
	/* A NodePool that a person holds, from before the turns on. */
	shows("held by hold-until now</span>");
	shows("<rect class=\"p\" x=\"0.00%\" width=\"100.00%\"");
	/* The replica has led since half an hour. */
	head.known_ms = T - 20 * MIN;
	(void)write(STATUS_HTML);
	shows("<rect class=\"u\" x=\"0.00%\" width=\"50.00%\"");
	shows("<rect class=\"f\" x=\"50.00%\" width=\"50.00%\" y=\"20\"");
	/* It was held from 5 minutes before what is known on, twice. */
	quiet();
	released();
	turn.at_ms = T - 5 * MIN;
	turn.held_ms = 15 * MIN;
	scope.since_ms = turn.at_ms;
	(void)write(STATUS_HTML);
	shows("held once, for 15m</span>");
	shows("<rect class=\"o\" x=\"50.00%\" width=\"25.00%\" y=\"14\" "
	      "height=\"14\"/><text y=\"10\" x=\"50.00%\">held 02:44</text>");
	turn.at_ms = scope.since_ms = head.now_ms + 1;
	turn.held_ms = 0;
	(void)write(STATUS_HTML);
	shows("held once, for 0s</span>");
	shows("<rect class=\"o\" x=\"99.70%\" width=\"0.30%\"");
	/* The clock has been set back since. */
	turn.at_ms = scope.since_ms = head.now_ms + 2 * MIN;
	turn.held_ms = MIN;
	(void)write(STATUS_HTML);
	shows("<rect class=\"o\" x=\"98.33%\" width=\"1.67%\"");
	turn.at_ms = scope.since_ms = T - 5 * MIN;
	turn.held_ms = 15 * MIN;
	(void)write(STATUS_HTML);
	ck_assert_ptr_null(strstr(text, "<rect class=\"c\" x=\"75.00%\""));
	/* By its cap: the window is drawn up to now, or to its end. */
	turn.what = TURN_CAPPED;
	(void)write(STATUS_HTML);
	shows("<rect class=\"c\" x=\"75.00%\" width=\"8.33%\"");
	/* It does not turn in what is shown. */
	turn.at_ms = T - 90 * MIN;
	scope.since_ms = turn.at_ms;
	(void)write(STATUS_HTML);
	shows("not held</span>");
	ck_assert_ptr_null(strstr(text, "<rect class=\"o\" x=\"0.00%\""));
	/* It began before that. */
	turn.at_ms = scope.since_ms = T - 40 * MIN;
	turn.held_ms = 30 * MIN;
	(void)write(STATUS_HTML);
	shows("held once, for 10m</span>");
	/* A hold-until that was taken back is drawn as far as it asked for. */
	by_hand();
	turn.what = TURN_HELD;
	turn.held_ms = -1;
	turn.at_ms = T - 20 * MIN;
	turn.until_ms = T - 5 * MIN;
	nodepool.by_hand = false;
	(void)write(STATUS_HTML);
	shows("no longer held</span>");
	shows("<rect class=\"e\" x=\"50.00%\" width=\"25.00%\"");
	/* One that has ended is drawn as long as it was. */
	turn.what = TURN_RELEASED;
	turn.cause = TURN_BY_RELEASE;
	turn.at_ms = T - 5 * MIN;
	turn.held_ms = 30 * MIN;
	turn.until_ms = turn.at_ms;
	(void)write(STATUS_HTML);
	shows("<rect class=\"e\" x=\"25.00%\" width=\"50.00%\"");
	/* A full ring: before its oldest turn nothing is known. */
	turns_n = JOURNAL_TURNS;
	turn.at_ms = T + 4 * MIN;
	(void)write(STATUS_HTML);
	shows("<rect class=\"u\" x=\"0.00%\" width=\"90.00%\"");
	/* The axis. */
	head.view.last_ms = JOURNAL_MS;
	(void)write(STATUS_HTML);
	shows("<text class=\"m\" y=\"14\" x=\"11.52%\">06:00</text>");
	ck_assert_ptr_null(strstr(text, ">06:30<"));
	/* Half of it would be beyond the end. */
	ck_assert_ptr_null(strstr(text, ">03:00<"));
}
END_TEST

/* Two turns of one scope, or NodePool, and one of another's. */
START_TEST(test_timeline_of_two)
{
	struct turn older;

	quiet();
	released();
	older = turn;
	older_turn = &older;
	turns_n = 2;
	turn.at_ms = T + 5 * MIN;
	turn.held_ms = 4 * MIN;
	older.what = TURN_CAPPED;
	older.at_ms = T;
	older.held_ms = 5 * MIN;
	(void)write(STATUS_HTML);
	shows("held 2 times, for 9m in all</span>");
	/* The window ends where the next hold begins, whose words have no room
	 * for others beside them. */
	shows("<rect class=\"c\" x=\"83.33%\" width=\"1.67%\"");
	shows(">held 03:05</text>");
	ck_assert_ptr_null(strstr(text, ">held 02:59</text>"));
	/* Nor do they take the room of what is held now. */
	scope.state = SCOPE_HELD;
	scope.since_ms = T + 7 * MIN;
	turn.at_ms = T - 10 * MIN;
	older.at_ms = T - 35 * MIN;
	(void)write(STATUS_HTML);
	shows("<text y=\"10\" x=\"95.00%\">held 03:11</text>");
	shows("<text y=\"10\" x=\"60.00%\">held 02:50</text>");
	shows("<text y=\"10\" x=\"16.66%\">held 02:24</text>");
	quiet();
	rules.scope = SCOPE_NODEPOOL;
	strcpy(scope.name, "web");
	strcpy(turn.scope, "web");
	strcpy(older.scope, "other");
	(void)write(STATUS_HTML);
	shows("held once, for 4m</span>");
	/* Of two hold-untils the newer one is in force. */
	by_hand();
	turn.what = TURN_HELD;
	turn.held_ms = -1;
	older = turn;
	turn.at_ms = T - 10 * MIN;
	older.at_ms = T - 30 * MIN;
	(void)write(STATUS_HTML);
	shows("<rect class=\"p\" x=\"66.66%\" width=\"33.34%\"");
}
END_TEST

/* --- hostile names, and too much ---------------------------------------------------- */

static void
hostile(void)
{
	strcpy(head.replica, HOSTILE);
	strcpy(head.lead.identity, HOSTILE);
	strcpy(scope.machine, HOSTILE);
	strcpy(scope.name, HOSTILE);
	strcpy(nodepool.nodepool.name, HOSTILE);
	strcpy(nodepool.nodepool.reason, HOSTILE);
	strcpy(nodepool.nodepool.bad[NODEPOOL_ENABLED], HOSTILE);
	strcpy(turn.machine, HOSTILE);
	strcpy(turn.reason, HOSTILE);
	rules.scope = SCOPE_NODEPOOL;
}

/* Nothing in the text is an escape of a terminal's, or no UTF-8. */
static void
is_plain(void)
{
	for (const char *p = text; *p != '\0'; p++)
		ck_assert_msg((unsigned char)*p < 0x7f &&
				      (*p >= ' ' || *p == '\n'),
			      "%02x", (unsigned char)*p);
}

START_TEST(test_hostile)
{
	struct json *root;

	hostile();
	head.lead.here = _i == 0;
	(void)write(STATUS_TEXT);
	is_plain();
	ck_assert_ptr_nonnull(strstr(text, "</pre><script>\"'&?[31m???"));
	(void)write(STATUS_HTML);
	is_plain();
	ck_assert_ptr_null(strstr(text, "<script"));
	ck_assert_ptr_nonnull(
		strstr(text, "<bdi>&lt;/pre&gt;&lt;script&gt;&quot;&#39;&amp;?"
			     "[31m??" "?</bdi>"));
	ck_assert_int_eq(
		strstr(text, "\"status/machines/%3C%2Fpre%3E%3Cscript%3E%22%27"
			     "%26%1B%5B31m%C2%9B%E2%80%AE%FF?format=html\"") !=
			NULL, _i == 0);
	root = parse(write(STATUS_JSON));
	ck_assert_str_eq(json_string(json_member(json_member(root, "leader"),
						 "identity")),
			 "</pre><script>\"'&\x1b[31m\xc2\x9b\xe2\x80\xae"
			 "\xef\xbf\xbd");
	json_free(root);
}
END_TEST

static long long
left(const struct json *root, const char *what)
{
	long long n = -1;

	ck_assert_int_eq(json_integer(json_member(json_member(root, "leftOut"),
						  what), &n), 0);
	return n;
}

static long long
length(const struct json *list)
{
	long long n = 0;

	for (const struct json *v = json_first(list); v != NULL;
	     v = json_next(v))
		n++;
	return n;
}

/* More than has room: what is written is whole, and what is not is counted.  The
 * head and something of each list are always there. */
START_TEST(test_too_much)
{
	struct json *root;

	scopes_n = nodepools_n = SCOPES_MAX;
	turns_n = JOURNAL_TURNS;
	root = parse(write(STATUS_JSON));
	ck_assert_int_gt(left(root, "scopes"), 0);
	ck_assert_int_eq(left(root, "scopes") +
				 length(json_member(root, "scopes")),
			 SCOPES_MAX);
	ck_assert_int_gt(length(json_member(root, "nodePools")), 200);
	ck_assert_int_eq(left(root, "nodePools") +
				 length(json_member(root, "nodePools")),
			 SCOPES_MAX);
	ck_assert_int_gt(length(json_member(root, "history")), 200);
	ck_assert_int_eq(left(root, "history") +
				 length(json_member(root, "history")),
			 JOURNAL_TURNS);
	json_free(root);
	(void)write(STATUS_TEXT);
	ck_assert_ptr_nonnull(strstr(text, "\nweb  "));
	ck_assert_ptr_nonnull(strstr(text, "\nTHE LAST 24 HOURS\n"));
	ck_assert_ptr_nonnull(strstr(text, "… and 1004 more, in the JSON\n"));
	(void)write(STATUS_HTML);
	/* 20 scopes, 30 rows, 100 NodePools and 30 turns. */
	ck_assert_ptr_nonnull(strstr(text, "… and 4076 more"));
	ck_assert_ptr_nonnull(strstr(text, "… and 8162 rows more"));
	ck_assert_ptr_nonnull(strstr(text, "… and 3996 more"));
	ck_assert_ptr_nonnull(strstr(text, "… and 994 more"));
	ck_assert_ptr_nonnull(strstr(text, "</footer></body></html>\n"));
}
END_TEST

/* The longest names, all of characters that become six. */
START_TEST(test_too_much_for_a_page)
{
	struct buf b;

	scopes_n = nodepools_n = SCOPES_MAX;
	turns_n = JOURNAL_TURNS;
	rules.scope = SCOPE_NODEPOOL;
	memset(scope.name, '"', sizeof(scope.name) - 1);
	memset(scope.machine, '"', sizeof(scope.machine) - 1);
	memset(nodepool.nodepool.name, '"',
	       sizeof(nodepool.nodepool.name) - 1);
	memset(nodepool.nodepool.reason, '"',
	       sizeof(nodepool.nodepool.reason) - 1);
	memset(turn.scope, '"', sizeof(turn.scope) - 1);
	memset(turn.machine, '"', sizeof(turn.machine) - 1);
	memset(turn.reason, '"', sizeof(turn.reason) - 1);
	turn.what = TURN_CAPPED;
	turn.held_ms = MIN;
	(void)write(STATUS_HTML);
	ck_assert_ptr_nonnull(strstr(text, "</footer></body></html>\n"));
	/* Less room: a whole page, or none. */
	for (size_t cap = 20000; cap < sizeof(text); cap += 12007) {
		buf_init(&b, text, cap);
		status_write(&b, STATUS_HTML, &head, &items);
		if (!b.full)
			is_well_formed();
	}
}
END_TEST

/* Fifty NodePools, each a scope of its own, and a full history of usual names
 * leave nothing out. */
START_TEST(test_enough_room)
{
	struct json *root;

	rules.scope = SCOPE_NODEPOOL;
	strcpy(scope.name, "web");
	strcpy(turn.scope, "web");
	scopes_n = nodepools_n = 50;
	turns_n = JOURNAL_TURNS;
	root = parse(write(STATUS_JSON));
	ck_assert_int_eq(left(root, "scopes") + left(root, "nodePools") +
				 left(root, "history"), 0);
	ck_assert_int_eq(length(json_member(root, "history")), JOURNAL_TURNS);
	json_free(root);
}
END_TEST

/* --- a machine -------------------------------------------------------------------- */

static struct machine_status
a_machine(void)
{
	return (struct machine_status){
		.claim = {.present = true, .name = "web-x7k2p",
			  .tenure = TENURE_FREE, .mark_ms = STAMP_NONE,
			  .again_ms = STAMP_NONE},
		.node = {.present = true, .name = "ip-10-0-1-2",
			 .tenure = TENURE_OURS, .carries = true,
			 .mark_ms = T + 1000,
			 .written = true,
			 .last = {.at_ms = T + 1000, .act = ACT_HOLD,
				  .how = WRITTEN_OK},
			 .again_ms = STAMP_NONE},
		.nodepool = "web", .registered = true, .goal = GOAL_HOLD,
		.why = "scale-up", .own_ms = T + 12 * MIN,
		.manual_ms = STAMP_NONE,
	};
}

static void
write_machine(enum status_format f, const struct machine_status *m)
{
	struct buf b;

	buf_init(&b, text, sizeof(text));
	status_write_machine(&b, f, &head, "ip-10-0-1-2", m, &scope);
	ck_assert(!b.full);
}

START_TEST(test_machine)
{
	struct machine_status m = a_machine();

	write_machine(STATUS_TEXT, &m);
	ck_assert_str_eq(
		text,
		LINE("ip-10-0-1-2 is held by the holder until 2026-01-02T03:24:05Z at the earliest: scale-up")
		LINE("because of    web-x7k2p, created 2026-01-02T03:13:05Z and not ready yet")
		LINE("karpenter     may take it from 2026-01-02T03:24:05Z on at the earliest, if nothing else happens")
		LINE("nodepool      web")
		LINE("scope         cluster")
		LINE("own deadline  2026-01-02T03:16:05Z")
		LINE("node          ip-10-0-1-2, held since 2026-01-02T03:04:06Z; last write: hold, written 2026-01-02T03:04:06Z")
		LINE("nodeclaim     web-x7k2p, not held"));
	write_machine(STATUS_JSON, &m);
	ck_assert_str_eq(
		text,
		LINE("{\"apiVersion\":\"status.karpenter-node-holder.io/v1\","
		"\"kind\":\"MachineStatus\",\"time\":\"2026-01-02T03:14:05Z\","
		"\"mode\":\"enforce\",\"name\":\"ip-10-0-1-2\","
		"\"nodePool\":\"web\",\"held\":true,"
		"\"by\":\"holder\",\"why\":\"scale-up\",\"reason\":null,"
		"\"until\":\"2026-01-02T03:24:05Z\",\"earliest\":true,"
		"\"freeFrom\":\"2026-01-02T03:24:05Z\",\"person\":null,"
		"\"scope\":\"cluster\",\"restartedBy\":{\"machine\":\"web-x7k2p\","
		"\"time\":\"2026-01-02T03:13:05Z\",\"booting\":true},"
		"\"ownDeadline\":\"2026-01-02T03:16:05Z\",\"booting\":false,"
		"\"node\":{\"name\":\"ip-10-0-1-2\","
		"\"held\":\"holder\",\"carriesHold\":true,"
		"\"heldSince\":\"2026-01-02T03:04:06Z\","
		"\"deleting\":false,\"lastWrite\":{\"write\":\"hold\","
		"\"outcome\":\"written\",\"time\":\"2026-01-02T03:04:06Z\"},"
		"\"nextTry\":null},\"nodeClaim\":{\"name\":\"web-x7k2p\","
		"\"held\":null,\"carriesHold\":false,\"heldSince\":null,"
		"\"deleting\":false,"
		"\"lastWrite\":null,\"nextTry\":null},\"waitsFor\":[]}"));
}
END_TEST

/* What is not known of it, or there is not. */
START_TEST(test_machine_alone)
{
	struct machine_status m = a_machine();
	struct buf b;

	m.node.deleting = true;
	coming();
	write_machine(STATUS_TEXT, &m);
	ck_assert_ptr_nonnull(strstr(text, ", being deleted; last write"));
	ck_assert_ptr_nonnull(strstr(text, "waits: 3 new machines are about "));
	for (int f = STATUS_TEXT; f <= STATUS_HTML; f++) {
		buf_init(&b, text, sizeof(text));
		status_write_machine(&b, (enum status_format)f, &head, "x", &m,
				     NULL);
		ck_assert_ptr_nonnull(strstr(
			text, f == STATUS_JSON ? "\"scope\":null,"
					       : "\nscope         none\n"));
		ck_assert_ptr_null(strstr(text, "not known yet"));
	}
}
END_TEST

/* Until when it is held, as far as its own deadline, its scope and its
 * NodePool's hold-until say.  Minutes after T, of which 10 are over. */
#define NONE INT64_MIN
static const struct {
	enum goal goal;
	int own;
	enum scope_state state;
	int64_t scope;	/* NONE: nobody knows */
	int64_t manual;	/* NONE: there is none */
	const char *want;
} untils[] = {
	{GOAL_HOLD, 30, SCOPE_HELD, 20, NONE,
	 "\"2026-01-02T03:34:05Z\",\"earliest\":false"},
	{GOAL_HOLD, 12, SCOPE_HELD, 20, NONE,
	 "\"2026-01-02T03:24:05Z\",\"earliest\":true"},
	{GOAL_HOLD, 9, SCOPE_HELD, NONE, NONE, "null,\"earliest\":false"},
	{GOAL_HOLD, 30, SCOPE_HELD, NONE, NONE,
	 "\"2026-01-02T03:34:05Z\",\"earliest\":true"},
	{GOAL_HOLD, 12, SCOPE_QUIET, 20, NONE,
	 "\"2026-01-02T03:16:05Z\",\"earliest\":false"},
	{GOAL_HOLD, 12, SCOPE_HELD, 20, 15,
	 "\"2026-01-02T03:24:05Z\",\"earliest\":true"},
	{GOAL_HOLD, 12, SCOPE_HELD, 20, 40,
	 "\"2026-01-02T03:44:05Z\",\"earliest\":false"},
	{GOAL_CLEAR, 30, SCOPE_HELD, 20, NONE, "null,\"earliest\":false"},
};

START_TEST(test_until)
{
	struct machine_status m = a_machine();
	int64_t at = untils[_i].scope, manual = untils[_i].manual;
	char want[80];

	m.goal = untils[_i].goal;
	m.own_ms = T + untils[_i].own * MIN;
	m.manual_ms = manual == NONE ? STAMP_NONE : T + manual * MIN;
	scope.state = untils[_i].state;
	scope.until_ms = at == NONE ? STAMP_NONE : T + at * MIN;
	(void)snprintf(want, sizeof(want), "\"until\":%s,", untils[_i].want);
	write_machine(STATUS_JSON, &m);
	ck_assert_msg(strstr(text, want) != NULL, "no %s in %s", want, text);
}
END_TEST

/* Its scope does not hold a machine that has drifted, if drift goes on. */
START_TEST(test_until_of_a_drifted_machine)
{
	struct machine_status m = a_machine();

	m.goal = GOAL_HOLD;
	m.drifts = true;
	m.own_ms = T + 12 * MIN;
	m.manual_ms = STAMP_NONE;
	scope.state = SCOPE_HELD;
	scope.until_ms = T + 20 * MIN;
	write_machine(STATUS_JSON, &m);
	ck_assert_ptr_nonnull(
		strstr(text, "\"until\":\"2026-01-02T03:16:05Z\","));
}
END_TEST

/* A hold-until that ends last is the cause, with its reason, and another machine
 * is none while nothing else holds. */
START_TEST(test_machine_by_hand)
{
	struct machine_status m = a_machine();

	m.why = "machine-settling";
	m.manual_ms = T + 30 * MIN;
	strcpy(m.reason, "an audit");
	all_by_hand();
	strcpy(scope.machine, "web-x7k2p");
	write_machine(STATUS_TEXT, &m);
	ck_assert_ptr_nonnull(strstr(
		text, "until 2026-01-02T03:34:05Z: hold-until\n"
		      "reason        an audit\n"
		      "karpenter     may take it from 2026-01-02T03:34:05Z on, "
		      "if nothing else happens\n"));
	write_machine(STATUS_JSON, &m);
	ck_assert_ptr_nonnull(strstr(
		text, "\"why\":\"hold-until\",\"reason\":\"an audit\","));
	ck_assert_ptr_nonnull(strstr(text, "\"restartedBy\":null"));
	/* Its own deadline is later. */
	m.manual_ms = T + 11 * MIN;
	write_machine(STATUS_JSON, &m);
	ck_assert_ptr_nonnull(strstr(text, "\"why\":\"machine-settling\""));
}
END_TEST

static void
is_cleared(struct machine_status *m)
{
	m->goal = GOAL_CLEAR;
}

static void
is_free(struct machine_status *m)
{
	is_cleared(m);
	m->node.tenure = TENURE_FREE;
	m->node.carries = false;
}

static void
is_a_persons(struct machine_status *m)
{
	m->node.tenure = TENURE_PERSON;
}

static void
has_no_end(struct machine_status *m)
{
	m->own_ms = STAMP_NONE;
	scope.until_ms = STAMP_NONE;
}

static void
goes(struct machine_status *m)
{
	m->claim.deleting = true;
}

static const struct {
	void (*is)(struct machine_status *m);
	const char *text, *json;	/* NULL: it says nothing */
} frees[] = {
	{is_cleared, "may take it once the hold is removed, which is due\n",
	 "null"},
	{is_free, "may take it now\n", "\"2026-01-02T03:14:05Z\""},
	{is_a_persons, "leaves it alone until that person removes the hold\n",
	 "null"},
	{has_no_end, "leaves it alone, nobody knows until when\n", "null"},
	{goes, NULL, "null"},
};

START_TEST(test_free)
{
	struct machine_status m = a_machine();
	char want[100];

	frees[_i].is(&m);
	write_machine(STATUS_TEXT, &m);
	(void)snprintf(want, sizeof(want), "\nkarpenter     %s",
		       frees[_i].text != NULL ? frees[_i].text : "");
	ck_assert_msg((strstr(text, want) != NULL) == (frees[_i].text != NULL),
		      "%s", text);
	write_machine(STATUS_JSON, &m);
	(void)snprintf(want, sizeof(want), "\"freeFrom\":%s,", frees[_i].json);
	ck_assert_msg(strstr(text, want) != NULL, "%s", text);
}
END_TEST

/* --- all machines ------------------------------------------------------------------- */

static uint32_t machines_n;

/* Each machine is held, but for one that a person holds. */
static bool
a_row(void *ctx, enum machine_rank rank, uint32_t *i, struct machine_status *m,
      struct scope_status *s)
{
	const char *person = ctx;

	*m = a_machine();
	*s = scope;
	if (rank == MACHINE_LOOK) {
		m->node.tenure = TENURE_PERSON;
		strcpy(m->node.name, person);
		return (*i)++ == 0;
	}
	m->manual_ms = T + 30 * MIN;
	strcpy(m->reason, "an audit");
	return rank == MACHINE_HELD && (*i)++ < machines_n - 1;
}

static struct status_machines list = {.next = a_row};

static size_t
write_machines(enum status_format f, const char *person)
{
	struct buf b;

	list.ctx = (void *)(uintptr_t)person;
	list.total = machines_n;
	buf_init(&b, text, sizeof(text));
	status_write_machines(&b, f, &head, &list);
	ck_assert(!b.full);
	if (f == STATUS_HTML)
		is_well_formed();
	return b.len;
}

START_TEST(test_machines)
{
	struct json *root;
	const struct json *m;

	machines_n = 2;
	(void)write_machines(STATUS_TEXT, "b");
	ck_assert_str_eq(
		text,
		LINE("karpenter-node-holder 0.1.0, 2026-01-02T03:14:05Z")
		LINE("")
		LINE("NAME         NODEPOOL  HELD BY  UNTIL                          WHY")
		LINE("b            web       person   2026-01-02T03:24:05Z or later  the hold is not the holder's")
		LINE("ip-10-0-1-2  web       holder   2026-01-02T03:34:05Z           hold-until: an audit"));
	root = parse(write_machines(STATUS_JSON, "b"));
	ck_assert(json_says(root, "kind", "MachineStatusList"));
	m = json_first(json_member(root, "machines"));
	ck_assert(json_says(m, "name", "b"));
	ck_assert(json_says(m, "nodeClaim", "web-x7k2p"));
	ck_assert(json_says(m, "by", "person"));
	ck_assert_ptr_nonnull(strstr(text, "\"reason\":\"an audit\""));
	ck_assert_ptr_nonnull(strstr(text, "\"leftOut\":0}\n"));
	json_free(root);
	(void)write_machines(STATUS_HTML, HOSTILE);
	shows("<p>2 machines as of <time");
	shows("<td>holder</td><td><time datetime=\"2026-01-02T03:34:05Z\">"
	      "03:34:05</time> (in 20m)</td><td>hold-until: <bdi>an audit</bdi>");
	ck_assert_ptr_null(strstr(text, "<script"));
}
END_TEST

/* More than there is room for: each format says how many are left out. */
START_TEST(test_too_many_machines)
{
	struct json *root;
	char want[40];
	long long shown;

	machines_n = 20000;
	root = parse(write_machines(STATUS_JSON, "b"));
	shown = length(json_member(root, "machines"));
	ck_assert_int_gt(shown, 500);
	(void)snprintf(want, sizeof(want), "\"leftOut\":%lld}", 20000 - shown);
	ck_assert_ptr_nonnull(strstr(text, want));
	json_free(root);
	(void)write_machines(STATUS_TEXT, "b");
	ck_assert_ptr_nonnull(strstr(text, "… and 18000 more: ask for one "
					   "NodePool"));
	(void)write_machines(STATUS_HTML, "b");
	ck_assert_ptr_nonnull(strstr(text, "… and 19500 more: ask for one "
					   "NodePool"));
}
END_TEST

START_TEST(test_machine_of_a_person)
{
	struct machine_status m = a_machine();

	m.node.tenure = TENURE_PERSON;
	m.node.written = false;
	m.node.mark_ms = STAMP_NONE;
	(void)strcpy(m.reason, "of the NodePool");
	write_machine(STATUS_TEXT, &m);
	ck_assert_ptr_nonnull(
		strstr(text, " is held by a person, who alone ends this\n"));
	ck_assert_ptr_null(strstr(text, "of the NodePool"));
	ck_assert_ptr_nonnull(strstr(text, "\nperson        holds it: "));
	write_machine(STATUS_JSON, &m);
	ck_assert_ptr_nonnull(strstr(text, "\"by\":\"person\""));
	ck_assert_ptr_nonnull(strstr(text, "\"person\":\"held\""));
	m.node.tenure = TENURE_YIELDED;
	write_machine(STATUS_JSON, &m);
	ck_assert_ptr_nonnull(strstr(text, "\"held\":false,\"by\":null"));
	ck_assert_ptr_nonnull(strstr(text, "\"person\":\"released\""));
	/* The Node's hold is the one that counts. */
	m.node.tenure = TENURE_PERSON;
	m.claim.tenure = TENURE_OURS;
	write_machine(STATUS_JSON, &m);
	ck_assert_ptr_nonnull(strstr(text, "\"by\":\"person\""));
	/* Another value holds nothing. */
	m.claim.tenure = TENURE_FREE;
	m.node.other = true;
	write_machine(STATUS_JSON, &m);
	ck_assert_ptr_nonnull(strstr(text, "\"held\":false,\"by\":null"));
	ck_assert_ptr_nonnull(strstr(text, "\"person\":\"otherValue\""));
	/* Its claim's hold was taken off before there was a Node. */
	m.node.present = false;
	m.claim.tenure = TENURE_YIELDED;
	write_machine(STATUS_JSON, &m);
	ck_assert_ptr_nonnull(strstr(text, "\"person\":\"released\""));
	/* It is to be released, and a write is to be tried again. */
	m = a_machine();
	m.goal = GOAL_CLEAR;
	m.why = "quiet";
	m.node.last.how = WRITTEN_REFUSED;
	m.node.last.act = ACT_CLEAR;
	m.node.again_ms = T + 11 * MIN;
	write_machine(STATUS_JSON, &m);
	ck_assert_ptr_nonnull(strstr(text, "\"why\":\"quiet\",\"reason\":null,\"until\":null"));
	ck_assert_ptr_nonnull(
		strstr(text, "\"write\":\"release\",\"outcome\":\"refused\""));
	ck_assert_ptr_nonnull(
		strstr(text, "\"nextTry\":\"2026-01-02T03:15:05Z\""));
	write_machine(STATUS_TEXT, &m);
	ck_assert_ptr_nonnull(
		strstr(text, "; tried again at 2026-01-02T03:15:05Z\n"));
}
END_TEST

static const struct {
	int code;
	const char *reason;
} refusals[] = {
	{400, "BadRequest"},
	{404, "NotFound"},
	{500, "InternalError"},
	{503, "ServiceUnavailable"},
};

START_TEST(test_refusal)
{
	char want[300], long_one[900];
	struct buf b;

	buf_init(&b, text, sizeof(text));
	status_write_refusal(&b, STATUS_JSON, refusals[_i].code,
			     "no \"x\"\n");
	(void)snprintf(want, sizeof(want),
		       "{\"kind\":\"Status\",\"apiVersion\":\"v1\","
		       "\"metadata\":{},\"status\":\"Failure\",\"message\":"
		       "\"no \\\"x\\\"\\n\",\"reason\":\"%s\","
		       "\"code\":%d}\n",
		       refusals[_i].reason, refusals[_i].code);
	ck_assert_str_eq(text, want);
	buf_init(&b, text, sizeof(text));
	status_write_refusal(&b, STATUS_TEXT, 404, "no \x1b<x>");
	ck_assert_str_eq(text, "no ?<x>\n");
	buf_init(&b, text, sizeof(text));
	status_write_refusal(&b, STATUS_HTML, 404, "no <x>");
	ck_assert_ptr_nonnull(strstr(text, "<pre>no &lt;x&gt;\n</pre>"));
	ck_assert_ptr_null(strstr(text, "<a "));
	/* Half of it would be none. */
	memset(long_one, 'x', sizeof(long_one));
	long_one[sizeof(long_one) - 1] = '\0';
	buf_init(&b, text, 7000);
	status_write_refusal(&b, STATUS_HTML, 404, long_one);
	ck_assert(b.full);
}
END_TEST

START_TEST(test_machine_observed)
{
	struct machine_status m = a_machine();

	head.observe = true;
	m.node.last.how = WRITTEN_OBSERVED;
	write_machine(STATUS_TEXT, &m);
	ck_assert_ptr_nonnull(strstr(text, " would be held by the holder "));
	ck_assert_ptr_nonnull(strstr(text, "ip-10-0-1-2, would be held since"));
	ck_assert_ptr_nonnull(strstr(text, "last write: hold, observed 2026"));
	write_machine(STATUS_JSON, &m);
	ck_assert_ptr_nonnull(strstr(text, "\"mode\":\"observe\""));
	ck_assert_ptr_nonnull(strstr(text, "\"outcome\":\"observed\""));
}
END_TEST

/* --- what was asked for --------------------------------------------------------------- */

static const struct {
	const char *query, *a, *b, *why;
} queries[] = {
	{"", NULL, NULL, NULL},
	{"&&", NULL, NULL, NULL},
	{"a=1", "1", NULL, NULL},
	{"a=1&bee=2", "1", "2", NULL},
	{"timeout=15s&a=1", "1", NULL, NULL},	/* of kubectl */
	{"timeout=", NULL, NULL, "timeout: unknown, expected a=… or bee=…"},
	{"timeouts=1", NULL, NULL, "timeouts: unknown, expected a=… or bee=…"},
	{"bee=%41%c3%a9+%2B", NULL, "A\xc3\xa9++", NULL},
	{"a=%0A%ff%FF", "\n\xff\xff", NULL, NULL},
	{"a=12345678", "12345678", NULL, NULL},
	{"a=123456789", NULL, NULL, "a: expected at most 8 bytes"},
	{"a=1&a=1", NULL, NULL, "a: given twice, expected once"},
	{"a", NULL, NULL, "a: expected a value"},
	{"a=", NULL, NULL, "a: expected a value"},
	{"a=%4", NULL, NULL,
	 "a: expected two hexadecimal digits, not 00, after each %"},
	{"a=%", NULL, NULL,
	 "a: expected two hexadecimal digits, not 00, after each %"},
	{"a=%4g", NULL, NULL,
	 "a: expected two hexadecimal digits, not 00, after each %"},
	{"a=%00", NULL, NULL,
	 "a: expected two hexadecimal digits, not 00, after each %"},
	{"c=1", NULL, NULL, "c: unknown, expected a=… or bee=…"},
	{"aa=1", NULL, NULL, "aa: unknown, expected a=… or bee=…"},
	{"=1", NULL, NULL, ": unknown, expected a=… or bee=…"},
	{"be", NULL, NULL, "be: unknown, expected a=… or bee=…"},
};

START_TEST(test_query)
{
	char a[9], bee[9];
	struct query_param p[] = {{"a", a, sizeof(a), true},
				  {"bee", bee, sizeof(bee), true}};
	struct err e = {0};
	int rc = query_read(queries[_i].query, p, 2, &e);

	ck_assert_str_eq(e.text, queries[_i].why ? queries[_i].why : "");
	ck_assert_int_eq(rc, queries[_i].why != NULL ? -1 : 0);
	if (rc != 0)
		return;
	ck_assert_int_eq(p[0].found, queries[_i].a != NULL);
	ck_assert_int_eq(p[1].found, queries[_i].b != NULL);
	if (p[0].found)
		ck_assert_str_eq(a, queries[_i].a);
	if (p[1].found)
		ck_assert_str_eq(bee, queries[_i].b);
}
END_TEST

static const struct {
	const char *accept;
	enum status_format want;
} accepts[] = {
	{NULL, STATUS_TEXT},
	{"", STATUS_TEXT},
	{"*/*", STATUS_TEXT},
	{"application/json", STATUS_JSON},
	{"Application/JSON;charset=utf-8", STATUS_JSON},
	{"application/json, */*", STATUS_JSON},	/* kubectl */
	{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
	 STATUS_HTML},	/* browsers */
	{"text/*", STATUS_TEXT},
	{"text/html;q=0.5, application/json;q=0.9", STATUS_JSON},
	{"text/plain;q=0.5,application/json;q=0.49", STATUS_TEXT},
	{"text/plain;q=0.49,application/json;q=0.5,text/html;q=0.51",
	 STATUS_HTML},
	{"text/plain;q=0,*/*", STATUS_JSON},
	{"application/json;q=0", STATUS_TEXT},
	{"image/png", STATUS_TEXT},
	{"application/*", STATUS_JSON},
	{", ,;q=,text/html", STATUS_HTML},
	{"application/jsonx", STATUS_TEXT},
	{"application/x", STATUS_TEXT},
	{"text/html;q=1.5, application/json", STATUS_JSON},
	{"text/plain; q=0.5, text/html;\tq=0.9", STATUS_HTML},
	{"text/html;q=0.5, image/png", STATUS_HTML},
	{"text/plain;q=0.4, text/html;q=0.2, text/html", STATUS_TEXT},
};

START_TEST(test_accept)
{
	ck_assert_msg(query_accept(accepts[_i].accept) == accepts[_i].want,
		      "%s", accepts[_i].accept);
}
END_TEST

START_TEST(test_format)
{
	enum status_format f = STATUS_TEXT;
	struct err e = {0};

	ck_assert_int_eq(query_format("json", &f, &e), 0);
	ck_assert(f == STATUS_JSON);
	ck_assert_int_eq(query_format("xml", &f, &e), -1);
	ck_assert_str_eq(e.text, "format: expected text, json or html");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/status");
	TCase *tc = tcase_create("page"), *q = tcase_create("query");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, test_text);
	tcase_add_test(tc, test_json);
	tcase_add_test(tc, test_tickets);
	tcase_add_test(tc, test_a_stale_configuration);
	tcase_add_test(tc, test_follower);
	tcase_add_test(tc, test_waits_for_nobody);
	tcase_add_loop_test(tc, test_other, 0,
			    sizeof(others) / sizeof(others[0]));
	tcase_add_loop_test(tc, test_hostile, 0, 2);
	tcase_add_test(tc, test_too_much);
	tcase_add_test(tc, test_too_much_for_a_page);
	tcase_add_test(tc, test_page);
	tcase_add_test(tc, test_page_of_a_follower);
	tcase_add_loop_test(tc, test_page_says, 0,
			    sizeof(pages) / sizeof(pages[0]));
	tcase_add_test(tc, test_page_in_order);
	tcase_add_test(tc, test_span);
	tcase_add_test(tc, test_timeline);
	tcase_add_test(tc, test_timeline_of_two);
	tcase_add_test(tc, test_enough_room);
	tcase_add_test(tc, test_machine);
	tcase_add_test(tc, test_until_of_a_drifted_machine);
	tcase_add_test(tc, test_machine_by_hand);
	tcase_add_loop_test(tc, test_free, 0, sizeof(frees) / sizeof(frees[0]));
	tcase_add_test(tc, test_machines);
	tcase_add_test(tc, test_too_many_machines);
	tcase_add_test(tc, test_machine_of_a_person);
	tcase_add_test(tc, test_machine_observed);
	tcase_add_test(tc, test_machine_alone);
	tcase_add_loop_test(tc, test_until, 0,
			    sizeof(untils) / sizeof(untils[0]));
	tcase_add_loop_test(tc, test_refusal, 0,
			    sizeof(refusals) / sizeof(refusals[0]));
	suite_add_tcase(s, tc);
	tcase_add_loop_test(q, test_query, 0,
			    sizeof(queries) / sizeof(queries[0]));
	tcase_add_loop_test(q, test_accept, 0,
			    sizeof(accepts) / sizeof(accepts[0]));
	tcase_add_test(q, test_format);
	suite_add_tcase(s, q);
	return suite_run(s);
}
