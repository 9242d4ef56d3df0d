/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "core/protocol/lease.h"
#include "run.h"

/* How a command takes the Lease: after the replicas that run, and only where
 * there is one. */

#define RETRY 2000
#define PATIENCE (LEASE_PATIENCE_RETRIES * RETRY)
#define EPOCH INT64_C(1767323045000)

static struct lease l;
static int64_t t;
static struct lease_record answer;

static struct now
at(int64_t ms)
{
	return (struct now){.server_ms = EPOCH + ms, .boot_ms = ms};
}

static void
setup(void)
{
	struct lease_config c = {.enabled = true,
				 .identity = "command",
				 .duration_ms = 15000,
				 .renew_deadline_ms = 10000,
				 .retry_ms = RETRY,
				 .patience_ms = PATIENCE};

	t = 1000000;
	lease_init(&l, &c, 1);
}

/* Runs until the next step that is not a WAIT. */
static enum lease_step
step(void)
{
	struct lease_todo todo = lease_next(&l, at(t));

	for (int i = 0; todo.step == LEASE_WAIT; i++) {
		ck_assert_int_lt(i, 5);
		ck_assert_int_gt(todo.wait_ms, 0);
		t += todo.wait_ms;
		todo = lease_next(&l, at(t));
	}
	if (todo.step == LEASE_UPDATE && todo.record != NULL)
		lease_record_copy(&answer, todo.record);
	return todo.step;
}

static void
got(const char *holder)
{
	static unsigned rv = 1;

	answer.present = true;
	answer.duration_s = 15;
	(void)str_copy(answer.holder, sizeof(answer.holder), holder);
	(void)snprintf(answer.rv, sizeof(answer.rv), "%u", rv++);
	lease_done(&l,
		   &(struct lease_outcome){.code = LEASE_OK, .record = &answer},
		   at(t));
}

/* How often that note is there; the others are dropped. */
static unsigned
notes(enum lease_note_type type)
{
	struct lease_note n;
	unsigned times = 0;

	while (lease_note(&l, &n))
		times += n.type == type;
	return times;
}

/* Answers each GET with that holder up to the first UPDATE. */
static void
look_until_update(const char *holder)
{
	while (step() == LEASE_GET)
		got(holder);
}

START_TEST(a_free_lease_is_taken_after_its_patience)
{
	int64_t free_ms = t;

	look_until_update("");
	ck_assert_int_ge(t - free_ms, PATIENCE);
	ck_assert_int_le(t - free_ms, PATIENCE + 3 * RETRY);
	ck_assert_uint_eq(notes(LEASE_NOTE_FREE), 1);
	ck_assert(!lease_leads(&l, t));
	got("command");
	ck_assert(lease_leads(&l, t));
}
END_TEST

/* Once the Lease is ours, nobody is waited for: neither to renew it nor to give
 * it up. */
START_TEST(renewals_wait_for_nobody)
{
	int64_t led_ms;

	look_until_update("");
	got("command");
	led_ms = t;
	ck_assert_int_eq(step(), LEASE_UPDATE);
	ck_assert_int_eq(t - led_ms, RETRY);
	got("command");
	lease_stop(&l);
	ck_assert_int_eq(step(), LEASE_UPDATE);
	ck_assert_str_eq(answer.holder, "");
}
END_TEST

/* A replica takes it after all: the patience begins anew when it is free. */
START_TEST(a_replica_that_comes_first)
{
	int64_t free_ms;

	ck_assert_int_eq(step(), LEASE_GET);
	got("");
	ck_assert_int_eq(step(), LEASE_GET);
	ck_assert_uint_eq(notes(LEASE_NOTE_FREE), 1);
	got("replica");
	ck_assert_int_eq(step(), LEASE_GET);
	ck_assert_uint_eq(notes(LEASE_NOTE_LEADER), 1);
	free_ms = t;
	got("");
	look_until_update("");
	ck_assert_int_ge(t - free_ms, PATIENCE);
	ck_assert_uint_eq(notes(LEASE_NOTE_FREE), 1);
}
END_TEST

/* A dead leader's Lease is free when it expires. */
START_TEST(a_leader_that_has_died)
{
	int64_t seen_ms = t;

	ck_assert_int_eq(step(), LEASE_GET);
	answer.renew_us = 6000;
	got("replica");
	look_until_update("replica");
	ck_assert_int_ge(t - seen_ms, 15000 + PATIENCE);
}
END_TEST

/* No replica has ever led: there is nothing to wait for, nor to make. */
START_TEST(no_lease_is_made)
{
	ck_assert_int_eq(step(), LEASE_GET);
	lease_done(&l, &(struct lease_outcome){.code = LEASE_NOT_FOUND}, at(t));
	ck_assert_int_eq(step(), LEASE_NONE);
	ck_assert_int_eq(step(), LEASE_NONE);
	ck_assert(!lease_leads(&l, t));
}
END_TEST

/* It was deleted under a leader, who is given the time to notice: his own if he
 * was seen to renew it, and otherwise that of the replicas. */
START_TEST(a_lease_that_is_deleted)
{
	int64_t deleted_ms;

	for (int i = 0; i <= _i; i++) {
		answer.renew_us++;
		ck_assert_int_eq(step(), LEASE_GET);
		got("replica");
	}
	deleted_ms = t;
	while (step() == LEASE_GET)
		lease_done(&l,
			   &(struct lease_outcome){.code = LEASE_NOT_FOUND},
			   at(t));
	ck_assert_int_eq(lease_next(&l, at(t)).step, LEASE_NONE);
	ck_assert_int_ge(t - deleted_ms, _i ? 15000 : PATIENCE);
	ck_assert_int_le(t - deleted_ms, 15000 + PATIENCE + 3 * RETRY);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("lease_patience");
	TCase *c = run_case(s, "command");

	tcase_add_checked_fixture(c, setup, NULL);
	tcase_add_test(c, a_free_lease_is_taken_after_its_patience);
	tcase_add_test(c, renewals_wait_for_nobody);
	tcase_add_test(c, a_replica_that_comes_first);
	tcase_add_test(c, a_leader_that_has_died);
	tcase_add_test(c, no_lease_is_made);
	tcase_add_loop_test(c, a_lease_that_is_deleted, 0, 2);
	return suite_run(s);
}
