/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "core/base/limits.h"
#include "suite.h"
#include "tools/simulate/advice.h"
#include "unit/core/scene.h"

#define MIN 60000
#define SECOND 1000
#define CYCLE (30 * MIN)
#define BEGAN INT64_C(1772445600000)	/* a whole second */

/* --- a log that a test makes ------------------------------------------------------ */

static struct setting settings[4];
static struct simulate_setup s;
static struct tally tally;
static struct history h;
static struct advice a;
static int machines;

/* The settings differ in their hold, in minutes. */
static void
begin(int n, const int *minutes)
{
	history_done(&h);
	tally_init(&tally);
	ck_assert_int_eq(history_init(&h, &tally), 0);
	machines = 0;
	s.settings_n = (size_t)n;
	for (int i = 0; i < n; i++) {
		settings[i].rules = rules_default();
		settings[i].rules.hold_ms = minutes[i] * MIN;
	}
}

static void
setup(void)
{
	memset(&h, 0, sizeof(h));
	s = (struct simulate_setup){
		.settings = settings,
		.waits = {.regret_ms = 15 * MIN, .price = 1000000},
		.advice = {true, true, 10, -1}};
	begin(4, (int[]){1, 2, 5, 10});
}

static void
teardown(void)
{
	history_done(&h);
}

static void
take(struct fact *f)
{
	for (size_t i = 0; h.replays_n < s.settings_n; i++)
		ck_assert_int_eq(history_setting(&h, &settings[i].rules,
						 &s.waits, f->at_ms), 0);
	ck_assert_int_eq(history_take(&h, f), 0);
}

static void
is(enum fact_kind kind, int64_t at_ms, int n, enum fact_maker maker)
{
	char claim[24], node[24];
	struct fact f;

	(void)snprintf(claim, sizeof(claim), "web-%d", n);
	(void)snprintf(node, sizeof(node), "node-%d", n);
	fact_init(&f, kind, BEGAN + at_ms);
	f.claim = claim;
	f.pool = "web";
	f.maker = maker;
	if (kind >= FACT_REGISTERED)
		f.node = node;
	take(&f);
}

/* A machine is ready a minute after its creation. */
static int
boots(int64_t at_ms, enum fact_maker maker)
{
	int n = machines++;

	is(FACT_CREATED, at_ms, n, maker);
	is(FACT_REGISTERED, at_ms + 40 * SECOND, n, MAKER_UNKNOWN);
	is(FACT_READY, at_ms + MIN, n, MAKER_UNKNOWN);
	return n;
}

static void
decides(int64_t at_ms, int n, const char *reason)
{
	struct fact_node node;
	char claim[24];
	struct fact f;

	(void)snprintf(claim, sizeof(claim), "web-%d", n);
	node = (struct fact_node){"", claim};
	fact_init(&f, FACT_DECIDED, BEGAN + at_ms);
	f.action = "delete";
	f.reason = reason;
	f.nodes = &node;
	f.nodes_n = 1;
	take(&f);
	is(FACT_GONE, at_ms + 20 * SECOND, n, MAKER_UNKNOWN);
}

/* A scale-up, Karpenter deletes its machine after 150 s, and, where again_s is not
 * 0, scales up again so long after the first time. */
static void
cycle(int k, const char *reason, int again_s, enum fact_maker maker)
{
	int64_t at_ms = (int64_t)k * CYCLE;

	decides(at_ms + 150 * SECOND, boots(at_ms, maker), reason);
	if (again_s > 0)
		(void)boots(at_ms + again_s * SECOND, maker);
}

static void
cycles(int from, int to, int again_s)
{
	for (int k = from; k < to; k++)
		cycle(k, "empty", again_s, MAKER_PROVISIONER);
}

/* The log ends after n cycles. */
static void
ends(int n)
{
	history_end(&h, BEGAN + (int64_t)n * CYCLE);
	advice_make(&s, &h, &a);
}

static void
says(const struct advice_pick *p, enum advice_verdict verdict, size_t setting,
     uint64_t decisions, uint64_t regret, uint64_t left)
{
	ck_assert_int_eq(p->verdict, verdict);
	if (verdict == ADVICE_SETTING || verdict == ADVICE_NONE)
		ck_assert_uint_eq(p->setting, setting);
	ck_assert_uint_eq(p->decisions, decisions);
	ck_assert_uint_eq(p->regret, regret);
	ck_assert_uint_eq(p->left, left);
}

/* --- what is recommended -------------------------------------------------------------- */

/* With 2m the machine is released before the next scale-up, and with 10m it stays
 * for longer than it has to. */
START_TEST(test_winner)
{
	struct replay_sums r;

	cycles(0, 12, 240);
	ends(12);
	says(&a.all, ADVICE_SETTING, 2, 12, 12, 0);
	says(&a.half[0], ADVICE_SETTING, 2, 6, 6, 0);
	says(&a.half[1], ADVICE_SETTING, 2, 6, 6, 0);
	ck_assert(a.sure);
	ck_assert_uint_eq(a.all.fit, 2);
	replay_report(h.replays[1], &r);
	ck_assert_uint_eq(r.waits.regret, 12);
	ck_assert_uint_eq(r.waits.spared, 0);
	replay_report(h.replays[2], &r);
	ck_assert_uint_eq(r.waits.spared, 12);
}
END_TEST

START_TEST(test_little)
{
	cycles(0, ADVICE_DECISIONS - 1 + _i, 240);
	ends(ADVICE_DECISIONS + 1);
	ck_assert_int_eq(a.all.verdict, _i ? ADVICE_SETTING : ADVICE_LITTLE);
	ck_assert(a.sure == (_i == 1));
}
END_TEST

/* Drift and repair come whatever the load does. */
START_TEST(test_others)
{
	static const char *const reasons[] = {"drifted", "unhealthy"};

	for (int k = 0; k < 20; k++)
		cycle(k, reasons[_i], 240, MAKER_PROVISIONER);
	ends(20);
	says(&a.all, ADVICE_LITTLE, 0, 0, 0, 0);
	ck_assert(!a.sure);
}
END_TEST

/* They do cost. */
START_TEST(test_drift_costs)
{
	double alone;

	cycles(0, 12, 240);
	ends(12);
	alone = a.all.dollars;
	begin(4, (int[]){1, 2, 5, 10});
	cycles(0, 12, 240);
	for (int k = 12; k < 24; k++)
		cycle(k, "drifted", 240, MAKER_PROVISIONER);
	ends(24);
	says(&a.all, ADVICE_SETTING, 2, 12, 12, 0);
	ck_assert_double_eq_tol(a.all.dollars, 2 * alone, 1e-6);
}
END_TEST

START_TEST(test_alone)
{
	cycles(0, 20, 0);
	ends(20);
	says(&a.all, ADVICE_ALONE, 0, 20, 0, 0);
	ck_assert(a.sure);
}
END_TEST

/* Two of 20 decisions, by number and by share. */
START_TEST(test_regret_left)
{
	const struct {
		bool percent;
		uint64_t most;
		enum advice_verdict verdict;
	} asked[] = {{true, 10, ADVICE_ALONE}, {true, 9, ADVICE_SETTING},
		     {false, 2, ADVICE_ALONE}, {false, 1, ADVICE_SETTING},
		     {true, 0, ADVICE_SETTING}, {false, 0, ADVICE_SETTING}};

	s.advice.percent = asked[_i].percent;
	s.advice.regret = asked[_i].most;
	cycles(0, 1, 240);
	cycles(1, 19, 0);
	cycles(19, 20, 240);
	ends(20);
	ck_assert_int_eq(a.all.verdict, asked[_i].verdict);
	/* A half may have half of it. */
	says(&a.half[0], asked[_i].verdict, 2, 10, 1,
	     asked[_i].verdict == ADVICE_ALONE);
	ck_assert(a.sure);
}
END_TEST

START_TEST(test_halves)
{
	cycles(0, 10, _i == 0 ? 240 : 500);
	cycles(10, 20, _i == 0 ? 500 : 240);
	ends(20);
	says(&a.all, ADVICE_SETTING, 3, 20, 20, 0);
	says(&a.half[_i], ADVICE_SETTING, 2, 10, 10, 0);
	says(&a.half[!_i], ADVICE_SETTING, 3, 10, 10, 0);
	ck_assert(!a.sure);
}
END_TEST

/* Halves of a long log are told apart, too. */
START_TEST(test_long)
{
	cycles(0, 150, 0);
	cycles(150, 300, 240);
	ends(300);
	says(&a.all, ADVICE_SETTING, 2, 300, 150, 0);
	ck_assert_int_eq(a.half[0].verdict, ADVICE_ALONE);
	ck_assert_int_eq(a.half[1].verdict, ADVICE_SETTING);
	ck_assert_uint_eq(a.half[0].decisions + a.half[1].decisions, 300);
	ck_assert_uint_ge(a.half[0].decisions, 142);
	ck_assert_uint_le(a.half[0].decisions, 158);
	ck_assert(!a.sure);
}
END_TEST

/* With 5m each decision waits for 450 s and the time until Karpenter looks again,
 * for a dollar an hour. */
START_TEST(test_price)
{
	int64_t enough = 12 * (450000 + SIMULATE_RETHINK_MS) / 36 * 10;

	s.advice.price = enough + (_i == 0 ? -20000 : 20000);
	cycles(0, 12, 240);
	ends(12);
	says(&a.all, _i == 0 ? ADVICE_NONE : ADVICE_SETTING, 2, 12, 12, 0);
	ck_assert_uint_eq(a.all.fit, 2);
	ck_assert_uint_eq(a.all.cheap, _i == 0 ? 0 : 1);
	ck_assert_double_eq_tol(a.all.dollars, (double)enough / 1e6, 0.02);
	/* A half of the log may cost half of it. */
	ck_assert_int_eq(a.half[1].verdict, a.all.verdict);
	ck_assert(a.sure && !a.all.unpriced);
}
END_TEST

/* What it costs is not known, so it is not known to be cheap. */
START_TEST(test_unpriced)
{
	s.waits.price = -1;
	s.advice.price = 1000000000;
	cycles(0, 12, 240);
	ends(12);
	says(&a.all, ADVICE_NONE, 2, 12, 12, 0);
	ck_assert(a.all.unpriced);
}
END_TEST

/* No setting is long enough; 5m leaves least. */
START_TEST(test_none)
{
	begin(3, (int[]){1, 5, 2});
	cycles(0, 6, 240);
	cycles(6, 12, 700);
	ends(12);
	says(&a.all, ADVICE_NONE, 1, 12, 12, 6);
	ck_assert_uint_eq(a.all.fit, 0);
}
END_TEST

/* A hold of the node alone is longer, and ends before that of the cluster, which
 * the next scale-up moves. */
START_TEST(test_fewest)
{
	begin(2, (int[]){5, 6});
	settings[1].rules.scope = SCOPE_NODE;
	cycles(0, 12, 240);
	ends(12);
	says(&a.all, ADVICE_SETTING, 1, 12, 12, 0);
	ck_assert_uint_eq(a.all.fit, 2);
}
END_TEST

/* All of them are held until the cap. */
START_TEST(test_tie)
{
	begin(3, (int[]){10, 8, 9});
	for (int i = 0; i < 3; i++)
		settings[i].rules.cap = (struct cap_rules){6 * MIN, 10 * MIN};
	cycles(0, 12, 240);
	ends(12);
	says(&a.all, ADVICE_SETTING, 1, 12, 12, 0);
}
END_TEST

/* Nobody knows what would have followed. */
START_TEST(test_end)
{
	cycles(0, 12, 240);
	cycles(12, 13, 0);
	history_end(&h, BEGAN + 12 * CYCLE + (_i ? 17 : 18) * MIN);
	advice_make(&s, &h, &a);
	ck_assert_uint_eq(a.all.decisions, _i ? 12 : 13);
	ck_assert_uint_eq(a.early, _i);
}
END_TEST

/* What replaces another machine is no scale-up. */
START_TEST(test_replacements)
{
	for (int k = 0; k < 12; k++) {
		cycle(k, "empty", 0, MAKER_PROVISIONER);
		(void)boots(k * CYCLE + 240 * SECOND, MAKER_DISRUPTION);
	}
	ends(12);
	says(&a.all, ADVICE_ALONE, 0, 12, 0, 0);
}
END_TEST

START_TEST(test_no_makers)
{
	for (int k = 0; k < 20; k++)
		cycle(k, "empty", 240, MAKER_UNKNOWN);
	ends(20);
	ck_assert(a.no_makers && !a.sure);
	ck_assert_int_eq(a.all.verdict, ADVICE_LITTLE);
}
END_TEST

/* --- spans ------------------------------------------------------------------------------ */

START_TEST(test_spans)
{
	const uint64_t n = 1000;
	struct spans spans;
	struct span sum;

	spans_init(&spans);
	for (uint64_t i = 0; i < n; i++)
		*spans_at(&spans, i) = (struct span){
			spans_at(&spans, i)->decisions + 1,
			spans_at(&spans, i)->early + i,
			spans_at(&spans, i)->regret + 2,
			spans_at(&spans, i)->spared + 3,
			spans_at(&spans, i)->unpriced + 4,
			spans_at(&spans, i)->hours_high + .5,
			spans_at(&spans, i)->dollars_high + .25};
	ck_assert_uint_eq(spans.length, 16);
	for (uint64_t at = 0; at <= n; at += spans.length) {
		spans_sum(&spans, 0, at, &sum);
		ck_assert_uint_eq(sum.decisions, at);
		ck_assert_uint_eq(sum.early, at * (at - 1) / 2);
		spans_sum(&spans, at, UINT64_MAX, &sum);
		ck_assert_uint_eq(sum.decisions, n - at);
		ck_assert_uint_eq(sum.regret, 2 * (n - at));
		ck_assert_uint_eq(sum.spared, 3 * (n - at));
		ck_assert_uint_eq(sum.unpriced, 4 * (n - at));
		ck_assert_double_eq(sum.hours_high, .5 * (double)(n - at));
		ck_assert_double_eq(sum.dollars_high, .25 * (double)(n - at));
	}
	/* An earlier one may be settled later. */
	spans_at(&spans, 0)->decisions += 7;
	spans_sum(&spans, 0, spans.length, &sum);
	ck_assert_uint_eq(sum.decisions, spans.length + 7);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("tools/simulate/advice");
	TCase *tc = tcase_create("advice");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_winner);
	tcase_add_loop_test(tc, test_little, 0, 2);
	tcase_add_loop_test(tc, test_others, 0, 2);
	tcase_add_test(tc, test_drift_costs);
	tcase_add_test(tc, test_alone);
	tcase_add_loop_test(tc, test_regret_left, 0, 6);
	tcase_add_loop_test(tc, test_halves, 0, 2);
	tcase_add_test(tc, test_long);
	tcase_add_loop_test(tc, test_price, 0, 2);
	tcase_add_test(tc, test_unpriced);
	tcase_add_test(tc, test_none);
	tcase_add_test(tc, test_fewest);
	tcase_add_test(tc, test_tie);
	tcase_add_test(tc, test_replacements);
	tcase_add_loop_test(tc, test_end, 0, 2);
	tcase_add_test(tc, test_no_makers);
	tcase_add_test(tc, test_spans);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
