/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/duration.h"
#include "scene.h"

/* What a leader leaves for the next one: docs/rules.md#what-outlives-a-leader. */

static char text[4096];

static void
setup(void)
{
	rules = rules_default();
	rules.cap = (struct cap_rules){60 * MINUTE, 10 * MINUTE};
	w = world_new(&rules, THINGS, 1);
	add_old(3);
	world_open(w);
}

/* A new machine comes every 5 minutes, so the scope is never quiet. */
static void
busy(int first, int minutes)
{
	for (int i = 0; i < minutes / 5; i++) {
		machine_now(first + i, "web");
		world_run(w, 5 * MINUTE);
	}
}

static void
save(void)
{
	struct buf b;

	text[0] = '\0';
	buf_init(&b, text, sizeof(text));
	ck_assert(controller_soft(w->s, &b, false, world_now(w)));
	ck_assert(!controller_soft(
		w->s, &b, false, world_now(w))); /* nothing has changed since */
}

static void
another_leader(const char *known)
{
	world_restart(w, 9);
	controller_restore(w->s, known, STAMP_NONE, world_now(w));
	world_open(w);
}

START_TEST(held_since)
{
	busy(10, 30);
	ck_assert_uint_eq(count_spread(3), 3);
	save();
	ck_assert_ptr_nonnull(strstr(text, "* debt="));
	another_leader(text);
	busy(20, 25);
	ck_assert_uint_eq(count_spread(3), 3);
	busy(30, 10);	/* an hour is over, all in all */
	ck_assert_uint_eq(count_spread(3), 0);
}
END_TEST

/* The next leader does not hold in a window that is open, and the window ends
 * in time. */
START_TEST(in_the_window)
{
	busy(10, 65);
	ck_assert_uint_eq(count_spread(3), 0);
	save();
	ck_assert_ptr_nonnull(strstr(text, " window="));
	another_leader(text);
	ck_assert_uint_eq(count_spread(3), 0);
	busy(30, 5);
	world_run(w, MINUTE);	/* a window of its own would end later */
	ck_assert_uint_eq(count_spread(3), 3);
}
END_TEST

/* What cannot be read is skipped, and the rest is used. */
static const char *const states[] = {
	"*",
	"* debt=",
	"* debt=50m held at=yesterday; x",
	"* debt=50m held",
	"* debt=50m at=2026-01-02T03:04:05Z",
	"* debt=-5m held at=2026-01-02T03:04:05Z",
	"* debt=50m held busy at=2026-01-02T03:04:05Z",
	"* run=2026-01-02T03:04:05Z",	/* of an earlier release */
	";;;",
	"debt=1",
	"  ",
	"None",
};

START_TEST(nonsense)
{
	another_leader(states[_i]);
	busy(10, 30);
	ck_assert_uint_eq(count_spread(3), 3);
}
END_TEST

START_TEST(scopes_by_name)
{
	rules.scope = SCOPE_NODEPOOL;
	scene_again();
	machine_add(w, 0, "web", server_ms(w) - DAY);
	machine_add(w, 1, "api", server_ms(w) - DAY);
	world_open(w);
	busy(10, 30);
	save();
	ck_assert_ptr_nonnull(strstr(text, "web debt="));
	ck_assert_ptr_null(strstr(text, "api"));
	another_leader(text);
	busy(20, 35);
	ck_assert(!thing_held(node_at(w, 0)));
}
END_TEST

/* A NodePool named "cluster" is not taken for the scope of the cluster. */
START_TEST(a_pool_named_cluster)
{
	rules.scope = SCOPE_NODEPOOL;
	scene_again();
	machine_add(w, 0, "cluster", server_ms(w) - DAY);
	world_open(w);
	for (int i = 1; i <= 13; i++) {
		machine_now(i, "cluster");
		world_run(w, 5 * MINUTE);
		if (i == 6) {
			save();
			another_leader(text);
		}
	}
	ck_assert(!thing_held(node_at(w, 0)));
}
END_TEST

/* --- what is written of what was read ------------------------------------- */

#define T START_SERVER		/* 2026-01-02T03:04:05Z */
#define AT "at=2026-01-02T03:04:05Z"

static const struct {
	const char *name;
	enum scope_kind scope;
	const char *text;
	int64_t renewed_ms, now_ms;	/* after T; -1: unknown */
	const char *then;
} trips[] = {
	{"held: it has grown since", SCOPE_CLUSTER, "* debt=20m held " AT,
	 30000, 120000, "* debt=22m held at=2026-01-02T03:06:05Z"},
	{"held, and nobody knows for how long", SCOPE_CLUSTER,
	 "* debt=20m held " AT, -1, 120000,
	 "* debt=22m held at=2026-01-02T03:06:05Z"},
	{"idle: it has shrunk while the other led", SCOPE_CLUSTER,
	 "* debt=20m idle " AT, 60000, 120000,
	 "* debt=14m paused at=2026-01-02T03:06:05Z"},
	{"idle, and nobody knows for how long", SCOPE_CLUSTER,
	 "* debt=20m idle " AT, -1, 120000,
	 "* debt=20m paused at=2026-01-02T03:06:05Z"},
	{"idle, long enough", SCOPE_CLUSTER, "* debt=20m idle " AT, 200000,
	 240000, "none"},
	{"paused: it stands", SCOPE_CLUSTER, "* debt=20m paused " AT, 60000,
	 120000, "* debt=20m paused at=2026-01-02T03:06:05Z"},
	{"a window: it has run while the other led", SCOPE_CLUSTER,
	 "* debt=1h window=4m idle " AT, 60000, 120000,
	 "* debt=1h window=3m paused at=2026-01-02T03:06:05Z"},
	{"a window that was over", SCOPE_CLUSTER,
	 "* debt=1h window=4m idle " AT, 240000, 300000, "none"},
	{"a window that stood", SCOPE_CLUSTER,
	 "* debt=1h window=4m paused " AT, 60000, 120000,
	 "* debt=1h window=4m paused at=2026-01-02T03:06:05Z"},
	{"renewed after now: two clocks", SCOPE_CLUSTER,
	 "* debt=20m idle " AT, 600000, 60000,
	 "* debt=14m paused at=2026-01-02T03:05:05Z"},
	{"written after now", SCOPE_CLUSTER, "* debt=20m held " AT, 0, -60000,
	 "* debt=20m held at=2026-01-02T03:03:05Z"},
	{"nothing", SCOPE_CLUSTER, "none", 0, 60000, "none"},
	{"pools, and claims without the label", SCOPE_NODEPOOL,
	 "- debt=5m held " AT "; web debt=1h window=2m idle " AT, -1, 60000,
	 "- debt=6m held at=2026-01-02T03:05:05Z; "
	 "web debt=1h window=2m paused at=2026-01-02T03:05:05Z"},
	{"the cluster's is not that of a pool", SCOPE_NODEPOOL,
	 "* debt=20m held " AT, 0, 60000, "none"},
	{"a pool's is not the cluster's", SCOPE_CLUSTER,
	 "a debt=1h window=4m idle " AT "; - debt=50m held " AT, 60000, 60000,
	 "none"},
	{"in scope node there is none", SCOPE_NODE, "* debt=20m held " AT, 0,
	 60000, "none"},
};

START_TEST(round_trip)
{
	static struct counters counters;
	struct now now = {T + trips[_i].now_ms, START_BOOT};
	struct rules r = rules_default();
	struct controller *s;
	struct buf b;

	r.scope = trips[_i].scope;
	r.cap = (struct cap_rules){60 * MINUTE, 10 * MINUTE};
	s = controller_new(&r, 8, 1, &counters);
	controller_restore(s, trips[_i].text,
			   trips[_i].renewed_ms < 0 ? STAMP_NONE
						    : T + trips[_i].renewed_ms,
			   now);
	buf_init(&b, text, sizeof(text));
	ck_assert(controller_soft(s, &b, true, now));
	ck_assert_msg(strcmp(text, trips[_i].then) == 0, "%s: \"%s\"",
		      trips[_i].name, text);
	controller_lead(s, false, now);
	ck_assert(!controller_soft(s, &b, true, now));
	controller_free(s);
}
END_TEST

static int64_t
debt_now(void)
{
	struct buf b;
	int64_t ms = 0;
	char word[40];

	text[0] = '\0';
	buf_init(&b, text, sizeof(text));
	ck_assert(controller_soft(w->s, &b, true, world_now(w)));
	if (sscanf(text, "* debt=%39s", word) == 1)
		ck_assert_int_eq(duration_parse(word, &ms), 0);
	return ms;
}

/* From the former leader's last renewTime until the new leader has seen
 * everything, the debt of a scope that was held goes on growing, although
 * nothing counts yet.  Other debts stand still. */
START_TEST(until_the_view_is_whole)
{
	bool held = _i == 0;
	int64_t debt;

	world_restart(w, 9);
	snprintf(text, sizeof(text), "* debt=20m %s at=2026-01-02T03:04:05Z",
		 held ? "held" : "paused");
	controller_restore(w->s, text, T, world_now(w));
	debt = 20 * MINUTE + (held ? server_ms(w) - T : 0);
	world_list(w, KIND_NODE);
	world_run(w, 7 * MINUTE);
	ck_assert_int_le(llabs(debt_now() - debt - (held ? 7 * MINUTE : 0)),
			 1000);
	world_list(w, KIND_NODECLAIM);
	world_run(w, MINUTE);
	/* Everything is seen and nothing counts, so the debt shrinks by 6 s a
	 * second. */
	ck_assert_int_le(llabs(debt_now() - debt - (held ? MINUTE : -6 *
								     MINUTE)),
			 1000);
}
END_TEST

/* --- more scopes than there is room for ----------------------------------- */

#define SCOPES 100

static struct controller *many;

/* The first ten have a window, and the debt of all others differs. */
static void
restore_many(void)
{
	static char all[16384];
	struct now now = {T, START_BOOT};
	struct buf b;

	buf_init(&b, all, sizeof(all));
	for (unsigned i = 0; i < SCOPES; i++)
		buf_printf(&b, "%sp-%u debt=%us%s paused " AT,
			   i > 0 ? "; " : "", i,
			   i < 10 ? 0 : 60 + i * 37 % SCOPES,
			   i < 10 ? " window=5m" : "");
	ck_assert(!b.full);
	controller_restore(many, all, STAMP_NONE, now);
}

static void
many_scopes(void)
{
	static struct counters counters;
	struct rules r = rules_default();

	r.scope = SCOPE_NODEPOOL;
	r.cap = (struct cap_rules){60 * MINUTE, 10 * MINUTE};
	many = controller_new(&r, 8, 1, &counters);
	ck_assert_ptr_nonnull(many);
	restore_many();
}

static unsigned
short_notes(uint32_t *left_out)
{
	struct note n;
	unsigned found = 0;

	while (controller_note(many, &n)) {
		if (n.type != NOTE_STATE_SHORT)
			continue;
		found++;
		*left_out = n.as.objects;
	}
	return found;
}

static void
soft_in(size_t bytes)
{
	struct now now = {T, START_BOOT};
	struct buf b;

	ck_assert_uint_le(bytes, sizeof(text));
	buf_init(&b, text, bytes);
	ck_assert(controller_soft(many, &b, true, now));
	ck_assert(!b.full);
}

/* Counts the scopes in the text, of which those with a window come first, then
 * those with the largest debts.  *least: of the debts, in seconds. */
static unsigned
in_order(int64_t *least)
{
	const char *end = strstr(text, "left-out");
	char name[NODEPOOL_BYTES], debt[40], word[40];
	unsigned n = 0;
	int64_t ms;

	ck_assert_ptr_nonnull(end);
	*least = INT64_MAX;
	for (const char *p = text; p < end; p = strstr(p, "; ") + 2, n++) {
		ck_assert_int_eq(sscanf(p, "%63s debt=%39s %39s", name, debt,
					word), 3);
		ck_assert_int_eq(strncmp(word, "window=", 7) == 0, n < 10);
		ck_assert_int_eq(duration_parse(debt, &ms), 0);
		ck_assert(n < 10 || ms < *least);
		*least = n < 10 ? INT64_MAX : ms;
	}
	return n;
}

START_TEST(what_matters_most_is_kept)
{
	size_t bytes = 40 + 97 * (size_t)_i;
	uint32_t left_out = 0;
	int64_t least;
	unsigned n;

	many_scopes();
	soft_in(bytes);
	ck_assert_uint_eq(short_notes(&left_out), 1);
	n = in_order(&least);
	ck_assert_uint_eq(n + left_out, SCOPES);
	ck_assert_uint_eq(left_out, strtoul(strstr(text, "left-out") + 9, NULL,
					    10));
	/* No other fits. */
	ck_assert_uint_gt(strlen(text) + 80, bytes);
	soft_in(bytes);
	ck_assert_uint_eq(short_notes(&left_out), 0);
	controller_free(many);
}
END_TEST

/* It is said again when everything had room meanwhile. */
START_TEST(left_out_once)
{
	struct now now = {T, START_BOOT};
	uint32_t left_out = 0;

	many_scopes();
	soft_in(1000);
	ck_assert_uint_eq(short_notes(&left_out), 1);
	controller_lead(many, false, now);
	controller_lead(many, true, now);
	controller_restore(many, "p-1 debt=1m paused " AT, STAMP_NONE, now);
	soft_in(1000);
	ck_assert_ptr_null(strstr(text, "left-out"));
	ck_assert_uint_eq(short_notes(&left_out), 0);
	restore_many();
	soft_in(1000);
	ck_assert_uint_eq(short_notes(&left_out), 1);
	controller_free(many);
}
END_TEST

/* … and when there are more than twice as many, which the first text of a leader
 * need not show. */
START_TEST(left_out_and_more)
{
	static const struct {
		size_t bytes;
		unsigned notes;
	} texts[] = {{4000, 1}, {3900, 0}, {1000, 1}, {200, 0}, {1000, 0}};
	uint32_t left_out = 0, told;

	many_scopes();
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		told = left_out;
		soft_in(texts[i].bytes);
		ck_assert_uint_eq(short_notes(&left_out), texts[i].notes);
		ck_assert(texts[i].notes == 0 || left_out > 2 * told);
	}
	controller_free(many);
}
END_TEST

/* Where the state is missing or cannot be read there is no debt, however old the
 * marks are. */
static const struct {
	const char *text;
	int64_t debt;	/* minutes */
} left[] = {
	{NULL, 0}, {"", 0}, {"nonsense", 0}, {"* debt=5m held", 0},
	{"left-out 3", 0}, {"none", 0}, {"* debt=5m paused " AT, 5},
	{"* debt=5m paused " AT "; left-out 3", 5},
};

START_TEST(no_state_no_debt)
{
	int64_t off;

	scene_again();
	controller_restore(w->s, left[_i].text, STAMP_NONE, world_now(w));
	machine_add(w, 1, "web", server_ms(w) - DAY);
	object_hold(&node_at(w, 1)->o, server_ms(w) - 40 * MINUTE);
	machine_add(w, 2, "batch", server_ms(w));
	world_open(w);
	off = debt_now() - left[_i].debt * MINUTE;
	ck_assert_msg(off >= 3900 && off <= 6100, "\"%s\": %s",
		      left[_i].text != NULL ? left[_i].text : "NULL", text);
}
END_TEST

/* --- another scope -------------------------------------------------------- */

/* A state of another scope is dropped, and the first write says so. */
START_TEST(another_scope_is_dropped)
{
	static const enum scope_kind scopes[] = {SCOPE_NODEPOOL, SCOPE_CLUSTER,
						 SCOPE_NODE};
	struct buf b;

	rules.scope = scopes[_i];
	scene_again();
	machine_now(1, "web");
	controller_restore(w->s,
			   _i == 0 ? "* debt=20m held " AT
				   : "web debt=20m window=5m idle " AT,
			   T, world_now(w));
	buf_init(&b, text, sizeof(text));
	ck_assert(controller_soft(w->s, &b, false, world_now(w)));
	ck_assert_str_eq(text, "none");
	world_open(w);
	ck_assert_int_le(debt_now(), MINUTE);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 1);
}
END_TEST

/* No debt is left when all NodePools were released by hand. */
START_TEST(released_by_hand)
{
	struct nodepool p;

	busy(10, 40);
	ck_assert_int_ge(debt_now(), 39 * MINUTE);
	nodepool_init(&p);
	strcpy(p.name, "web");
	p.released_at_ms = server_ms(w) - 3 * MINUTE;
	world_pool(w, &p);
	world_run(w, 1000);
	ck_assert_int_le(debt_now(), 1100);
}
END_TEST

/* What counts is the earliest released-at of the NodePools that may be held.
 * Where one of them has none, the debt stays. */
static const struct {
	const char *name;
	int64_t web, other;	/* minutes ago; -1: none */
	bool disabled, inert;	/* the other */
	const char *nodepool;
	int64_t debt;
} limits[] = {
	{"both were released", 3, 10, false, false, "batch", 0},
	{"both, in the other order", 10, 3, false, false, "batch", 0},
	{"one was not released", 10, -1, false, false, "batch", 40},
	{"that one is disabled", 10, -1, true, false, "batch", 0},
	{"that one is inert and held by hand", 10, -1, false, true, "batch",
	 0},
	{"that one is excluded", 10, -1, false, false, "excluded", 0},
};

START_TEST(debt_and_released_at)
{
	struct nodepool p;
	int64_t off;

	nodepool_init(&p);
	strcpy(p.name, limits[_i].nodepool);
	p.disabled = limits[_i].disabled;
	p.spec_known = true;
	p.inert = limits[_i].inert;
	if (p.inert)
		p.hold_until_ms = server_ms(w) + 60 * MINUTE;
	world_pool(w, &p);
	busy(10, 40);
	if (limits[_i].other >= 0)
		p.released_at_ms = server_ms(w) - limits[_i].other * MINUTE;
	world_pool(w, &p);
	strcpy(p.name, "web");
	p.disabled = p.inert = false;
	p.hold_until_ms = STAMP_NONE;
	p.released_at_ms = server_ms(w) - limits[_i].web * MINUTE;
	world_pool(w, &p);
	world_run(w, 1000);
	off = debt_now() - limits[_i].debt * MINUTE;
	ck_assert_msg(llabs(off) <= 8000, "%s: %s", limits[_i].name, text);
}
END_TEST

/* The state is read when the NodePools are known: a later released-at pays. */
START_TEST(released_at_and_a_state_that_is_read_late)
{
	struct nodepool p;

	busy(10, 5);
	nodepool_init(&p);
	strcpy(p.name, "web");
	p.released_at_ms = server_ms(w) - MINUTE;
	world_pool(w, &p);
	world_run(w, SLACK);
	controller_restore(w->s, _i == 0 ? "* debt=50m held " AT
					 : "* debt=50m idle " AT,
			   T, world_now(w));
	world_run(w, SLACK);
	ck_assert_int_le(debt_now(), 2 * MINUTE);
}
END_TEST

/* The next leader's window lasts as long as the rest of the former
 * leader's. */
START_TEST(a_window_of_the_leader_before)
{
	world_restart(w, 9);
	controller_restore(w->s, "* debt=1h window=4m idle " AT, T,
			   (struct now){T, w->boot_ms - (server_ms(w) - T)});
	machine_add(w, 9, "web", server_ms(w));
	world_open(w);
	world_run(w, 4 * MINUTE - 6000);
	ck_assert_uint_eq(count_spread(3), 0);
	world_run(w, 7000);
	ck_assert_uint_eq(count_spread(3), 3);
}
END_TEST

/* --- the clock ------------------------------------------------------------ */

/* A shift of the API server's clock changes neither the debt nor a window. */
START_TEST(a_shift_of_the_clock)
{
	static const int64_t shifts[] = {-60 * MINUTE, 60 * MINUTE, -6000,
					 6000};
	int64_t start = w->boot_ms;

	for (int i = 0; i < 12; i++) {
		machine_now(10 + i, "web");
		if (i == 5)
			w->offset_ms += shifts[_i];
		world_run(w, i < 11 ? 5 * MINUTE : 0);
	}
	world_run(w, start + 60 * MINUTE - 2000 - w->boot_ms);
	ck_assert_uint_eq(count_spread(3), 3);
	world_run(w, 4000);
	ck_assert_uint_eq(count_spread(3), 0);
	w->offset_ms -= shifts[_i];
	machine_now(30, "web");
	world_run(w, start + 70 * MINUTE - 2000 - w->boot_ms);
	ck_assert_uint_eq(count_spread(3), 0);
	world_run(w, 4000);
	ck_assert_uint_eq(count_spread(3), 3);
}
END_TEST

/* A released-at that is seen again by a clock that was set back ends no
 * window, because it is not a later one. */
START_TEST(released_at_and_the_clock_set_back)
{
	struct nodepool p;
	int64_t capped;

	nodepool_init(&p);
	strcpy(p.name, "web");
	p.released_at_ms = server_ms(w) - MINUTE;
	world_pool(w, &p);
	busy(10, 60);
	world_run(w, 3000);
	capped = w->boot_ms;
	ck_assert_uint_eq(count_spread(3), 0);
	machine_now(30, "web");
	world_run(w, 1000);
	w->offset_ms -= 65 * MINUTE;
	while (w->boot_ms < capped + 9 * MINUTE) {
		machine_add(w, 31 + (int)((w->boot_ms - capped) / MINUTE),
			    "web", stamp_now());
		world_run(w, MINUTE);
		ck_assert_uint_eq(count_spread(3), 0);
	}
}
END_TEST

/* While a watch is down, debt and window stand still. */
START_TEST(a_window_waits_for_the_view)
{
	busy(10, 60);
	world_run(w, 3000);
	ck_assert_uint_eq(count_spread(3), 0);
	machine_now(30, "web");
	world_run(w, 2 * MINUTE);
	controller_watch(w->s, KIND_NODEPOOL, false);
	for (int i = 0; i < 3; i++) {
		machine_now(31 + i, "web");
		world_run(w, 8 * MINUTE);
		ck_assert_uint_eq(count_spread(3), 0);
	}
	controller_watch(w->s, KIND_NODEPOOL, true);
	machine_now(40, "web");
	world_run(w, 7 * MINUTE);
	ck_assert_uint_eq(count_spread(3), 0);
	world_run(w, MINUTE + 5000);
	ck_assert_uint_eq(count_spread(3), 3);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("controller: soft state");
	TCase *c = run_case(s, "soft");

	tcase_add_checked_fixture(c, setup, scene_teardown);
	tcase_add_test(c, held_since);
	tcase_add_test(c, in_the_window);
	tcase_add_loop_test(c, nonsense, 0,
			    (int)(sizeof(states) / sizeof(states[0])));
	tcase_add_test(c, scopes_by_name);
	tcase_add_test(c, a_pool_named_cluster);
	tcase_add_loop_test(c, round_trip, 0,
			    (int)(sizeof(trips) / sizeof(trips[0])));
	tcase_add_loop_test(c, until_the_view_is_whole, 0, 2);
	tcase_add_loop_test(c, no_state_no_debt, 0,
			    (int)(sizeof(left) / sizeof(left[0])));
	tcase_add_loop_test(c, another_scope_is_dropped, 0, 3);
	tcase_add_test(c, released_by_hand);
	tcase_add_loop_test(c, released_at_and_a_state_that_is_read_late, 0, 2);
	tcase_add_loop_test(c, debt_and_released_at, 0,
			    (int)(sizeof(limits) / sizeof(limits[0])));
	tcase_add_test(c, a_window_of_the_leader_before);
	tcase_add_loop_test(c, a_shift_of_the_clock, 0, 4);
	tcase_add_test(c, released_at_and_the_clock_set_back);
	tcase_add_test(c, a_window_waits_for_the_view);
	tcase_add_loop_test(c, what_matters_most_is_kept, 0, 30);
	tcase_add_test(c, left_out_once);
	tcase_add_test(c, left_out_and_more);
	return suite_run(s);
}
