/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/protocol/cleanup.h"
#include "objects.h"
#include "run.h"

/*
 * The rounds of `uninstall` against a modelled API server: first named cases,
 * each with the whole walk that is expected of it, then random clusters in
 * which people, faults and kills come in between.
 */

#define EPOCH INT64_C(1767323045000)
#define SETTLE 5000
#define THINGS 40
#define LANES 8

#define HOLD_HERE {"karpenter.sh/do-not-disrupt", "true"}

static const struct hold_key hold = HOLD_HERE;

static struct now
at(int64_t ms)
{
	return (struct now){.server_ms = EPOCH + ms, .boot_ms = ms};
}

/* --- the cluster ---------------------------------------------------------- */

enum what {
	BARE,
	OURS,		/* our hold and our mark */
	ODD,		/* our hold, and a mark without a time */
	YIELDED,	/* our mark on a hold of another value */
	PERSONS,	/* a hold without a mark */
};

struct thing {
	bool there;
	struct object o;
	unsigned version;
	bool persons;	/* a person set or copied the hold that stands there */
	bool ours;	/* the hold is ours alone, also by its other half */
	bool under_way;
	enum cleanup_code answer;	/* instead, `times` times */
	unsigned times;
};

struct sent {		/* a write under way, as it left */
	struct cleanup_write w;
	struct entry object;
};

struct cluster {
	struct thing at[THINGS];
	int n;
	unsigned registered;
	unsigned unread[KIND_COUNT];	/* marked, and cannot be decoded */
	struct cleanup *x;
	int64_t now;
	unsigned lists;		/* so many have begun */
	struct sent sent[LANES];
	unsigned sent_n, lanes;
	char walk[4000];	/* what it did */
};

static struct cluster c;

__attribute__((format(printf, 1, 2))) static void
note(const char *fmt, ...)
{
	size_t n = strlen(c.walk);
	va_list ap;

	if (n > 0 && n + 1 < sizeof(c.walk))
		c.walk[n++] = ' ';
	va_start(ap, fmt);
	(void)vsnprintf(c.walk + n, sizeof(c.walk) - n, fmt, ap);
	va_end(ap);
}

static void
changed(struct thing *t)
{
	(void)snprintf(t->o.rv, sizeof(t->o.rv), "%u", ++t->version);
}

static void
put(struct thing *t, enum what what)
{
	t->o.hold = what == BARE ? HOLD_ABSENT
		    : what == YIELDED ? HOLD_OTHER
				      : HOLD_SAME;
	t->o.default_hold = t->o.hold;
	t->o.mark = what == BARE || what == PERSONS ? MARK_ABSENT
		    : what == ODD		    ? MARK_ODD
						    : MARK_TIME;
	t->o.mark_ms = EPOCH - 60000;
	t->persons = what == PERSONS || what == YIELDED;
	changed(t);
}

static struct thing *
add(enum kind kind, const char *name, const char *owner, enum what what)
{
	struct thing *t = &c.at[c.n++];

	ck_assert_int_le(c.n, THINGS);
	*t = (struct thing){.there = true};
	t->o = kind == KIND_NODE ? node_new(name, owner, EPOCH - 90000)
				 : claim_new(name, EPOCH - 90000);
	t->o.registered = true;
	put(t, what);
	return t;
}

static struct thing *
find(enum kind kind, const char *name)
{
	for (int i = 0; i < c.n; i++)
		if (c.at[i].there && c.at[i].o.kind == kind &&
		    strcmp(c.at[i].o.name, name) == 0)
			return &c.at[i];
	return NULL;
}

/* What the API server does with a write of ours. */
static enum cleanup_code
apply(const struct sent *s)
{
	struct thing *t = find(s->object.kind, s->object.name);
	struct object *o = t == NULL ? NULL : &t->o;

	if (t == NULL)
		return CLEANUP_GONE;
	if (strcmp(o->uid, s->object.uid) != 0)
		return CLEANUP_CHANGED;
	if (s->w.act == CLEANUP_DECLASSIFY) {
		o->has_class = false;
		changed(t);
		return CLEANUP_OK;
	}
	if (s->w.mark_exact ? o->mark != MARK_TIME ||
				      o->mark_ms != s->object.mark_ms
			    : strcmp(o->rv, s->object.rv) != 0)
		return CLEANUP_CHANGED;
	if (s->w.act == CLEANUP_RELEASE) {
		if (o->hold != HOLD_SAME)
			return CLEANUP_CHANGED;
		ck_assert_msg(!t->persons, "%s: a person's hold is removed",
			      o->name);
		o->hold = o->default_hold = HOLD_ABSENT;
	}
	o->mark = MARK_ABSENT;
	changed(t);
	return CLEANUP_OK;
}

/* --- the caller ----------------------------------------------------------- */

static void
start_over(const struct cleanup_config *config)
{
	cleanup_free(c.x);
	for (int i = 0; i < c.n; i++)
		c.at[i].under_way = false;
	c.sent_n = 0;
	c.x = cleanup_new(config, 1);
	ck_assert_ptr_nonnull(c.x);
}

static void
done(const struct cleanup_outcome *o)
{
	cleanup_done(c.x, o, at(c.now));
}

static void
list(enum kind kind)
{
	cleanup_listing(c.x);
	for (int i = 0; i < c.n; i++)
		if (c.at[i].there && c.at[i].o.kind == kind)
			cleanup_seen(c.x, &c.at[i].o, at(c.now));
	for (unsigned i = 0; i < c.unread[kind]; i++)
		cleanup_unread(c.x, "odd");
}

static const char *const acts[] = {
	[CLEANUP_RELEASE] = "release",
	[CLEANUP_UNMARK] = "unmark",
	[CLEANUP_DECLASSIFY] = "declassify",
};

static void
start(const struct cleanup_write *w)
{
	struct thing *t = find(w->object->kind, w->object->name);

	ck_assert_uint_lt(c.sent_n, c.lanes);
	note("%s:%s", acts[w->act], w->object->name);
	ck_assert(w->act != CLEANUP_RELEASE || w->hold != NULL);
	c.sent[c.sent_n++] = (struct sent){*w, *w->object};
	if (t == NULL)
		return;
	ck_assert_msg(!t->under_way, "%s: two writes", t->o.name);
	t->under_way = true;
}

static const char *const codes[] = {
	[CLEANUP_OK] = "done",
	[CLEANUP_GONE] = "gone",
	[CLEANUP_CHANGED] = "changed",
	[CLEANUP_REFUSED] = "refused",
	[CLEANUP_UNANSWERED] = "unanswered",
};

/* The oldest, or whichever: with what the API server says, or that instead. */
static void
answer(unsigned i)
{
	struct sent s = c.sent[i];
	struct thing *t = find(s.object.kind, s.object.name);
	struct cleanup_outcome o = {.id = s.w.id};
	char why[NAME_BYTES + 16];

	ck_assert_int_eq(cleanup_writing(c.x, s.w.id).act, s.w.act);
	if (c.lanes > 1)
		note("=%s", s.object.name);
	memmove(&c.sent[i], &c.sent[i + 1],
		(--c.sent_n - i) * sizeof(c.sent[0]));
	if (t != NULL)
		t->under_way = false;
	if (t != NULL && t->times > 0) {
		t->times--;
		o.code = t->answer;
	} else {
		o.code = apply(&s);
	}
	(void)snprintf(why, sizeof(why), "%s_%s", s.object.name,
		       codes[o.code]);
	o.why = o.code == CLEANUP_OK ? NULL : why;
	done(&o);
}

/* --- named cases ---------------------------------------------------------- */

struct spec {
	const char *name;	/* "c…": a NodeClaim */
	enum what what;
	const char *owner;
	bool joining;		/* a Node that is not registered */
	bool class;
	enum cleanup_code answer;
	unsigned times;
};

struct row {
	const char *name, *walk;
	struct spec specs[4];
	unsigned lanes;		/* 0: 1 */
	bool dry_run, remove;
	unsigned registered, registered_later, unread, unread_claims;
	enum cleanup_step fails;	/* which is not WAIT … */
	enum kind fails_kind;
	enum cleanup_code code;		/* … with that */
	int64_t until_ms;		/* 0: none */
	void (*meanwhile)(unsigned list);	/* before the list of that
						   number, from 1 on */
	bool not_led;
	const char *why;	/* in the report, at the end; NULL: none */
};

static void
mark_now(unsigned number)
{
	if (number != 3)	/* between two that show nothing */
		return;
	put(find(KIND_NODE, "n1"), OURS);
	find(KIND_NODE, "n1")->o.mark_ms = EPOCH + c.now;
}

static void
mark_old(unsigned number)
{
	if (number == 3)
		put(find(KIND_NODE, "n1"), OURS);
}

static void
come_held(unsigned number)
{
	struct thing *t;

	if (number != 2)
		return;
	c.now += SETTLE - 1;
	t = add(KIND_NODE, "new", "", OURS);
	t->o.created_ms = t->o.mark_ms = EPOCH + c.now;
}

static void
goes(unsigned number)
{
	if (number == 2)
		c.unread[KIND_NODE] = 0;
}

static void
then_gone(unsigned number)
{
	if (number == 2)
		find(KIND_NODE, "n1")->answer = CLEANUP_GONE;
}

static void
then_refused(unsigned number)
{
	if (number == 2)
		find(KIND_NODE, "n1")->answer = CLEANUP_REFUSED;
}

#define BEGIN "registered lead nodes claims"
#define AGAIN " lead nodes claims"
#define SETTLES " settle lead nodes claims"
#define CLEAN SETTLES " registered end:clean"

static const struct row rows[] = {
	{.name = "nothing is there", .walk = BEGIN CLEAN},
	{"the claim, and when that is answered its Node, and classes at last",
	 BEGIN " release:c1 release:n1 declassify:c1" AGAIN CLEAN,
	 .specs = {{"c1", OURS, .class = true}, {"n1", OURS, "c1"}}},
	{"side by side within a pass only",
	 BEGIN " release:c1 release:c2 =c1 =c2 release:n1 release:n2 =n1 =n2"
	       AGAIN CLEAN,
	 .specs = {{"c1", OURS}, {"n1", OURS, "c1"}, {"c2", OURS},
		   {"n2", OURS, "c2"}},
	 .lanes = 4},
	{"a class on a Node goes, too", BEGIN " declassify:n1" AGAIN CLEAN,
	 .specs = {{"n1", BARE, .class = true}}},
	{"a person's hold is let alone", BEGIN CLEAN,
	 .specs = {{"n1", PERSONS}}},
	{"of one that was changed the mark goes",
	 BEGIN " unmark:n1" AGAIN CLEAN, .specs = {{"n1", YIELDED}}},
	{"a template's hold, copied beside our mark",
	 BEGIN " unmark:n1" AGAIN CLEAN,
	 .specs = {{"c1", PERSONS}, {"n1", OURS, "c1"}}},
	{"a claim that cannot be written to keeps the Node that joins",
	 BEGIN " release:c1 end:denied",
	 .specs = {{"c1", OURS, .answer = CLEANUP_REFUSED, .times = 9},
		   {"n1", OURS, "c1", .joining = true}},
	 .why = "c1_refused"},
	{"what fails is let alone for the rest of the round",
	 BEGIN " release:c1 end:denied",
	 .specs = {{"c1", OURS, .class = true, .answer = CLEANUP_REFUSED,
		    .times = 9}},
	 .why = "c1_refused"},
	{"a claim that cannot be written to keeps none that has joined",
	 BEGIN " release:c1 release:n1" AGAIN " release:c1 end:denied",
	 .specs = {{"c1", OURS, .answer = CLEANUP_REFUSED, .times = 9},
		   {"n1", OURS, "c1"}},
	 .why = "c1_refused"},
	{"what is registered stands in the way", "registered end:registered",
	 .specs = {{"n1", OURS}}, .registered = 1},
	{"… or is removed", "unregister lead nodes claims" CLEAN,
	 .registered = 1, .remove = true},
	{"registered while it ran", BEGIN SETTLES " registered end:registered",
	 .registered_later = 1},
	{"it cannot be seen", "registered end:broken",
	 .fails = CLEANUP_REGISTERED, .code = CLEANUP_FAILED},
	{"no lead", "registered lead end:broken", .fails = CLEANUP_LEAD,
	 .code = CLEANUP_FAILED},
	{"no list of Nodes", "registered lead nodes end:broken",
	 .fails = CLEANUP_LIST, .fails_kind = KIND_NODE,
	 .code = CLEANUP_FAILED},
	{"no list of claims", BEGIN " end:broken", .fails = CLEANUP_LIST,
	 .fails_kind = KIND_NODECLAIM, .code = CLEANUP_FAILED},
	{"a cluster has Nodes", "registered lead nodes end:broken",
	 .fails = CLEANUP_LIST, .fails_kind = KIND_NODE,
	 .code = CLEANUP_UNSERVED},
	{"… and need not have NodeClaims", BEGIN " release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS}}, .fails = CLEANUP_LIST,
	 .fails_kind = KIND_NODECLAIM, .code = CLEANUP_UNSERVED},
	{"all is refused", BEGIN " release:n1 release:n2 end:denied",
	 .specs = {{"n1", OURS, .answer = CLEANUP_REFUSED, .times = 9},
		   {"n2", OURS, .answer = CLEANUP_REFUSED, .times = 9}},
	 .why = "n1_refused"},
	{"refused beside one that changed: another round",
	 BEGIN " release:n1 release:n2 again:n1_refused backoff" AGAIN
	       " release:n2 release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS, .answer = CLEANUP_REFUSED, .times = 1},
		   {"n2", OURS, .answer = CLEANUP_CHANGED, .times = 1}}},
	{"… and the refusal is said, also where it came later",
	 BEGIN " release:n1 release:n2 again:n2_refused backoff" AGAIN
	       " release:n2 release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS, .answer = CLEANUP_CHANGED, .times = 1},
		   {"n2", OURS, .answer = CLEANUP_REFUSED, .times = 1}}},
	{"… or beside one without an answer",
	 BEGIN " release:n1 release:n2 again:n1_refused backoff" AGAIN
	       " release:n2 release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS, .answer = CLEANUP_REFUSED, .times = 1},
		   {"n2", OURS, .answer = CLEANUP_UNANSWERED, .times = 1}}},
	{"no answer, three rounds long: said once",
	 BEGIN " release:n1 again:n1_unanswered backoff" AGAIN
	       " release:n1 backoff" AGAIN " release:n1 backoff" AGAIN
	       " release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS, .answer = CLEANUP_UNANSWERED, .times = 3}}},
	{"one done: at once again, and the next failure is said",
	 BEGIN " release:n1 release:n2 again:n2_changed backoff" AGAIN
	       " release:n2 release:n1" AGAIN
	       " release:n1 again:n1_changed backoff" AGAIN
	       " release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS, .answer = CLEANUP_CHANGED, .times = 3},
		   {"n2", OURS, .answer = CLEANUP_CHANGED, .times = 1}}},
	{"gone: nothing to say", BEGIN " release:n1 backoff" AGAIN
				       " release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS, .answer = CLEANUP_GONE, .times = 1}}},
	{"… nor of an earlier round",
	 BEGIN " release:n1 release:n2" AGAIN " release:n1 backoff" AGAIN
	       " release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS, .answer = CLEANUP_CHANGED, .times = 2},
		   {"n2", OURS}},
	 .meanwhile = then_gone},
	{"what was not answered counts for one round",
	 BEGIN " release:n1 release:n2" AGAIN " release:n1 end:denied",
	 .specs = {{"n1", OURS, .answer = CLEANUP_UNANSWERED, .times = 2},
		   {"n2", OURS}},
	 .meanwhile = then_refused, .why = "n1_refused"},
	{"… what had changed, too",
	 BEGIN " release:n1 release:n2" AGAIN " release:n1 end:denied",
	 .specs = {{"n1", OURS, .answer = CLEANUP_CHANGED, .times = 2},
		   {"n2", OURS}},
	 .meanwhile = then_refused, .why = "n1_refused"},
	{"… and what was refused",
	 BEGIN " release:n1 release:n2" AGAIN " release:n1 backoff" AGAIN
	       " release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS, .answer = CLEANUP_REFUSED, .times = 2},
		   {"n2", OURS}},
	 .meanwhile = then_gone},
	{"what cannot be read is left", BEGIN " end:unreadable", .unread = 1},
	{"… a claim, too", BEGIN " end:unreadable", .unread_claims = 1},
	{"… after the rest", BEGIN " release:n1" AGAIN " end:unreadable",
	 .specs = {{"n1", OURS}}, .unread = 1},
	{"… unless something else may still change it",
	 BEGIN " release:n1 again:n1_changed backoff" AGAIN " release:n1" AGAIN
	       CLEAN,
	 .specs = {{"n1", OURS, .answer = CLEANUP_CHANGED, .times = 1}},
	 .unread = 1, .meanwhile = goes},
	{"a dry run", "registered nodes claims release:c1 release:n1 "
		      "declassify:c1 end:clean",
	 .specs = {{"c1", OURS, .class = true}, {"n1", OURS, "c1"}},
	 .dry_run = true},
	{"a dry run deletes nothing", "registered nodes claims end:clean",
	 .registered = 1, .remove = true, .dry_run = true},
	{"marked by somebody else: two more lists, and it is said",
	 BEGIN " release:n1" AGAIN SETTLES " release:n1" AGAIN SETTLES
	       " registered end:foreign",
	 .specs = {{"n1", OURS}}, .meanwhile = mark_now},
	{"… which says nothing where the lead was lost",
	 BEGIN " release:n1" AGAIN SETTLES " release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS}}, .meanwhile = mark_now, .not_led = true},
	{"a new one, by a webhook that was removed just now",
	 BEGIN " release:n1" AGAIN " release:new" AGAIN CLEAN,
	 .specs = {{"n1", OURS}}, .meanwhile = come_held},
	{"a copy of an old mark is nobody's",
	 BEGIN " release:n1" AGAIN SETTLES " release:n1" AGAIN CLEAN,
	 .specs = {{"n1", OURS}}, .meanwhile = mark_old},
	{"the time is over while it settles", BEGIN " cut end:late",
	 .until_ms = SETTLE - 1},
	{"… and at the moment itself", BEGIN " cut end:late",
	 .until_ms = SETTLE},
	{"… in the middle of a row of failures",
	 BEGIN " release:n1 again:n1_unanswered cut end:late",
	 .specs = {{"n1", OURS, .answer = CLEANUP_UNANSWERED, .times = 9}},
	 .until_ms = 700, .why = "n1_unanswered"},
	{"… and what has ended well has ended well", BEGIN CLEAN,
	 .until_ms = SETTLE + 1},
};

static const char *const verdicts[] = {
	[CLEANUP_CLEAN] = "clean",
	[CLEANUP_STILL_REGISTERED] = "registered",
	[CLEANUP_FOREIGN_MARKS] = "foreign",
	[CLEANUP_DENIED] = "denied",
	[CLEANUP_UNREADABLE] = "unreadable",
	[CLEANUP_LATE] = "late",
	[CLEANUP_BROKEN] = "broken",
};

static void
row_wait(const struct row *r, const struct cleanup_todo *t, unsigned *in_a_row)
{
	int64_t min = *in_a_row == 0 ? 0 : INT64_C(800) << (*in_a_row - 1);

	if (c.sent_n > 0) {
		ck_assert_int_eq(t->wait_ms, r->until_ms == 0
						     ? INT64_MAX
						     : r->until_ms - c.now);
		answer(0);
		return;
	}
	ck_assert_int_gt(t->wait_ms, 0);
	if (t->trying_again)
		note("again:%s", cleanup_report(c.x)->why);
	if (r->until_ms != 0 && c.now + t->wait_ms == r->until_ms) {
		note("cut");
	} else if (t->wait_ms == SETTLE) {
		note("settle");
	} else {
		note("backoff");
		if (++*in_a_row == 1 || min == 0)
			min = 800;
		ck_assert_int_ge(t->wait_ms, min);
		ck_assert_int_lt(t->wait_ms, 4 * min);
	}
	c.now += t->wait_ms;
}

static void
row_ask(const struct row *r, const struct cleanup_todo *t)
{
	struct cleanup_outcome o = {.led = !r->not_led};

	if (t->step == CLEANUP_REGISTERED) {
		note(t->remove ? "unregister" : "registered");
		o.registered = t->remove ? 0 : c.registered;
		c.registered = r->registered_later;
	} else if (t->step == CLEANUP_LEAD) {
		note("lead");
	} else {
		if (t->kind == KIND_NODE && r->meanwhile != NULL)
			r->meanwhile(++c.lists);
		note(t->kind == KIND_NODE ? "nodes" : "claims");
		list(t->kind);
	}
	if (t->step == r->fails &&
	    (t->step != CLEANUP_LIST || t->kind == r->fails_kind))
		o.code = r->code;
	done(&o);
}

static void
row_write(const struct row *r, const struct cleanup_write *w)
{
	start(w);
	if (r->dry_run) {	/* said, and not made */
		find(w->object->kind, w->object->name)->under_way = false;
		c.sent_n = 0;
		done(&(struct cleanup_outcome){.id = w->id});
	} else if (c.sent_n == c.lanes) {
		answer(0);
	}
}

static void
row_begin(const struct row *r)
{
	const struct cleanup_config config = {
		.hold = hold,
		.machines_max = THINGS,
		.dry_run = r->dry_run,
		.remove_registered = r->remove,
		.settle_ms = SETTLE,
		.until_ms = r->until_ms == 0 ? INT64_MAX : r->until_ms,
	};

	c = (struct cluster){.lanes = r->lanes == 0 ? 1 : r->lanes,
			     .registered = r->registered,
			     .unread = {[KIND_NODE] = r->unread,
					[KIND_NODECLAIM] = r->unread_claims}};
	for (int i = 0; i < 4 && r->specs[i].name != NULL; i++) {
		const struct spec *s = &r->specs[i];
		bool claim = s->name[0] == 'c';
		struct thing *t = add(claim ? KIND_NODECLAIM : KIND_NODE,
				      s->name, s->owner == NULL ? "" : s->owner,
				      s->what);

		t->o.registered = !s->joining;
		t->o.has_class = s->class;
		t->answer = s->answer;
		t->times = s->times;
	}
	start_over(&config);
}

START_TEST(walk)
{
	const struct row *r = &rows[_i];
	struct cleanup_todo t;
	unsigned in_a_row = 0;

	row_begin(r);
	for (int i = 0; i < 200; i++) {
		t = cleanup_next(c.x, at(c.now));
		if (t.step == CLEANUP_END)
			break;
		if (t.step == CLEANUP_WAIT) {
			row_wait(r, &t, &in_a_row);
		} else if (t.step != CLEANUP_WRITE) {
			row_ask(r, &t);
		} else {
			row_write(r, &t.write);
		}
	}
	note("end:%s", t.step == CLEANUP_END ? verdicts[t.verdict] : "never");
	ck_assert_msg(strcmp(c.walk, r->walk) == 0, "%s\n  got:  %s\n  want: %s",
		      r->name, c.walk, r->walk);
	t = cleanup_next(c.x, at(c.now + 1000000));
	ck_assert_int_eq(t.step, CLEANUP_END);
	ck_assert_str_eq(verdicts[t.verdict], strstr(c.walk, "end:") + 4);
	ck_assert_str_eq(cleanup_report(c.x)->why,
			 r->why == NULL ? "" : r->why);
	cleanup_free(c.x);
}
END_TEST

/* --- what a write stands on ----------------------------------------------- */

static const struct cleanup_config plain = {.hold = HOLD_HERE,
					    .machines_max = THINGS,
					    .settle_ms = SETTLE,
					    .until_ms = INT64_MAX};

/* Up to the next WRITE, or the END. */
static struct cleanup_todo
go_on(void)
{
	struct cleanup_todo t;

	for (int i = 0; i < 100; i++) {
		t = cleanup_next(c.x, at(c.now));
		if (t.step == CLEANUP_WRITE || t.step == CLEANUP_END)
			return t;
		if (t.step == CLEANUP_WAIT)
			c.now += t.wait_ms;
		else
			row_ask(&(struct row){0}, &t);
	}
	ck_abort_msg("no end");
	return t;
}

static void
begin(void)
{
	c = (struct cluster){.lanes = 1};
}

static const struct {
	const char *name;
	enum kind kind;
	bool registered;
	enum mark mark;
	bool exact;
} exact_rows[] = {
	{"a claim", KIND_NODECLAIM, false, MARK_TIME, true},
	{"a Node that has joined", KIND_NODE, true, MARK_TIME, true},
	{"a Node that joins: it may get a person's hold by and by", KIND_NODE,
	 false, MARK_TIME, false},
	{"a claim with a mark of no time", KIND_NODECLAIM, true, MARK_ODD,
	 false},
	{"a Node with a mark of no time", KIND_NODE, true, MARK_ODD, false},
};

START_TEST(the_mark_or_the_version_is_tested)
{
	struct cleanup_todo t;
	struct thing *x;

	begin();
	x = add(exact_rows[_i].kind, "x", "", OURS);
	x->o.registered = exact_rows[_i].registered;
	x->o.mark = exact_rows[_i].mark;
	start_over(&plain);
	t = go_on();
	ck_assert_int_eq(t.step, CLEANUP_WRITE);
	ck_assert_msg(t.write.mark_exact == exact_rows[_i].exact, "%s",
		      exact_rows[_i].name);
	ck_assert_str_eq(t.write.object->uid, x->o.uid);
	cleanup_free(c.x);
}
END_TEST

START_TEST(the_hold_of_an_earlier_configuration_goes)
{
	static const struct hold_key previous_hold = {"example.com/hold",
						      "yes"};
	struct cleanup_todo t;
	struct thing *x;

	begin();
	x = add(KIND_NODE, "n1", "", OURS);
	x->o.has_previous = x->o.has_held_key = true;
	x->o.previous_key = previous_hold;
	x->o.previous_hold = HOLD_SAME;
	x->o.hold = x->o.default_hold = HOLD_ABSENT;
	start_over(&plain);
	t = go_on();
	ck_assert_int_eq(t.write.act, CLEANUP_RELEASE);
	ck_assert_str_eq(t.write.hold->key, previous_hold.key);
	ck_assert_str_eq(t.write.hold->value, previous_hold.value);
	ck_assert(t.write.object->has_held_key);
	x->o.previous_hold = HOLD_OTHER;
	x->o.hold = HOLD_SAME;	/* a person's */
	start_over(&plain);
	t = go_on();
	ck_assert_int_eq(t.write.act, CLEANUP_UNMARK);
	ck_assert_ptr_null(t.write.hold);
	cleanup_free(c.x);
}
END_TEST

/* A claim is cleared first.  What stood on it was ours, so that on its Node is
 * not a person's: with today's hold as with the default one. */
START_TEST(a_claim_that_is_clear_says_so_of_its_node)
{
	static const struct hold_key today = {"example.com/hold", "yes"};
	struct cleanup_config config = plain;
	struct cleanup_todo t;
	struct thing *x[2];

	if (_i == 1)
		config.hold = today;
	begin();
	x[0] = add(KIND_NODECLAIM, "c1", "", OURS);
	x[1] = add(KIND_NODE, "n1", "c1", OURS);
	for (int i = 0; i < 2 && _i == 1; i++) {
		x[i]->o.has_previous = true;
		x[i]->o.previous_key = hold;
		x[i]->o.previous_hold = HOLD_SAME;
		x[i]->o.hold = HOLD_ABSENT;
		x[i]->o.default_hold = HOLD_SAME;
	}
	start_over(&config);
	t = go_on();
	ck_assert_str_eq(t.write.object->name, "c1");
	done(&(struct cleanup_outcome){.id = t.write.id});
	t = go_on();
	ck_assert_str_eq(t.write.object->name, "n1");
	ck_assert_int_eq(t.write.act, CLEANUP_RELEASE);
	cleanup_free(c.x);
}
END_TEST

/* A person's hold on the claim, without a mark: registration has copied it, so
 * that the one beside our mark on the Node is theirs.  Where the mark stands for
 * an earlier hold, the default one, it is that one which counts. */
START_TEST(a_persons_hold_on_the_claim)
{
	static const struct hold_key today = {"example.com/hold", "yes"};
	struct cleanup_config config = plain;
	struct thing *claim, *node;
	struct cleanup_todo t;
	bool former = _i == 1;

	begin();
	config.hold = today;
	claim = add(KIND_NODECLAIM, "c1", "", PERSONS);
	claim->o.hold = former ? HOLD_ABSENT : HOLD_SAME;
	claim->o.default_hold = former ? HOLD_SAME : HOLD_ABSENT;
	node = add(KIND_NODE, "n1", "c1", OURS);
	node->o.hold = claim->o.hold;
	node->o.default_hold = claim->o.default_hold;
	node->o.has_previous = former;
	node->o.previous_key = hold;
	node->o.previous_hold = HOLD_SAME;
	start_over(&config);
	t = go_on();
	ck_assert_int_eq(t.step, CLEANUP_WRITE);
	ck_assert_str_eq(t.write.object->name, "n1");
	ck_assert_int_eq(t.write.act, CLEANUP_UNMARK);
	cleanup_free(c.x);
}
END_TEST

/* Our hold goes off the claim, and a person's of another key stays there: the
 * one on the Node is theirs, although a mark of ours stands beside it. */
START_TEST(a_persons_hold_beside_ours)
{
	static const struct hold_key today = {"example.com/hold", "yes"};
	struct cleanup_config config = plain;
	struct thing *both[2], *former;
	struct cleanup_todo t;

	begin();
	config.hold = today;
	both[0] = add(KIND_NODECLAIM, "c1", "", OURS);
	both[1] = add(KIND_NODE, "n1", "c1", OURS);
	former = both[_i];	/* whose mark is that of an earlier hold */
	former->o.has_previous = true;
	former->o.previous_key = hold;
	former->o.previous_hold = HOLD_SAME;
	both[1]->o.hold = _i == 1 ? HOLD_ABSENT : HOLD_SAME;
	start_over(&config);
	t = go_on();
	ck_assert_str_eq(t.write.object->name, "c1");
	ck_assert_int_eq(t.write.act, CLEANUP_RELEASE);
	ck_assert_str_eq(t.write.hold->key, _i == 1 ? today.key : hold.key);
	done(&(struct cleanup_outcome){.id = t.write.id});
	t = go_on();
	ck_assert_str_eq(t.write.object->name, "n1");
	ck_assert_int_eq(t.write.act, CLEANUP_UNMARK);
	cleanup_free(c.x);
}
END_TEST

/* --- what it counts ------------------------------------------------------- */

START_TEST(more_than_the_table_holds)
{
	struct cleanup_config config = plain;
	const struct cleanup_report *r;
	struct cleanup_todo t;
	char name[8];

	begin();
	config.machines_max = 3;
	for (int i = 0; i < 17; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		(void)add(KIND_NODE, name, "", OURS);
	}
	start_over(&config);
	r = cleanup_report(c.x);
	ck_assert(!r->listed);
	while ((t = go_on()).step == CLEANUP_WRITE) {
		ck_assert(r->listed);
		if (r->released[KIND_NODE] == 0) {
			ck_assert_uint_eq(r->last.left[KIND_NODE], 17);
			ck_assert_str_eq(r->last.named[0], "node/n0");
			ck_assert_str_eq(r->last.named[CLEANUP_NAMED - 1],
					 "node/n9");
		}
		start(&t.write);
		answer(0);
	}
	ck_assert_int_eq(t.verdict, CLEANUP_CLEAN);
	ck_assert_uint_eq(r->released[KIND_NODE], 17);
	ck_assert_uint_eq(r->released[KIND_NODECLAIM], 0);
	ck_assert_uint_eq(r->last.left[KIND_NODE], 0);
	ck_assert_str_eq(r->foreign, "");
	cleanup_free(c.x);
}
END_TEST

START_TEST(what_is_done_is_counted)
{
	const struct cleanup_report *r;
	struct cleanup_todo t;

	begin();
	add(KIND_NODECLAIM, "c1", "", OURS)->o.has_class = true;
	(void)add(KIND_NODE, "n1", "c1", OURS);
	(void)add(KIND_NODE, "n2", "", YIELDED);
	add(KIND_NODE, "n3", "", BARE)->o.has_class = true;
	start_over(&plain);
	r = cleanup_report(c.x);
	while ((t = go_on()).step == CLEANUP_WRITE) {
		start(&t.write);
		answer(0);
	}
	ck_assert_uint_eq(r->released[KIND_NODE], 1);
	ck_assert_uint_eq(r->released[KIND_NODECLAIM], 1);
	ck_assert_uint_eq(r->unmarked, 1);
	ck_assert_uint_eq(r->declassified, 2);
	cleanup_free(c.x);
}
END_TEST

/* 410 in the middle of the pages: of what came before nothing counts. */
START_TEST(a_list_that_starts_over)
{
	const struct cleanup_report *r;
	struct cleanup_todo t;

	begin();
	add(KIND_NODE, "gone", "", OURS)->o.has_class = true;
	(void)add(KIND_NODE, "n1", "", OURS);
	c.unread[KIND_NODE] = 1;
	start_over(&plain);
	r = cleanup_report(c.x);
	for (;;) {
		t = cleanup_next(c.x, at(c.now));
		if (t.step == CLEANUP_WRITE)
			break;
		if (t.step == CLEANUP_LIST && t.kind == KIND_NODE) {
			list(KIND_NODE);
			c.at[0].there = false;
			c.unread[KIND_NODE] = 0;
		}
		row_ask(&(struct row){0}, &t);
	}
	ck_assert_str_eq(t.write.object->name, "n1");
	ck_assert_uint_eq(r->last.left[KIND_NODE], 1);
	ck_assert_uint_eq(r->last.unread[KIND_NODE], 0);
	ck_assert_uint_eq(r->last.classes[KIND_NODE], 0);
	ck_assert_str_eq(r->last.named[0], "node/n1");
	done(&(struct cleanup_outcome){.id = t.write.id});
	ck_assert_int_eq(cleanup_next(c.x, at(0)).step, CLEANUP_LEAD);
	cleanup_free(c.x);
}
END_TEST

/* The names are those of the last list, whatever the one before it had. */
START_TEST(what_is_left_is_named)
{
	const struct cleanup_report *r;
	struct cleanup_todo t;

	begin();
	(void)add(KIND_NODE, "n1", "", OURS);
	(void)add(KIND_NODECLAIM, "c1", "", OURS);
	start_over(&plain);
	r = cleanup_report(c.x);
	for (int i = 0; i < 2; i++) {
		t = go_on();
		start(&t.write);
		c.at[i].there = false;
		answer(0);
		ck_assert_str_eq(r->last.named[0], "node/n1");
		ck_assert_str_eq(r->last.named[1], "nodeclaim/c1");
		ck_assert_str_eq(r->last.named[2], "");
	}
	(void)add(KIND_NODE, "n2", "", OURS);
	t = go_on();
	ck_assert_int_eq(t.step, CLEANUP_WRITE);
	ck_assert_str_eq(r->last.named[0], "node/n2");
	ck_assert_str_eq(r->last.named[1], "");
	cleanup_free(c.x);
}
END_TEST

/* A list that breaks off is none. */
START_TEST(the_last_whole_list_is_reported)
{
	struct row broken = {.fails = CLEANUP_LIST,
			     .fails_kind = KIND_NODECLAIM,
			     .code = CLEANUP_FAILED};
	const struct cleanup_report *r;
	struct cleanup_todo t;

	begin();
	(void)add(KIND_NODE, "n1", "", OURS);
	start_over(&plain);
	r = cleanup_report(c.x);
	t = go_on();
	start(&t.write);
	answer(0);
	while ((t = cleanup_next(c.x, at(c.now))).step != CLEANUP_END)
		row_ask(&broken, &t);
	ck_assert_int_eq(t.verdict, CLEANUP_BROKEN);
	ck_assert_uint_eq(r->last.left[KIND_NODE], 1);
	cleanup_free(c.x);
}
END_TEST

START_TEST(an_answer_after_the_end)
{
	struct cleanup_config config = plain;
	struct cleanup_todo t;

	begin();
	config.until_ms = 1000;
	(void)add(KIND_NODE, "n1", "", OURS);
	(void)add(KIND_NODE, "n2", "", OURS);
	start_over(&config);
	t = go_on();
	start(&t.write);
	c.now = 1000;
	t = cleanup_next(c.x, at(c.now));
	ck_assert_int_eq(t.step, CLEANUP_END);
	ck_assert_int_eq(t.verdict, CLEANUP_LATE);
	answer(0);
	ck_assert_uint_eq(cleanup_report(c.x)->released[KIND_NODE], 1);
	ck_assert_int_eq(cleanup_next(c.x, at(c.now)).step, CLEANUP_END);
	cleanup_free(c.x);
}
END_TEST

/* A step is given out once; meanwhile there is nothing to do. */
START_TEST(one_step_at_a_time)
{
	struct cleanup_todo t;

	begin();
	start_over(&plain);
	ck_assert_int_eq(cleanup_next(c.x, at(0)).step, CLEANUP_REGISTERED);
	t = cleanup_next(c.x, at(0));
	ck_assert_int_eq(t.step, CLEANUP_WAIT);
	ck_assert(t.wait_ms == INT64_MAX);
	done(&(struct cleanup_outcome){0});
	ck_assert_int_eq(cleanup_next(c.x, at(0)).step, CLEANUP_LEAD);
	ck_assert_int_eq(cleanup_next(c.x, at(0)).step, CLEANUP_WAIT);
	cleanup_free(c.x);
}
END_TEST

/* A lead that is lost and taken again begins with a list that is the measure:
 * a holder led in between, and was right to mark. */
START_TEST(a_lead_taken_again_begins_anew)
{
	struct cleanup_todo t;
	unsigned leads = 0;

	begin();
	(void)add(KIND_NODE, "n1", "", OURS);
	start_over(&plain);
	for (;;) {
		struct cleanup_outcome o = {.led = true};

		t = cleanup_next(c.x, at(c.now));
		if (t.step == CLEANUP_END)
			break;
		if (t.step == CLEANUP_WAIT) {
			c.now += t.wait_ms;
		} else if (t.step == CLEANUP_WRITE) {
			start(&t.write);
			answer(0);
		} else if (t.step == CLEANUP_LEAD && ++leads == 2) {
			put(&c.at[0], OURS);	/* by who led meanwhile */
			c.at[0].o.mark_ms = EPOCH + c.now;
			c.now += 1000;
			o.anew = _i == 1;
			done(&o);
		} else {
			if (t.step == CLEANUP_LIST)
				list(t.kind);
			done(&o);
		}
	}
	ck_assert_int_eq(t.verdict,
			 _i == 1 ? CLEANUP_CLEAN : CLEANUP_FOREIGN_MARKS);
	cleanup_free(c.x);
}
END_TEST

/* --- killed in the middle, and begun again -------------------------------- */

#define SEEDS 1000
#define STORMY 400	/* steps with people, faults and kills */
#define CALM 2000	/* after them it ends */

struct storm {
	struct dice dice;
	bool calm, led;
	bool shown;		/* the list under way shows a mark or a class */
	int64_t clean_ms[2];	/* when the last lists were complete that showed
				   none; -1: one that did was in between */
	unsigned kills, ends[CLEANUP_BROKEN + 1];
};

static void
people(struct storm *s)
{
	uint32_t i = roll(&s->dice, (uint32_t)c.n);
	struct thing *t = &c.at[i];

	c.at[i / 2 * 2].ours = c.at[i / 2 * 2 + 1].ours = false;
	switch (roll(&s->dice, 7)) {
	case 0:
		t->o.hold = t->o.default_hold = HOLD_OTHER;
		t->persons = true;
		break;
	case 1:
		t->o.mark = MARK_ABSENT;
		t->persons = t->o.hold != HOLD_ABSENT;
		break;
	case 2:
		put(t, BARE);
		break;
	case 3:			/* gone, and perhaps there again */
		t->there = roll(&s->dice, 2) != 0;
		(void)snprintf(t->o.uid, sizeof(t->o.uid), "new-%u-%u", i,
			       t->version);
		put(t, roll(&s->dice, 2) != 0 ? BARE : PERSONS);
		break;
	case 4:			/* Karpenter copies at registration */
		t->o.registered = true;
		break;
	default:
		break;		/* something of no interest to us */
	}
	changed(t);
}

static void
storm_answer(struct storm *s, unsigned i)
{
	struct thing *t = find(c.sent[i].object.kind, c.sent[i].object.name);
	static const enum cleanup_code faults[] = {
		CLEANUP_REFUSED, CLEANUP_UNANSWERED, CLEANUP_CHANGED};

	if (t != NULL && !s->calm && roll(&s->dice, 4) == 0) {
		t->answer = faults[roll(&s->dice, 3)];
		t->times = 1;
		/* The answer may be lost of what was done. */
		if (t->answer == CLEANUP_UNANSWERED && roll(&s->dice, 2) == 0)
			(void)apply(&c.sent[i]);
	}
	answer(i);
}

static void
storm_list(struct storm *s, enum kind kind, struct cleanup_outcome *o)
{
	if (kind == KIND_NODE) {
		ck_assert_msg(s->led, "a list without a lead");
		s->led = s->shown = false;
		if (!s->calm && roll(&s->dice, 8) == 0)
			list(kind);
	}
	list(kind);
	for (int i = 0; i < c.n; i++)
		if (c.at[i].there && c.at[i].o.kind == kind &&
		    (c.at[i].o.mark != MARK_ABSENT || c.at[i].o.has_class))
			s->shown = true;
	if (!s->calm && roll(&s->dice, 20) == 0) {
		o->code = CLEANUP_FAILED;
	} else if (kind == KIND_NODECLAIM) {
		s->clean_ms[0] = s->clean_ms[1];
		s->clean_ms[1] = s->shown ? -1 : c.now;
	}
}

static void
storm_ask(struct storm *s, const struct cleanup_todo *t)
{
	struct cleanup_outcome o = {.led = true};

	ck_assert_uint_eq(c.sent_n, 0);
	if (t->step == CLEANUP_LIST)
		storm_list(s, t->kind, &o);
	else if (t->step == CLEANUP_LEAD)
		s->led = true;
	done(&o);
}

/* What is under way then, the API server does or does not do. */
static void
killed(struct storm *s)
{
	for (unsigned i = 0; i < c.sent_n; i++)
		if (roll(&s->dice, 2) == 0)
			(void)apply(&c.sent[i]);
	s->kills++;
	s->led = false;
	s->clean_ms[0] = s->clean_ms[1] = -1;
	start_over(&plain);
}

static void
machine(struct storm *s, uint32_t i)
{
	enum what on_claim = roll(&s->dice, PERSONS + 1);
	enum what on_node = roll(&s->dice, PERSONS + 1);
	struct thing *claim, *node;
	char names[2][16];

	(void)snprintf(names[0], sizeof(names[0]), "c%u", i);
	(void)snprintf(names[1], sizeof(names[1]), "n%u", i);
	claim = add(KIND_NODECLAIM, names[0], "", on_claim);
	node = add(KIND_NODE, names[1], names[0], on_node);
	claim->o.has_class = roll(&s->dice, 3) == 0;
	claim->o.registered = node->o.registered = roll(&s->dice, 2) == 0;
	claim->ours = on_claim <= ODD && on_node <= ODD;
	node->ours = claim->ours;
}

static void
storm_begin(struct storm *s, uint64_t seed)
{

	*s = (struct storm){.dice = dice_new(seed), .clean_ms = {-1, -1}};
	begin();
	c.lanes = 2 + roll(&s->dice, LANES - 1);
	for (uint32_t i = 0, n = 1 + roll(&s->dice, 8); i < n; i++)
		machine(s, i);
	start_over(&plain);
}

static void
nothing_is_left(const struct storm *s)
{
	ck_assert_msg(s->clean_ms[0] >= 0 &&
			      s->clean_ms[1] >= s->clean_ms[0] + SETTLE,
		      "two lists have to show nothing");
	for (int i = 0; s->calm && i < c.n; i++) {
		const struct thing *t = &c.at[i];

		if (!t->there)
			continue;
		ck_assert_int_eq(t->o.mark, MARK_ABSENT);
		ck_assert(!t->o.has_class);
		if (t->ours)
			ck_assert_int_eq(t->o.hold, HOLD_ABSENT);
	}
}

/* false: it has ended. */
static bool
storm_step(struct storm *s)
{
	struct cleanup_todo t = cleanup_next(c.x, at(c.now));

	c.walk[0] = '\0';
	switch (t.step) {
	case CLEANUP_END:
		s->ends[t.verdict]++;
		ck_assert(!s->calm || t.verdict == CLEANUP_CLEAN);
		if (t.verdict == CLEANUP_CLEAN)
			nothing_is_left(s);
		return false;
	case CLEANUP_WAIT:
		if (c.sent_n > 0)
			storm_answer(s, roll(&s->dice, c.sent_n));
		else
			c.now += t.wait_ms;
		break;
	case CLEANUP_WRITE:
		ck_assert(t.write.object->mark != MARK_ABSENT ||
			  t.write.act == CLEANUP_DECLASSIFY);
		start(&t.write);
		while (c.sent_n == c.lanes)
			storm_answer(s, roll(&s->dice, c.sent_n));
		break;
	default:
		storm_ask(s, &t);
		break;
	}
	return true;
}

START_TEST(killed_at_any_moment)
{
	struct storm s, all = {.kills = 0};

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		storm_begin(&s, seed);
		for (int i = 0; i < STORMY; i++) {
			c.now += roll(&s.dice, 300);
			if (roll(&s.dice, 12) == 0)
				people(&s);
			if (!storm_step(&s) || roll(&s.dice, 40) == 0)
				killed(&s);
		}
		s.calm = true;
		killed(&s);
		for (int i = 0; storm_step(&s); i++)
			ck_assert_msg(i < CALM, "seed %d: no end", (int)seed);
		cleanup_free(c.x);
		all.kills += s.kills;
		for (int i = 0; i <= CLEANUP_BROKEN; i++)
			all.ends[i] += s.ends[i];
	}
	ck_assert_uint_gt(all.kills, SEEDS);
	ck_assert_uint_gt(all.ends[CLEANUP_CLEAN], SEEDS);
	ck_assert_uint_gt(all.ends[CLEANUP_DENIED], 0);
	ck_assert_uint_gt(all.ends[CLEANUP_BROKEN], 0);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("cleanup");
	TCase *t = run_case(s, "rounds");

	tcase_add_loop_test(t, walk, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(t, one_step_at_a_time);
	tcase_add_test(t, an_answer_after_the_end);
	t = run_case(s, "writes");
	tcase_add_loop_test(t, the_mark_or_the_version_is_tested, 0,
			    sizeof(exact_rows) / sizeof(exact_rows[0]));
	tcase_add_test(t, the_hold_of_an_earlier_configuration_goes);
	tcase_add_loop_test(t, a_claim_that_is_clear_says_so_of_its_node, 0, 2);
	tcase_add_loop_test(t, a_persons_hold_on_the_claim, 0, 2);
	tcase_add_loop_test(t, a_persons_hold_beside_ours, 0, 2);
	t = run_case(s, "report");
	tcase_add_test(t, more_than_the_table_holds);
	tcase_add_test(t, what_is_done_is_counted);
	tcase_add_test(t, what_is_left_is_named);
	tcase_add_test(t, a_list_that_starts_over);
	tcase_add_test(t, the_last_whole_list_is_reported);
	tcase_add_loop_test(t, a_lead_taken_again_begins_anew, 0, 2);
	t = run_case(s, "kills");
	tcase_add_test(t, killed_at_any_moment);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
