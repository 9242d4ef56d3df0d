/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/controller/status.h"
#include "story.h"
#include "ticket_scene.h"

/*
 * Who is said to hold a NodePool (docs/rules.md#tickets).  In random histories
 * people and writers of tickets write in any order, and leaders change.  After
 * each step the status, the machine, the reports and the history are compared
 * with a computation of the test's own.
 */

#define STEPS 400
#define POOLS_N 2

static const char *const pools[POOLS_N] = {"web", "batch"};
static const char *const names[] = {"a", "b", "y", "z"};

enum by { NOBODY, PERSON, TICKET };

/* What ought to be said. */
struct said {
	enum by by;
	int64_t until_ms;
	char words[3 * REASON_BYTES];
};

struct pool_model {
	struct nodepool p;
	int64_t end_ms, least_ms;	/* of tickets; least: the minute */
	struct said now, before;
	/* Since when the words are those of now, and when the last report was
	 * made in this hold and this lead. */
	int64_t since_ms, told_ms;
	char told[8][REASON_BYTES];	/* in this hold, the last one first */
};

static struct pool_model models[POOLS_N];
static uint64_t seed;

static uint32_t
pick(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

/* --- what ought to be ----------------------------------------------------- */

static bool
names_it(const struct ticket *t, const char *pool)
{
	return t->all || strcmp(t->patterns, pool) == 0;
}

static int64_t
end_of(const struct ticket *t)
{
	return t->fault[0] != '\0' || t->deleting ? STAMP_NONE
						  : t->renewed_ms + t->lasts_ms;
}

/* Of the tickets in force, the one that ends last; of equals the first by
 * name. */
static const struct ticket *
last_ticket(const char *pool, int64_t now_ms)
{
	const struct ticket *best = NULL;

	for (uint32_t i = 0; i < w->tickets_n; i++) {
		const struct ticket *t = &w->tickets[i];

		if (!names_it(t, pool) || end_of(t) <= now_ms)
			continue;
		if (best == NULL || end_of(t) > end_of(best) ||
		    (end_of(t) == end_of(best) &&
		     strcmp(t->name, best->name) < 0))
			best = t;
	}
	return best;
}

/* begins: the leader sees what begins, so a minute begins with it. */
static void
compute(struct pool_model *m, bool begins)
{
	int64_t now_ms = server_ms(w), until = m->p.hold_until_ms;
	const struct ticket *t = last_ticket(m->p.name, now_ms);
	struct said *s = &m->now;

	*s = (struct said){.until_ms = STAMP_NONE};
	if (m->p.disabled) {
		m->end_ms = m->least_ms = STAMP_NONE;
		return;
	}
	if (t != NULL && m->end_ms <= now_ms && begins)
		m->least_ms = now_ms + MINUTE;
	m->end_ms = t == NULL ? STAMP_NONE : end_of(t);
	if (m->least_ms > now_ms && m->least_ms > m->end_ms)
		m->end_ms = m->least_ms;
	if (m->end_ms > now_ms && m->end_ms >= until) {
		*s = (struct said){TICKET, m->end_ms, "a ticket that has ended"};
		if (t != NULL)
			snprintf(s->words, sizeof(s->words),
				 "ticket %s of %s%s%s", t->name, t->holder,
				 t->reason[0] != '\0' ? ": " : "", t->reason);
	} else if (until > now_ms) {
		*s = (struct said){PERSON, until, ""};
		strcpy(s->words, m->p.reason);
	}
}

/* --- what is said --------------------------------------------------------- */

static void
check_status(const struct pool_model *m, int i)
{
	static struct figures *f;
	const struct said *s = &m->now;
	struct machine_status machine;
	struct nodepool_status p;
	uint32_t at = 0;

	if (f == NULL)
		f = figures_new();
	do
		ck_assert(controller_nodepool_status(w->s, f, &at, world_now(w),
						     &p));
	while (strcmp(p.nodepool.name, m->p.name) != 0);
	ck_assert_int_eq(p.by_ticket, s->by == TICKET);
	ck_assert_str_eq(p.ticket, s->by == TICKET ? s->words : "");
	if (s->by == TICKET)
		ck_assert_int_eq(nodepool_until_ms(&p.nodepool), s->until_ms);
	ck_assert(controller_machine(w->s, node_at(w, 2 * i)->o.name,
				     world_now(w), &machine));
	ck_assert_int_eq(machine.by_ticket, s->by == TICKET);
	ck_assert_int_eq(machine.manual_ms, s->until_ms);
	ck_assert_str_eq(machine.reason, s->words);
}

static bool
is_of(const struct note *n, const struct said *s)
{
	return s->by != NOBODY && n->as.manual.ticket == (s->by == TICKET) &&
	       n->as.manual.until_ms == s->until_ms &&
	       strcmp(n->as.manual.reason, s->words) == 0;
}

static void
keep_report(struct pool_model *m, const struct note *n)
{
	memmove(m->told[1], m->told[0], sizeof(m->told) - sizeof(m->told[0]));
	strcpy(m->told[0], n->as.manual.reason);
}

static void
take_report(struct pool_model *m, const struct note *n)
{
	ck_assert_msg(is_of(n, &m->now) || is_of(n, &m->before),
		      "%s is said to be held by \"%s\", not \"%s\"", n->name,
		      n->as.manual.reason, m->now.words);
	if (n->as.manual.ticket && m->told_ms != STAMP_NONE)
		ck_assert_int_ge(server_ms(w), m->told_ms + MINUTE - 1000);
	keep_report(m, n);
	m->told_ms = server_ms(w);
}

/* What holds it has been reported within a minute, in this hold. */
static void
check_reports(struct pool_model *m)
{
	bool is_told = false;

	if (m->now.by != TICKET || strncmp(m->now.words, "ticket ", 7) != 0 ||
	    server_ms(w) < m->since_ms + MINUTE + 1000)
		return;
	for (int i = 0; i < 8; i++)
		is_told |= strcmp(m->told[i], m->now.words) == 0;
	ck_assert_msg(is_told, "nobody said that \"%s\" holds %s", m->now.words,
		      m->p.name);
}

/* The turns are those that changed what is held. */
static void
check_turns(struct pool_model *m)
{
	uint64_t before = UINT64_MAX;
	struct turn t = {.what = TURN_RESUMED};
	bool any = false;

	while (!any && controller_turn(w->s, &before, &t))
		any = t.nodepool && strcmp(t.scope, m->p.name) == 0;
	ck_assert_int_eq(any && t.what == TURN_HELD, m->now.by != NOBODY);
	if (m->now.by == NOBODY && m->before.by == TICKET) {
		ck_assert_int_eq(t.cause, m->p.disabled ? TURN_BY_RESUME
							: TURN_BY_TICKET_END);
		ck_assert_int_eq(t.what, m->p.disabled ? TURN_RESUMED
						       : TURN_RELEASED);
		ck_assert(strncmp(t.reason, "ticket ", 7) != 0);
	}
	if (m->now.by == NOBODY && m->before.by == PERSON)
		ck_assert(t.cause == TURN_BY_TIME || t.cause == TURN_BY_RESUME);
	if (m->now.by == TICKET && m->before.by == NOBODY) {
		ck_assert_int_eq(t.cause, TURN_BY_TICKET);
		ck_assert_str_eq(t.reason, m->now.words);
		ck_assert_int_eq(t.until_ms, m->now.until_ms);
	}
}

static void
check(bool begins)
{
	struct note n;

	for (int i = 0; i < POOLS_N; i++) {
		struct pool_model *m = &models[i];

		m->before = m->now;
		compute(m, begins);
		if (strcmp(m->before.words, m->now.words) != 0)
			m->since_ms = server_ms(w);
		check_status(m, i);
		check_turns(m);
	}
	while (controller_note(w->s, &n))
		for (int i = 0; n.type == NOTE_NODEPOOL_MANUAL && i < POOLS_N;
		     i++)
			if (strcmp(n.name, models[i].p.name) == 0)
				take_report(&models[i], &n);
	for (int i = 0; i < POOLS_N; i++) {
		check_reports(&models[i]);
		if (models[i].now.by != NOBODY)
			continue;
		models[i].told_ms = STAMP_NONE;
		memset(models[i].told, 0, sizeof(models[i].told));
	}
}

/* --- what people and writers do ------------------------------------------- */

static void
write_ticket(void)
{
	static const char *const of[] = {"web", "batch", NULL, "gpu"};
	static const int64_t lasts[] = {5, 30, 30, 60, 90, 600};
	struct ticket t = ticket_new(names[pick(4)], of[pick(4)], stamp_now(),
				     1000 * lasts[pick(6)]);

	snprintf(t.holder, sizeof(t.holder), "ci-%u", pick(2));
	if (pick(3) == 0)
		snprintf(t.reason, sizeof(t.reason), "reason %u", pick(2));
	if (pick(8) == 0)
		snprintf(t.fault, sizeof(t.fault), "it cannot be read: x");
	t.deleting = pick(12) == 0;
	if (pick(10) == 0)
		t.renewed_ms -= DAY;
	world_ticket(w, &t);
}

static void
annotate(struct pool_model *m)
{
	int64_t now = stamp_now();

	switch (pick(4)) {
	case 0:
	case 1:
		m->p.disabled = !m->p.disabled;
		break;
	case 2:
		m->p.hold_until_ms = now + 1000 * (int64_t)(10 + pick(120));
		snprintf(m->p.reason, sizeof(m->p.reason), "sale %u", pick(3));
		break;
	case 3:
		m->p.hold_until_ms = STAMP_NONE;
		break;
	}
	world_pool(w, &m->p);
}

static void
fail_over(void)
{
	struct note n;

	another_leader();
	for (int i = 0; i < POOLS_N; i++) {
		models[i].least_ms = models[i].end_ms = STAMP_NONE;
		models[i].told_ms = STAMP_NONE;
	}
	for (int i = 0; i < POOLS_N; i++) {
		memset(models[i].told, 0, sizeof(models[i].told));
		compute(&models[i], false);
		models[i].before = models[i].now;
		models[i].since_ms = server_ms(w);
	}
	/* While the new leader lists, it reports what it knows so far. */
	while (controller_note(w->s, &n))
		for (int i = 0; n.type == NOTE_NODEPOOL_MANUAL && i < POOLS_N;
		     i++)
			if (strcmp(n.name, models[i].p.name) == 0)
				keep_report(&models[i], &n);
}

START_TEST(any_order)
{
	seed = 1 + (uint64_t)_i;
	open_pools();
	(void)notes(NOTE_NODEPOOL_MANUAL, NULL);
	for (int i = 0; i < POOLS_N; i++)
		models[i] = (struct pool_model){.p = pool_of(pools[i]),
						.end_ms = STAMP_NONE,
						.least_ms = STAMP_NONE,
						.told_ms = STAMP_NONE};
	for (int step = 0; step < STEPS; step++) {
		switch (pick(12)) {
		case 0:
		case 1:
			annotate(&models[pick(POOLS_N)]);
			break;
		case 2:
			world_ticket_gone(w, names[pick(4)]);
			break;
		case 3:
			if (pick(8) == 0)
				fail_over();
			break;
		default:
			write_ticket();
		}
		check(true);
		for (uint32_t s = pick(3) == 0 ? pick(90) : pick(8); s > 0; s--) {
			world_run(w, 1000);
			check(true);
		}
	}
}
END_TEST

/* --- what went wrong once ------------------------------------------------- */

/* Two tickets are written while their NodePool is disabled.  When it is
 * enabled, the one that ends last is named with its own end. */
START_TEST(written_while_disabled)
{
	struct nodepool p = pool_of("batch");
	struct note n;
	int64_t end;

	open_pools();
	p.disabled = true;
	world_pool(w, &p);
	(void)ticket("b", "b*", 10 * MINUTE);
	end = ticket("z", "batch", 60 * MINUTE);
	(void)notes(NOTE_NODEPOOL_MANUAL, NULL);
	world_run(w, 2000);
	p.disabled = false;
	world_pool(w, &p);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 1);
	ck_assert_str_eq(n.as.manual.reason, "ticket z of tester: a sale");
	ck_assert_int_eq(n.as.manual.until_ms, end);
	ck_assert_str_eq(latest().reason, "ticket z of tester: a sale");
	ck_assert_int_eq(latest().until_ms, end);
}
END_TEST

/* A writer of one ticket changes its reason 300 times: one report a minute, and
 * no turn.  What was in the history stays. */
START_TEST(a_writer_changes_its_words)
{
	uint64_t before = UINT64_MAX;
	struct turn t;
	struct ticket x;
	unsigned turns = 0, reports = 0;

	open_pools();
	(void)ticket("ci", "web", 60 * MINUTE);
	(void)notes(NOTE_NODEPOOL_MANUAL, NULL);
	x = w->tickets[0];
	for (int i = 0; i < 300; i++) {
		snprintf(x.reason, sizeof(x.reason), "%d", i);
		world_ticket(w, &x);
		world_run(w, 1000);
		reports += notes(NOTE_NODEPOOL_MANUAL, NULL);
	}
	ck_assert_uint_ge(reports, 4);
	ck_assert_uint_le(reports, 5);
	while (controller_turn(w->s, &before, &t))
		turns++;
	ck_assert_uint_eq(turns, 1);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("controller: what is told of tickets");
	TCase *c = run_case(s, "told");

	tcase_add_checked_fixture(c, ticket_setup, scene_teardown);
	tcase_add_test(c, written_while_disabled);
	tcase_add_test(c, a_writer_changes_its_words);
	tcase_add_loop_test(c, any_order, 0, 40);
	return suite_run(s);
}
