/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/protocol/event_series.h"
#include "run.h"

#define NONE (-1)	/* no Retry-After */
#define START 1000000	/* boot_ms */
#define SERVER_AHEAD INT64_C(1767323045000)
#define MINUTE 60000

static struct event_series t;
static int64_t boot;	/* the virtual clock */

static struct now
now(void)
{
	return (struct now){.server_ms = boot + SERVER_AHEAD, .boot_ms = boot};
}

static void
setup(void)
{
	boot = START;
	event_series_init(&t, 1);
}

static void
say_as(enum event_reason reason, const char *nodepool, const char *action,
       const char *note)
{
	struct event_series_what w = {.reason = reason,
			      .nodepool = nodepool,
			      .nodepool_uid = "u",
			      .action = action,
			      .note = note};

	event_series_say(&t, &w, now());
}

static void
say(const char *nodepool)
{
	say_as(EVENT_HOLD_STARTED, nodepool, NULL, "note");
}

/* The next write, sleeping as it says, but not beyond `until`. */
static enum event_series_step
step(int64_t until, struct event_series_todo *todo)
{
	*todo = event_series_next(&t, now());
	for (int i = 0; todo->step == EVENT_SERIES_WAIT; i++) {
		ck_assert_int_gt(todo->wait_ms, 0);
		ck_assert_int_lt(i, 3 * EVENT_SERIES_MAX);
		if (todo->wait_ms > until - boot) {
			boot = until;
			return EVENT_SERIES_WAIT;
		}
		boot += todo->wait_ms;
		*todo = event_series_next(&t, now());
	}
	ck_assert_ptr_nonnull(todo->event);
	return todo->step;
}

static void
answered(enum event_series_code code, int64_t retry_after_ms)
{
	struct event_series_outcome o = {code, retry_after_ms};

	event_series_done(&t, &o, now());
}

static void
done(enum event_series_code code)
{
	answered(code, NONE);
}

/* Writes all there is until then, and says how many that were. */
static unsigned
write_all(int64_t until)
{
	struct event_series_todo todo;
	unsigned n = 0;

	for (; step(until, &todo) != EVENT_SERIES_WAIT; n++)
		done(EVENT_SERIES_WRITTEN);
	return n;
}

static void
want(enum event_series_step s, unsigned count, int64_t until)
{
	struct event_series_todo todo;

	ck_assert_int_eq(step(until, &todo), s);
	if (s != EVENT_SERIES_WAIT)
		ck_assert_uint_eq(todo.event->count, count);
}

/* --- series ------------------------------------------------------------- */

START_TEST(one_alone)
{
	struct event_series_todo todo;

	ck_assert_int_eq(event_series_next(&t, now()).wait_ms, INT64_MAX);
	say("general");
	ck_assert_int_eq(step(boot, &todo), EVENT_SERIES_CREATE);
	ck_assert_str_eq(todo.event->nodepool, "general");
	ck_assert_str_eq(todo.event->nodepool_uid, "u");
	ck_assert_str_eq(todo.event->action, "Hold");
	ck_assert_str_eq(todo.event->note, "note");
	ck_assert_int_eq(todo.event->first_us, (START + SERVER_AHEAD) * 1000);
	ck_assert_uint_eq(todo.event->count, 1);
	/* One at a time. */
	say("other");
	ck_assert_int_eq(event_series_next(&t, now()).step, EVENT_SERIES_WAIT);
	done(EVENT_SERIES_WRITTEN);
	ck_assert_uint_eq(write_all(boot), 1);
	ck_assert_int_eq(event_series_next(&t, now()).wait_ms, INT64_MAX);
	boot += 100 * MINUTE;
	ck_assert_int_eq(event_series_next(&t, now()).wait_ms, INT64_MAX);
	ck_assert_uint_eq(t.lost + t.dropped, 0);
}
END_TEST

START_TEST(second_and_third)
{
	say("general");
	ck_assert_uint_eq(write_all(boot), 1);
	boot += 10000;
	say("general");
	want(EVENT_SERIES_PATCH, 2, boot);
	ck_assert_int_eq(t.sent.last_us, (boot + SERVER_AHEAD) * 1000);
	ck_assert_int_eq(t.sent.first_us, (START + SERVER_AHEAD) * 1000);
	done(EVENT_SERIES_WRITTEN);
	boot += 10000;
	say("general");
	want(EVENT_SERIES_WAIT, 0, boot + EVENT_SERIES_FINISH_MS - 1);
	want(EVENT_SERIES_PATCH, 3, boot + 1);
	done(EVENT_SERIES_WRITTEN);
	want(EVENT_SERIES_WAIT, 0, boot + 100 * MINUTE);
}
END_TEST

/* A series whose end is written already just goes. */
START_TEST(second_alone)
{
	say("general");
	(void)write_all(boot);
	say("general");
	ck_assert_uint_eq(write_all(boot), 1);
	ck_assert_uint_eq(write_all(boot + 100 * MINUTE), 0);
}
END_TEST

static const struct {
	const char *name;
	int64_t apart_ms;
	enum event_series_step next;
	unsigned count;
} gaps[] = {
	{"at once", 0, EVENT_SERIES_PATCH, 2},
	{"just within 6 min", EVENT_SERIES_FINISH_MS - 1, EVENT_SERIES_PATCH,
	 2},
	{"6 min", EVENT_SERIES_FINISH_MS, EVENT_SERIES_CREATE, 1},
	{"an hour", 60 * MINUTE, EVENT_SERIES_CREATE, 1},
};

START_TEST(gap)
{
	struct event_series_todo todo;
	int64_t first;

	say("general");
	first = t.entries[0].event.first_us;
	(void)write_all(boot);
	boot += gaps[_i].apart_ms;
	say("general");
	ck_assert_msg(step(boot, &todo) == gaps[_i].next, "%s", gaps[_i].name);
	ck_assert_msg(todo.event->count == gaps[_i].count, "%s",
		      gaps[_i].name);
	ck_assert_msg((todo.event->first_us == first) ==
			      (gaps[_i].next == EVENT_SERIES_PATCH),
		      "%s", gaps[_i].name);
}
END_TEST

/* Both the end of the old series and the first of the new. */
START_TEST(after_a_series)
{
	for (int i = 0; i < 5; i++) {
		say("general");
		(void)write_all(boot);
	}
	boot += EVENT_SERIES_FINISH_MS;
	say("general");
	want(EVENT_SERIES_PATCH, 5, boot);
	done(EVENT_SERIES_WRITTEN);
	want(EVENT_SERIES_CREATE, 1, boot);
	done(EVENT_SERIES_WRITTEN);
	want(EVENT_SERIES_WAIT, 0, boot + 100 * MINUTE);
}
END_TEST

/* The refresh comes when it is due, whether anything is said then or not. */
START_TEST(refresh)
{
	say("general");
	say("general");
	(void)write_all(boot);
	for (int i = 1; i <= 5; i++) {
		say("general");
		want(EVENT_SERIES_WAIT, 0, START + i * 5 * MINUTE);
	}
	say("general");
	want(EVENT_SERIES_WAIT, 0, START + EVENT_SERIES_REFRESH_MS - 1);
	want(EVENT_SERIES_PATCH, 8, START + EVENT_SERIES_REFRESH_MS);
	done(EVENT_SERIES_WRITTEN);
	want(EVENT_SERIES_WAIT, 0, START + 100 * MINUTE);
}
END_TEST

/* --- how many writes ---------------------------------------------------- */

static const struct {
	const char *name;
	unsigned sayings;
	int64_t apart_ms;
	bool slow;	/* nothing is written before the last is said */
	unsigned writes, last_count;
} floods[] = {
	{"1,000 in a minute", 1000, 60, false, 3, 1000},
	{"1,000 in a minute, none written before", 1000, 60, true, 1, 1000},
	{"1,000 at once", 1000, 0, false, 3, 1000},
	{"one each 5 min for 2 h", 25, 5 * MINUTE, false, 6, 25},
	{"one each 7 min for 2 h", 17, 7 * MINUTE, false, 17, 1},
};

START_TEST(flood)
{
	unsigned writes = 0;

	for (unsigned i = 0; i < floods[_i].sayings; i++) {
		say("general");
		if (!floods[_i].slow)
			writes += write_all(boot);
		if (i + 1 == floods[_i].sayings)
			break;
		if (floods[_i].slow)
			boot += floods[_i].apart_ms;
		else
			writes += write_all(boot + floods[_i].apart_ms);
	}
	writes += write_all(boot + 10 * MINUTE);
	ck_assert_msg(writes == floods[_i].writes, "%s: %u writes",
		      floods[_i].name, writes);
	ck_assert_msg(t.sent.count == floods[_i].last_count, "%s: %u",
		      floods[_i].name, t.sent.count);
	ck_assert_uint_eq(t.lost + t.dropped, 0);
}
END_TEST

/* --- what is equal ------------------------------------------------------ */

static const struct {
	const char *name;
	enum event_reason reason;
	const char *nodepool, *uid, *action, *note;
	bool equal;
} kinds[] = {
	{"the same", EVENT_HOLD_STARTED, "general", "u", NULL, "note",
	 true},
	{"another note", EVENT_HOLD_STARTED, "general", "u", NULL, "x",
	 false},
	{"a longer note", EVENT_HOLD_STARTED, "general", "u", NULL,
	 "note.", false},
	{"the action spelled out", EVENT_HOLD_STARTED, "general", "u",
	 "Hold", "note", true},
	{"another reason", EVENT_HOLD_CAPPED, "general", "u", "Hold",
	 "note", false},
	{"another pool", EVENT_HOLD_STARTED, "gpu", "u", NULL, "note",
	 false},
	{"a pool made anew", EVENT_HOLD_STARTED, "general", "v", NULL,
	 "note", false},
	{"another action", EVENT_HOLD_STARTED, "general", "u", "Look",
	 "note", false},
};

START_TEST(kind)
{
	struct event_series_what w = {kinds[_i].reason, kinds[_i].nodepool,
				      kinds[_i].uid, kinds[_i].action,
				      kinds[_i].note};
	struct event_series_todo todo;

	say("general");
	(void)write_all(boot);
	event_series_say(&t, &w, now());
	ck_assert_msg(step(boot, &todo) == (kinds[_i].equal
						    ? EVENT_SERIES_PATCH
						    : EVENT_SERIES_CREATE),
		      "%s", kinds[_i].name);
	ck_assert_msg(strcmp(todo.event->note, kinds[_i].note) == 0,
		      "%s: note %s", kinds[_i].name, todo.event->note);
}
END_TEST

START_TEST(reasons)
{
	static const char *const names[EVENT_REASON_COUNT] = {
		"HoldStarted", "HoldExtended", "HoldReleased", "HoldCapped",
		"ManualHold", "ReleaseBlocked", "InvalidAnnotation",
		"ObservedHoldStarted", "ObservedHoldExtended",
		"ObservedHoldReleased", "ObservedHoldCapped",
		"ObservedManualHold", "ObservedReleaseBlocked"};
	struct event_series_todo todo;

	for (int r = 0; r < EVENT_REASON_COUNT; r++) {
		ck_assert_str_eq(event_series_reason_name((enum event_reason)r),
				 names[r]);
		ck_assert_str_eq(
			event_series_reason_type((enum event_reason)r),
			r == EVENT_INVALID_ANNOTATION ||
					r == EVENT_RELEASE_BLOCKED
				? "Warning"
				: "Normal");
		/* Both in the order of the table above. */
		ck_assert_int_eq(event_series_reason_observed((enum event_reason)r),
				 r < EVENT_INVALID_ANNOTATION ? r + 7 : r);
		say_as((enum event_reason)r, "general", NULL, "n");
		ck_assert_int_eq(step(boot, &todo), EVENT_SERIES_CREATE);
		ck_assert_str_ne(todo.event->action, "");
		done(EVENT_SERIES_WRITTEN);
	}
}
END_TEST

/* A hold within six minutes of another has its own words, and each its own
 * series. */
START_TEST(two_holds_in_turn)
{
	struct event_series_todo todo;

	for (int i = 0; i < 4; i++) {
		say_as(EVENT_HOLD_STARTED, "general", NULL,
		       i % 2 == 0 ? "until 3:10" : "until 3:20");
		ck_assert_int_eq(step(boot, &todo), i < 2 ? EVENT_SERIES_CREATE
							  : EVENT_SERIES_PATCH);
		ck_assert_str_eq(todo.event->note,
				 i % 2 == 0 ? "until 3:10" : "until 3:20");
		ck_assert_uint_eq(todo.event->count, i < 2 ? 1 : 2);
		done(EVENT_SERIES_WRITTEN);
		boot += MINUTE;
	}
}
END_TEST

/* Where both begin alike and are cut, they are the same. */
START_TEST(equal_where_cut)
{
	char note[EVENT_SERIES_NOTE_BYTES + 2];
	struct event_series_todo todo;

	memset(note, 'n', sizeof(note));
	note[sizeof(note) - 1] = '\0';
	say_as(EVENT_MANUAL_HOLD, "general", NULL, note);
	(void)write_all(boot);
	note[sizeof(note) - 2] = 'x';
	say_as(EVENT_MANUAL_HOLD, "general", NULL, note);
	ck_assert_int_eq(step(boot, &todo), EVENT_SERIES_PATCH);
}
END_TEST

/* --- failures ----------------------------------------------------------- */

struct turn {
	enum event_series_step step;
	unsigned count;
	int64_t wait_min, wait_max;	/* before it */
	enum event_series_code outcome;
};
#define SOON 0, 0
#define LATER EVENT_SERIES_RETRY_MS, EVENT_SERIES_RETRY_MS + EVENT_SERIES_RETRY_MS / 4
#define SERIES EVENT_SERIES_FINISH_MS - 1, EVENT_SERIES_FINISH_MS + 60000

static const struct {
	const char *name;
	unsigned sayings;	/* before the first turn */
	bool written;		/* the first of them is */
	uint64_t lost;
	struct turn turns[6];
} failures[] = {
	{"no answer, then one",
	 1,
	 false,
	 0,
	 {{EVENT_SERIES_CREATE, 1, SOON, EVENT_SERIES_FAILED},
	  {EVENT_SERIES_CREATE, 1, LATER, EVENT_SERIES_FAILED},
	  {EVENT_SERIES_CREATE, 1, LATER, EVENT_SERIES_WRITTEN}}},
	{"a lost answer: ours is there",
	 1,
	 false,
	 0,
	 {{EVENT_SERIES_CREATE, 1, SOON, EVENT_SERIES_FAILED},
	  {EVENT_SERIES_CREATE, 1, LATER, EVENT_SERIES_EXISTS}}},
	{"a lost answer, said again meanwhile",
	 3,
	 false,
	 0,
	 {{EVENT_SERIES_CREATE, 3, SOON, EVENT_SERIES_EXISTS},
	  {EVENT_SERIES_PATCH, 3, SOON, EVENT_SERIES_WRITTEN}}},
	{"gone: made anew, with its series",
	 2,
	 true,
	 0,
	 {{EVENT_SERIES_PATCH, 2, SOON, EVENT_SERIES_GONE},
	  {EVENT_SERIES_CREATE, 2, SOON, EVENT_SERIES_WRITTEN}}},
	{"gone, and there again",
	 2,
	 true,
	 0,
	 {{EVENT_SERIES_PATCH, 2, SOON, EVENT_SERIES_GONE},
	  {EVENT_SERIES_CREATE, 2, SOON, EVENT_SERIES_EXISTS},
	  {EVENT_SERIES_PATCH, 2, SOON, EVENT_SERIES_WRITTEN}}},
	{"gone, then no answer",
	 2,
	 true,
	 0,
	 {{EVENT_SERIES_PATCH, 2, SOON, EVENT_SERIES_GONE},
	  {EVENT_SERIES_CREATE, 2, SOON, EVENT_SERIES_FAILED},
	  {EVENT_SERIES_CREATE, 2, LATER, EVENT_SERIES_WRITTEN}}},
	{"a conflict on a patch",
	 2,
	 true,
	 0,
	 {{EVENT_SERIES_PATCH, 2, SOON, EVENT_SERIES_EXISTS},
	  {EVENT_SERIES_PATCH, 2, LATER, EVENT_SERIES_WRITTEN}}},
	{"refused",
	 1,
	 false,
	 1,
	 {{EVENT_SERIES_CREATE, 1, SOON, EVENT_SERIES_REFUSED}}},
	{"no such namespace",
	 1,
	 false,
	 1,
	 {{EVENT_SERIES_CREATE, 1, SOON, EVENT_SERIES_GONE}}},
	{"a patch refused: the end tries once more",
	 2,
	 true,
	 2,
	 {{EVENT_SERIES_PATCH, 2, SOON, EVENT_SERIES_REFUSED},
	  {EVENT_SERIES_PATCH, 2, SERIES, EVENT_SERIES_REFUSED}}},
};

START_TEST(failure)
{
	const struct turn *turn = failures[_i].turns;
	const char *name = failures[_i].name;
	struct event_series_todo todo;
	int64_t before;

	for (unsigned i = 0; i < failures[_i].sayings; i++) {
		say("general");
		if (i == 0 && failures[_i].written)
			ck_assert_uint_eq(write_all(boot), 1);
	}
	for (; turn->count > 0; turn++) {
		before = boot;
		ck_assert_msg(step(boot + 60 * MINUTE, &todo) == turn->step,
			      "%s, turn %d: %d", name,
			      (int)(turn - failures[_i].turns), todo.step);
		ck_assert_msg(todo.event->count == turn->count, "%s: %u", name,
			      todo.event->count);
		ck_assert_msg(boot - before >= turn->wait_min &&
				      boot - before <= turn->wait_max,
			      "%s: waited %lld", name,
			      (long long)(boot - before));
		done(turn->outcome);
	}
	ck_assert_msg(t.lost == failures[_i].lost, "%s: lost %llu", name,
		      (unsigned long long)t.lost);
	ck_assert_msg(write_all(boot + 100 * MINUTE) == 0, "%s: more", name);
}
END_TEST

static const enum event_series_code stubborn[] = {EVENT_SERIES_FAILED,
						  EVENT_SERIES_GONE};

/* 12 tries, then it is lost; a row of 404 and 409 is no endless loop. */
START_TEST(twelve_tries)
{
	struct event_series_todo todo;
	unsigned tries = 0;

	say("general");
	if (stubborn[_i] == EVENT_SERIES_GONE) {
		(void)write_all(boot);
		say("general");
	}
	while (step(boot + 60000, &todo) != EVENT_SERIES_WAIT) {
		ck_assert_uint_le(++tries, EVENT_SERIES_TRIES);
		done(todo.step == EVENT_SERIES_CREATE &&
				     stubborn[_i] == EVENT_SERIES_GONE
			     ? EVENT_SERIES_EXISTS
			     : stubborn[_i]);
	}
	ck_assert_uint_eq(tries, EVENT_SERIES_TRIES);
	ck_assert_uint_eq(t.lost, 1);
}
END_TEST

/* A refused kind is not tried at each saying: at the second, and the end. */
START_TEST(refused_for_good)
{
	struct event_series_todo todo;
	unsigned tries = 0;

	for (int i = 0; i < 100; i++) {
		say("general");
		for (; step(boot + 1000, &todo) != EVENT_SERIES_WAIT; tries++)
			done(EVENT_SERIES_REFUSED);
	}
	for (; step(boot + 100 * MINUTE, &todo) != EVENT_SERIES_WAIT; tries++)
		done(EVENT_SERIES_REFUSED);
	ck_assert_uint_eq(tries, 3);
	ck_assert_uint_eq(t.lost, 3);
}
END_TEST

START_TEST(said_while_under_way)
{
	struct event_series_todo todo;

	say("general");
	ck_assert_int_eq(step(boot, &todo), EVENT_SERIES_CREATE);
	say("general");
	say("general");
	ck_assert_uint_eq(todo.event->count, 1);
	done(_i == 0 ? EVENT_SERIES_WRITTEN : EVENT_SERIES_REFUSED);
	want(_i == 0 ? EVENT_SERIES_PATCH : EVENT_SERIES_CREATE, 3, boot);
	done(EVENT_SERIES_WRITTEN);
	ck_assert_uint_eq(write_all(boot + 100 * MINUTE), 0);
}
END_TEST

/* What waits does not hold up the rest, and Retry-After is obeyed. */
START_TEST(retry_after)
{
	struct event_series_todo todo;

	say("general");
	say("gpu");
	ck_assert_int_eq(step(boot, &todo), EVENT_SERIES_CREATE);
	answered(EVENT_SERIES_FAILED, 60000);
	ck_assert_int_eq(step(boot, &todo), EVENT_SERIES_CREATE);
	ck_assert_str_eq(todo.event->nodepool, "gpu");
	done(EVENT_SERIES_WRITTEN);
	want(EVENT_SERIES_WAIT, 0, START + 59999);
	want(EVENT_SERIES_CREATE, 1, START + 60000);
	/* One below the usual wait changes nothing. */
	answered(EVENT_SERIES_FAILED, 1000);
	want(EVENT_SERIES_WAIT, 0, START + 60000 + EVENT_SERIES_RETRY_MS - 1);
	want(EVENT_SERIES_CREATE, 1, START + 60000 + 2 * EVENT_SERIES_RETRY_MS);
}
END_TEST

/* Both due: the one that was to be tried first. */
START_TEST(due_first)
{
	struct event_series_todo todo;

	say("general");
	say("gpu");
	(void)step(boot, &todo);
	answered(EVENT_SERIES_FAILED, 20000);
	(void)step(boot, &todo);
	answered(EVENT_SERIES_FAILED, 15000);
	boot += 30000;
	ck_assert_int_eq(step(boot, &todo), EVENT_SERIES_CREATE);
	ck_assert_str_eq(todo.event->nodepool, "gpu");
}
END_TEST

/* The series ends while a part of it is on its way. */
START_TEST(ended_under_way)
{
	struct event_series_todo todo;

	say("general");
	(void)write_all(boot);
	say("general");
	ck_assert_int_eq(step(boot, &todo), EVENT_SERIES_PATCH);
	say("general");
	boot += EVENT_SERIES_FINISH_MS;
	say("gpu");
	say("general");
	ck_assert_uint_eq(todo.event->count, 2);
	done(EVENT_SERIES_WRITTEN);
	want(EVENT_SERIES_PATCH, 3, boot);
	done(EVENT_SERIES_WRITTEN);
	ck_assert_uint_eq(write_all(boot), 2);
}
END_TEST

/* --- the bound ---------------------------------------------------------- */

static const char *
pool_name(int i)
{
	static char name[16];

	(void)snprintf(name, sizeof(name), "pool-%d", i);
	return name;
}

START_TEST(full)
{
	struct event_series_todo todo;

	for (int i = 0; i < EVENT_SERIES_MAX + 3; i++)
		say(pool_name(i));
	ck_assert_uint_eq(t.dropped, 3);
	for (int i = 3; i < EVENT_SERIES_MAX + 3; i++) {
		ck_assert_int_eq(step(boot, &todo), EVENT_SERIES_CREATE);
		ck_assert_str_eq(todo.event->nodepool, pool_name(i));
		done(EVENT_SERIES_WRITTEN);
	}
	want(EVENT_SERIES_WAIT, 0, boot);
	ck_assert_uint_eq(t.dropped, 3);
	/* All written: the oldest is forgotten, and nothing lost. */
	boot += MINUTE;
	say("one more");
	ck_assert_uint_eq(t.dropped, 3);
	want(EVENT_SERIES_CREATE, 1, boot);
	done(EVENT_SERIES_WRITTEN);
	say(pool_name(3));
	want(EVENT_SERIES_CREATE, 1, boot);
	done(EVENT_SERIES_WRITTEN);
	say(pool_name(EVENT_SERIES_MAX));
	want(EVENT_SERIES_PATCH, 2, boot);
}
END_TEST

/* What is written makes room first, be it younger than what waits. */
START_TEST(full_waiting)
{
	struct event_series_todo todo;

	say("waits");
	(void)step(boot, &todo);
	done(EVENT_SERIES_FAILED);
	for (int i = 1; i < EVENT_SERIES_MAX; i++)
		say(pool_name(i));
	(void)write_all(boot);
	say("one more");
	ck_assert_uint_eq(t.dropped, 0);
	(void)write_all(boot + 5000);
	ck_assert_int_eq(step(boot + MINUTE, &todo), EVENT_SERIES_CREATE);
	ck_assert_str_eq(todo.event->nodepool, "waits");
}
END_TEST

START_TEST(full_under_way)
{
	struct event_series_todo todo;

	say(pool_name(0));
	ck_assert_int_eq(step(boot, &todo), EVENT_SERIES_CREATE);
	for (int i = 1; i < EVENT_SERIES_MAX + 1; i++)
		say(pool_name(i));
	ck_assert_uint_eq(t.dropped, 1);
	ck_assert_str_eq(todo.event->nodepool, pool_name(0));
	done(EVENT_SERIES_WRITTEN);
	ck_assert_int_eq(step(boot, &todo), EVENT_SERIES_CREATE);
	ck_assert_str_eq(todo.event->nodepool, pool_name(2));
}
END_TEST

/* A count that is not written yet goes with its entry. */
START_TEST(full_counting)
{
	for (int i = 0; i < 3; i++) {
		say("general");
		(void)write_all(boot);
	}
	for (int i = 1; i < EVENT_SERIES_MAX; i++)
		say(pool_name(i));
	ck_assert_uint_eq(t.dropped, 0);
	say("one more");
	ck_assert_uint_eq(t.dropped, 1);
}
END_TEST

/* --- the token bucket --------------------------------------------------- */

START_TEST(bucket)
{
	struct event_series_todo todo;
	unsigned writes = 0;

	/* Ten reports a second on different NodePools, for a minute. */
	for (int i = 0; i < 600; i++) {
		say(pool_name(i));
		writes += write_all(boot + 100);
	}
	ck_assert_uint_eq(writes, EVENTS_BURST + 60 * EVENTS_PER_S);
	/* Each of them was written, or is counted, or waits for its turn. */
	writes += write_all(boot + 100 * MINUTE);
	ck_assert_uint_eq(writes + t.dropped, 600);
	/* The bucket is full again, and not more than full. */
	for (int i = 0; i <= EVENTS_BURST; i++) {
		say(pool_name(1000 + i));
		ck_assert_int_eq(step(boot, &todo), i < EVENTS_BURST
							    ? EVENT_SERIES_CREATE
							    : EVENT_SERIES_WAIT);
		if (i < EVENTS_BURST)
			done(EVENT_SERIES_WRITTEN);
	}
	ck_assert_int_eq(event_series_next(&t, now()).wait_ms,
			 1000 / EVENTS_PER_S);
}
END_TEST

static void
empty_bucket(void)
{
	for (int i = 0; i < EVENTS_BURST; i++) {
		say(pool_name(i));
		(void)write_all(boot);
	}
}

static const struct {
	const char *name;
	const char *nodepool, *action;
	unsigned writes, dropped;
} newer[] = {
	{"the same subject", "general", NULL, 1, 1},
	{"another NodePool", "gpu", NULL, 2, 0},
	{"another action", "general", "Look", 2, 0},
};

START_TEST(replaced)
{
	empty_bucket();
	say_as(EVENT_MANUAL_HOLD, "general", NULL, "old");
	boot += 500;
	say_as(EVENT_MANUAL_HOLD, newer[_i].nodepool, newer[_i].action, "new");
	ck_assert_msg(write_all(boot + MINUTE) == newer[_i].writes, "%s",
		      newer[_i].name);
	ck_assert_str_eq(t.sent.note, "new");
	ck_assert_int_eq(t.sent.first_us / 1000, START + 500 + SERVER_AHEAD);
	ck_assert_msg(t.dropped == newer[_i].dropped, "%s", newer[_i].name);
}
END_TEST

/* Who reports without end neither waits for ever nor lets others wait. */
START_TEST(replaced_in_turn)
{
	unsigned written[3] = {0};

	empty_bucket();
	say("quiet");
	for (int i = 0; i < 100; i++) {
		char note[16];

		(void)snprintf(note, sizeof(note), "%d", i);
		say_as(EVENT_MANUAL_HOLD, pool_name(0), NULL, note);
		say_as(EVENT_MANUAL_HOLD, pool_name(1), NULL, note);
		if (write_all(boot + 100) == 0)
			continue;
		ck_assert_str_eq(t.sent.nodepool,
				 written[2] == 0 ? "quiet"
				 : (written[0] + written[1]) % 2 == 0
					 ? pool_name(0)
					 : pool_name(1));
		written[strcmp(t.sent.nodepool, "quiet") == 0 ? 2
			: strcmp(t.sent.nodepool, pool_name(1)) == 0]++;
	}
	ck_assert_uint_ge(written[0], 4);
	ck_assert_uint_ge(written[1], 4);
}
END_TEST

/* What the API server may have keeps its words: what is being sent, and what
 * was sent and got no answer. */
START_TEST(not_replaced)
{
	struct event_series_todo todo;

	say_as(EVENT_MANUAL_HOLD, "general", NULL, "old");
	ck_assert_int_eq(step(boot, &todo), EVENT_SERIES_CREATE);
	if (_i == 0)
		say_as(EVENT_MANUAL_HOLD, "general", NULL, "meanwhile");
	done(EVENT_SERIES_FAILED);
	say_as(EVENT_MANUAL_HOLD, "general", NULL, "new");
	ck_assert_int_eq(step(boot, &todo), EVENT_SERIES_CREATE);
	ck_assert_str_eq(todo.event->note, "new");
	done(EVENT_SERIES_WRITTEN);
	ck_assert_int_eq(step(boot + MINUTE, &todo), EVENT_SERIES_CREATE);
	ck_assert_str_eq(todo.event->note, "old");
	ck_assert_uint_eq(t.dropped, _i == 0);
}
END_TEST

START_TEST(stamps)
{
	int64_t us = (START + SERVER_AHEAD) * 1000;

	say(pool_name(0));
	say(pool_name(1));
	say(pool_name(2));
	ck_assert_int_eq(t.entries[0].event.first_us, us);
	ck_assert_int_eq(t.entries[1].event.first_us, us + 1);
	ck_assert_int_eq(t.entries[2].event.first_us, us + 2);
	/* The server's clock was set back: followed. */
	boot -= 3600000;
	say(pool_name(3));
	ck_assert_int_eq(t.entries[3].event.first_us,
			 us - INT64_C(3600000000) + 3);
	/* It is the first moment once more. */
	boot += 3600000;
	say(pool_name(4));
	ck_assert_int_eq(t.entries[4].event.first_us, us + 4);
}
END_TEST

START_TEST(texts)
{
	char note[EVENT_SERIES_NOTE_BYTES + 8], name[NODEPOOL_BYTES + 1];
	struct event_series_todo todo;

	/* 1,023 bytes and a character of two: it goes as a whole. */
	memset(note, 'n', sizeof(note));
	memcpy(note + EVENT_SERIES_NOTE_BYTES - 2, "\xc3\xa9more", 7);
	say_as(EVENT_MANUAL_HOLD, "general", note, note);
	ck_assert_int_eq(step(boot, &todo), EVENT_SERIES_CREATE);
	ck_assert_uint_eq(strlen(todo.event->note),
			  EVENT_SERIES_NOTE_BYTES - 2);
	ck_assert_uint_eq(strlen(todo.event->action),
			  EVENT_SERIES_ACTION_BYTES - 1);
	done(EVENT_SERIES_WRITTEN);
	note[EVENT_SERIES_NOTE_BYTES - 2] = 'n';
	note[EVENT_SERIES_NOTE_BYTES - 1] = '\0';
	say_as(EVENT_MANUAL_HOLD, "gpu", NULL, note);
	ck_assert_int_eq(step(boot, &todo), EVENT_SERIES_CREATE);
	ck_assert_str_eq(todo.event->note, note);
	done(EVENT_SERIES_WRITTEN);
	/* No NodePool has such a name. */
	memset(name, 'p', sizeof(name));
	name[NODEPOOL_BYTES] = '\0';
	say(name);
	want(EVENT_SERIES_WAIT, 0, boot);
	ck_assert_uint_eq(t.dropped, 1);
}
END_TEST

/* --- random ------------------------------------------------------------- */

#define POOLS 8
#define WRITTEN_MAX 20000

static struct {
	int64_t first_us;
	unsigned count;
} store[WRITTEN_MAX];	/* the API server's Events, found by their name */

static unsigned stored;

static unsigned
store_find(int64_t first_us)
{
	unsigned i = 0;

	while (i < stored && store[i].first_us != first_us)
		i++;
	return i;
}

/* What the API server makes of it; now and then it is not there, or its answer
 * is lost. */
static enum event_series_code
serve(const struct event_series_todo *todo, struct dice *d)
{
	unsigned i = store_find(todo->event->first_us);

	if (roll(d, 8) == 0)
		return EVENT_SERIES_FAILED;
	if (todo->step == EVENT_SERIES_CREATE && i < stored)
		return EVENT_SERIES_EXISTS;
	if (todo->step == EVENT_SERIES_PATCH && i == stored)
		return EVENT_SERIES_GONE;
	ck_assert_uint_lt(i, WRITTEN_MAX);
	if (i == stored)
		stored++;
	else
		ck_assert_uint_ge(todo->event->count, store[i].count);
	store[i].first_us = todo->event->first_us;
	store[i].count = todo->event->count;
	return roll(d, 8) == 0 ? EVENT_SERIES_FAILED : EVENT_SERIES_WRITTEN;
}

/* Whatever fails on the way, in the end every saying is counted once. */
START_TEST(random_days)
{
	struct dice d = dice_new((uint64_t)_i + 1);
	struct event_series_todo todo;
	unsigned said = 0, sum = 0;

	stored = 0;
	event_series_init(&t, (uint64_t)_i);
	for (int i = 0; i < 2000; i++) {
		say(pool_name((int)roll(&d, POOLS)));
		said++;
		for (int64_t until = boot + roll(&d, 3 * MINUTE);
		     step(until, &todo) != EVENT_SERIES_WAIT;) {
			boot += roll(&d, 2000);
			done(serve(&todo, &d));
		}
	}
	while (step(boot + 60 * MINUTE, &todo) != EVENT_SERIES_WAIT)
		done(serve(&todo, &d));
	for (unsigned i = 0; i < stored; i++)
		sum += store[i].count;
	ck_assert_uint_eq(t.dropped, 0);
	ck_assert_uint_eq(t.lost, 0);
	ck_assert_uint_eq(sum, said);
	ck_assert_int_eq(event_series_next(&t, now()).wait_ms, INT64_MAX);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("tell");
	TCase *c = run_case(s, "tell");

	tcase_add_checked_fixture(c, setup, NULL);
	tcase_add_test(c, one_alone);
	tcase_add_test(c, second_and_third);
	tcase_add_test(c, second_alone);
	tcase_add_loop_test(c, gap, 0, sizeof(gaps) / sizeof(gaps[0]));
	tcase_add_test(c, after_a_series);
	tcase_add_test(c, refresh);
	tcase_add_loop_test(c, flood, 0, sizeof(floods) / sizeof(floods[0]));
	tcase_add_loop_test(c, kind, 0, sizeof(kinds) / sizeof(kinds[0]));
	tcase_add_test(c, reasons);
	tcase_add_test(c, two_holds_in_turn);
	tcase_add_test(c, equal_where_cut);
	tcase_add_loop_test(c, failure, 0,
			    sizeof(failures) / sizeof(failures[0]));
	tcase_add_loop_test(c, twelve_tries, 0,
			    sizeof(stubborn) / sizeof(stubborn[0]));
	tcase_add_test(c, refused_for_good);
	tcase_add_loop_test(c, said_while_under_way, 0, 2);
	tcase_add_test(c, retry_after);
	tcase_add_test(c, due_first);
	tcase_add_test(c, ended_under_way);
	tcase_add_test(c, full);
	tcase_add_test(c, full_waiting);
	tcase_add_test(c, full_under_way);
	tcase_add_test(c, full_counting);
	tcase_add_test(c, bucket);
	tcase_add_loop_test(c, replaced, 0, sizeof(newer) / sizeof(newer[0]));
	tcase_add_test(c, replaced_in_turn);
	tcase_add_loop_test(c, not_replaced, 0, 2);
	tcase_add_test(c, stamps);
	tcase_add_test(c, texts);
	tcase_add_loop_test(c, random_days, 0, 20);
	return suite_run(s);
}
