/* SPDX-License-Identifier: Apache-2.0 */
#include "core/protocol/renewal.h"

#include <stdio.h>
#include <string.h>

#include "run.h"

#define HOUR INT64_C(3600000)
#define DAY (24 * HOUR)
#define START INT64_C(1767323045000) /* server time */
#define CA_LIFE (360 * DAY)
#define LEAF_LIFE (90 * DAY)
#define READ 30000
#define SETTLE 10000
#define AHEAD RENEWAL_AHEAD_MS
#define SPREAD (LEAF_LIFE / RENEWAL_SPREAD)

static struct renewal r;
static int64_t t;	/* since the start, of both clocks */

static struct now
now(void)
{
	return (struct now){.server_ms = START + t, .boot_ms = 77000 + t};
}

/* As edge/certs/certs_own mints it: at that moment. */
static struct renewal_cert
cert(unsigned id, int64_t born, int64_t life)
{
	struct renewal_cert c = {.not_before_ms = START + born - HOUR,
				 .not_after_ms = START + born + life};

	memcpy(c.id, &id, sizeof(id));
	return c;
}

static void
done(enum renewal_code code, const struct renewal_view *v)
{
	struct renewal_outcome o = {code, v, -1};

	renewal_done(&r, &o, now());
}

/* --- what each state of things asks for ---------------------------------- */

enum {
	NO_CA = 1,
	NO_LEAF = 2,
	NO_HOOKS = 4,
	DIFFERS = 8,
	UNTRUSTED = 16,
	OLD_TOO = 32,	/* another in caBundle, that lives long */
	DEAD_TOO = 64,	/* and one that has expired */
};

static const struct {
	const char *name;
	int flags;
	int64_t ca_age, leaf_age;
	enum renewal_step step;
	const char *reason;
	int keep;	/* of a bundle, beside the CA */
} states[] = {
	{"all is well", 0, 0, 0, RENEWAL_WAIT, NULL, 0},
	{"well, in the last hour before it is due", 0, 240 * DAY - HOUR,
	 60 * DAY - HOUR, RENEWAL_WAIT, NULL, 0},
	{"nothing at all", NO_CA | NO_LEAF | NO_HOOKS, 0, 0, RENEWAL_CA,
	 "missing", 0},
	{"rubbish in the Secret", NO_CA | NO_LEAF | UNTRUSTED | OLD_TOO, 0, 0,
	 RENEWAL_CA, "missing", 0},
	{"CA at two thirds", 0, 240 * DAY, 0, RENEWAL_CA, "due", 0},
	{"CA expired", 0, CA_LIFE, 0, RENEWAL_CA, "not valid", 0},
	{"CA of tomorrow", 0, -2 * HOUR, 0, RENEWAL_CA, "not valid", 0},
	{"CA of a leader whose clock was fast", 0, -HOUR, 0, RENEWAL_WAIT,
	 NULL, 0},
	{"CA put there by a clock five minutes ahead", NO_LEAF | UNTRUSTED, -HOUR - AHEAD, 0,
	 RENEWAL_WAIT, NULL, 0},
	{"and more", NO_LEAF | UNTRUSTED, -HOUR - AHEAD - 1, 0, RENEWAL_CA,
	 "not valid", 0},
	{"caBundle empty", UNTRUSTED, 0, 0, RENEWAL_BUNDLE, "CA missing", 0},
	{"caBundle of another", UNTRUSTED | OLD_TOO, 0, 0, RENEWAL_BUNDLE,
	 "CA missing", 1},
	{"and one that is over", UNTRUSTED | OLD_TOO | DEAD_TOO, 0, 0,
	 RENEWAL_BUNDLE, "CA missing", 1},
	{"one webhook without", DIFFERS, 0, 0, RENEWAL_BUNDLE,
	 "not the same everywhere", 0},
	{"one in it is over", DEAD_TOO, 0, 0, RENEWAL_BUNDLE, "retired", 0},
	{"the old one while its certificates may live", OLD_TOO,
	 LEAF_LIFE - HOUR, 0, RENEWAL_WAIT, NULL, 0},
	{"the old one, just after this leader came", OLD_TOO, LEAF_LIFE,
	 SPREAD, RENEWAL_WAIT, NULL, 0},
	{"no serving certificate", NO_LEAF, 0, 0, RENEWAL_LEAF, "missing", 0},
	{"the same, without a webhook", NO_LEAF | NO_HOOKS | UNTRUSTED, 0, 0,
	 RENEWAL_LEAF, "missing", 0},
	{"two thirds over", 0, 70 * DAY, 60 * DAY, RENEWAL_LEAF, "due", 0},
	{"expired", 0, 200 * DAY, LEAF_LIFE, RENEWAL_LEAF, "not valid", 0},
	{"put there by a clock five minutes ahead", 0, 0, -HOUR - AHEAD,
	 RENEWAL_WAIT, NULL, 0},
	{"by one that is more, also when the CA is known", 0, 0,
	 -HOUR - AHEAD - SETTLE - 1, RENEWAL_LEAF, "not valid", 0},
};

static struct renewal_view
view_of(int flags, int64_t ca_age, int64_t leaf_age)
{
	struct renewal_view v = {
		.has_ca = !(flags & NO_CA),
		.ca = cert(1, t - ca_age, CA_LIFE),
		.has_leaf = !(flags & NO_LEAF),
		.leaf = cert(2, t - leaf_age, LEAF_LIFE),
		.has_webhooks = !(flags & NO_HOOKS),
		.bundle_differs = flags & DIFFERS,
	};

	if (flags & OLD_TOO)
		v.bundle[v.bundle_n++] = cert(3, t - 300 * DAY, 9999 * DAY);
	if (flags & DEAD_TOO)
		v.bundle[v.bundle_n++] = cert(4, t - 20 * DAY, 20 * DAY);
	if (!(flags & UNTRUSTED))
		v.bundle[v.bundle_n++] = v.ca;
	return v;
}

static void
setup(void)
{
	struct renewal_config c = renewal_config(CA_LIFE, LEAF_LIFE);

	t = 0;
	renewal_init(&r, &c, 1);
}

static struct renewal_todo
read_as(const struct renewal_view *v)
{
	ck_assert_int_eq(renewal_next(&r, now()).step, RENEWAL_READ);
	done(RENEWAL_OK, v);
	return renewal_next(&r, now());
}

START_TEST(test_state)
{
	struct renewal_view v;
	struct renewal_todo todo;
	int kept = 0;

	setup();
	v = view_of(states[_i].flags, states[_i].ca_age, states[_i].leaf_age);
	todo = read_as(&v);
	if (todo.step == RENEWAL_WAIT) {	/* for the CA to be known */
		ck_assert_int_le(todo.wait_ms, READ);
		t += todo.wait_ms;
		todo = read_as(&v);
	}
	ck_assert_msg(todo.step == states[_i].step, "%s: step %d",
		      states[_i].name, todo.step);
	if (todo.step == RENEWAL_WAIT) {
		ck_assert_int_eq(todo.wait_ms, READ);
		return;
	}
	ck_assert_str_eq(todo.reason, states[_i].reason);
	ck_assert_int_eq(todo.life_ms, todo.step == RENEWAL_CA	 ? CA_LIFE
				       : todo.step == RENEWAL_LEAF ? LEAF_LIFE
								   : 0);
	for (unsigned i = 0; i < v.bundle_n; i++)
		kept += todo.keep[i];
	ck_assert_int_eq(kept, todo.step == RENEWAL_BUNDLE ? states[_i].keep
							   : kept);
}
END_TEST

/* --- one after the other ------------------------------------------------- */

/* A serving certificate waits until its CA has stood in caBundle for long
 * enough, also for a leader that finds it there. */
START_TEST(test_settles)
{
	struct renewal_view v;
	struct renewal_todo todo;

	setup();
	v = view_of(NO_LEAF | UNTRUSTED, 0, 0);
	ck_assert_int_eq(read_as(&v).step, RENEWAL_BUNDLE);
	done(RENEWAL_OK, NULL);
	v = view_of(NO_LEAF, 0, 0);
	todo = read_as(&v);
	ck_assert_int_eq(todo.step, RENEWAL_WAIT);
	ck_assert_int_eq(todo.wait_ms, SETTLE);
	t += SETTLE - 1;
	ck_assert_int_eq(renewal_next(&r, now()).step, RENEWAL_WAIT);
	t += 1;
	ck_assert_int_eq(read_as(&v).step, RENEWAL_LEAF);
}
END_TEST

/* Gone in between: it begins anew. */
START_TEST(test_settles_anew)
{
	struct renewal_view v, gone;

	setup();
	v = view_of(NO_LEAF, 0, 0);
	gone = view_of(NO_LEAF | UNTRUSTED, 0, 0);
	ck_assert_int_eq(read_as(&v).wait_ms, SETTLE);
	t += SETTLE;
	ck_assert_int_eq(read_as(&gone).step, RENEWAL_BUNDLE);
	done(RENEWAL_OK, NULL);
	ck_assert_int_eq(read_as(&v).wait_ms, SETTLE);
}
END_TEST

/* Another CA, trusted from the first look on: that one is new all the same. */
START_TEST(test_settles_for_another)
{
	struct renewal_view v;

	setup();
	v = view_of(NO_LEAF, 0, 0);
	ck_assert_int_eq(read_as(&v).wait_ms, SETTLE);
	t += SETTLE;
	v.ca = v.bundle[0] = cert(9, t, CA_LIFE);
	ck_assert_int_eq(read_as(&v).wait_ms, SETTLE);
}
END_TEST

/* A CA that was minted a moment ago and is over nevertheless signs nothing. */
START_TEST(test_dead_ca)
{
	struct renewal_view v;
	struct renewal_todo todo;

	setup();
	v = view_of(NO_LEAF, 0, 0);
	ck_assert_int_eq(read_as(&v).wait_ms, SETTLE);
	t += SETTLE;
	v = view_of(NO_LEAF, CA_LIFE, 0);	/* the same, it says */
	ck_assert_int_eq(read_as(&v).step, RENEWAL_CA);
	done(RENEWAL_OK, NULL);
	todo = read_as(&v);
	ck_assert_int_eq(todo.step, RENEWAL_WAIT);
	ck_assert_int_eq(todo.wait_ms, SETTLE);
}
END_TEST

/* A CA that is not valid yet: waited for to the millisecond, then taken; and
 * so is a pair. */
START_TEST(test_soon)
{
	struct renewal_view v;
	struct renewal_todo todo;

	setup();
	v = view_of(NO_LEAF | UNTRUSTED, -HOUR - 700, 0);
	todo = read_as(&v);
	ck_assert_int_eq(todo.step, RENEWAL_WAIT);
	ck_assert_int_eq(todo.wait_ms, 700);
	t += 700;
	ck_assert_int_eq(read_as(&v).step, RENEWAL_BUNDLE);
	setup();
	v = view_of(0, 0, -HOUR - 700);
	ck_assert_int_eq(read_as(&v).wait_ms, 700);
	t += 700;
	ck_assert_int_eq(read_as(&v).wait_ms, READ);
}
END_TEST

/* An older one goes when the CA is older than what that one signed, and both
 * it and a certificate of it have been seen for long; not a moment before. */
START_TEST(test_retires)
{
	static const struct {
		int64_t ca_age, leaf_age, seen;
		int flags;
		bool goes;
	} cases[] = {
		{LEAF_LIFE, SPREAD, SPREAD, OLD_TOO, true},
		{LEAF_LIFE - 1, SPREAD, SPREAD, OLD_TOO, false},
		{LEAF_LIFE, SPREAD - 1, SPREAD, OLD_TOO, false},
		{LEAF_LIFE, SPREAD, SPREAD - 1, OLD_TOO, false},
		{LEAF_LIFE, SPREAD, SPREAD, OLD_TOO | NO_LEAF, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct renewal_view v;
		struct renewal_todo todo;

		setup();
		v = view_of(cases[i].flags, cases[i].ca_age - cases[i].seen,
			    cases[i].leaf_age - cases[i].seen);
		(void)read_as(&v);
		if (cases[i].flags & NO_LEAF)
			ck_assert_int_le(renewal_next(&r, now()).wait_ms,
					 SETTLE);
		t += cases[i].seen;
		todo = read_as(&v);
		ck_assert_msg((todo.step == RENEWAL_BUNDLE) == cases[i].goes,
			      "%zu: step %d", i, todo.step);
		if (cases[i].goes)
			ck_assert(!todo.keep[0]);
	}
}
END_TEST

/* Somebody puts a CA of long ago into the Secret: what is served is signed by
 * the one before, which is younger, or older than that for all one knows. */
START_TEST(test_a_ca_of_long_ago)
{
	for (int older = 0; older <= 1; older++) {
		struct renewal_view v;
		struct renewal_todo todo;

		setup();
		v = view_of(NO_LEAF | UNTRUSTED, 100 * DAY, 0);
		v.bundle[v.bundle_n++] =
			cert(5, older ? -150 * DAY : -10 * DAY, CA_LIFE);
		todo = read_as(&v);
		ck_assert_int_eq(todo.step, RENEWAL_BUNDLE);
		ck_assert(todo.keep[0]);
		done(RENEWAL_OK, NULL);
		v.bundle[v.bundle_n++] = v.ca;
		ck_assert_int_eq(read_as(&v).wait_ms, SETTLE);
		t += SETTLE;
		ck_assert_int_eq(read_as(&v).step, RENEWAL_LEAF);
		done(RENEWAL_OK, NULL);
		v.has_leaf = true;
		v.leaf = cert(6, t, LEAF_LIFE);
		ck_assert_int_eq(read_as(&v).wait_ms, READ);
		t += SPREAD - 1;
		ck_assert_int_eq(read_as(&v).wait_ms, READ);
		t += READ;
		todo = read_as(&v);
		ck_assert_int_eq(todo.step,
				 older ? RENEWAL_BUNDLE : RENEWAL_WAIT);
	}
}
END_TEST

/* Without the webhooks: a certificate of the CA that is trusted, or that
 * signed the one before; nothing else. */
START_TEST(test_webhooks_unread)
{
	struct renewal_view v, none;
	struct renewal_todo todo;

	setup();
	for (int i = 0; i < 3; i++) {	/* no CA, one that is due, unknown */
		none = view_of(i == 0   ? NO_CA | NO_LEAF | NO_HOOKS
			       : i == 1 ? NO_HOOKS
					: NO_LEAF | NO_HOOKS,
			       i == 1 ? 250 * DAY : 0, 0);
		none.bundle_n = 0;
		ck_assert_int_eq(renewal_next(&r, now()).step, RENEWAL_READ);
		done(RENEWAL_PARTLY, &none);
		todo = renewal_next(&r, now());
		ck_assert_int_eq(todo.step, RENEWAL_WAIT);
		ck_assert_int_ge(todo.wait_ms, 500 << i);
		ck_assert_uint_eq(r.failures, (unsigned)i + 1);
		t += todo.wait_ms;
	}
	/* the one that is there is of this CA */
	none = view_of(NO_HOOKS, 70 * DAY, 60 * DAY);
	none.bundle_n = 0;
	ck_assert_int_eq(renewal_next(&r, now()).step, RENEWAL_READ);
	done(RENEWAL_PARTLY, &none);
	ck_assert_int_eq(renewal_next(&r, now()).step, RENEWAL_LEAF);
	done(RENEWAL_OK, NULL);
	ck_assert_int_eq(renewal_next(&r, now()).step, RENEWAL_WAIT);
	ck_assert_uint_eq(r.failures, 4);	/* it is not over */

	/* none is there, the CA has been seen */
	setup();
	v = view_of(NO_LEAF, 0, 0);
	none = v;
	none.has_webhooks = false;
	none.bundle_n = 0;
	ck_assert_int_eq(read_as(&v).wait_ms, SETTLE);
	t += SETTLE;
	ck_assert_int_eq(renewal_next(&r, now()).step, RENEWAL_READ);
	done(RENEWAL_PARTLY, &none);
	ck_assert_int_eq(renewal_next(&r, now()).step, RENEWAL_LEAF);
	done(RENEWAL_FAILED, NULL);
	t += renewal_next(&r, now()).wait_ms;
	/* and is another now */
	none.ca = cert(9, t, CA_LIFE);
	ck_assert_int_eq(renewal_next(&r, now()).step, RENEWAL_READ);
	done(RENEWAL_PARTLY, &none);
	ck_assert_int_eq(renewal_next(&r, now()).step, RENEWAL_WAIT);
}
END_TEST

/* Another that undoes each write is no reason to race with it. */
START_TEST(test_fight)
{
	struct renewal_view v;
	int64_t end = 10 * READ;
	unsigned writes = 0;

	setup();
	v = view_of(UNTRUSTED, 0, 0);
	while (t < end) {
		struct renewal_todo todo = renewal_next(&r, now());

		if (todo.step == RENEWAL_WAIT)
			t += todo.wait_ms;
		else
			done(RENEWAL_OK, &v);
		writes += todo.step == RENEWAL_BUNDLE;
		ck_assert_uint_lt(writes, 1000);
	}
	ck_assert_uint_ge(writes, 10);
	ck_assert_uint_le(writes, 10 * READ / SETTLE + 1);
}
END_TEST

/* What does not succeed is tried less and less often, and not given up. */
START_TEST(test_backoff)
{
	static const enum renewal_code bad[] = {RENEWAL_CONFLICT,
						RENEWAL_FAILED};
	struct renewal_view v;
	int64_t last = 0, wait;

	setup();
	v = view_of(UNTRUSTED, 0, 0);
	for (int i = 0; i < 12; i++) {
		ck_assert_int_eq(read_as(&v).step, RENEWAL_BUNDLE);
		done(bad[i % 2], NULL);
		wait = renewal_next(&r, now()).wait_ms;
		ck_assert_int_ge(wait, i < 6 ? 500 << i : READ);
		ck_assert_int_lt(wait, 2 * READ);
		ck_assert(i > 5 || wait > last);
		last = wait;
		t += wait;
	}
	ck_assert_int_eq(read_as(&v).step, RENEWAL_BUNDLE);
	renewal_done(&r, &(struct renewal_outcome){RENEWAL_FAILED, NULL, 99000},
		     now());
	ck_assert_int_eq(renewal_next(&r, now()).wait_ms, 99000);
	t += 99000;
	/* and afterwards it is as if nothing had been */
	ck_assert_int_eq(read_as(&v).step, RENEWAL_BUNDLE);
	done(RENEWAL_OK, NULL);
	ck_assert_int_eq(renewal_next(&r, now()).step, RENEWAL_READ);
	done(RENEWAL_FAILED, NULL);
	ck_assert_int_lt(renewal_next(&r, now()).wait_ms, 1000);
}
END_TEST

/* More in caBundle than is kept: the CA itself always finds room. */
START_TEST(test_full_bundle)
{
	struct renewal_view v;
	struct renewal_todo todo;
	unsigned kept = 0;

	setup();
	v = view_of(UNTRUSTED, 0, 0);
	for (unsigned i = 0; i < RENEWAL_BUNDLE_MAX; i++)
		v.bundle[v.bundle_n++] =
			cert(10 + i, i == 5 ? -3 * HOUR : -2 * HOUR, CA_LIFE);
	todo = read_as(&v);
	ck_assert_int_eq(todo.step, RENEWAL_BUNDLE);
	for (unsigned i = 0; i < RENEWAL_BUNDLE_MAX; i++)
		kept += todo.keep[i];
	ck_assert_uint_eq(kept, RENEWAL_BUNDLE_MAX - 1);
	ck_assert(!todo.keep[5]);
}
END_TEST

/* Whatever lives are asked for, a third of a serving certificate's is enough
 * for all there is to wait for, and nothing spins. */
START_TEST(test_lives)
{
	static const int64_t lives[] = {1000, 20000, HOUR, DAY, LEAF_LIFE};

	for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++) {
		struct renewal_config c =
			renewal_config(4 * lives[i], lives[i]);

		ck_assert_int_lt(c.settle_ms + 2 * c.read_ms, lives[i] / 3);
		ck_assert_int_ge(c.settle_ms, 50);
		ck_assert_int_ge(c.read_ms, 50);
	}
}
END_TEST

/* --- a world in which all of it goes wrong ------------------------------- */

/*
 * Two leaders in turn (or, without election, at once: then their steps mix),
 * an API server that goes by a caBundle of a while ago, replicas that get the
 * Secret late; people who delete and scribble.  What is served must be trusted
 * whenever it could be.
 */
#define WORLD_CA 60000
#define WORLD_LEAF 20000
#define LAG_SERVER 1500		/* below settle_ms, 2 s */
#define LAG_REPLICA 2500	/* above it */
#define REPLICAS 3
#define PAST 128		/* what caBundle was, each 50 ms */
#define TICK 50

struct bundle {
	unsigned n;
	struct renewal_cert at[RENEWAL_BUNDLE_MAX];
};

struct leaf {
	unsigned id, ca;	/* 0: none */
	struct renewal_cert cert;
};

struct actor {
	struct renewal r;
	struct renewal_view view;
	unsigned secret_rv, hooks_rv;	/* as read */
	int64_t next;
};

static struct world {
	struct dice dice;
	struct actor actors[2];
	unsigned leads;			/* which of them; 2: both */
	unsigned ids, secret_rv, hooks_rv;
	bool has_ca;
	struct renewal_cert ca;
	struct leaf leaf;
	struct bundle past[PAST];
	unsigned at;			/* the present */
	struct leaf served[REPLICAS];
	int64_t due[REPLICAS];		/* it gets the Secret then */
	int64_t wiped;			/* when caBundle was */
	int64_t late;			/* renewal was made late, last */
	unsigned checked, cas, leaves, biggest;
} w;

static unsigned
id_of(const struct renewal_cert *c)
{
	unsigned id;

	memcpy(&id, c->id, sizeof(id));
	return id;
}

static struct bundle *
present(void)
{
	return &w.past[w.at % PAST];
}

static void
look(struct actor *a)
{
	a->view = (struct renewal_view){
		.has_ca = w.has_ca,
		.ca = w.ca,
		.has_leaf = w.has_ca && w.leaf.id != 0 &&
			    w.leaf.ca == id_of(&w.ca),
		.leaf = w.leaf.cert,
		.has_webhooks = true,
		.bundle_n = present()->n,
	};
	memcpy(a->view.bundle, present()->at, sizeof(a->view.bundle));
	a->secret_rv = w.secret_rv;
	a->hooks_rv = w.hooks_rv;
}

static void
write_bundle(const struct renewal_view *v, const struct renewal_todo *todo)
{
	struct bundle b = {.n = 1, .at = {v->ca}};

	for (unsigned i = 0; i < v->bundle_n; i++)
		if (todo->keep[i])
			b.at[b.n++] = v->bundle[i];
	*present() = b;
	w.biggest = b.n > w.biggest ? b.n : w.biggest;
	w.hooks_rv++;
}

static void
write_pair(const struct renewal_todo *todo)
{
	struct renewal_cert c = cert(++w.ids, t, todo->life_ms);

	if (todo->step == RENEWAL_CA) {
		w.has_ca = true;
		w.ca = c;
		w.cas++;
	} else {
		if (c.not_after_ms > w.ca.not_after_ms)
			c.not_after_ms = w.ca.not_after_ms;
		w.leaf = (struct leaf){w.ids, id_of(&w.ca), c};
		w.leaves++;
	}
	w.secret_rv++;
}

/* Some requests fail before they are carried out, some after. */
static enum renewal_code
perform(struct actor *a, const struct renewal_todo *todo)
{
	unsigned fate = roll(&w.dice, 20);

	if (fate == 0)
		return RENEWAL_FAILED;
	if (todo->step == RENEWAL_READ) {
		look(a);
		if (fate != 1)
			return RENEWAL_OK;
		a->view.has_webhooks = false;
		a->view.bundle_n = 0;
		return RENEWAL_PARTLY;
	}
	if (todo->step == RENEWAL_BUNDLE ? a->hooks_rv != w.hooks_rv
					 : a->secret_rv != w.secret_rv)
		return RENEWAL_CONFLICT;
	if (todo->step == RENEWAL_BUNDLE)
		write_bundle(&a->view, todo);
	else
		write_pair(todo);
	return fate == 1 ? RENEWAL_FAILED : RENEWAL_OK;
}

static void
disturb(void)
{
	struct renewal_config c = renewal_config(WORLD_CA, WORLD_LEAF);

	switch (roll(&w.dice, 2400)) {
	case 4:	/* a CA of a while ago is put there, or one of others */
		w.has_ca = true;
		w.ca = cert(++w.ids, t - roll(&w.dice, WORLD_CA / 2), WORLD_CA);
		w.leaf.id = 0;
		w.secret_rv++;
		w.late = t;
		break;
	case 0:	/* the Secret is deleted, or rubbish */
		w.has_ca = false;
		w.leaf.id = 0;
		w.secret_rv++;
		w.late = t;
		break;
	case 1:	/* the serving pair alone */
		w.leaf.id = 0;
		w.secret_rv++;
		w.late = t;
		break;
	case 2:
		present()->n = 0;
		w.hooks_rv++;
		w.wiped = t;
		break;
	case 3:	/* another leads, or one begins anew */
		w.leads = w.leads == 2 ? 2 : 1 - w.leads;
		renewal_init(&w.actors[w.leads % 2].r, &c, w.dice.state);
		w.actors[w.leads % 2].next = t;
		w.late = t;
		break;
	default:
		break;
	}
}

static void
deliver(void)
{
	for (int i = 0; i < REPLICAS; i++) {
		if (t < w.due[i])
			continue;
		w.due[i] = t + roll(&w.dice, LAG_REPLICA);
		if (w.leaf.id != 0)	/* else it keeps what it has */
			w.served[i] = w.leaf;
	}
}

static bool
trusts(const struct bundle *b, unsigned ca)
{
	for (unsigned i = 0; i < b->n; i++)
		if (id_of(&b->at[i]) == ca &&
		    START + t < b->at[i].not_after_ms)
			return true;
	return false;
}

/* Out of caBundle is out, until all serve what the CA in the Secret signed;
 * and what was lost, or begun anew, may come too late. */
static void
check_served(uint64_t seed)
{
	unsigned behind = roll(&w.dice, LAG_SERVER / TICK);
	const struct bundle *b = &w.past[(w.at - behind) % PAST];

	if (t < w.wiped + LAG_REPLICA + 2 * WORLD_LEAF)
		return;
	for (int i = 0; i < REPLICAS; i++) {
		const struct leaf *l = &w.served[i];

		if (l->id == 0)
			continue;
		/* (each ck_assert, also one that holds, is a write) */
		if (START + t >= l->cert.not_after_ms) {
			if (t >= w.late + WORLD_LEAF)
				ck_abort_msg("seed %llu, %lld ms: %d serves "
					     "one that is over",
					     (unsigned long long)seed,
					     (long long)t, i);
			continue;
		}
		if (!trusts(b, l->ca))
			ck_abort_msg("seed %llu, %lld ms: %d is not trusted",
				     (unsigned long long)seed, (long long)t, i);
		w.checked++;
	}
}

/* One step of one that has something to do; false: nobody has. */
static bool
step_one(void)
{
	unsigned who = w.leads == 2 ? roll(&w.dice, 2) : w.leads;
	struct actor *a = &w.actors[who];
	struct renewal_outcome o = {.retry_after_ms = -1};
	struct renewal_todo todo;

	if (w.leads == 2 && t < a->next)
		a = &w.actors[1 - who];
	if (t < a->next)
		return false;
	todo = renewal_next(&a->r, now());
	if (todo.step == RENEWAL_WAIT) {
		a->next = t + todo.wait_ms;
		return true;
	}
	o.code = perform(a, &todo);
	o.view = &a->view;
	renewal_done(&a->r, &o, now());
	if (a->r.failures > 1)	/* the API server is away */
		w.late = t;
	return true;
}

static void
world_run(uint64_t seed, bool both)
{
	struct renewal_config c = renewal_config(WORLD_CA, WORLD_LEAF);

	memset(&w, 0, sizeof(w));
	w.dice = dice_new(seed);
	w.leads = both ? 2 : 0;
	w.wiped = w.late = INT64_MIN / 2;
	w.at = PAST;
	t = 0;
	for (int i = 0; i < 2; i++)
		renewal_init(&w.actors[i].r, &c, seed + (uint64_t)i);
	for (; t < 600000; t += TICK) {
		w.at++;
		*present() = w.past[(w.at - 1) % PAST];
		for (int steps = 0; step_one(); steps++)
			if (steps > 100)
				ck_abort_msg("it spins");
		disturb();
		deliver();
		check_served(seed);
	}
}

START_TEST(test_walk)
{
	unsigned checked = 0, biggest = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		world_run(seed, _i == 1);
		/* each lived for 2/3 of its life, or less */
		ck_assert_uint_ge(w.cas, 10);
		ck_assert_uint_ge(w.leaves, 20);
		checked += w.checked > 0;
		biggest = w.biggest > biggest ? w.biggest : biggest;
	}
	ck_assert_uint_ge(checked, 150);
	ck_assert_uint_ge(biggest, 3);
	ck_assert_uint_lt(biggest, RENEWAL_BUNDLE_MAX);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("renewal");
	TCase *c = run_case(s, "states");
	int n = (int)(sizeof(states) / sizeof(states[0]));

	tcase_add_loop_test(c, test_state, 0, n);
	c = run_case(s, "order");
	tcase_add_test(c, test_settles);
	tcase_add_test(c, test_settles_anew);
	tcase_add_test(c, test_settles_for_another);
	tcase_add_test(c, test_dead_ca);
	tcase_add_test(c, test_soon);
	tcase_add_test(c, test_retires);
	tcase_add_test(c, test_a_ca_of_long_ago);
	tcase_add_test(c, test_webhooks_unread);
	tcase_add_test(c, test_fight);
	tcase_add_test(c, test_backoff);
	tcase_add_test(c, test_full_bundle);
	tcase_add_test(c, test_lives);
	c = run_case(s, "walk");
	tcase_add_loop_test(c, test_walk, 0, 2);
	return suite_run(s);
}
