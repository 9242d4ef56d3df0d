/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/worker.h"

#include <check.h>
#include <semaphore.h>

#include "suite.h"

/* The thread of this worker waits until it is asked to stop. */
struct patient {
	sem_t asked;
	unsigned stops;
};

static void
patient_run(void *ctx)
{
	(void)sem_wait(&((struct patient *)ctx)->asked);
}

static void
patient_stop(void *ctx)
{
	struct patient *p = ctx;

	p->stops++;
	(void)sem_post(&p->asked);
}

static const struct worker_kind patient_kind = {
	.name = "patient",
	.run = patient_run,
	.stop = patient_stop,
};

static struct patient patient;
static struct worker worker;
static struct err e;

static void
setup(void)
{
	patient.stops = 0;
	(void)sem_init(&patient.asked, 0, 0);
	worker_init(&worker, &patient_kind, &patient, NULL);
}

static void
teardown(void)
{
	worker_stop(&worker);
	worker_join(&worker);
	(void)sem_destroy(&patient.asked);
}

START_TEST(test_life)
{
	ck_assert(worker_ended(&worker));
	ck_assert_int_eq(worker_start(&worker, &e), 0);
	ck_assert(!worker_ended(&worker));
	worker_stop(&worker);
	worker_join(&worker);
	ck_assert(worker_ended(&worker));
	ck_assert_int_eq(atomic_load(&worker.state), WORKER_JOINED);
}
END_TEST

START_TEST(test_nothing_twice)
{
	ck_assert_int_eq(worker_start(&worker, &e), 0);
	worker_stop(&worker);
	worker_stop(&worker);
	worker_join(&worker);
	worker_join(&worker);
	worker_stop(&worker);
	ck_assert_uint_eq(patient.stops, 1);
}
END_TEST

START_TEST(test_never_started)
{
	worker_stop(&worker);
	worker_join(&worker);
	ck_assert_uint_eq(patient.stops, 0);
	ck_assert(worker_ended(&worker));
	ck_assert(worker_is_well(&worker, 0));
}
END_TEST

START_TEST(test_not_needed)
{
	struct worker none = {0};

	ck_assert_int_eq(worker_start(&none, &e), 0);
	worker_stop(&none);
	worker_join(&none);
	ck_assert(worker_ended(&none));
	ck_assert(worker_is_well(&none, 0));
}
END_TEST

START_TEST(test_heartbeat)
{
	ck_assert_int_eq(worker_start(&worker, &e), 0);
	ck_assert(worker_is_well(&worker, 3600000));
	ck_assert(!worker_is_well(&worker, 0));
	atomic_fetch_sub(&worker.beat_ms, 3600000);
	ck_assert(!worker_is_well(&worker, 3600000));
	worker_beat(&worker);
	ck_assert(worker_is_well(&worker, 3600000));
	worker_stop(&worker);
	worker_join(&worker);
	ck_assert(worker_is_well(&worker, 0));
}
END_TEST

START_TEST(test_nap)
{
	ck_assert_int_eq(worker_nap_ms(0), 0);
	ck_assert_int_eq(worker_nap_ms(999), 999);
	ck_assert_int_eq(worker_nap_ms(1001), WORKER_BEAT_MS);
	ck_assert_int_eq(worker_nap_ms(INT64_MAX), WORKER_BEAT_MS);
}
END_TEST

START_TEST(test_trouble_is_told_once)
{
	ck_assert_int_eq(worker_recovered(&worker), LOG_DEBUG);
	ck_assert_int_eq(worker_trouble(&worker), LOG_WARN);
	ck_assert_int_eq(worker_trouble(&worker), LOG_DEBUG);
	ck_assert_int_eq(worker_recovered(&worker), LOG_INFO);
	ck_assert_int_eq(worker_recovered(&worker), LOG_DEBUG);
	ck_assert_int_eq(worker_trouble(&worker), LOG_WARN);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("daemon/worker");
	TCase *tc = tcase_create("worker");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_life);
	tcase_add_test(tc, test_nothing_twice);
	tcase_add_test(tc, test_never_started);
	tcase_add_test(tc, test_not_needed);
	tcase_add_test(tc, test_heartbeat);
	tcase_add_test(tc, test_nap);
	tcase_add_test(tc, test_trouble_is_told_once);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
