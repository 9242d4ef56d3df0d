/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "lease_script.h"

/* Several replicas against a modelled API server that has resourceVersions,
 * delays and lost answers.  Somebody may delete the Lease.  Whoever creates it
 * again without having seen its leader renew it may lead beside that leader,
 * who is then `overtaken` until it writes the Lease again.  Nobody else may. */

#define REPLICAS 3
#define REQUESTS 24
#define NEVER INT64_MAX
#define SHORT 64

struct row {	/* the Lease, small */
	bool exists;
	char holder[SHORT], state[SHORT];
	int32_t duration_s, transitions;
	int64_t acquire_us, renew_us;
	unsigned rv;
};

struct request {	/* between a replica and the server */
	int64_t arrives;	/* NEVER: none */
	int from;
	unsigned call;
	enum lease_step step;
	bool with_spec, with_state;
	struct row row;
	bool blind;	/* CREATE: any leader may be overtaken by it */
	char saw[SHORT];	/* CREATE: this one may not */
	int64_t takes;	/* the way back */
	bool lost;	/* on it */
};

struct replica {
	struct lease l;
	bool up, stopped;
	char name[16];
	int64_t boot_ms, skew_ms;	/* its clocks beside the world's */
	int64_t wakes, paused_until;
	unsigned call;	/* under way; 0: none */
	int64_t answers;	/* when lease_done is called */
	enum lease_code code;
	struct row row;
	unsigned born, deletions;	/* that it knows of */
	bool overtaken;
	char saw[SHORT];	/* renewing the Lease, when it last looked */
};

static struct world {
	struct row row;
	struct request requests[REQUESTS];
	struct replica replicas[REPLICAS];
	int64_t t;
	struct dice dice;
	unsigned calls, deletions, overtaken;
	bool mixed;	/* leaseDurations of 15, 30 and 60 s */
	uint32_t lost_percent, slow_percent, delay_ms;
	unsigned leads, takeovers;
	int leader;	/* the last that came to lead */
	uint64_t seed;
} w;

static struct now
replica_now(const struct replica *r)
{
	return (struct now){.server_ms = EPOCH + w.t + r->skew_ms,
			    .boot_ms = w.t + r->boot_ms};
}

static bool
replica_leads(const struct replica *r)
{
	return r->up && lease_leads(&r->l, w.t + r->boot_ms);
}

static void
replica_start(int i)
{
	struct replica *r = &w.replicas[i];
	struct lease_config c;

	(void)snprintf(r->name, sizeof(r->name), "r%d-%u", i, r->born++);
	c = lease_config_of(r->name);
	if (w.mixed) {
		c.duration_ms <<= roll(&w.dice, 3);
		c.renew_deadline_ms = c.duration_ms / 3 * 2;
	}
	lease_init(&r->l, &c, w.seed * 31 + r->born * 7 + (uint64_t)i);
	r->up = true;
	r->stopped = r->overtaken = false;
	r->call = 0;
	r->answers = NEVER;
	r->wakes = w.t;
	r->paused_until = w.t;
}

static void
world_init(uint64_t seed)
{
	memset(&w.row, 0, sizeof(w.row));
	w.seed = seed;
	w.dice = dice_new(seed);
	w.t = 0;
	w.calls = w.leads = w.takeovers = w.deletions = w.overtaken = 0;
	w.mixed = false;
	w.lost_percent = w.slow_percent = 0;
	w.delay_ms = 20;
	w.leader = -1;
	w.row.rv = 1;
	for (int i = 0; i < REQUESTS; i++)
		w.requests[i].arrives = NEVER;
	for (int i = 0; i < REPLICAS; i++) {
		w.replicas[i].up = false;
		w.replicas[i].born = 0;
		w.replicas[i].stopped = true;	/* nothing under way */
		w.replicas[i].answers = w.replicas[i].wakes = NEVER;
		w.replicas[i].boot_ms = roll(&w.dice, 100000000);
		w.replicas[i].skew_ms =
			((int64_t)roll(&w.dice, 48) - 24) * HOUR;
	}
}

static int64_t
delay(void)
{
	if (roll(&w.dice, 100) < w.slow_percent)
		return roll(&w.dice, 20000);
	return 1 + roll(&w.dice, w.delay_ms);
}

static void
send(int i, const struct lease_todo *todo_)
{
	struct replica *r = &w.replicas[i];
	struct request *q = w.requests;

	while (q < w.requests + REQUESTS && q->arrives != NEVER)
		q++;
	r->call = ++w.calls;
	r->code = LEASE_FAILED;
	r->answers = w.t + todo_->timeout_ms;
	if (q == w.requests + REQUESTS || roll(&w.dice, 200) < w.lost_percent)
		return;	/* never arrives */
	*q = (struct request){.arrives = w.t + delay(),
			      .from = i,
			      .call = r->call,
			      .step = todo_->step,
			      .with_spec = todo_->with_spec,
			      .with_state = todo_->with_state,
			      .blind = r->deletions != w.deletions,
			      .takes = delay(),
			      .lost = roll(&w.dice, 200) < w.lost_percent};
	memcpy(q->saw, r->saw, SHORT);
	if (todo_->record == NULL)
		return;
	q->row.duration_s = todo_->record->duration_s;
	q->row.transitions = todo_->record->transitions;
	q->row.acquire_us = todo_->record->acquire_us;
	q->row.renew_us = todo_->record->renew_us;
	(void)sscanf(todo_->record->rv, "%u", &q->row.rv);
	ck_assert(!str_copy(q->row.holder, SHORT, todo_->record->holder));
	ck_assert(!str_copy(q->row.state, SHORT, todo_->record->state));
}

static void
delete_lease(void)
{
	w.deletions += w.row.exists;
	w.row.exists = false;
}

static bool
may_write(const struct replica *r)
{
	return !r->stopped && lease_fence_ms(&r->l) > w.t + r->boot_ms;
}

/* The Lease is created again. */
static void
overtake(const struct request *q)
{
	for (int k = 0; k < REPLICAS; k++) {
		struct replica *r = &w.replicas[k];

		if (k == q->from ||
		    (!q->blind && strcmp(q->saw, r->name) == 0))
			continue;
		w.overtaken += !r->overtaken && may_write(r);
		r->overtaken = true;
	}
}

/* What the API server does with a request. */
static enum lease_code
serve(const struct request *q)
{
	char state[SHORT];

	if (q->step == LEASE_CREATE ? w.row.exists : !w.row.exists)
		return q->step == LEASE_CREATE ? LEASE_CONFLICT
					       : LEASE_NOT_FOUND;
	if (q->step == LEASE_UPDATE && q->row.rv != w.row.rv)
		return LEASE_CONFLICT;
	if (q->step != LEASE_GET) {
		unsigned rv = w.row.rv + 1;

		if (q->step == LEASE_CREATE)
			overtake(q);
		memcpy(state, w.row.state, SHORT);
		if (w.row.exists && strcmp(w.row.holder, q->row.holder) != 0)
			w.takeovers++;
		if (strcmp(q->row.holder, w.replicas[q->from].name) == 0)
			w.replicas[q->from].overtaken = false;
		w.row = q->row;
		w.row.exists = true;
		w.row.rv = rv;
		if (q->step == LEASE_UPDATE && !q->with_state)
			memcpy(w.row.state, state, SHORT);
	}
	return LEASE_OK;
}

static void
arrive(struct request *q)
{
	struct replica *r = &w.replicas[q->from];
	enum lease_code code = serve(q);

	q->arrives = NEVER;
	if (!r->up || r->call != q->call || q->lost ||
	    w.t + q->takes >= r->answers)
		return;
	r->answers = w.t + q->takes;
	r->code = code;
	r->row = w.row;
}

/* Replica i comes to lead.  No write of another may still be under way, and no
 * other may lead. */
static void
check_lead(int i)
{
	for (int k = 0; k < REPLICAS; k++) {
		const struct replica *other = &w.replicas[k];

		if (k == i || other->overtaken || w.replicas[i].overtaken)
			continue;
		ck_assert_msg(!replica_leads(other),
			      "seed %llu, %lld ms: %d and %d lead",
			      (unsigned long long)w.seed, (long long)w.t, i, k);
		ck_assert_msg(!may_write(other),
			      "seed %llu, %lld ms: %d leads before %d's fence",
			      (unsigned long long)w.seed, (long long)w.t, i, k);
	}
	w.leads++;
	w.leader = i;
}

static void
answered(int i)
{
	static struct lease_record r;
	struct replica *p = &w.replicas[i];
	struct lease_outcome o = {.code = p->code, .record = &r};
	bool led = replica_leads(p);

	if (p->code == LEASE_OK) {
		(void)str_copy(r.holder, sizeof(r.holder), p->row.holder);
		(void)str_copy(r.state, sizeof(r.state), p->row.state);
		(void)snprintf(r.rv, sizeof(r.rv), "%u", p->row.rv);
		r.present = true;
		r.duration_s = p->row.duration_s;
		r.transitions = p->row.transitions;
		r.acquire_us = p->row.acquire_us;
		r.renew_us = p->row.renew_us;
	}
	p->call = 0;
	p->answers = NEVER;
	p->wakes = w.t;
	if (p->code == LEASE_OK || (p->code == LEASE_NOT_FOUND && !p->l.gone))
		p->deletions = w.deletions;
	(void)str_copy(p->saw, SHORT, p->l.renewed ? p->l.seen.holder : "");
	lease_done(&p->l, &o, replica_now(p));
	ck_assert(p->code != LEASE_OK || !replica_leads(p) ||
		  strcmp(r.holder, p->name) == 0);
	if (replica_leads(p) && !led)
		check_lead(i);
	if (replica_leads(p))	/* whose turn, and which */
		ck_assert(lease_state(&p->l) != NULL);
}

static void
turn(int i)
{
	struct replica *r = &w.replicas[i];
	struct lease_todo next = lease_next(&r->l, replica_now(r));

	r->wakes = NEVER;
	if (next.step == LEASE_END)
		r->up = false;
	else if (next.step != LEASE_WAIT)
		send(i, &next);
	else if (next.wait_ms != INT64_MAX)
		r->wakes = w.t + next.wait_ms;
}

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Lets the next thing happen, if it does so by `until`. */
static bool
happens(int64_t until)
{
	int64_t when = NEVER;
	int i, what = -1;

	for (i = 0; i < REPLICAS; i++) {
		const struct replica *r = &w.replicas[i];
		int64_t soon = r->answers < r->wakes ? r->answers : r->wakes;

		if (r->up && soon != NEVER &&
		    later(soon, r->paused_until) < when) {
			when = later(soon, r->paused_until);
			what = i;
		}
	}
	for (i = 0; i < REQUESTS; i++)
		if (w.requests[i].arrives < when) {
			when = w.requests[i].arrives;
			what = REPLICAS + i;
		}
	if (when > until)
		return false;
	w.t = later(w.t, when);
	if (what >= REPLICAS)
		arrive(&w.requests[what - REPLICAS]);
	else if (w.replicas[what].answers <= w.t)
		answered(what);
	else
		turn(what);
	return true;
}

static void
run(int64_t until)
{
	while (happens(until))
		;
	w.t = until;
}

/* Runs until a replica comes to lead, and returns which; -1: none does by
 * `until`. */
static int
run_to_leader(int64_t until)
{
	unsigned leads = w.leads;

	while (w.leads == leads && happens(until))
		;
	return w.leads == leads ? -1 : w.leader;
}

static void
stop(int i)
{
	struct replica *r = &w.replicas[i];

	lease_stop(&r->l);
	r->stopped = true;
	if (r->call == 0)
		r->wakes = w.t;
}

START_TEST(two_take_turns)
{
	world_init((uint64_t)_i + 1);
	replica_start(0);
	ck_assert_int_eq(run_to_leader(1000), 0);
	replica_start(1);
	for (int i = 0; i < 6; i++) {
		int64_t then;
		char state[SHORT];

		run(w.t + 30000);
		ck_assert(replica_leads(&w.replicas[i % 2]));
		(void)snprintf(state, sizeof(state), "state %d", i);
		ck_assert_int_eq(lease_state_set(&w.replicas[i % 2].l, state),
				 0);
		stop(i % 2);
		then = w.t;
		ck_assert_int_eq(run_to_leader(then + 60000), !(i % 2));
		ck_assert_int_le(w.t - then, RETRY_MAX + 200);
		ck_assert_int_eq(w.row.transitions, i + 1);
		ck_assert_str_eq(lease_state(&w.replicas[!(i % 2)].l), state);
		replica_start(i % 2);
	}
}
END_TEST

/* A replica that dies is followed once its Lease has expired: not before that,
 * and soon after.  The clocks are hours apart. */
START_TEST(a_crash)
{
	int64_t then, renewed;

	world_init((uint64_t)_i + 1);
	replica_start(0);
	ck_assert_int_eq(run_to_leader(1000), 0);
	replica_start(1);
	run(60000 + (_i * 137) % 5000);
	w.replicas[0].up = false;
	then = w.t;
	renewed = w.replicas[0].l.sent_ms - w.replicas[0].boot_ms;
	ck_assert_int_eq(run_to_leader(then + 60000), 1);
	ck_assert_int_ge(w.t - renewed, DURATION);
	ck_assert_int_le(w.t - then, DURATION + 2 * RETRY_MAX + 200);
	ck_assert_int_eq(w.row.transitions, 1);
}
END_TEST

START_TEST(a_pause)
{
	world_init((uint64_t)_i + 1);
	replica_start(0);
	ck_assert_int_eq(run_to_leader(1000), 0);
	replica_start(1);
	run(30000);
	w.replicas[0].paused_until = w.t + 120000;
	ck_assert_int_eq(run_to_leader(w.t + 60000), 1);
	ck_assert(!replica_leads(&w.replicas[0]));
	run(w.t + 300000);
	ck_assert(!replica_leads(&w.replicas[0]));
	ck_assert(replica_leads(&w.replicas[1]));
	ck_assert_uint_eq(w.leads, 2);	/* it has seen who leads */
}
END_TEST

START_TEST(a_deletion)
{
	world_init((uint64_t)_i + 1);
	replica_start(0);
	ck_assert_int_eq(run_to_leader(1000), 0);
	replica_start(1);
	run(30000);
	delete_lease();
	run(60000);
	ck_assert(replica_leads(&w.replicas[0]));
	ck_assert(w.row.exists);
	ck_assert_uint_eq(w.leads, 1);
	ck_assert_uint_eq(w.overtaken, 0);
}
END_TEST

/* The leader sleeps when somebody deletes its Lease.  It has renewed the Lease
 * since the other replica last looked, and its leaseDuration is longer. */
START_TEST(a_deletion_and_a_pause)
{
	int64_t fence;

	world_init((uint64_t)_i + 1);
	replica_start(0);
	w.replicas[0].l.config.duration_ms = 60000;
	w.replicas[0].l.config.renew_deadline_ms = 40000;
	ck_assert_int_eq(run_to_leader(1000), 0);
	replica_start(1);
	run(30000 + _i * 100);
	w.replicas[1].paused_until = w.t + 10000;
	run(w.t + 10000);
	delete_lease();
	w.replicas[0].paused_until = w.t + 300000;
	fence = lease_fence_ms(&w.replicas[0].l) - w.replicas[0].boot_ms;
	ck_assert_int_eq(run_to_leader(w.t + 120000), 1);
	ck_assert_int_ge(w.t, fence);
	ck_assert_uint_eq(w.overtaken, 0);
}
END_TEST

/* Somebody wrote a Lease whose holder does not exist.  It is waited for for a
 * minute, or until it is deleted. */
START_TEST(a_ghost)
{
	bool deleted = _i % 2;

	world_init((uint64_t)_i + 1);
	w.row = (struct row){.exists = true,
			     .holder = "ghost_1234",
			     .duration_s = 86400,
			     .rv = 1};
	replica_start(0);
	replica_start(1);
	ck_assert_int_eq(run_to_leader(20000), -1);
	if (deleted)
		delete_lease();
	ck_assert_int_ge(run_to_leader(300000), 0);
	ck_assert_int_ge(w.t, deleted ? 20000 : LEASE_MS_MAX);
	ck_assert_int_le(w.t, (deleted ? 20000 : LEASE_MS_MAX) + LOOK_MAX +
				      200);
	run(w.t + 60000);
	ck_assert_uint_eq(w.leads, 1);
}
END_TEST

/* A replica that starts just after the deletion knows of no leader and leads
 * at once.  The leader of before notices with its next renewal. */
START_TEST(a_deletion_and_a_start)
{
	world_init((uint64_t)_i + 1);
	replica_start(0);
	ck_assert_int_eq(run_to_leader(1000), 0);
	run(30000 + _i * 100);
	delete_lease();
	replica_start(1);
	if (run_to_leader(w.t + 200) == 1) {
		ck_assert_uint_eq(w.overtaken, 1);
		run(w.t + RETRY + 200);
	}
	ck_assert(replica_leads(&w.replicas[w.leader]));
	ck_assert(!replica_leads(&w.replicas[!w.leader]));
	ck_assert_uint_le(w.leads, 2);
}
END_TEST

static void
trouble(void)
{
	int i = (int)roll(&w.dice, REPLICAS);
	struct replica *r = &w.replicas[i];

	switch (roll(&w.dice, 7)) {
	case 0:
		r->up = false;	/* crash */
		break;
	case 1:
		if (r->up && !r->stopped)
			stop(i);
		break;
	case 2:
		r->paused_until = w.t + roll(&w.dice, 40000);
		break;
	case 3:
		w.slow_percent = roll(&w.dice, 30);
		break;
	case 4:
		w.lost_percent = roll(&w.dice, 2) == 0 ? 10 : 60;
		break;
	case 5:
		delete_lease();
		break;
	default:
		w.row.rv++;	/* someone adds a label */
	}
	i = (int)roll(&w.dice, REPLICAS);
	if (!w.replicas[i].up && (w.replicas[i].stopped ||
				  w.t + w.replicas[i].boot_ms >=
					  lease_fence_ms(&w.replicas[i].l)))
		replica_start(i);
}

#define SEEDS 250

/* Two replicas never lead at once, and none leads before the fence of the one
 * before.  When the trouble is over, one leads. */
START_TEST(never_two)
{
	unsigned leads = 0, takeovers = 0, deletions = 0, overtaken = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		bool led = false, up = false;

		world_init((uint64_t)_i * SEEDS + seed + 1);
		w.lost_percent = 10;
		w.slow_percent = 5;
		w.delay_ms = 300;
		w.mixed = true;
		for (int i = 0; i < REPLICAS; i++)
			replica_start(i);
		while (w.t < 200000) {
			run(w.t + 1 + roll(&w.dice, 15000));
			trouble();
		}
		w.lost_percent = w.slow_percent = 0;
		for (int i = 0; i < REPLICAS; i++) {
			w.replicas[i].paused_until = w.t;
			if (!w.replicas[i].up)
				w.replicas[i].stopped = true;
		}
		run(w.t + 120000);
		for (int i = 0; i < REPLICAS; i++)
			if (replica_leads(&w.replicas[i]))
				ck_assert_str_eq(w.row.holder,
						 w.replicas[i].name);
		for (int i = 0; i < REPLICAS; i++) {
			up |= w.replicas[i].up;
			led |= replica_leads(&w.replicas[i]);
		}
		ck_assert_msg(led || !up, "seed %llu: nobody leads",
			      (unsigned long long)w.seed);
		leads += w.leads;
		takeovers += w.takeovers;
		deletions += w.deletions;
		overtaken += w.overtaken;
	}
	ck_assert_uint_gt(leads, 3 * SEEDS);	/* it was no idle run */
	ck_assert_uint_gt(takeovers, SEEDS);
	ck_assert_uint_gt(deletions, SEEDS);
	ck_assert_uint_lt(overtaken, deletions / 2);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("lease: several replicas");
	TCase *c = run_case(s, "world");

	tcase_add_loop_test(c, two_take_turns, 0, 5);
	tcase_add_loop_test(c, a_crash, 0, 20);
	tcase_add_loop_test(c, a_pause, 0, 5);
	tcase_add_loop_test(c, a_deletion, 0, 5);
	tcase_add_loop_test(c, a_deletion_and_a_pause, 0, 25);
	tcase_add_loop_test(c, a_deletion_and_a_start, 0, 25);
	tcase_add_loop_test(c, a_ghost, 0, 10);
	tcase_add_loop_test(c, never_two, 0, 12);
	return suite_run(s);
}
