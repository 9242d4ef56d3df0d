/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge/server with more clients than places: whoever has waited longest for its
 * client goes, and a new client is served at once.  And a thread that no longer
 * answers is seen.
 */
#include "rig.h"

#include <check.h>
#include <poll.h>

#include "core/base/limits.h"
#include "edge/clock.h"
#include "suite.h"

#define PLACES 32
#define CROWD 200

static struct rig rig;

static void
start(unsigned threads)
{
	struct server_options o = rig_options();

	o.threads = threads;
	o.connections_max = PLACES;
	rig_start(&rig, &o);
}

static void
setup(void)
{
	start(2);
}

static void
setup_one_thread(void)
{
	start(1);
}

static void
teardown(void)
{
	server_free(rig.server);
}

static void
expect_served(struct peer *p)
{
	struct answer a;

	ck_assert_int_eq(peer_post(p, "/echo", "{}", 2, &a), 0);
	ck_assert_int_eq(a.status, 200);
}

/* The threads that serve them close them in their own time. */
static void
wait_open(unsigned n)
{
	for (int i = 0; i < 2000 && server_connections(rig.server) > n; i++)
		(void)poll(NULL, 0, 10);
	ck_assert_uint_le(server_connections(rig.server), n);
}

static void
crowd_leaves(struct peer *crowd)
{
	for (int i = 0; i < CROWD; i++)
		peer_close(&crowd[i]);
}

/* Most places are taken, but there is room, and none has waited for long.
 * Returns whether this machine was fast enough for that. */
static bool
young_ones(void)
{
	struct peer crowd[PLACES - 4];
	int64_t late_ms = clock_boot_ms() + SERVER_HURRY_MS;
	struct answer a;
	bool served;

	for (int i = 0; i < PLACES - 4; i++)
		ck_assert_int_eq(peer_open(&crowd[i], rig.port), 0);
	for (int i = 0; i < PLACES - 4; i++) {
		served = peer_post(&crowd[i], "/echo", "{}", 2, &a) == 0 &&
			 a.status == 200;
		ck_assert(served || clock_boot_ms() >= late_ms);
		peer_close(&crowd[i]);
	}
	return clock_boot_ms() < late_ms;
}

START_TEST(young_ones_stay)
{
	int tries = 1;

	for (; !young_ones(); tries++)
		wait_open(0);
	ck_assert_int_lt(tries, 20);
}
END_TEST

/* Each asks once and then keeps its connection. */
START_TEST(idle_after_a_request)
{
	struct peer crowd[CROWD];

	for (int i = 0; i < CROWD; i++) {
		ck_assert_int_eq(peer_open(&crowd[i], rig.port), 0);
		expect_served(&crowd[i]);
	}
	ck_assert(peer_at_end(&crowd[0]));	/* the longest idle one … */
	expect_served(&crowd[CROWD - 1]);	/* … and not the last */
	wait_open(PLACES);
	crowd_leaves(crowd);
}
END_TEST

/* Those that have been idle longest go. */
START_TEST(a_lower_bound)
{
	struct peer some[PLACES / 2];

	for (int i = 0; i < PLACES / 2; i++) {
		ck_assert_int_eq(peer_open(&some[i], rig.port), 0);
		expect_served(&some[i]);
	}
	ck_assert_uint_eq(server_connections(rig.server), PLACES / 2);
	/* A thread may have noted the end of the last answer of the first half
	 * after that of the next one. */
	for (int i = PLACES / 4; i < PLACES / 2; i++)
		expect_served(&some[i]);
	server_bound(rig.server, PLACES / 4, 1 << 20);
	for (int i = 0; i < PLACES / 4; i++)
		ck_assert(peer_at_end(&some[i]));
	for (int i = PLACES / 4; i < PLACES / 2; i++)
		expect_served(&some[i]);
	wait_open(PLACES / 4);
	ck_assert_uint_eq(server_connections(rig.server), PLACES / 4);
	for (int i = 0; i < PLACES / 2; i++)
		peer_close(&some[i]);
}
END_TEST

/* A body that is held stays, and the next one finds no room. */
START_TEST(a_lower_bound_for_bodies)
{
	static char body[30000];
	struct peer p;
	struct answer a;

	ck_assert_int_eq(peer_open(&p, rig.port), 0);
	ck_assert_int_eq(peer_post(&p, "/echo", body, sizeof(body), &a), 0);
	ck_assert_int_eq(a.status, 200);
	server_bound(rig.server, PLACES, 20000);
	ck_assert_int_eq(peer_post(&p, "/echo", body, sizeof(body), &a), 0);
	ck_assert_int_eq(a.status, 503);
	peer_close(&p);
}
END_TEST

START_TEST(silent_from_the_start)
{
	struct peer crowd[CROWD], good;

	for (int i = 0; i < CROWD; i++)
		ck_assert_int_eq(peer_open(&crowd[i], rig.port), 0);
	ck_assert_int_eq(peer_open(&good, rig.port), 0);
	expect_served(&good);
	peer_close(&good);
	crowd_leaves(crowd);
}
END_TEST

START_TEST(heads_never_completed)
{
	struct peer crowd[CROWD], good;

	for (int i = 0; i < CROWD; i++) {
		ck_assert_int_eq(peer_open(&crowd[i], rig.port), 0);
		peer_puts(&crowd[i], "POST /echo HTTP/1.1\r\nHost: x\r\n");
	}
	ck_assert_int_eq(peer_open(&good, rig.port), 0);
	expect_served(&good);
	peer_close(&good);
	crowd_leaves(crowd);
}
END_TEST

/* A reply that nobody reads waits for its client as well. */
START_TEST(replies_never_read)
{
	struct peer crowd[CROWD], good;

	for (int i = 0; i < CROWD; i++) {
		ck_assert_int_eq(peer_open(&crowd[i], rig.port), 0);
		peer_puts(&crowd[i], "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
		ck_assert_int_gt(peer_fill(&crowd[i]), 0);	/* it has begun */
	}
	ck_assert_int_eq(peer_open(&good, rig.port), 0);
	expect_served(&good);
	peer_close(&good);
	crowd_leaves(crowd);
}
END_TEST

static void
stand_in_handler(struct peer *p)
{
	peer_puts(p, "POST /wait HTTP/1.1\r\nHost: x\r\nContent-Type: " JSON
		     "\r\nContent-Length: 2\r\n\r\n{}");
	while (rig.waiting == 0)
		poll(NULL, 0, 1);
}

/* Its request is at work, so it is not the one to go although it is the
 * oldest. */
START_TEST(not_one_in_its_handler)
{
	struct peer crowd[CROWD], first;
	struct answer a;

	ck_assert_int_eq(peer_open(&first, rig.port), 0);
	pthread_mutex_lock(&rig.gate);
	stand_in_handler(&first);
	for (int i = 0; i < CROWD; i++) {
		ck_assert_int_eq(peer_open(&crowd[i], rig.port), 0);
		expect_served(&crowd[i]);
	}
	pthread_mutex_unlock(&rig.gate);
	ck_assert_int_eq(peer_read(&first, &a), 0);
	ck_assert_int_eq(a.status, 200);
	peer_close(&first);
	crowd_leaves(crowd);
}
END_TEST

#define STUCK_MS 900	/* longer than a tick of the reaper */

static void
expect_beat(bool well)
{
	int64_t by_ms = clock_boot_ms() + 20000;
	bool is_well;

	/* It may be late a moment later, so it is asked once. */
	while ((is_well = server_heartbeat_age_ms(rig.server) < STUCK_MS) !=
		       well &&
	       clock_boot_ms() < by_ms)
		poll(NULL, 0, 10);
	ck_assert_int_eq(is_well, well);
}

START_TEST(a_stuck_handler_is_seen)
{
	struct peer first;

	ck_assert_int_eq(peer_open(&first, rig.port), 0);
	expect_beat(true);
	pthread_mutex_lock(&rig.gate);
	stand_in_handler(&first);
	expect_beat(false);
	pthread_mutex_unlock(&rig.gate);
	expect_beat(true);
	peer_close(&first);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/server_crowd");
	TCase *t = tcase_create("crowds");
	TCase *one = tcase_create("one thread");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, idle_after_a_request);
	tcase_add_test(t, a_lower_bound);
	tcase_add_test(t, a_lower_bound_for_bodies);
	tcase_add_test(t, silent_from_the_start);
	tcase_add_test(t, heads_never_completed);
	tcase_add_test(t, young_ones_stay);
	tcase_add_test(t, replies_never_read);
	tcase_add_test(t, not_one_in_its_handler);
	tcase_add_test(t, a_stuck_handler_is_seen);
	suite_add_tcase(s, t);

	tcase_add_checked_fixture(one, setup_one_thread, teardown);
	tcase_set_timeout(one, 60);
	tcase_add_test(one, idle_after_a_request);
	tcase_add_test(one, silent_from_the_start);
	tcase_add_test(one, heads_never_completed);
	suite_add_tcase(s, one);
	return suite_run(s);
}
