/* SPDX-License-Identifier: Apache-2.0 */
#include "history.h"

#include <stdlib.h>
#include <string.h>

/*
 * Makes a history from a seed.  Faults and people strike at any time, and more
 * often around the moments at which something turns: births, and births plus
 * the hold period.
 */

static const char *const nodepools[] = {"a", "b", "left-out"};

static int64_t
one_of(struct dice *d, const int64_t *values, uint32_t n)
{
	return values[roll(d, n)];
}

static struct story
random_story(struct dice *d)
{
	struct story s = {
		.launch_ms = between(d, 200, 4000),
		.stale_ms = roll(d, 4) == 0 ? between(d, 0, 3000) : 0,
		.missed = roll(d, 8) == 0,
		.no_condition = roll(d, 6) == 0,
		.node_first = roll(d, 3) == 0,
		.cloned = roll(d, 20) == 0,
		.opted_out = roll(d, 40) == 0,
		.taint_only = roll(d, 12) == 0,
		.claimless = roll(d, 60) == 0,
	};

	s.taint_only &= !s.claimless;
	if (roll(d, 4) == 0)
		s.event_ms = roll(d, 4) == 0 ? between(d, 2000, 20000)
					     : between(d, 100, 2000);
	s.node_ms = s.launch_ms + between(d, 500, 60000);
	s.register_ms = s.node_ms + between(d, 100, 5000);
	s.ready_ms = s.register_ms + between(d, 500, 40000);
	switch (roll(d, 12)) {
	case 0:		/* never launched */
		s.launch_ms = s.node_ms = s.register_ms = s.ready_ms = -1;
		if (roll(d, 3) > 0)
			s.gives_up_ms = between(d, 500, 20000);
		break;
	case 1:		/* never boots */
		s.node_ms = s.register_ms = s.ready_ms = -1;
		break;
	case 2:		/* never gets ready */
		s.ready_ms = -1;
		break;
	default:
		break;
	}
	return s;
}

static void
random_person(struct dice *d, struct op *o)
{
	static const char *const values[] = {"true", "false", "4h", "yes"};
	static const char *const marks[] = {"2026-01-02T02:00:00Z", "someone",
					    "2036-01-01T00:00:00Z"};

	o->what = (enum person)roll(d, PERSON_MARK + 1);
	if (o->what == PERSON_SET)
		snprintf(o->value, sizeof(o->value), "%s", values[roll(d, 4)]);
	if (o->what == PERSON_MARK)
		snprintf(o->value, sizeof(o->value), "%s", marks[roll(d, 3)]);
}

/* Writes durations and moments that are near what is going on, and bad ones. */
static void
random_pool(struct dice *d, struct op *o, const struct history *h)
{
	static const char *const values[] = {"false", "true", "no", "-"};

	o->key = (enum nodepool_key)roll(d, NODEPOOL_KEY_COUNT);
	if (o->key == NODEPOOL_ENABLED)
		snprintf(o->value, sizeof(o->value), "%s", values[roll(d, 4)]);
	else if (roll(d, 5) == 0)
		snprintf(o->value, sizeof(o->value), "%s",
			 roll(d, 2) == 0 ? "-" : "soon");
	else if (o->key == NODEPOOL_HOLD_DURATION)
		o->ms = between(d, 10, (int64_t)h->hold_ms / 500) * 1000;
}

/* Returns a jitter or a shift.  A jump of a size between the two may count as
 * either. */
static int64_t
random_jump(struct dice *d)
{
	int64_t by = roll(d, 3) > 0 ? between(d, 0, 3000)
				    : between(d, 9000, 60000);

	return roll(d, 2) == 0 ? by : -by;
}

static void
random_fault(struct dice *d, struct op *o, const struct history *h)
{
	static const int64_t spans[] = {500, 3000, 12000, 40000, 100000};
	static const char *const codes[] = {"403", "422", "500", "503"};

	o->for_ms = one_of(d, spans, 5);
	o->odds = (int)between(d, 10, 100);
	switch (o->type) {
	case OP_BUSY:
		o->ms = 1000 * between(d, 0, 5);
		break;
	case OP_LAG:
		o->ms = between(d, 100, 8000);
		break;
	case OP_HANG:
		o->for_ms = between(d, 1000, 200000);
		break;
	case OP_SKEW:
		o->ms = random_jump(d);
		o->for_ms = between(d, 10000, 600000);
		break;
	case OP_TURNS:
		o->ms = random_jump(d);
		o->every_ms = between(d, 2000, 100000);
		o->for_ms = between(d, 10000, 600000);
		break;
	case OP_UNSERVE:	/* Nodes are always served */
		o->kind = roll(d, 2) == 0 ? KIND_NODECLAIM : KIND_NODEPOOL;
		break;
	case OP_DENY:
		o->kind = (enum kind)roll(d, KIND_COUNT);
		snprintf(o->value, sizeof(o->value), "%s",
			 codes[roll(d, 4)]);
		o->for_ms = roll(d, 4) == 0 ? between(d, 100000, 1000000)
					    : o->for_ms;
		if (roll(d, 2) == 0)
			o->nodepool[0] = '\0';
		break;
	case OP_RULES:
		o->other_hold = roll(d, 2) == 0;
		if (roll(d, 2) == 0)
			snprintf(o->exclude, sizeof(o->exclude), "%s",
				 nodepools[roll(d, 3)]);
		if (roll(d, 4) == 0)
			snprintf(o->scope, sizeof(o->scope), "%s",
				 scope_names[roll(d, 3)]);
		o->for_ms = 0;
		break;
	default:
		break;
	}
	(void)h;
}

static enum op_type
random_fault_type(struct dice *d)
{
	static const enum op_type faults[] = {
		OP_CUT,	 OP_HANG,  OP_LAG,   OP_REFUSE, OP_EXPIRE, OP_DOWN,
		OP_BUSY, OP_ERRORS, OP_LOSSY, OP_LATE,	 OP_SLOW,   OP_LEASE,
		OP_KILL, OP_START, OP_PAUSE, OP_SKEW,	 OP_RULES,  OP_DENY,
		OP_UNSERVE, OP_TURNS, OP_UNINSTALL,
	};

	return faults[roll(d, sizeof(faults) / sizeof(faults[0]))];
}

static enum op_type
random_type(struct dice *d)
{
	uint32_t n = roll(d, 100);

	if (n < 38)
		return OP_CREATE;
	if (n < 46)
		return OP_DELETE;
	if (n < 50)
		return n < 48	? OP_AGAIN
		       : n < 49 ? OP_RECREATE
				: (enum op_type)(roll(d, 2) == 0 ? OP_UNNODE
								 : OP_FORGE);
	if (n < 60)
		return OP_PERSON;
	if (n < 64)
		return OP_POOL;
	if (n < 65)
		return roll(d, 3) > 0	? OP_TEMPLATE
		       : roll(d, 2) == 0 ? OP_UNPOOL
					 : OP_REPOOL;
	return random_fault_type(d);
}

static void
random_op(struct dice *d, struct history *h, struct op *o)
{
	o->type = random_type(d);
	o->machine = (int)roll(d, 32);
	o->kind = (enum kind)(roll(d, 5) % KIND_TICKET);
	o->holder = (int)roll(d, (uint32_t)h->holders);
	/* Now and then an object has no label. */
	if (o->type != OP_CREATE || roll(d, 12) > 0)
		snprintf(o->nodepool, sizeof(o->nodepool), "%s",
			 nodepools[roll(d, 8) == 0 ? 2 : roll(d, 2)]);
	if (o->type == OP_CREATE) {
		o->n = roll(d, 6) == 0 ? (int)between(d, 4, 9)
				       : (int)between(d, 1, 3);
		o->story = random_story(d);
	} else if (o->type == OP_DELETE) {
		o->for_ms = roll(d, 2) == 0 ? 0 : between(d, 0, 900) * 1000;
	} else if (o->type == OP_UNNODE) {
		o->for_ms = roll(d, 4) == 0 ? -1 : between(d, 0, 60000);
	} else if (o->type == OP_TEMPLATE) {
		snprintf(o->value, sizeof(o->value), "%s",
			 roll(d, 2) == 0 ? "true" : "4h");
	} else if (o->type == OP_POOL) {
		random_pool(d, o, h);
	} else if (o->type == OP_PERSON) {
		random_person(d, o);
	} else if (o->type >= OP_CUT) {
		random_fault(d, o, h);
	}
}

static int
by_time(const void *a, const void *b)
{
	const struct op *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static void
random_times(struct dice *d, struct history *h)
{
	int64_t span = h->hold_ms * 3 + h->startup_ms / 2;

	for (int i = 0; i < h->ops_n; i++) {
		struct op *o = &h->ops[i];

		o->at = between(d, 0, span);
		if (i > 0 && roll(d, 2) == 0)
			o->at = h->ops[roll(d, (uint32_t)i)].at +
				(roll(d, 3) == 0 ? h->hold_ms : 0) +
				between(d, 0, 60000) - 2000;
		if (o->at < 0)
			o->at = 0;
	}
	for (int i = 0; i < h->ops_n; i++) {
		struct op *o = &h->ops[i];

		if (o->type == OP_POOL && o->value[0] == '\0' &&
		    o->key == NODEPOOL_HOLD_UNTIL)
			o->ms = o->at + between(d, 0, 2 * h->hold_ms);
		if (o->type == OP_POOL && o->value[0] == '\0' &&
		    o->key == NODEPOOL_RELEASED_AT)
			o->ms = o->at + between(d, -60000, 10000);
	}
	qsort(h->ops, (size_t)h->ops_n, sizeof(h->ops[0]), by_time);
}

/* A machine that is to be replaced is marked shortly before.  Now and then
 * nothing comes of it, or a scale-up comes in between. */
static void
disruptions(struct dice *d, struct history *h)
{
	int n = h->ops_n;

	for (int i = 0; i < n && h->ops_n < OPS / 2; i++) {
		const struct op *o = &h->ops[i];
		int64_t at = o->at - between(d, 0, 6000);

		if (o->type != OP_CREATE ||
		    roll(d, 10) >= (o->story.event_ms > 0 ? 9 : 1))
			continue;
		h->ops[h->ops_n++] = (struct op){
			.at = at > 0 ? at : 0,
			.type = OP_DISRUPT,
			.machine = (int)roll(d, 32),
		};
		if (roll(d, 6) == 0)
			snprintf(h->ops[h->ops_n - 1].value, TEXT, "Empty");
		else if (at % 3 == 0)	/* the dice fall as they did before */
			snprintf(h->ops[h->ops_n - 1].value, TEXT, "Unhealthy");
	}
	qsort(h->ops, (size_t)h->ops_n, sizeof(h->ops[0]), by_time);
}

/* A machine that expires, is interrupted or deleted by hand comes back: once,
 * or at the second try, or as two. */
static void
substitutes(struct dice *d, struct history *h)
{
	int n = h->ops_n;

	for (int i = 0; i < n && h->ops_n < OPS / 2; i++) {
		struct op *o = &h->ops[h->ops_n];

		if (h->ops[i].type != OP_DELETE || roll(d, 3) == 0)
			continue;
		*o = (struct op){
			.at = h->ops[i].at + (roll(d, 4) == 0
						      ? between(d, 0, 900000)
						      : between(d, 0, 70000)),
			.type = OP_CREATE,
			.n = roll(d, 4) == 0 ? 2 : 1,
			.story = random_story(d),
		};
		snprintf(o->nodepool, sizeof(o->nodepool), "%s",
			 nodepools[roll(d, 2)]);
		o->story.event_ms = 0;
		h->ops_n++;
		/* There was no capacity at first. */
		for (int k = (int)roll(d, 8) - 4; k > 0 && h->ops_n < OPS / 2;
		     k--, o++) {
			o[1] = *o;
			o[1].at += between(d, 10000, 70000);
			o->story = (struct story){
				.launch_ms = -1,
				.node_ms = -1,
				.register_ms = -1,
				.ready_ms = -1,
				.gives_up_ms = between(d, 500, 15000)};
			h->ops_n++;
		}
	}
	qsort(h->ops, (size_t)h->ops_n, sizeof(h->ops[0]), by_time);
}

/* In some histories boots fail and are tried again, mostly in the same NodePool,
 * so that minScaleUp has to count them together. */
static void
boots_again(struct history *h, uint64_t seed)
{
	struct dice d = {.state = (seed + 1) * 0xa0761d6478bd642fu | 1};
	int n = h->ops_n;

	for (int i = 0; i < 8; i++)
		(void)roll(&d, 2);
	if (roll(&d, 8) > 0)
		return;
	if (roll(&d, 2) == 0)
		h->min_scale_up = (int)between(&d, 2, 3);
	for (int k = (int)between(&d, 1, 3); k > 0 && n > 0; k--) {
		struct op o = {.at = h->ops[roll(&d, (uint32_t)n)].at,
			       .type = OP_CREATE,
			       .n = (int)between(&d, 1, 2)};
		bool own = roll(&d, 4) > 0;
		uint32_t nodepool = roll(&d, 2);

		for (int tries = (int)between(&d, 2, 4);
		     tries > 0 && h->ops_n < OPS / 2; tries--) {
			o.story = random_story(&d);
			o.story.event_ms = 0;
			if (tries > 1) {
				o.story.launch_ms = between(&d, 200, 4000);
				o.story.ready_ms = -1;
				o.story.gives_up_ms =
					between(&d, 5000, h->startup_ms / 2);
			}
			snprintf(o.nodepool, sizeof(o.nodepool), "%s",
				 nodepools[nodepool]);
			h->ops[h->ops_n++] = o;
			o.at += o.story.gives_up_ms + between(&d, 500, 30000);
			nodepool = own ? nodepool : roll(&d, 2);
		}
	}
	qsort(h->ops, (size_t)h->ops_n, sizeof(h->ops[0]), by_time);
}

/* In every third history machines are rebooted, often in their own quiet time or
 * again, and some do not come back. */
static void
reboots(struct history *h, uint64_t seed)
{
	struct dice d = {.state = (seed + 1) * 0xe7037ed1a0b428dbu | 1};
	int n = h->ops_n;

	for (int i = 0; i < 8; i++)
		(void)roll(&d, 2);
	if (roll(&d, 3) > 0)
		return;
	for (int k = (int)between(&d, 1, 6); k > 0 && h->ops_n < OPS; k--)
		h->ops[h->ops_n++] = (struct op){
			.at = h->ops[roll(&d, (uint32_t)n)].at +
			      between(&d, 10000, h->hold_ms),
			.type = OP_REBOOT,
			.machine = (int)roll(&d, 12),
			.for_ms = roll(&d, 6) == 0
					  ? 0
					  : between(&d, 2000, h->hold_ms),
		};
	qsort(h->ops, (size_t)h->ops_n, sizeof(h->ops[0]), by_time);
}

/* A replica that was killed comes back. */
static void
revive(struct dice *d, struct history *h)
{
	int n = h->ops_n;

	for (int i = 0; i < n && h->ops_n < OPS; i++) {
		if (h->ops[i].type != OP_KILL)
			continue;
		h->ops[h->ops_n++] = (struct op){
			.at = h->ops[i].at + between(d, 1000, 60000),
			.type = OP_START,
			.holder = h->ops[i].holder,
		};
	}
	qsort(h->ops, (size_t)h->ops_n, sizeof(h->ops[0]), by_time);
}

/* All faults are over, and all that waits for something after them.  One more
 * scale-up follows, which is held and released like any other (I8). */
static void
last_wave(struct history *h)
{
	struct op last = {
		.type = OP_CREATE,
		.n = 2,
		.story = {.launch_ms = 2000, .node_ms = 20000,
			  .register_ms = 22000, .ready_ms = 30000},
	};

	for (int i = 0; i < h->ops_n; i++) {
		int64_t over = h->ops[i].at + h->ops[i].for_ms + 120000;

		last.at = over > last.at ? over : last.at;
	}
	for (int i = 0; i < 2 && h->ops_n < OPS; i++) {
		snprintf(last.nodepool, sizeof(last.nodepool), "%s",
			 nodepools[i]);
		h->ops[h->ops_n++] = last;
	}
}

void
history_random(struct history *h, uint64_t seed)
{
	static const int64_t holds[] = {30000, 60000, 180000, 600000};
	static const int64_t percents[] = {5, 10, 20, 40};
	struct dice d = {.state = (seed + 1) * 0x9e3779b97f4a7c15u | 1};

	for (int i = 0; i < 8; i++)
		(void)roll(&d, 2);
	*h = (struct history){
		.scope = (enum scope_kind)roll(&d, 3),
		.hold_ms = one_of(&d, holds, 4),
		.startup_ms = roll(&d, 2) == 0 ? 900000 : 120000,
		.max_ms = roll(&d, 2) == 0 ? 0 : between(&d, 60000, 900000),
		.window_ms = between(&d, 30000, 400000),
		.holders = roll(&d, 3) > 0 ? 1 : (int)between(&d, 2, 3),
		.elects = roll(&d, 4) == 0,
		.machines_max = roll(&d, 20) == 0 ? (int)between(&d, 2, 12)
						  : 192,
		.page = roll(&d, 3) == 0 ? 2 : 500,
		.other_hold = roll(&d, 5) == 0,
		.count = roll(&d, 6) == 0,
		.min_scale_up = roll(&d, 5) == 0 ? (int)between(&d, 2, 3) : 1,
		.seed = seed,
		.ops_n = (int)between(&d, 5, 40),
	};
	if (roll(&d, 2) == 0)
		snprintf(h->exclude, sizeof(h->exclude), "left-out");
	for (int i = 0; i < h->ops_n; i++)
		random_op(&d, h, &h->ops[i]);
	random_times(&d, h);
	disruptions(&d, h);
	substitutes(&d, h);
	boots_again(h, seed);
	reboots(h, seed);
	revive(&d, h);
	last_wave(h);
	if (h->min_scale_up == 1 && roll(&d, 6) == 0)
		h->min_scale_up_percent = (int)one_of(&d, percents, 4);
}

void
history_random_cleanup(struct history *h, uint64_t seed)
{
	struct dice d = {.state = (seed + 1) * 0xbf58476d1ce4e5b9u | 1};

	history_random(h, seed);
	if (h->ops_n == OPS)
		return;
	h->ops[h->ops_n++] = (struct op){
		/* With most of it still to come, or with most of it done. */
		.at = h->ops[roll(&d, (uint32_t)h->ops_n)].at +
		      between(&d, 0, 30000),
		.type = OP_CLEANUP,
		.n = (int)between(&d, 0, 12),
	};
	qsort(h->ops, (size_t)h->ops_n, sizeof(h->ops[0]), by_time);
}

/* Some claims are too large from birth on, and others become it, or are small
 * again. */
void
history_random_large(struct history *h, uint64_t seed)
{
	struct dice d = {.state = (seed + 1) * 0x94d049bb133111ebu | 1};
	int n;

	history_random(h, seed);
	n = h->ops_n;
	for (int i = 0; i < n; i++)
		if (h->ops[i].type == OP_CREATE && !h->ops[i].story.claimless)
			h->ops[i].story.large = roll(&d, 3) == 0;
	for (int i = 0; i < 6 && h->ops_n < OPS; i++)
		h->ops[h->ops_n++] = (struct op){
			.at = h->ops[roll(&d, (uint32_t)n)].at +
			      between(&d, 0, 30000),
			.type = OP_PERSON,
			.kind = KIND_NODECLAIM,
			.machine = (int)roll(&d, 40),
			.what = roll(&d, 3) == 0 ? PERSON_SHRINK
						 : PERSON_SWELL,
		};
	qsort(h->ops, (size_t)h->ops_n, sizeof(h->ops[0]), by_time);
}

/* Machines drift, and some of them do not after all.  In half of the histories
 * that releases them. */
static void
drifts(struct history *h, struct dice *d, int n)
{
	int ops = (int)between(d, 0, 8);

	h->allow_drift = roll(d, 2) == 0;
	for (int i = 0; i < ops && h->ops_n < OPS; i++) {
		struct op *o = &h->ops[h->ops_n++];

		*o = (struct op){
			.at = h->ops[roll(d, (uint32_t)n)].at +
			      between(d, 0, 60000),
			.type = OP_DRIFT,
			.machine = (int)roll(d, 32),
		};
		if (roll(d, 4) == 0)
			o->value[0] = '-';
	}
}

/* Some NodePools are static, or never consolidated, from the start or for a
 * while.  Often one of them is held by hand as well. */
void
history_random_spec(struct history *h, uint64_t seed)
{
	static const char *const values[SPEC_FIELDS][3] = {
		{"3", "0", "-"}, {"Never", "30s", "-"}};
	struct dice d = {.state = (seed + 1) * 0xd6e8feb86659fd93u | 1};
	int n, changes;

	history_random(h, seed);
	n = h->ops_n;
	changes = (int)between(&d, 1, 6);
	for (int i = 0; i < changes && h->ops_n < OPS; i++) {
		int field = (int)roll(&d, SPEC_FIELDS);
		struct op *o = &h->ops[h->ops_n++];

		*o = (struct op){
			.at = i == 0 && roll(&d, 2) == 0
				      ? 0
				      : h->ops[roll(&d, (uint32_t)n)].at +
						between(&d, 0, 30000),
			.type = OP_POOL,
			.key = (enum nodepool_key)(SPEC_REPLICAS + field),
		};
		snprintf(o->nodepool, sizeof(o->nodepool), "%s",
			 nodepools[roll(&d, 8) == 0 ? 2 : roll(&d, 2)]);
		snprintf(o->value, sizeof(o->value), "%s",
			 values[field][i == 0 ? 0 : roll(&d, 3)]);
		if (roll(&d, 3) > 0 || h->ops_n == OPS)
			continue;
		h->ops[h->ops_n] = *o;
		o = &h->ops[h->ops_n++];
		o->key = NODEPOOL_HOLD_UNTIL;
		o->value[0] = '\0';
		o->at += between(&d, 1000, 30000);
		o->ms = o->at + between(&d, 0, 2 * h->hold_ms);
	}
	drifts(h, &d, n);
	qsort(h->ops, (size_t)h->ops_n, sizeof(h->ops[0]), by_time);
}

/* Adds ops that end what the ticket op *o begins, and begin it again: every few
 * seconds, or once by its NodePool. */
static void
flips(struct history *h, struct dice *d, const struct op *o)
{
	static const enum op_type ends[] = {OP_UNTICKET, OP_SPOIL, OP_TICKET,
					    OP_POOL};
	enum op_type end = ends[roll(d, 4)];
	int64_t every = between(d, 500, 40000), at = o->at;

	if (o->type != OP_TICKET || roll(d, 3) > 0)
		return;
	for (int i = 0; i < 8 && h->ops_n < OPS; i++) {
		struct op *next = &h->ops[h->ops_n++];

		*next = *o;
		next->at = at += every;
		if (i % 2 == 1 && end != OP_POOL)
			continue;
		next->type = end;
		if (end == OP_TICKET)
			snprintf(next->nodepool, sizeof(next->nodepool), "%s",
				 nodepools[roll(d, 3)]);
		if (end != OP_POOL)
			continue;
		next->key = NODEPOOL_ENABLED;
		snprintf(next->nodepool, sizeof(next->nodepool), "%s",
			 nodepools[0]);
		snprintf(next->value, sizeof(next->value), "%s",
			 i % 2 == 0 ? "false" : "true");
	}
}

/* Tickets are made, renewed, left to end, spoilt, and deleted, some of them
 * again and again.  Some of their writers have clocks that are ahead or behind,
 * NodePools are disabled for a moment, and watches of tickets break, too. */
void
history_random_tickets(struct history *h, uint64_t seed)
{
	static const char *const names[] = {"t0", "t1", "t2"};
	static const int64_t ahead[] = {0,     0,      0,      -3000,
					4000,  60000,  -40000, 590000,
					700000};
	static const enum op_type types[] = {OP_TICKET, OP_TICKET, OP_TICKET,
					     OP_TICKET, OP_TICKET, OP_TICKET,
					     OP_UNTICKET, OP_UNTICKET,
					     OP_SPOIL, OP_LINGER};
	struct dice d = {.state = (seed + 1) * 0xa0761d6478bd642fu | 1};
	int n, tickets;

	history_random(h, seed);
	h->tickets = true;
	n = h->ops_n;
	for (int i = 0; i < n; i++)
		if ((h->ops[i].type == OP_CUT || h->ops[i].type == OP_HANG ||
		     h->ops[i].type == OP_LAG || h->ops[i].type == OP_REFUSE) &&
		    roll(&d, 3) == 0)
			h->ops[i].kind = KIND_TICKET;
	tickets = (int)between(&d, 1, 8);
	for (int i = 0; i < tickets && h->ops_n < OPS; i++) {
		struct op *o = &h->ops[h->ops_n++];
		int renewals = roll(&d, 3) == 0 ? (int)between(&d, 1, 5) : 0;

		*o = (struct op){
			.at = h->ops[roll(&d, (uint32_t)n)].at +
			      between(&d, 0, 30000),
			.type = types[roll(&d, 10)],
			.for_ms = between(&d, 5000, 2 * h->hold_ms),
			.ms = one_of(&d, ahead, 9),
		};
		snprintf(o->value, sizeof(o->value), "%s", names[roll(&d, 3)]);
		if (roll(&d, 3) > 0)
			snprintf(o->nodepool, sizeof(o->nodepool), "%s",
				 nodepools[roll(&d, 3)]);
		for (int k = 0; o->type == OP_TICKET && k < renewals &&
				h->ops_n < OPS;
		     k++) {
			h->ops[h->ops_n] = h->ops[h->ops_n - 1];
			h->ops[h->ops_n++].at += o->for_ms / 2;
		}
		flips(h, &d, o);
	}
	qsort(h->ops, (size_t)h->ops_n, sizeof(h->ops[0]), by_time);
}

/* With mode observe.  No mark is there, because those that are stay. */
void
history_random_observe(struct history *h, uint64_t seed)
{
	history_random(h, seed);
	h->observe = true;
	for (struct op *o = h->ops; o < h->ops + h->ops_n; o++) {
		o->story.cloned = o->story.opted_out = false;
		if (o->type == OP_PERSON && o->what == PERSON_MARK)
			o->what = PERSON_TOUCH;
	}
}
