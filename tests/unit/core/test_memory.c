/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/controller/controller.h"
#include "core/table/machines.h"
#include "objects.h"
#include "run.h"

/*
 * How much memory the table takes, with names as large clusters have them: the
 * anonymous pages of this process before the controller is born and after its
 * cluster was listed, held and released, so that every array that grows with
 * the number of objects is used as much as it ever is by a cluster without
 * faults.
 */

#define NOW 1767225600000	/* 2026-01-01 */
#define MACHINES 135000		/* as many as a memory limit of 128 MiB allows
				   at least */
#define BYTES_MAX 250		/* an object, everything included */
#define SMALL_MAX (252 << 10)	/* ten machines; as much as when an object took
				   1,150 bytes */

/* The sanitizers take memory of their own for each of ours. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEASURABLE false
#else
#define MEASURABLE true
#endif

static struct controller *s;
static struct counters counters;
static struct now now;

static struct object
claim_at(uint32_t i)
{
	struct object o = object_new(KIND_NODECLAIM, "", "", NOW - 60000);

	snprintf(o.name, sizeof(o.name), "general-purpose-%05x", i);
	snprintf(o.uid, sizeof(o.uid), "%08x-6a1f-4e0b-9c3d-5f0e8d7c6b5a", i);
	snprintf(o.node_name, sizeof(o.node_name),
		 "ip-10-%02u-%02u-%02u.eu-central-1.compute.internal",
		 10 + i / 8100, 10 + i / 90 % 90, 10 + i % 90);
	snprintf(o.rv, sizeof(o.rv), "%u", 1000000000 + i);
	strcpy(o.nodepool, "general-purpose");
	o.ready_ms = NOW - 20000;
	o.launched = o.launch_known = o.registered = true;
	object_hold(&o, NOW);
	return o;
}

static struct object
node_at(uint32_t i)
{
	struct object c = claim_at(i);
	struct object o = object_new(KIND_NODE, c.node_name, "", NOW - 30000);

	snprintf(o.uid, sizeof(o.uid), "%08x-93c2-47d1-8e5f-a0b1c2d3e4f5", i);
	strcpy(o.owner_name, c.name);
	strcpy(o.owner_uid, c.uid);
	strcpy(o.rv, c.rv);
	strcpy(o.nodepool, c.nodepool);
	o.registered = true;
	object_hold(&o, NOW);
	return o;
}

static size_t
pages_bytes(void)
{
	unsigned long resident, shared;
	FILE *f = fopen("/proc/self/statm", "r");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%*u %lu %lu", &resident, &shared), 2);
	fclose(f);
	return (resident - shared) * (size_t)sysconf(_SC_PAGESIZE);
}

static void
track(struct object o)
{
	controller_track(s, &o, now);
}

/* The write is done, and its line comes. */
static void
written(const struct action *a)
{
	uint32_t i = (uint32_t)strtoul(a->uid, NULL, 16);
	struct object o = a->kind == KIND_NODE ? node_at(i) : claim_at(i);
	struct controller_outcome out = {.code = CONTROLLER_OK,
					 .action = a,
					 .retry_after_ms = -1};

	ck_assert(a->act == ACT_CLEAR && strcmp(a->name, o.name) == 0 &&
		  strcmp(a->uid, o.uid) == 0 && strcmp(a->rv, o.rv) == 0);
	snprintf(o.rv, sizeof(o.rv), "%u", 2000000000 + i);
	o.hold = HOLD_ABSENT;
	o.mark = MARK_ABSENT;
	strcpy(out.rv, o.rv);
	controller_done(s, &out, now);
	track(o);
}

static void
go_on(void)
{
	for (;;) {
		struct controller_todo t = controller_next(s, now);
		struct controller_outcome out = {.action = &t.action,
						 .retry_after_ms = -1};

		if (t.step != CONTROLLER_ACT)
			return;
		if (t.action.act == ACT_LIST_CLAIMS ||
		    t.action.act == ACT_LIST_NODEPOOLS)
			controller_done(s, &out, now);
		else
			written(&t.action);
	}
}

/* one_by_one: the Nodes are listed first.  Otherwise both lists come in at the
 * same time. */
static void
list(uint32_t n, bool one_by_one)
{
	for (int k = 0; k < VIEW_COUNT; k++)
		controller_listing(s, (enum kind)k);
	for (uint32_t i = 0; i < n; i++) {
		track(node_at(i));
		if (!one_by_one)
			track(claim_at(i));
	}
	for (uint32_t i = 0; one_by_one && i < n; i++)
		track(claim_at(i));
	for (int k = 0; k < VIEW_COUNT; k++) {
		controller_listed(s, (enum kind)k, true, now);
		controller_watch(s, (enum kind)k, true);
	}
}

static size_t
cost(uint32_t n, bool one_by_one)
{
	struct rules rules = {
		.scope = SCOPE_NODEPOOL,
		.hold_ms = 600000,
		.startup_ms = 900000,
		.min_scale_up = 2,
		.cap = {.max_ms = 3600000, .window_ms = 300000},
		.hold = {DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE},
		.include = {.n = 1, .at = {"*"}},
	};
	size_t before, after;
	struct controller_report report;

	/* Huge pages would count whole as soon as a byte of them is used. */
	(void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	before = pages_bytes();
	now = (struct now){.server_ms = NOW, .boot_ms = 1000};
	s = controller_new(&rules, MACHINES, 1, &counters);
	ck_assert_ptr_nonnull(s);
	list(n, one_by_one);
	go_on();
	controller_report(s, &report);
	ck_assert_uint_eq(report.held[KIND_NODE], n);
	now.server_ms += 3000000;
	now.boot_ms += 3000000;
	go_on();
	controller_report(s, &report);
	for (int k = 0; k < KIND_COUNT; k++) {
		ck_assert_uint_eq(report.objects[k], n);
		ck_assert_uint_eq(report.held[k], 0);
	}
	after = pages_bytes();
	controller_free(s);
	return after - before;
}

START_TEST(a_large_cluster)
{
	size_t bytes = cost(MACHINES, _i == 0);

	ck_assert_msg(bytes <= (size_t)2 * MACHINES * BYTES_MAX,
		      "%.1f bytes an object",
		      (double)bytes / (2.0 * MACHINES));
}
END_TEST

START_TEST(a_small_cluster)
{
	size_t bytes = cost(10, _i == 0);

	ck_assert_msg(bytes <= SMALL_MAX, "%zu bytes", bytes);
}
END_TEST

START_TEST(as_many_as_there_may_be)
{
	struct touched t = {0};
	struct machines m;
	struct object o;

	ck_assert_int_eq(machines_init(&m, MACHINES_MAX), 0);
	for (uint32_t i = 0; i < MACHINES_MAX; i++) {
		uint32_t claim, node;

		o = claim_at(i);
		claim = machines_put(&m, &o, NOW, &t);
		o = node_at(i);
		node = machines_put(&m, &o, NOW, &t);
		if (claim == NO_ID || node == NO_ID ||
		    m.at[claim].peer != node)
			ck_abort_msg("machine %u", i);
	}
	o = claim_at(MACHINES_MAX);
	ck_assert_uint_eq(machines_put(&m, &o, NOW, &t), NO_ID);
	o = node_at(MACHINES_MAX);
	ck_assert_uint_eq(machines_put(&m, &o, NOW, &t), NO_ID);
	for (uint32_t i = 0; i < MACHINES_MAX; i++) {
		o = claim_at(i);
		machines_drop(&m, machines_find(&m, &o),
			      &(struct touched){0});
		o = node_at(i);
		machines_drop(&m, machines_find(&m, &o),
			      &(struct touched){0});
	}
	ck_assert_uint_eq(m.strings.n, 0);
	machines_done(&m);
}
END_TEST

/* An object that is in the table gets names for which there is no room: it is
 * left out from then on, as where the table is full, and asked for again. */
START_TEST(a_name_too_many)
{
	struct rules rules = {.scope = SCOPE_NODE,
			      .hold_ms = 600000,
			      .include = {.n = 1, .at = {"*"}}};
	struct controller_report report;
	struct object o;
	struct note note;
	uint32_t i = 0;

	now = (struct now){.server_ms = NOW, .boot_ms = 1000};
	s = controller_new(&rules, 256, 1, &counters);
	ck_assert_ptr_nonnull(s);
	list(1, true);
	while (counters.at[COUNTER_TABLE_FULL] == 0) {
		o = claim_at(++i);
		memset(o.node_name, 'n', NAME_BYTES - 1);
		snprintf(o.node_name, 9, "%08x", i);
		o.node_name[8] = '-';
		memset(o.name, 'c', NAME_BYTES - 1);
		snprintf(o.name, 9, "%08x", i);
		o.name[8] = '-';
		ck_assert_uint_lt(i, 256);
		track(o);
	}
	controller_report(s, &report);
	ck_assert_uint_eq(report.objects[KIND_NODECLAIM], i);
	o = claim_at(0);
	memset(o.node_name, 'o', NAME_BYTES - 1);
	track(o);
	controller_report(s, &report);
	ck_assert_uint_eq(report.objects[KIND_NODECLAIM], i - 1);
	ck_assert_uint_eq(counters.at[COUNTER_TABLE_FULL], 2);
	ck_assert(controller_note(s, &note) && note.type == NOTE_TABLE_FULL);
	ck_assert(controller_note(s, &note) && note.type == NOTE_TABLE_FULL);
	ck_assert_str_eq(note.name, o.name);
	/* There is room again. */
	for (uint32_t gone = 1; gone < i; gone++) {
		o = claim_at(gone);
		controller_forget(s, &o, now);
	}
	track(claim_at(0));
	controller_report(s, &report);
	ck_assert_uint_eq(report.objects[KIND_NODECLAIM], 1);
	controller_free(s);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("memory");
	TCase *c = run_case(suite, "memory");

	/* Large arrays have pages of their own, even after others were freed,
	 * as in a process that has just begun. */
	(void)mallopt(M_MMAP_THRESHOLD, 128 << 10);
	tcase_add_test(c, as_many_as_there_may_be);
	tcase_add_test(c, a_name_too_many);
	if (MEASURABLE) {
		tcase_add_loop_test(c, a_small_cluster, 0, 2);
		tcase_add_loop_test(c, a_large_cluster, 0, 2);
	}
	return suite_run(suite);
}
