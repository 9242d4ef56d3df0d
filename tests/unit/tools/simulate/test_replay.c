/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/limits.h"
#include "tools/simulate/history.h"
#include "tools/simulate/turns.h"
#include "suite.h"
#include "unit/core/scene.h"

#define MIN 60000
#define SECOND 1000
#define SLACK_MS 1500	/* a watch line, an answer, whole seconds */

/* --- facts that a test makes ---------------------------------------------------- */

static struct tally tally;
static struct history h;
static struct waits_setup waits;
static int64_t began;		/* server time of the first fact */
static char texts[4000][24];	/* names live as long as their facts */
static int texts_n;

static void
setup(void)
{
	rules = rules_default();
	rules.hold_ms = 10 * MIN;
	rules.cap = (struct cap_rules){60 * MIN, 10 * MIN};
	waits = (struct waits_setup){.regret_ms = 15 * MIN, .price = -1};
	began = START_SERVER;
	texts_n = 0;
	tally_init(&tally);
	ck_assert_int_eq(history_init(&h, &tally), 0);
	ck_assert_int_eq(history_setting(&h, &rules, &waits, began), 0);
}

static void
teardown(void)
{
	history_done(&h);
}

/* Begins anew under the rules as they are now. */
static void
again(void)
{
	history_done(&h);
	ck_assert_int_eq(history_init(&h, &tally), 0);
	ck_assert_int_eq(history_setting(&h, &rules, &waits, began), 0);
}

static const char *
name(const char *what, int n)
{
	char *text = texts[texts_n++ % 4000];

	(void)snprintf(text, sizeof(texts[0]), "%s%d", what, n);
	return text;
}

/* Machine n is created, launched, …, at so many ms after the beginning. */
static void
is(enum fact_kind kind, int64_t at_ms, int n, const char *pool)
{
	struct fact f;

	fact_init(&f, kind, began + at_ms);
	f.claim = name("c", n);
	f.pool = pool;
	f.maker = kind == FACT_CREATED ? MAKER_PROVISIONER : MAKER_UNKNOWN;
	if (kind >= FACT_REGISTERED)
		f.node = name("n", n);
	ck_assert_int_eq(history_take(&h, &f), 0);
}

static void
made(int64_t at_ms, int n, enum fact_maker maker)
{
	struct fact f;

	fact_init(&f, FACT_CREATED, began + at_ms);
	f.claim = name("c", n);
	f.pool = "web";
	f.maker = maker;
	ck_assert_int_eq(history_take(&h, &f), 0);
}

/* It boots in a minute. */
static void
boots(int64_t at_ms, int n, const char *pool)
{
	is(FACT_LAUNCHED, at_ms + 2 * SECOND, n, pool);
	is(FACT_REGISTERED, at_ms + 40 * SECOND, n, pool);
	is(FACT_READY, at_ms + MIN, n, pool);
}

static void
scales_up(int64_t at_ms, int n)
{
	is(FACT_CREATED, at_ms, n, "web");
	boots(at_ms, n, "web");
}

static void
gone(int64_t at_ms, int n)
{
	is(FACT_DELETING, at_ms, n, "web");
	is(FACT_NODE_GONE, at_ms + 20 * SECOND, n, "web");
	is(FACT_GONE, at_ms + 21 * SECOND, n, "web");
}

/* Karpenter decides about machines first to last. */
static void
decides(int64_t at_ms, const char *action, int first, int last)
{
	struct fact_node nodes[32];
	struct fact f;

	fact_init(&f, FACT_DECIDED, began + at_ms);
	f.action = action;
	f.reason = "underutilized";
	f.pods = 10;
	f.nodes = nodes;
	for (int n = first; n <= last; n++)
		nodes[f.nodes_n++] = (struct fact_node){name("n", n),
							name("c", n)};
	ck_assert_int_eq(history_take(&h, &f), 0);
}

static struct replay_sums
sums(int64_t end_ms)
{
	struct replay_sums r;

	history_end(&h, began + end_ms);
	replay_report(h.replays[0], &r);
	return r;
}

static void
about(int64_t at_ms, int64_t want_ms)
{
	ck_assert_msg(at_ms - began >= want_ms - SLACK_MS &&
			      at_ms - began <= want_ms + SLACK_MS,
		      "at %lld ms, expected %lld", (long long)(at_ms - began),
		      (long long)want_ms);
}

/* --- the same turns as the controller's own world -------------------------------- */

/* What happens to machine n in a wave. */
struct event_of {
	int64_t at_ms;
	enum fact_kind kind;
	int n;
	const char *pool;
};

static struct event_of script[512];
static int script_n;

static void
add(int64_t at_ms, enum fact_kind kind, int n, const char *pool)
{
	script[script_n++] = (struct event_of){at_ms, kind, n, pool};
}

static void
add_machine(int64_t at_ms, int n, const char *pool)
{
	add(at_ms, FACT_CREATED, n, pool);
	add(at_ms + 2 * SECOND, FACT_LAUNCHED, n, pool);
	add(at_ms + 40 * SECOND, FACT_REGISTERED, n, pool);
	add(at_ms + MIN, FACT_READY, n, pool);
}

static int
by_time(const void *a, const void *b)
{
	const struct event_of *x = a, *y = b;

	if (x->at_ms != y->at_ms)
		return x->at_ms < y->at_ms ? -1 : 1;
	return x->n - y->n;
}

/* A wave, another one that moves its end, a failed boot that is tried again, a
 * machine that is deleted early, and a stream of machines until the cap. */
static void
write_script(void)
{
	script_n = 0;
	for (int n = 0; n < 3; n++)
		add_machine(n * 700, n, "web");
	add_machine(6 * MIN, 3, "batch");
	add(30 * MIN, FACT_CREATED, 4, "web");
	add(30 * MIN + 2 * SECOND, FACT_LAUNCHED, 4, "web");
	add(45 * MIN, FACT_GONE, 4, "web");
	add_machine(45 * MIN + 3 * SECOND, 5, "web");
	add_machine(80 * MIN, 6, "batch");
	add(83 * MIN, FACT_DELETING, 6, "batch");
	add(84 * MIN, FACT_NODE_GONE, 6, "batch");
	add(84 * MIN + SECOND, FACT_GONE, 6, "batch");
	for (int n = 7; n < 40; n++)
		add_machine((100 + 4 * (n - 7)) * MIN, n, n % 2 ? "web" : "batch");
	qsort(script, (size_t)script_n, sizeof(script[0]), by_time);
}

/* The world makes the objects that the log shows. */
static void
play_in_world(const struct event_of *v)
{
	char claim[16], node[16];
	struct thing *c, *n;
	struct object o;

	(void)snprintf(claim, sizeof(claim), "c%d", v->n);
	(void)snprintf(node, sizeof(node), "n%d", v->n);
	c = thing_find(w, KIND_NODECLAIM, claim);
	n = thing_find(w, KIND_NODE, node);
	switch (v->kind) {
	case FACT_CREATED:
		c = claim_make(v->n, v->pool);
		break;
	case FACT_LAUNCHED:
		claim_launch(c);
		break;
	case FACT_REGISTERED:
		o = node_new(node, claim, stamp_now());
		strcpy(o.nodepool, v->pool);
		o.registered = true;
		(void)thing_add(w, &o);
		strcpy(c->o.node_name, node);
		c->o.registered = true;
		thing_changed(w, c);
		break;
	case FACT_READY:
		(void)become_ready(c);
		break;
	case FACT_DELETING:
		claim_deleting(c);
		break;
	case FACT_NODE_GONE:
		thing_delete(w, n);
		break;
	default:
		thing_delete(w, c);
		break;
	}
}

static struct turn wanted[64];
static int wanted_n;

static void
look_at_world(void)
{
	const char *scope;
	struct note note;
	bool open[64] = {false};
	uint32_t i = 0;

	while (controller_note(w->s, &note))
		for (int k = 0; k < wanted_n; k++)
			if (note.type == NOTE_SCOPE_CAPPED &&
			    wanted[k].to_ms == STAMP_NONE &&
			    strcmp(wanted[k].scope, note.name) == 0)
				wanted[k].capped = true;
	while ((scope = controller_held_scope(w->s, &i)) != NULL) {
		int k = 0;

		while (k < wanted_n && (wanted[k].to_ms != STAMP_NONE ||
					strcmp(wanted[k].scope, scope) != 0))
			k++;
		if (k == wanted_n) {
			wanted[wanted_n++] = (struct turn){
				.from_ms = server_ms(w), .to_ms = STAMP_NONE};
			strcpy(wanted[k].scope, scope);
		}
		open[k] = true;
	}
	for (int k = 0; k < wanted_n; k++)
		if (!open[k] && wanted[k].to_ms == STAMP_NONE)
			wanted[k].to_ms = server_ms(w);
}

static int64_t
run_world(void)
{
	int64_t end = script[script_n - 1].at_ms + 40 * MIN, start;

	wanted_n = 0;
	scene_again();
	world_open(w);
	/* A whole second, as that of the first fact. */
	world_run_until(w, server_ms(w) / 1000 * 1000 + 10000);
	start = server_ms(w);
	for (int i = 0; server_ms(w) - start < end; world_run(w, 500)) {
		for (; i < script_n &&
		       script[i].at_ms <= server_ms(w) - start;
		     i++)
			play_in_world(&script[i]);
		look_at_world();
	}
	return start;
}

START_TEST(test_same_turns)
{
	static const enum scope_kind scopes[] = {SCOPE_CLUSTER, SCOPE_NODEPOOL};
	struct replay_sums r;
	int64_t start, end;

	rules.scope = scopes[_i % 2];
	rules.min_scale_up = _i < 2 ? 1 : 2;
	again();
	write_script();
	scene_setup();
	rules.scope = scopes[_i % 2];
	rules.min_scale_up = _i < 2 ? 1 : 2;
	rules.hold_ms = 10 * MIN;
	rules.cap = (struct cap_rules){60 * MIN, 10 * MIN};
	start = run_world();
	end = script[script_n - 1].at_ms + 40 * MIN;
	scene_teardown();
	for (int i = 0; i < script_n; i++)
		is(script[i].kind, script[i].at_ms, script[i].n,
		   script[i].pool);
	r = sums(end);
	ck_assert_int_ge(wanted_n, _i % 2 ? 4 : 3);
	ck_assert_uint_eq(r.turns_n, (size_t)wanted_n);
	for (size_t i = 0; i < r.turns_n; i++) {
		ck_assert_str_eq(r.turns[i].scope, wanted[i].scope);
		ck_assert_int_eq(r.turns[i].capped, wanted[i].capped);
		about(r.turns[i].from_ms, wanted[i].from_ms - start);
		about(r.turns[i].to_ms, wanted[i].to_ms - start);
	}
	ck_assert_uint_ge(r.caps, 1);
}
END_TEST

/* --- decisions ------------------------------------------------------------------------ */

START_TEST(test_waits)
{
	struct replay_sums r;

	scales_up(0, 1);
	scales_up(0, 2);
	/* Two old machines join the decision; the cluster is held until 11:00. */
	decides(5 * MIN, "delete", 2, 4);
	gone(5 * MIN + SECOND, 2);
	decides(20 * MIN, "delete", 1, 1);
	gone(20 * MIN + SECOND, 1);
	r = sums(60 * MIN);
	ck_assert_uint_eq(r.holds, 1);
	about(r.turns[0].from_ms, 5 * SECOND);
	about(r.turns[0].to_ms, 11 * MIN);
	ck_assert_str_eq(r.turns[0].scope, "");
	ck_assert_uint_eq(r.waits.decisions, 1);
	ck_assert_uint_eq(r.waits.nodes, 3);
	ck_assert_uint_eq(r.waits.pods, 10);
	ck_assert_uint_eq(r.waits.regret, 0);
	ck_assert_uint_eq(r.waits.open, 0);
	ck_assert_double_eq_tol(r.waits.hours_low, 3 * 6 / 60., 0.01);
	ck_assert_double_eq_tol(r.waits.hours_high,
				3 * (6 / 60. + SIMULATE_RETHINK_MS / 3.6e6),
				0.01);
	ck_assert_uint_eq(r.waits.unpriced, 1);
	ck_assert_uint_eq(tally.unknown, 2);
}
END_TEST

/* A decision that names a machine twice, by claim or by Node, is about one. */
START_TEST(test_twice)
{
	struct fact_node nodes[] = {
		{"n1", "c1"}, {"n1", "c1"}, {"", "c1"}, {"n1", ""},
		{"n9", ""}, {"n9", ""}};
	struct replay_sums r;
	struct fact f;

	scales_up(0, 1);
	fact_init(&f, FACT_DECIDED, began + 5 * MIN);
	f.nodes = nodes;
	f.nodes_n = 6;
	f.pods = 10;
	ck_assert_int_eq(history_take(&h, &f), 0);
	ck_assert_uint_eq(h.ids_n, 2);
	ck_assert_uint_eq(tally.disrupted, 2);
	ck_assert_uint_eq(h.story.marks[0].nodes, 2);
	/* Another decision may name it again. */
	decides(5 * MIN + SECOND, "delete", 1, 1);
	ck_assert_uint_eq(h.ids_n, 1);
	ck_assert_uint_eq(tally.disrupted, 3);
	gone(5 * MIN + 2 * SECOND, 1);
	is(FACT_NODE_GONE, 5 * MIN + 2 * SECOND, 9, "web");
	r = sums(60 * MIN);
	ck_assert_uint_eq(r.waits.nodes, 2);
	ck_assert_uint_eq(r.waits.pods, 10);
	ck_assert_uint_eq(r.waits.open, 0);
	ck_assert_double_eq_tol(r.waits.hours_low, 2 * 6 / 60., 0.01);
}
END_TEST

/* Only what is held waits: in scope nodepool another NodePool goes on. */
START_TEST(test_pools)
{
	struct replay_sums r;
	uint32_t id;

	rules.scope = SCOPE_NODEPOOL;
	again();
	is(FACT_CREATED, 0, 1, "batch");
	boots(0, 1, "batch");
	is(FACT_CREATED, 20 * MIN, 2, "web");
	boots(20 * MIN, 2, "web");
	id = roster_find(&h.roster, "c1", "");
	decides(25 * MIN, "delete", 1, 2);
	gone(26 * MIN, 1);
	ck_assert(!h.roster.at[id].used);
	r = sums(60 * MIN);
	ck_assert_uint_eq(r.holds, 2);
	ck_assert_str_eq(r.turns[0].scope, "batch");
	ck_assert_str_eq(r.turns[1].scope, "web");
	ck_assert_uint_eq(r.waits.decisions, 1);
	ck_assert_uint_eq(r.waits.nodes, 1);
	ck_assert_uint_eq(r.waits.pods, 5);
}
END_TEST

START_TEST(test_scope_node)
{
	struct replay_sums r;

	rules.scope = SCOPE_NODE;
	again();
	scales_up(0, 1);
	decides(5 * MIN, "delete", 7, 7);
	decides(6 * MIN, "delete", 1, 1);
	r = sums(60 * MIN);
	ck_assert_uint_eq(r.holds, 1);
	about(r.turns[0].from_ms, 0);
	about(r.turns[0].to_ms, 11 * MIN);
	ck_assert_uint_eq(r.waits.decisions, 1);
	ck_assert_uint_eq(r.waits.nodes, 1);
}
END_TEST

/* A scale-up of the NodePool within 15 minutes: it would have been used. */
START_TEST(test_regret)
{
	struct replay_sums r;

	waits.price = 500000;
	again();
	scales_up(0, 1);
	decides(5 * MIN, "delete", 1, 1);
	gone(5 * MIN + SECOND, 1);
	is(FACT_CREATED, 6 * MIN, 2, "batch");
	scales_up(20 * MIN - SECOND, 3);
	scales_up(20 * MIN, 4);
	r = sums(60 * MIN);
	ck_assert_uint_eq(r.waits.decisions, 1);
	ck_assert_uint_eq(r.waits.regret, 1);
	ck_assert_double_eq_tol(r.waits.hours_low, 0, 0.001);
	ck_assert_double_eq_tol(r.waits.dollars_low, 0, 0.001);
	ck_assert_double_eq_tol(r.waits.dollars_high,
				0.05 + 0.5 * SIMULATE_RETHINK_MS / 3.6e6,
				0.002);
	again();
	scales_up(0, 1);
	decides(5 * MIN, "delete", 1, 1);
	scales_up(21 * MIN, 3);
	r = sums(60 * MIN);
	ck_assert_uint_eq(r.waits.regret, 0);
	/* It waits for six minutes. */
	ck_assert_double_eq_tol(r.waits.dollars_low, 0.05, 0.002);
}
END_TEST

/* The log's savings are those of the decision; a replacement runs anyway. */
START_TEST(test_replaced)
{
	struct fact_node nodes[] = {{"n1", "c1"}, {"n2", "c2"}};
	struct replay_sums r;
	struct fact f;

	scales_up(0, 1);
	scales_up(0, 2);
	fact_init(&f, FACT_DECIDED, began + 5 * MIN);
	f.action = "replace";
	f.reason = "drifted";
	f.nodes = nodes;
	f.nodes_n = 2;
	f.savings = 1000000;
	ck_assert_int_eq(history_take(&h, &f), 0);
	made(5 * MIN + 500, 3, MAKER_DISRUPTION);
	boots(5 * MIN + 500, 3, "web");
	gone(7 * MIN, 1);
	gone(7 * MIN, 2);
	r = sums(60 * MIN);
	/* The replacement moves nothing. */
	ck_assert_uint_eq(r.holds, 1);
	about(r.turns[0].to_ms, 11 * MIN);
	ck_assert_uint_eq(r.waits.regret, 0);
	ck_assert_double_eq_tol(r.waits.hours_low, 6 / 60., 0.01);
	ck_assert_double_eq_tol(r.waits.dollars_low, 6 / 60., 0.01);
	ck_assert_uint_eq(r.waits.unpriced, 0);
}
END_TEST

/* What the log saves counts before what we are told, and that before what the
 * NodePool costs. */
START_TEST(test_price_of)
{
	struct fact_node nodes[] = {{"n1", "c1"}};
	const int64_t savings[] = {-1, -1, 3000000};
	struct fact f;

	for (int n = 0; n < 3; n++) {
		waits.price = n > 0 ? 2000000 : -1;
		again();
		scales_up(0, 1);
		fact_init(&f, FACT_DECIDED, began + 5 * MIN);
		f.nodes = nodes;
		f.nodes_n = 1;
		f.savings = savings[n];
		f.price = 1000000;
		ck_assert_int_eq(history_take(&h, &f), 0);
		/* It waits for six minutes. */
		ck_assert_double_eq_tol(sums(60 * MIN).waits.dollars_low,
					(n + 1) * 6 / 60., 0.01);
	}
}
END_TEST

/* Replacements of decisions that do not wait hold nobody but themselves. */
START_TEST(test_drift)
{
	struct replay_sums r;

	for (int n = 0; n < 6; n++) {
		int64_t at = n * 3 * MIN;

		decides(at, "replace", n, n);
		made(at + 500, 100 + n, MAKER_DISRUPTION);
		boots(at + 500, 100 + n, "web");
		gone(at + MIN + 2 * SECOND, n);
	}
	r = sums(60 * MIN);
	ck_assert_uint_eq(r.holds, 0);
	ck_assert_uint_eq(r.waits.decisions, 0);
	rules.replacements = REPLACEMENTS_COUNT;
	again();
	decides(0, "replace", 0, 0);
	made(500, 100, MAKER_DISRUPTION);
	boots(500, 100, "web");
	decides(3 * MIN, "replace", 1, 1);
	r = sums(60 * MIN);
	ck_assert_uint_eq(r.holds, 1);
	ck_assert_uint_eq(r.waits.decisions, 1);
}
END_TEST

/* A node that expires has a substitute, not a scale-up. */
START_TEST(test_substitute)
{
	struct replay_sums r;

	is(FACT_DELETING, 0, 1, "web");
	scales_up(3 * SECOND, 2);
	decides(5 * MIN, "delete", 3, 3);
	decides(6 * MIN, "delete", 2, 2);
	r = sums(60 * MIN);
	ck_assert_uint_eq(r.holds, 0);
	ck_assert_uint_eq(r.waits.decisions, 1);	/* it is held itself */
}
END_TEST

/* The load comes back after a consolidation: that is a scale-up. */
START_TEST(test_no_substitute)
{
	struct replay_sums r;

	decides(0, "delete", 1, 1);
	is(FACT_DELETING, SECOND, 1, "web");
	scales_up(20 * SECOND, 2);
	r = sums(60 * MIN);
	ck_assert_uint_eq(r.holds, 1);
}
END_TEST

/* An empty machine has no replacement, so what is created next is a
 * scale-up. */
START_TEST(test_empty)
{
	struct fact_node node = {"n1", "c1"};
	struct replay_sums r;
	struct fact f;

	fact_init(&f, FACT_DECIDED, began);
	f.reason = "empty";
	f.nodes = &node;
	f.nodes_n = 1;
	ck_assert_int_eq(history_take(&h, &f), 0);
	scales_up(3 * SECOND, 2);
	r = sums(60 * MIN);
	ck_assert_uint_eq(r.holds, 1);
	about(r.turns[0].from_ms, 8 * SECOND);
}
END_TEST

/* A machine that was there before the log was held long ago, if ever. */
START_TEST(test_old)
{
	struct fact_node nodes[] = {{"n1", "c1"}, {"", "c2"}};
	struct fact f;

	fact_init(&f, FACT_DECIDED, began);
	f.pool = "web";
	f.nodes = nodes;
	f.nodes_n = 2;
	ck_assert_int_eq(history_take(&h, &f), 0);
	ck_assert_uint_eq(sums(60 * MIN).waits.decisions, 0);
}
END_TEST

/* A machine is there until its NodeClaim is gone.  One that waited goes the way
 * that the log says. */
START_TEST(test_ends)
{
	int64_t since;
	uint32_t id;

	for (int n = 1; n <= 3; n++)
		scales_up(0, n);
	id = roster_find(&h.roster, "c1", "");
	decides(5 * MIN, "delete", 1, 1);
	is(FACT_DELETING, 5 * MIN + SECOND, 1, "web");
	is(FACT_NODE_GONE, 20 * MIN, 3, "web");
	ck_assert_uint_ne(roster_find(&h.roster, "c3", ""), NO_ID);
	ck_assert_int_eq(h.story.now, 3);
	is(FACT_GONE, 21 * MIN, 3, "web");
	ck_assert_uint_eq(roster_find(&h.roster, "c3", ""), NO_ID);
	ck_assert_int_eq(h.story.now, 2);
	/* Nobody holds what is being deleted. */
	scales_up(30 * MIN, 4);
	ck_assert_ptr_null(replay_why(h.replays[0], id, &since));
	id = roster_find(&h.roster, "c2", "");
	ck_assert_ptr_nonnull(replay_why(h.replays[0], id, &since));
}
END_TEST

/* The time in which any scope was held is counted once. */
START_TEST(test_union)
{
	struct replay_sums r;

	rules.scope = SCOPE_NODEPOOL;
	again();
	is(FACT_CREATED, 0, 1, "batch");
	boots(0, 1, "batch");
	scales_up(8 * MIN, 2);
	is(FACT_CREATED, 30 * MIN, 3, "batch");
	boots(30 * MIN, 3, "batch");
	r = sums(60 * MIN);
	ck_assert_uint_eq(r.holds, 3);
	about(began + r.held_ms, (19 + 11) * MIN - 10 * SECOND);
	about(began + r.longest_ms, 11 * MIN - 5 * SECOND);
}
END_TEST

START_TEST(test_static)
{
	struct replay_sums r;

	made(0, 1, MAKER_STATIC);
	boots(0, 1, "web");
	decides(5 * MIN, "replace", 1, 1);
	r = sums(60 * MIN);
	ck_assert_uint_eq(r.holds, 0);
	ck_assert_uint_eq(r.waits.decisions, 0);
}
END_TEST

/* What waits stays although the log says that it is gone, until it is
 * released: by the cap, here. */
START_TEST(test_cap)
{
	struct replay_sums r;

	rules.cap = (struct cap_rules){20 * MIN, 10 * MIN};
	again();
	for (int n = 1; n < 12; n++) {
		scales_up(n * 5 * MIN, n);
		if (n == 2) {
			decides(12 * MIN, "delete", 30, 30);
			gone(12 * MIN + SECOND, 30);
		}
	}
	r = sums(70 * MIN);
	ck_assert_uint_ge(r.caps, 1);
	ck_assert(r.turns[0].capped);
	about(r.turns[0].to_ms, 25 * MIN + 5 * SECOND);
	ck_assert_uint_eq(r.waits.decisions, 1);
	ck_assert_double_eq_tol(r.waits.hours_low, 13 / 60., 0.01);
	ck_assert_int_le(r.longest_ms, 20 * MIN + SLACK_MS);
}
END_TEST

/* The log ends while a decision waits. */
START_TEST(test_open_end)
{
	struct replay_sums r;

	scales_up(0, 1);
	decides(5 * MIN, "delete", 1, 1);
	r = sums(8 * MIN);
	ck_assert_uint_eq(r.waits.open, 1);
	ck_assert_double_eq_tol(r.waits.hours_low, 3 / 60., 0.01);
	ck_assert_int_eq(r.held_ms, r.longest_ms);
	about(began + r.held_ms, 8 * MIN - 5 * SECOND);
}
END_TEST

/* A log with gaps: what is missing is taken as it must have been, and names
 * that come again are other machines. */
START_TEST(test_gaps)
{
	struct replay_sums r;

	is(FACT_READY, 0, 1, "web");
	is(FACT_NODE_GONE, MIN, 9, "web");
	is(FACT_GONE, MIN, 9, "web");
	gone(30 * MIN, 1);
	scales_up(40 * MIN, 1);
	scales_up(40 * MIN, 1);
	is(FACT_LAUNCHED, 42 * MIN, 1, "web");
	r = sums(60 * MIN);
	ck_assert_uint_eq(r.holds, 2);
	ck_assert_uint_eq(tally.unknown, 1);
	about(r.turns[1].from_ms, 40 * MIN + 5 * SECOND);
	about(r.turns[1].to_ms, 51 * MIN);
	ck_assert_uint_eq(h.roster.top, 1);
}
END_TEST

/* Karpenter before 1.3 names no NodeClaims in its decisions.  How the machine
 * goes is told by both names. */
START_TEST(test_by_node)
{
	struct fact_node node = {"n7", ""};
	struct fact f;

	fact_init(&f, FACT_DECIDED, began);
	f.nodes = &node;
	f.nodes_n = 1;
	ck_assert_int_eq(history_take(&h, &f), 0);
	gone(MIN, 7);
	(void)sums(60 * MIN);
	ck_assert_uint_eq(tally.unknown, 1);
	ck_assert_uint_eq(roster_find(&h.roster, "", "n7"), NO_ID);
}
END_TEST

/* Where a fact names no NodePool, its claim's name has it. */
START_TEST(test_pool_of)
{
	static const char *const names[][2] = {
		{"web-abcde", "web"}, {"web-team-abcde", "web-team"},
		{"web", ""}, {"-abcde", ""}};
	struct fact f;

	for (int i = 0; i < 4; i++) {
		uint32_t id;

		fact_init(&f, FACT_LAUNCHED, began + i);
		f.claim = names[i][0];
		ck_assert_int_eq(history_take(&h, &f), 0);
		id = roster_find(&h.roster, f.claim, "");
		ck_assert_str_eq(h.roster.at[id].pool, names[i][1]);
	}
}
END_TEST

/* A machine was decided about before its creation is told, so it was taken to be
 * older than the log. */
START_TEST(test_created_late)
{
	decides(0, "delete", 1, 1);
	made(MIN, 1, MAKER_PROVISIONER);
	(void)sums(60 * MIN);
	ck_assert_uint_eq(tally_created(&tally), 1);
	ck_assert_uint_eq(tally.makers[MAKER_PROVISIONER], 1);
	ck_assert_uint_eq(tally.makers[MAKER_UNKNOWN], 0);
}
END_TEST

/* The name of a Node comes again, as on EKS, while the replay keeps the first
 * one.  Karpenter before 1.3 names no NodeClaims in its decisions. */
START_TEST(test_name_again)
{
	struct fact_node node = {"n1", ""};
	struct replay_sums r;
	struct fact f;

	scales_up(0, 1);
	fact_init(&f, FACT_DECIDED, began + 5 * MIN);
	f.nodes = &node;
	f.nodes_n = 1;
	ck_assert_int_eq(history_take(&h, &f), 0);
	gone(5 * MIN + SECOND, 1);
	is(FACT_CREATED, 6 * MIN, 2, "web");
	is(FACT_LAUNCHED, 6 * MIN + SECOND, 2, "web");
	fact_init(&f, FACT_REGISTERED, began + 7 * MIN);
	f.claim = "c2";
	f.node = "n1";
	ck_assert_int_eq(history_take(&h, &f), 0);
	fact_init(&f, FACT_DECIDED, began + 8 * MIN);
	f.nodes = &node;
	f.nodes_n = 1;
	ck_assert_int_eq(history_take(&h, &f), 0);
	r = sums(9 * MIN);
	ck_assert_uint_eq(r.waits.decisions, 2);
	ck_assert_uint_eq(r.waits.nodes, 2);
	ck_assert_uint_eq(tally.unknown, 0);
}
END_TEST

/* Machines come and go: their places are used again. */
START_TEST(test_places)
{
	struct replay_sums r;

	for (int n = 0; n < 500; n++) {
		int64_t at = n * MIN;

		scales_up(at, n);
		if (n % 3 == 0)
			decides(at + MIN, "delete", n, n);
		gone(at + MIN + SECOND, n);
	}
	r = sums(600 * MIN);
	ck_assert_uint_eq(r.waits.open, 0);
	ck_assert_uint_le(h.roster.top, 40);
	ck_assert_uint_eq(r.no_room, 0);
}
END_TEST

/* So are those of decisions: one that is over, and that no scale-up can follow
 * any more, gives its place to the next. */
START_TEST(test_wait_places)
{
	struct waits *all = waits_new(&waits);
	struct waits_sums sums;
	struct fact f;

	for (int n = 0; n < 5000; n++) {
		uint32_t number;

		fact_init(&f, FACT_DECIDED, began + n * MIN);
		number = waits_begin(all, &f, 1, n % 2 ? "web" : "batch", 1, 1);
		ck_assert_uint_lt(number, 64);
		waits_end_one(all, number, f.at_ms + SECOND);
		/* It follows those of the last 15 minutes, but not what was
		 * decided when it came. */
		if (n % 140 == 69)
			waits_scale_up(all, "web", f.at_ms);
		if (n % 140 == 139)
			waits_scale_up(all, "web", f.at_ms + SECOND);
	}
	waits_finish(all, began + 5000 * MIN);
	waits_report(all, &sums);
	ck_assert_uint_eq(sums.decisions, 5000);
	ck_assert_uint_eq(sums.regret, 36 * 7 + 35 * 8);
	ck_assert_uint_eq(sums.open, 0);
	ck_assert_double_eq_tol(sums.hours_low,
				(5000 - 36 * 7 - 35 * 8) / 3600., 1e-6);
	waits_free(all);
}
END_TEST

/* What n decisions take that all wait, while as many machines come. */
static clock_t
took(int n)
{
	struct waits *all = waits_new(&waits);
	clock_t before = clock();
	struct fact f;

	for (int i = 0; i < n; i++) {
		fact_init(&f, FACT_DECIDED, began + i);
		(void)waits_begin(all, &f, 1, "web", 1, 1);
		waits_scale_up(all, "batch", f.at_ms);
		waits_scale_up(all, "web", f.at_ms);
	}
	before = clock() - before;
	waits_free(all);
	return before;
}

/* Eight times as many take eight times as long, and not 64 times. */
START_TEST(test_wait_many)
{
	clock_t few = 0, many = 0;

	for (int i = 0; i < 5; i++) {
		clock_t eight = 0, one = took(40000);

		for (int k = 0; k < 8; k++)
			eight += took(5000);
		few = i == 0 || eight < few ? eight : few;
		many = i == 0 || one < many ? one : many;
	}
	ck_assert_int_lt(many, 4 * few);
}
END_TEST

/* A look may name the scopes in any order. */
START_TEST(test_turns)
{
	static const char *const looks[][5] = {
		{"a", "b", "c"}, {"a", "b", "c"}, {"c", "a", "d"},
		{"d", "c", "c", "a"}, {"b", "d"}, {NULL}};
	struct turns t = {.open = NULL};
	struct replay_sums r = {.holds = 0};
	char text[200] = "";

	for (int64_t i = 0; i < 6; i++) {
		turns_look(&t);
		for (int k = 0; k < 5 && looks[i][k] != NULL; k++)
			turns_held(&t, looks[i][k], i);
		if (i == 1)
			turns_because(&t, "a", "a1");
		turns_looked(&t, i);
	}
	/* Without looks, as a holder's history tells it. */
	turns_held(&t, "x", 6);
	turns_held(&t, "y", 7);
	turns_held(&t, "x", 7);
	turns_over(&t, "x", 8);
	turns_held(&t, "y", 8);
	turns_end(&t, 9);
	turns_report(&t, &r);
	ck_assert_uint_eq(r.holds, 7);
	for (size_t i = 0; i < r.turns_n; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
			       "%s%d-%d ", r.turns[i].scope,
			       (int)r.turns[i].from_ms, (int)r.turns[i].to_ms);
	ck_assert_str_eq(text, "a0-4 b0-2 c0-4 d2-5 b4-5 x6-8 y7-9 ");
	ck_assert_str_eq(r.turns[0].machine, "a1");
	ck_assert_int_eq(r.held_ms, 8);
	ck_assert_int_eq(r.longest_ms, 4);
	turns_done(&t);
}
END_TEST

START_TEST(test_why)
{
	int64_t since = 0;
	uint32_t id;

	scales_up(0, 1);
	decides(5 * MIN, "delete", 2, 2);
	id = roster_find(&h.roster, "c2", "");
	ck_assert_str_eq(replay_why(h.replays[0], id, &since), "scale-up");
	about(since, 5 * MIN);
	ck_assert_str_eq(replay_because(h.replays[0], id), "c1");
	history_end(&h, began + 20 * MIN);
	id = roster_find(&h.roster, "c1", "");
	ck_assert_ptr_null(replay_why(h.replays[0], id, &since));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("tools/simulate/replay");
	TCase *tc = tcase_create("replay");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, test_same_turns, 0, 4);
	tcase_add_test(tc, test_waits);
	tcase_add_test(tc, test_twice);
	tcase_add_test(tc, test_pools);
	tcase_add_test(tc, test_scope_node);
	tcase_add_test(tc, test_regret);
	tcase_add_test(tc, test_replaced);
	tcase_add_test(tc, test_price_of);
	tcase_add_test(tc, test_drift);
	tcase_add_test(tc, test_substitute);
	tcase_add_test(tc, test_no_substitute);
	tcase_add_test(tc, test_empty);
	tcase_add_test(tc, test_old);
	tcase_add_test(tc, test_ends);
	tcase_add_test(tc, test_union);
	tcase_add_test(tc, test_static);
	tcase_add_test(tc, test_cap);
	tcase_add_test(tc, test_open_end);
	tcase_add_test(tc, test_gaps);
	tcase_add_test(tc, test_by_node);
	tcase_add_test(tc, test_pool_of);
	tcase_add_test(tc, test_created_late);
	tcase_add_test(tc, test_name_again);
	tcase_add_test(tc, test_places);
	tcase_add_test(tc, test_wait_places);
	tcase_add_test(tc, test_wait_many);
	tcase_add_test(tc, test_turns);
	tcase_add_test(tc, test_why);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
