/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "suite.h"
#include "wire/metrics/metrics.h"

static char text[1 << 18];

static bool
scope(void *ctx, uint32_t *i, struct scope_report *out)
{
	(void)ctx;
	*out = (struct scope_report){.held = true, .quiet_ms = 1500};
	return (*i)++ == 0;
}

/* The second is not held by hand. */
static bool
nodepool(void *ctx, uint32_t *i, struct nodepool_report *out)
{
	(void)ctx;
	*out = (struct nodepool_report){
		.name = "web",
		.hand_ms = *i == 1 ? STAMP_NONE : 1767323045678 + *i};
	out->name[0] = *i == 0 ? '\x9b' : 'w';
	return (*i)++ < 3;
}

static struct counters c;

static void
write(const struct metrics_gauges *g)
{
	struct buf b;

	buf_init(&b, text, sizeof(text));
	metrics_write(&b, &c, g, scope, nodepool, NULL);
	ck_assert(!b.full);
}

static unsigned
times(const char *s)
{
	unsigned n = 0;

	for (const char *p = text; (p = strstr(p, s)) != NULL; p++)
		n++;
	return n;
}

static struct metrics_gauges
gauges(void)
{
	return (struct metrics_gauges){
		.lease_name = "l", .version = "v", .cluster_scope = "cluster"};
}

START_TEST(test_blocked)
{
	struct metrics_gauges g = gauges();

	g.controller.blocked = _i;
	write(&g);
	ck_assert_ptr_nonnull(strstr(
		text, _i ? "\nkarpenter_node_holder_releases_blocked 1\n"
			 : "\nkarpenter_node_holder_releases_blocked 0\n"));
}
END_TEST

/* Every counter of the table is on the page with its help. */
START_TEST(test_all_counters)
{
	static const char *const names[] = {
#define X(id, name, labels) name,
		COUNTERS(X)
#undef X
	};
	struct metrics_gauges g = gauges();
	char type[128];

	write(&g);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *n = names[i];
		struct buf b;

		buf_init(&b, type, sizeof(type));
		buf_printf(&b, "\n# TYPE %s%s counter\n",
			   n[0] == '=' ? "" : METRICS_PREFIX,
			   n + (n[0] == '=' || n[0] == '?'));
		ck_assert_msg(times(type) == 1, "%s", n);
	}
}
END_TEST

/* The lines of a scope do not name the machine that moved it: there would be
 * too many names.  They are in the log and in the Events. */
START_TEST(test_scope)
{
	struct metrics_gauges g = gauges();

	write(&g);
	ck_assert_ptr_nonnull(strstr(
		text, "\nkarpenter_node_holder_scope_quiet_timestamp_seconds"
		      "{scope=\"cluster\"} 1.500\n"));
	ck_assert_ptr_nonnull(strstr(text, "Which machine moved it stands in "
					   "the log"));
}
END_TEST

/* One line for each NodePool that is held by hand, if this replica leads. */
START_TEST(test_by_hand)
{
	struct metrics_gauges g = gauges();

	g.leads = _i;
	g.by_hand[KIND_NODECLAIM] = 7;
	write(&g);
	ck_assert_uint_eq(times("\nkarpenter_node_holder_"
				"hold_until_timestamp_seconds{"), _i ? 2 : 0);
	ck_assert_uint_eq(times("\nkarpenter_node_holder_"
				"hold_until_timestamp_seconds"
				"{nodepool=\"\\\\x9beb\"} 1767323045\n"), _i);
	ck_assert_uint_eq(times("\nkarpenter_node_holder_held_by_hand_objects"
				"{kind=\"NodeClaim\"} 7\n"), 1);
}
END_TEST

/* What says that something is held has another name where nothing is, or alerts
 * on it would fire. */
START_TEST(test_observe)
{
	static const char *const names[] = {
		"holds_total",	      "releases_total",
		"scope_held",	      "scope_quiet_timestamp_seconds",
		"releases_blocked",   "hold_until_timestamp_seconds",
		"held_by_hand_objects"};
	struct metrics_gauges g = gauges();
	char line[128];

	g.leads = true;
	g.controller.observes = _i;
	g.controller.held[KIND_NODE] = 2;
	g.controller.would[KIND_NODE] = 3;
	write(&g);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(line, sizeof(line), "\n" METRICS_PREFIX "%s",
			 names[i]);
		ck_assert_msg((times(line) > 0) == !_i, "%s", line);
		snprintf(line, sizeof(line), "\n" METRICS_PREFIX "would_%s",
			 names[i]);
		ck_assert_msg((times(line) > 0) == _i, "%s", line);
	}
	ck_assert_uint_eq(times("\nkarpenter_node_holder_held_objects"
				"{kind=\"Node\"} 2\n"), 1);
	ck_assert_uint_eq(times("\nkarpenter_node_holder_would_held_objects"
				"{kind=\"Node\"} 3\n"), _i);
	ck_assert_uint_eq(times("\nkarpenter_node_holder_observing 1\n"), _i);
}
END_TEST

/* Tickets have series only if they are followed, and so has their watch. */
START_TEST(test_tickets)
{
	struct metrics_gauges g = gauges();

	g.controller.has_tickets = _i;
	g.controller.tickets = 7;
	g.controller.up[KIND_TICKET] = true;
	c.at[COUNTER_TICKETS_FLAWED] = 3;
	write(&g);
	ck_assert_uint_eq(times("\nkarpenter_node_holder_tickets 7\n"), _i);
	ck_assert_uint_eq(times("\n# TYPE karpenter_node_holder_tickets gauge\n"),
			  _i);
	ck_assert_uint_eq(times("\nkarpenter_node_holder_watch_up"
				"{kind=\"Ticket\"} 1\n"), _i);
	ck_assert_uint_eq(times("\nkarpenter_node_holder_watch_up{"),
			  VIEW_COUNT - 1 + _i);
	/* Counters are there from the start, or rate() would miss the first
	 * of them. */
	ck_assert_uint_eq(times("\nkarpenter_node_holder_tickets_flawed_total "
				"3\n"), 1);
	ck_assert_uint_eq(times("\nkarpenter_node_holder_objects_skipped_total"
				"{resource=\"tickets\"} "), 1);
	ck_assert_uint_eq(times("\nkarpenter_node_holder_watch_restarts_total"
				"{resource=\"tickets\",reason="), 4);
}
END_TEST

/* A sum is told to its last digit, or rate() sees nothing for hours and then a
 * leap. */
START_TEST(test_sums)
{
	static const char *const lines[] = {
		"admission_duration_seconds_sum 123456789012.345678\n",
		"hold_latency_seconds_sum 12345678901.234000\n",
		"write_duration_seconds_sum 0.001000\n"};
	struct metrics_gauges g = gauges();
	char line[128];

	c.latency_us_sum = 123456789012345678;
	c.hold_latency_ms_sum = 12345678901234;
	c.write_duration_ms_sum = 1;
	write(&g);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(line, sizeof(line), "\n" METRICS_PREFIX "%s",
			 lines[i]);
		ck_assert_msg(times(line) == 1, "%s", lines[i]);
	}
}
END_TEST

static bool
longest_scope(void *ctx, uint32_t *i, struct scope_report *out)
{
	(void)ctx;
	*out = (struct scope_report){.held = true, .quiet_ms = 1767323045678};
	memset(out->name, 'x', sizeof(out->name) - 1);
	return (*i)++ < SCOPES_MAX;
}

static bool
longest_nodepool(void *ctx, uint32_t *i, struct nodepool_report *out)
{
	(void)ctx;
	*out = (struct nodepool_report){.hand_ms = 253402300799999};
	memset(out->name, 'x', sizeof(out->name) - 1);
	return (*i)++ < SCOPES_MAX;
}

/* The page at its bound has room, with some to spare. */
START_TEST(test_longest)
{
	static char page[METRICS_PAGE_BYTES / 16 * 15];
	struct metrics_gauges g = gauges();
	struct buf b;
	unsigned hands = 0;

	g.leads = true;
	g.controller.has_tickets = true;
	g.controller.tickets = UINT32_MAX;
	memset(&c, 0xff, sizeof(c));
	buf_init(&b, page, sizeof(page));
	metrics_write(&b, &c, &g, longest_scope, longest_nodepool, NULL);
	ck_assert(!b.full);
	ck_assert_uint_gt(b.len, SCOPES_MAX * 200 + HAND_SERIES_MAX * 100);
	for (const char *p = page; (p = strstr(p, "{nodepool=")) != NULL; p++)
		hands++;
	ck_assert_uint_eq(hands, HAND_SERIES_MAX);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/metrics");
	TCase *tc = tcase_create("metrics");

	tcase_add_loop_test(tc, test_blocked, 0, 2);
	tcase_add_test(tc, test_all_counters);
	tcase_add_test(tc, test_scope);
	tcase_add_loop_test(tc, test_by_hand, 0, 2);
	tcase_add_loop_test(tc, test_observe, 0, 2);
	tcase_add_loop_test(tc, test_tickets, 0, 2);
	tcase_add_test(tc, test_sums);
	tcase_add_test(tc, test_longest);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
