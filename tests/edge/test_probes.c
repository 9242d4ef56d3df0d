/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics address while somebody has the table: probes are answered, and
 * everybody else waits or is sent away.
 */
#include <check.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "daemon/health.h"
#include "daemon/state_parts.h"
#include "peer.h"
#include "suite.h"

static struct state *shared;
static struct hook hook;
static struct serving_cert pair;
static struct health health;

static const struct config config = {.rules = {.scope = SCOPE_CLUSTER,
					       .hold_ms = 60000,
					       .startup_ms = 60000,
					       .min_scale_up = 1,
					       .include = {1, {"*"}}}};

static void
setup(void)
{
	struct err e = {0};

	(void)signal(SIGPIPE, SIG_IGN);
	shared = state_new(&config.rules, 1000, &e);
	ck_assert_msg(shared != NULL, "%s", e.text);
	pair = (struct serving_cert){.clock = shared->clock,
				     .not_after_ms = INT64_MAX};
	health = (struct health){.shared = shared,
				 .hook = &hook,
				 .pair = &pair,
				 .timing = &timing_default,
				 .cluster_scope = "cluster",
				 .lease_name = "holder"};
	ck_assert_int_eq(status_init(&health.status, shared, &pair, &config, &e),
			 0);
	ck_assert_msg(health_start(&health, "127.0.0.1:0", &e) == 0, "%s",
		      e.text);
	hook = (struct hook){.server = health.server};
}

static void
teardown(void)
{
	health_stop(&health);
	status_done(&health.status);
	state_free(shared);
}

static void
ask(struct peer *p, const char *path)
{
	ck_assert_int_eq(peer_open(p, server_port(health.server)), 0);
	peer_puts(p, "GET ");
	peer_puts(p, path);
	peer_puts(p, " HTTP/1.1\r\nHost: x\r\n\r\n");
}

static int
answer(struct peer *p)
{
	struct answer a;

	ck_assert_int_eq(peer_read(p, &a), 0);
	peer_close(p);
	return a.status;
}

#define EACH 12
static const char *const slow[] = {"/metrics", "/status", "/",
				   "/status/machines", "/status/machines/web"};
#define SLOW (sizeof(slow) / sizeof(slow[0]))

START_TEST(probes_beside_a_lock_that_is_held)
{
	static const char *const probes[] = {
		"/livez",	"/readyz",	   "/healthz",
		"/livez?verbose", "/readyz/webhook", "/status/time"};
	struct peer crowd[SLOW][EACH], p;
	unsigned served = 0, sent_away = 0;

	(void)lock(shared);
	for (int n = 0; n < EACH; n++)
		for (size_t i = 0; i < SLOW; i++)
			ask(&crowd[i][n], slow[i]);
	for (int n = 0; n < 60; n++) {
		ask(&p, probes[n % 6]);
		ck_assert_msg(answer(&p) == 200, "%s", probes[n % 6]);
	}
	unlock(shared);
	for (int n = 0; n < EACH; n++) {
		for (size_t i = 0; i < SLOW; i++) {
			int code = answer(&crowd[i][n]);

			served += code == 200 || code == 404;
			sent_away += code == 503;
		}
	}
	ck_assert_uint_eq(served + sent_away, SLOW * EACH);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("daemon/probes");
	TCase *t = tcase_create("probes");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 20);
	tcase_add_test(t, probes_beside_a_lock_that_is_held);
	suite_add_tcase(s, t);
	return suite_run(s);
}
