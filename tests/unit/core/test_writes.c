/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/controller/writes.h"
#include "run.h"

#define IDS 4

static struct writes ws;
static struct notes notes;
static struct pace pace;
static struct action a;

static void
setup(void)
{
	notes = (struct notes){0};
	pace_init(&pace, 1);
	ws = (struct writes){.pace = &pace, .notes = &notes};
	ck_assert_int_eq(writes_init(&ws, IDS), 0);
}

static void
teardown(void)
{
	writes_free(&ws);
}

static void
start(enum act act, const char *rv)
{
	a = (struct action){.act = act, .kind = KIND_NODECLAIM, .id = 1};
	strcpy(a.rv, rv);
	a.seq = writes_start(&ws, 1, act);
	ck_assert(writes_state(&ws, 1) == WRITE_IN_FLIGHT);
}

/* The answer; rv_now: the version that the table has by then. */
static bool
done(enum controller_code code, const char *rv, const char *rv_now)
{
	struct controller_outcome o = {.code = code, .retry_after_ms = -1};

	strcpy(o.rv, rv);
	writes_answered(&ws, &o, 1000);
	return writes_done(&ws, &a, &o, rv_now, 1000);
}

static void
see(const char *rv, enum mark mark, enum hold hold)
{
	struct entry e = {.used = true, .mark = mark, .hold = hold};

	writes_observe(&ws, 1, &e, rv);
}

static enum write_state
state(void)
{
	ck_assert(write_check(&ws, 1));
	return writes_state(&ws, 1);
}

START_TEST(a_write_is_awaited)
{
	uint32_t id;

	start(ACT_CLEAR, "1");
	ck_assert(!done(CONTROLLER_OK, "2", "1"));
	ck_assert(state() == WRITE_EXPECTED);
	see("1", MARK_ABSENT, HOLD_ABSENT); /* an older line */
	ck_assert(state() == WRITE_EXPECTED);
	see("2", MARK_ABSENT, HOLD_ABSENT);
	ck_assert(state() == WRITE_IDLE);
	/* It does not come. */
	start(ACT_CLEAR, "2");
	(void)done(CONTROLLER_OK, "3", "2");
	ck_assert(!writes_due(&ws, 1000 + EXPECT_MS - 1, &id));
	ck_assert(writes_due(&ws, 1000 + EXPECT_MS, &id) && id == 1);
	ck_assert(state() == WRITE_IDLE);
}
END_TEST

START_TEST(the_line_may_come_first)
{
	start(ACT_CLEAR, "1");
	see("2", MARK_ABSENT, HOLD_ABSENT);
	ck_assert(state() == WRITE_SHOWN);
	(void)done(CONTROLLER_OK, "2", "3");
	ck_assert(state() == WRITE_IDLE);
}
END_TEST

START_TEST(a_conflict_waits_for_another_version)
{
	start(ACT_HOLD, "1");
	(void)done(CONTROLLER_CONFLICT, "", "1");
	ck_assert(state() == WRITE_STALE && !writes_must_read(&ws, 1));
	see("1", MARK_ABSENT, HOLD_ABSENT);
	ck_assert(state() == WRITE_STALE);
	see("2", MARK_ABSENT, HOLD_ABSENT);
	ck_assert(state() == WRITE_IDLE);
	/* A second in a row: the object is read as well. */
	start(ACT_HOLD, "2");
	(void)done(CONTROLLER_CONFLICT, "", "2");
	ck_assert(state() == WRITE_STALE && writes_must_read(&ws, 1));
	writes_drop(&ws, 1);
	/* That line was here already. */
	start(ACT_HOLD, "2");
	(void)done(CONTROLLER_CONFLICT, "", "3");
	ck_assert(state() == WRITE_IDLE);
}
END_TEST

START_TEST(a_refusal_is_told_once)
{
	struct note n;
	uint32_t id;

	start(ACT_HOLD, "1");
	(void)done(CONTROLLER_REFUSED, "", "1");
	ck_assert(state() == WRITE_BACKING_OFF);
	ck_assert(notes_take(&notes, &n) && n.type == NOTE_REFUSED);
	ck_assert(writes_due(&ws, INT64_MAX, &id) && state() == WRITE_IDLE);
	start(ACT_HOLD, "1");
	(void)done(CONTROLLER_REFUSED, "", "1");
	ck_assert(!notes_take(&notes, &n));
}
END_TEST

START_TEST(a_class_holds_nothing_up)
{
	start(ACT_CLASSIFY, "1");
	(void)done(CONTROLLER_REFUSED, "", "1");
	ck_assert(state() == WRITE_IDLE);
	ck_assert(writes_class_waits(&ws, 1, 1000));
	ck_assert(!writes_class_waits(&ws, 1, 1000 + 2 * REFUSED_MAX_MS));
}
END_TEST

START_TEST(who_is_gone_is_answered_no_more)
{
	start(ACT_HOLD, "1");
	ck_assert(writes_awaits(&ws, &a));
	writes_drop(&ws, 1);
	ck_assert(!writes_awaits(&ws, &a));
	ck_assert(state() == WRITE_IDLE);
	ck_assert_uint_eq(ws.in_flight, 1);
	start(ACT_HOLD, "1");
	ck_assert(done(CONTROLLER_GONE, "", "1"));
}
END_TEST

/* Only what is under way, or has failed, takes more room than a few bits. */
START_TEST(what_is_idle_takes_no_place)
{
	uint32_t id;

	start(ACT_HOLD, "1");
	(void)done(CONTROLLER_OK, "2", "1");
	ck_assert_uint_ne(ws.at[1].pending, 0);
	see("2", MARK_TIME, HOLD_SAME);
	ck_assert_uint_eq(ws.at[1].pending, 0);
	start(ACT_CLEAR, "2");
	(void)done(CONTROLLER_FAILED, "", "2");
	ck_assert(writes_due(&ws, INT64_MAX, &id) && id == 1);
	ck_assert_uint_ne(ws.at[1].pending, 0); /* it has failed once */
	writes_content(&ws, 1);
	ck_assert_uint_eq(ws.at[1].pending, 0);
	/* A clear that was turned down is not forgotten. */
	start(ACT_CLEAR, "2");
	(void)done(CONTROLLER_INVALID, "", "2");
	writes_content(&ws, 1);
	ck_assert_uint_ne(ws.at[1].pending, 0);
	start(ACT_CLEAR, "2");
	(void)done(CONTROLLER_INVALID, "", "2");
	ck_assert(state() == WRITE_BACKING_OFF && !writes_must_read(&ws, 1));
	writes_drop(&ws, 1);
	ck_assert_uint_eq(ws.at[1].pending, 0);
	/* Places are used again. */
	for (id = 0; id < IDS; id++)
		(void)writes_start(&ws, id, ACT_HOLD);
	ck_assert_uint_eq(ws.top, IDS);
	for (id = 0; id < IDS; id++) {
		ck_assert(write_check(&ws, id));
		writes_drop(&ws, id);
	}
	for (id = 0; id < IDS; id++)
		(void)writes_start(&ws, id, ACT_HOLD);
	ck_assert_uint_eq(ws.top, IDS);
}
END_TEST

START_TEST(busy_pauses_all)
{
	start(ACT_HOLD, "1");
	(void)done(CONTROLLER_BUSY, "", "1");
	ck_assert(writes_paused(&ws, 1000 + BACKOFF_MIN_MS - 1));
	ck_assert(!writes_paused(&ws, 1000 + BACKOFF_MIN_MS));
	ck_assert(state() == WRITE_BACKING_OFF);
}
END_TEST

/* What the simulator would fall over. */
START_TEST(the_check_finds_what_is_wrong)
{
	struct pending *w = ws.pending;

	ck_assert(write_check(&ws, 0));
	(void)writes_start(&ws, 0, ACT_HOLD);
	ck_assert(write_check(&ws, 0) && w->id == 0);
	w->state = WRITE_EXPECTED;
	ck_assert(!write_check(&ws, 0)); /* nothing would end it */
	heap_set(&ws.later, 0, 5);
	ck_assert(write_check(&ws, 0));
	w->failures = 1;
	ck_assert(!write_check(&ws, 0));
	w->state = WRITE_IN_FLIGHT;
	w->act = ACT_NONE;
	ck_assert(!write_check(&ws, 0)); /* of no action */
	w->state = WRITE_IDLE;
	ck_assert(write_check(&ws, 0));
	w->id = 1;
	ck_assert(!write_check(&ws, 0)); /* it is another object's */
	w->id = 0;
	ws.at[0].wants_hold = true;
	ck_assert(!write_check(&ws, 0));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("writes");
	TCase *c = run_case(s, "writes");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, a_write_is_awaited);
	tcase_add_test(c, the_line_may_come_first);
	tcase_add_test(c, a_conflict_waits_for_another_version);
	tcase_add_test(c, a_refusal_is_told_once);
	tcase_add_test(c, a_class_holds_nothing_up);
	tcase_add_test(c, who_is_gone_is_answered_no_more);
	tcase_add_test(c, what_is_idle_takes_no_place);
	tcase_add_test(c, busy_pauses_all);
	tcase_add_test(c, the_check_finds_what_is_wrong);
	return suite_run(s);
}
