/* SPDX-License-Identifier: Apache-2.0 */
#include "cleaner.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/protocol/cleanup.h"
#include "elect.h"

#define LANES 8			/* writes under way, at most */
#define CALLS 64		/* the same, with calls of killed commands */
#define GIVE_UP_MS 2000		/* for the answer that the Lease is given up */
#define WEBHOOK_MS 4000		/* by then no API server calls the webhook */
#define FUSE 60			/* steps until the next kill, at most */

struct call {
	bool used, applied;
	bool answered;			/* or nobody waits for it any more */
	enum reply_fault fault;
	enum cleanup_code code;
	struct cleanup_write write;
	struct action a;
	struct thing shown;		/* as the list showed it */
	int64_t apply_at, answer_at;
};

enum doing {
	NOTHING,	/* the core is asked what is next */
	ASKING,		/* a list, or what is registered */
	LEADING,	/* waiting for the Lease */
	RESTING,	/* waiting, for an answer or for a moment */
	WRITING,	/* waiting for room to send `todo.write` */
	LEAVING,	/* giving up the Lease */
};

struct cleaner {
	struct world *w;
	struct hold_key hold;
	bool elects;
	unsigned kills, fuse, lanes, starts;
	bool calm, ended;
	bool clocks_differ;	/* see cleaner_new */
	bool registered;	/* the webhook is */
	int64_t admits_until;

	bool up;
	int64_t start_at;	/* the next start, or the last one while up */
	struct cleanup *core;
	enum doing doing;
	struct cleanup_todo todo;	/* what it is doing */
	int64_t until;		/* ASKING: the call is sent again then.
				   RESTING: the wait ends then */
	bool sent, taken, failed, unserved;	/* ASKING */
	int64_t take_at, answer_at;
	struct thing *page[KIND_COUNT];	/* what the last list showed */
	int page_n[KIND_COUNT];
	int64_t listed_at[KIND_COUNT];	/* when that was so; -1: no list */
	bool dirty;		/* the list under way shows something of ours */
	int64_t clean_at[2];	/* when the last two complete lists came;
				   -1: the list showed something of ours */

	struct lease lease;
	bool leased;		/* it has begun to ask for the Lease */
	bool alone;		/* there is none to take */
	bool led;		/* this command has had the Lease */
	bool anew;		/* it has not had the Lease since the last
				   LEAD without a break */
	struct lease_call lease_calls[LEASE_CALLS];
	struct call calls[CALLS];
};

static struct now
now_of(const struct cleaner *x)
{
	return (struct now){world_server_ms(x->w), 9000000 + x->w->now};
}

static int64_t
sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* A hold without a mark counts as a person's, because nobody can tell.  It may
 * be ours: a mark speaks of one hold only, and where replicas of two
 * configurations have held a claim and its Node, the Node has two. */
static void
let_be(struct thing *t)
{
	for (int a = 0; a <= ANN_OTHER_HOLD; a++)
		if (t->notes.by[a] == BY_US)
			t->notes.by[a] = BY_PERSON;
}

struct cleaner *
cleaner_new(struct world *w, const struct hold_key *hold, bool elects,
	    unsigned kills, bool clocks_differ)
{
	struct cleaner *x = calloc(1, sizeof(*x));

	if (x == NULL)
		abort();
	x->w = w;
	x->hold = *hold;
	x->elects = elects;
	x->kills = kills;
	x->clocks_differ = clocks_differ;
	x->registered = roll(&w->dice, 2) == 0;
	x->admits_until = w->now + between(&w->dice, 0, WEBHOOK_MS);
	x->start_at = w->now + between(&w->dice, 0, 3000);
	for (int k = 0; k < KIND_COUNT; k++) {
		x->page[k] = calloc(THINGS, sizeof(struct thing));
		if (x->page[k] == NULL)
			abort();
	}
	for (int i = 0; i < w->things_n; i++)
		if (w->things[i].notes.at[ANN_MARK][0] == '\0')
			let_be(&w->things[i]);
	return x;
}

void
cleaner_free(struct cleaner *x)
{
	if (x == NULL)
		return;
	cleanup_free(x->core);
	for (int k = 0; k < KIND_COUNT; k++)
		free(x->page[k]);
	free(x);
}

bool
cleaner_admits(const struct cleaner *x)
{
	return x->registered || x->w->now < x->admits_until;
}

bool
cleaner_ended(const struct cleaner *x)
{
	return x->ended;
}

/* --- birth and death ------------------------------------------------------ */

static void
start(struct cleaner *x)
{
	struct world *w = x->w;
	struct cleanup_config c = {
		.hold = x->hold,
		.machines_max = THINGS,
		.remove_registered = true,
		.settle_ms = UNINSTALL_PAUSE_MS,
		.until_ms = INT64_MAX,
	};

	tell(w, "uninstall  starts");
	x->start_at = w->now;
	x->core = cleanup_new(&c, w->dice.state ^ ++x->starts);
	if (x->core == NULL)
		abort();
	x->up = true;
	x->doing = NOTHING;
	x->leased = x->led = false;
	x->alone = !x->elects;
	x->fuse = 1 + roll(&w->dice, FUSE);
	x->lanes = 1 + roll(&w->dice, LANES);
	x->clean_at[0] = x->clean_at[1] = -1;
	for (int k = 0; k < KIND_COUNT; k++)
		x->listed_at[k] = -1;
}

/* The API server may or may not do what is under way. */
static void
stop(struct cleaner *x)
{
	struct world *w = x->w;

	for (struct call *c = x->calls; c < x->calls + CALLS; c++) {
		if (c->used && !c->applied && roll(&w->dice, 2) == 0)
			c->used = false;
		c->answered = true;
	}
	for (struct lease_call *c = x->lease_calls;
	     c < x->lease_calls + LEASE_CALLS; c++) {
		if (c->used && !c->applied && roll(&w->dice, 2) == 0)
			c->used = false;
		c->answered = true;
	}
	cleanup_free(x->core);
	x->core = NULL;
	x->up = false;
	x->start_at = w->now + between(&w->dice, 0, 20000);
}

void
cleaner_calm(struct cleaner *x)
{
	if (x->up) {
		tell(x->w, "uninstall  is killed for the last time");
		stop(x);
	}
	x->kills = 0;
	x->calm = true;
	x->start_at = x->w->now;
}

/* --- the Lease ------------------------------------------------------------ */

static bool
leads(const struct cleaner *x)
{
	return x->alone ||
	       (x->leased && lease_leads(&x->lease, now_of(x).boot_ms));
}

static void
lease_begin(struct cleaner *x)
{
	struct lease_config c = {
		.enabled = true,
		.duration_ms = 15000,
		.renew_deadline_ms = 10000,
		.retry_ms = 2000,
		.patience_ms = LEASE_PATIENCE_RETRIES * 2000,
	};

	snprintf(c.identity, sizeof(c.identity), "uninstall-%u", x->starts);
	lease_init(&x->lease, &c, x->w->dice.state ^ x->starts);
	x->leased = true;
}

static bool
lease_answered(struct cleaner *x)
{
	bool any = false;

	for (struct lease_call *c = x->lease_calls;
	     c < x->lease_calls + LEASE_CALLS; c++) {
		struct lease_outcome o = {.record = &c->record};

		if (!c->used || c->answered || c->answer_at > x->w->now)
			continue;
		o.code = c->applied ? c->code : LEASE_FAILED;
		if (o.code == LEASE_BUSY)
			o.retry_after_ms = x->w->retry_after_ms;
		c->answered = any = true;
		lease_done(&x->lease, &o, now_of(x));
	}
	return any;
}

/* Does what the Lease needs now.  Returns false if it needs nothing. */
static bool
lease_turn(struct cleaner *x, int64_t *next)
{
	struct lease_todo todo;
	struct lease_note n;
	bool any;

	if (x->alone || !x->leased)
		return false;
	any = lease_answered(x);
	todo = lease_next(&x->lease, now_of(x));
	while (lease_note(&x->lease, &n))
		if (n.type == LEASE_NOTE_LEADS)
			tell(x->w, "uninstall  has the Lease");
	if (todo.step == LEASE_WAIT) {
		if (todo.wait_ms < INT64_MAX)
			*next = sooner(*next, x->w->now + todo.wait_ms);
		return any;
	}
	if (todo.step == LEASE_NONE || todo.step == LEASE_END) {
		x->alone = true;
		return true;
	}
	lease_call_send(lease_call_free(x->lease_calls), x->w, &todo);
	return true;
}

/* --- writes --------------------------------------------------------------- */

static const struct thing *
shown(const struct cleaner *x, enum kind kind, const char *name)
{
	for (int i = 0; i < x->page_n[kind]; i++)
		if (strcmp(x->page[kind][i].name, name) == 0)
			return &x->page[kind][i];
	return NULL;
}

/* The patch that src/tools/uninstall would send, as an action of the controller. */
static struct action
action_of(const struct cleaner *x, const struct cleanup_write *w)
{
	const struct entry *e = w->object;
	struct action a = {
		.act = w->act == CLEANUP_RELEASE ? ACT_CLEAR : ACT_UNMARK,
		.kind = e->kind,
		.mark_exact = w->mark_exact,
		.mark_ms = e->mark_ms,
		.has_held_key = e->has_held_key,
		.hold = *cleanup_hold(x->core),
	};

	strcpy(a.name, w->name);
	memcpy(a.uid, w->uid, sizeof(a.uid));
	memcpy(a.rv, w->rv, sizeof(a.rv));
	return a;
}

static struct call *
call_new(struct cleaner *x)
{
	struct call *c = x->calls;

	while (c < x->calls + CALLS && c->used)
		c++;
	if (c == x->calls + CALLS)
		abort();
	*c = (struct call){.used = true, .code = CLEANUP_UNANSWERED};
	return c;
}

static void
write_faults(struct cleaner *x, struct call *c)
{
	struct world *w = x->w;
	int64_t timeout = CALL_MS, left;

	c->fault = call_fault(w, CALL_MS + 3000, CALL_MS, &c->apply_at,
			      &c->answer_at);
	if (!x->alone) {	/* the call is cut when the lead ends */
		left = lease_fence_ms(&x->lease) - now_of(x).boot_ms;
		timeout = sooner(timeout, left > 0 ? left : 0);
	}
	c->answer_at = sooner(c->answer_at, w->now + timeout);
}

static void
write_send(struct cleaner *x, const struct cleanup_write *write)
{
	struct world *w = x->w;
	const struct thing *t = shown(x, write->object->kind, write->name);
	struct call *c = call_new(x);

	c->write = *write;
	c->a = action_of(x, write);
	if (t == NULL)
		broken(w, "I11: a write on %s, which was not listed",
		       write->name);
	else
		c->shown = *t;
	c->apply_at = c->answer_at = w->now + between(&w->dice, 1, 30);
	if (w->now < w->slow_until)
		c->answer_at += between(&w->dice, 100, 3000);
	write_faults(x, c);
	if (!leads(x)) {	/* lease_session_start refuses it */
		c->applied = true;
		c->answer_at = w->now;
	}
}

static enum cleanup_code
code_of(enum controller_code code)
{
	return code == CONTROLLER_OK     ? CLEANUP_OK
	       : code == CONTROLLER_GONE ? CLEANUP_GONE
				      : CLEANUP_CHANGED;
}

/* Is the object still as the list showed it, in what this write depends on? */
static bool
is_as_shown(const struct thing *t, const struct call *c)
{
	const struct notes_on *then = &c->shown.notes;
	enum ann k = ann_of(&c->a.hold);
	int64_t ms;

	if (strcmp(t->uid, c->shown.uid) != 0)
		return false;
	if (c->write.act == CLEANUP_DECLASSIFY)
		return true;
	/* Registration may copy a person's hold beside our mark, and a mark
	 * without a time does not tell one hold from another.  In both cases
	 * the object's version has to be the same. */
	if ((t->kind == KIND_NODE && !c->shown.registered) ||
	    !stamp_read(then->at[ANN_MARK], &ms))
		return t->rv == c->shown.rv;
	return strcmp(t->notes.at[ANN_MARK], then->at[ANN_MARK]) == 0 &&
	       (c->write.act == CLEANUP_UNMARK ||
		strcmp(t->notes.at[k], then->at[k]) == 0);
}

static enum cleanup_code
patch(struct cleaner *x, struct call *c, struct thing *t)
{
	static const char *const verbs[] = {
		[CLEANUP_RELEASE] = "releases",
		[CLEANUP_UNMARK] = "unmarks",
		[CLEANUP_DECLASSIFY] = "declassifies",
	};
	struct world *w = x->w;
	struct thing was = *t;
	enum controller_code code;
	char rv[RV_BYTES];

	if (c->write.act == CLEANUP_DECLASSIFY)
		code = thing_declassify(w, c->a.kind, c->a.name, c->a.uid);
	else
		code = thing_patch(w, &c->a, &c->a.hold, rv);
	if (code != CONTROLLER_OK)
		return code_of(code);
	tell(w, "uninstall  %s %s %s", verbs[c->write.act], object_kind_name(t->kind),
	     t->name);
	if (!is_as_shown(&was, c))
		broken(w, "I11: a write on %s, which has changed", t->name);
	if (c->write.act != CLEANUP_DECLASSIFY)
		let_be(t);
	return CLEANUP_OK;
}

/* Does the API server refuse this patch, whatever its content? */
static enum cleanup_code
denied(const struct world *w, const struct thing *t)
{
	const struct denial *d = &w->denied[t->kind];

	if (w->now >= d->until ||
	    (d->nodepool[0] != '\0' && strcmp(d->nodepool, t->nodepool) != 0))
		return CLEANUP_OK;
	return d->code == 403	? CLEANUP_REFUSED
	       : d->code == 422 ? CLEANUP_CHANGED
				: CLEANUP_UNANSWERED;
}

static void
write_arrives(struct cleaner *x, struct call *c)
{
	struct world *w = x->w;
	struct thing *t = thing_named(w, c->a.kind, c->a.name);
	enum cleanup_code code = CLEANUP_GONE;

	c->applied = true;
	if (w->now < w->down_until || w->now < w->busy_until ||
	    c->fault == REPLY_ERROR)
		return;
	if (t != NULL && w->now >= w->unserved_until[c->a.kind])
		code = denied(w, t);
	if (code == CLEANUP_OK)
		code = patch(x, c, t);
	if (c->fault == REPLY_WHOLE)
		c->code = code;
}

static void
calls_arrive(struct cleaner *x)
{
	for (struct call *c = x->calls; c < x->calls + CALLS; c++) {
		if (c->used && !c->applied && c->apply_at <= x->w->now)
			write_arrives(x, c);
		if (c->applied && c->answered)
			c->used = false;
	}
	for (struct lease_call *c = x->lease_calls;
	     c < x->lease_calls + LEASE_CALLS; c++) {
		if (c->used && !c->applied && c->apply_at <= x->w->now)
			lease_call_serve(c, x->w, false);
		if (c->applied && c->answered)
			c->used = false;
	}
}

static unsigned
under_way(const struct cleaner *x)
{
	unsigned n = 0;

	for (const struct call *c = x->calls; c < x->calls + CALLS; c++)
		n += c->used && !c->answered;
	return n;
}

/* Reports one answer that has come.  Returns false if there is none. */
static bool
write_answered(struct cleaner *x)
{
	for (struct call *c = x->calls; c < x->calls + CALLS; c++) {
		struct cleanup_outcome o = {.id = c->write.id, .why = "why"};

		if (!c->used || c->answered || c->answer_at > x->w->now)
			continue;
		o.code = c->applied ? c->code : CLEANUP_UNANSWERED;
		c->answered = true;
		cleanup_done(x->core, &o, now_of(x));
		return true;
	}
	return false;
}

/* --- lists, and what is registered ---------------------------------------- */

static void
ask(struct cleaner *x)
{
	struct world *w = x->w;

	if (x->todo.step == CLEANUP_LIST)
		cleanup_listing(x->core);
	x->sent = true;
	x->taken = x->failed = x->unserved = false;
	x->answer_at = w->now + between(&w->dice, 1, 30);
	if (w->now < w->slow_until)
		x->answer_at += between(&w->dice, 100, 3000);
	x->take_at = between(&w->dice, w->now, x->answer_at);
	x->failed = w->now < w->error_until && roll(&w->dice, 100) < w->odds;
}

/* The API server takes the call. */
static void
take(struct cleaner *x)
{
	struct world *w = x->w;
	enum kind k = x->todo.kind;

	x->taken = true;
	x->failed |= w->now < w->down_until || w->now < w->busy_until;
	if (x->failed || x->todo.step != CLEANUP_LIST)
		return;
	x->unserved = w->now < w->unserved_until[k];
	x->page_n[k] = 0;
	x->listed_at[k] = x->unserved ? -1 : w->now;
	for (int i = 0; !x->unserved && i < w->things_n; i++)
		if (w->things[i].used && w->things[i].kind == k)
			x->page[k][x->page_n[k]++] = w->things[i];
}

static bool
is_dirty(const struct thing *t)
{
	return t->notes.at[ANN_MARK][0] != '\0' || t->class[0] != '\0' ||
	       t->class_uid[0] != '\0';
}

static void
show(struct cleaner *x, int n)
{
	enum kind k = x->todo.kind;
	struct object o;

	for (int i = 0; i < n; i++) {
		const struct thing *t = &x->page[k][i];

		thing_object(t, cleanup_hold(x->core), &o);
		cleanup_seen(x->core, &o, now_of(x));
		x->dirty |= is_dirty(t);
	}
}

static bool
listed(struct cleaner *x)
{
	enum kind k = x->todo.kind;
	struct cleanup_outcome o = {.code = x->unserved ? CLEANUP_UNSERVED
							: CLEANUP_OK};

	if (k == KIND_NODE)
		x->dirty = false;
	if (!x->calm && !x->unserved && roll(&x->w->dice, 10) == 0) {
		show(x, x->page_n[k] / 2);	/* 410: from the beginning */
		x->sent = false;
		return true;
	}
	if (!x->unserved)
		show(x, x->page_n[k]);
	if (k == KIND_NODECLAIM) {
		x->clean_at[0] = x->clean_at[1];
		x->clean_at[1] = x->dirty ? -1 : x->w->now;
	}
	o.led = leads(x);
	x->doing = NOTHING;
	cleanup_done(x->core, &o, now_of(x));
	return true;
}

static bool
asked(struct cleaner *x)
{
	struct cleanup_outcome o = {.code = CLEANUP_OK};
	struct world *w = x->w;

	if (!x->sent && w->now >= x->until)
		ask(x);
	if (x->sent && !x->taken && w->now >= x->take_at)
		take(x);
	if (!x->sent || w->now < x->answer_at)
		return false;
	if (x->failed) {
		x->sent = false;
		x->until = w->now +
			   between(&w->dice, BACKOFF_MIN_MS, BACKOFF_MAX_MS);
		return true;
	}
	if (x->todo.step == CLEANUP_LIST)
		return listed(x);
	if (x->todo.remove && x->registered) {
		x->registered = false;
		x->admits_until = w->now + between(&w->dice, 0, WEBHOOK_MS);
	}
	o.registered = x->registered;
	x->doing = NOTHING;
	cleanup_done(x->core, &o, now_of(x));
	return true;
}

/* --- the end -------------------------------------------------------------- */

static void
look_at(struct cleaner *x, const struct thing *t)
{
	bool hold = false;

	for (int a = 0; a <= ANN_OTHER_HOLD; a++)
		hold |= t->notes.at[a][0] != '\0' && t->notes.by[a] == BY_US;
	if (hold || is_dirty(t))
		broken(x->w, "I11: nothing is left, it says, and on %s stands "
		       "hold \"%s\" \"%s\" mark \"%s\" class \"%s\"", t->name,
		       t->notes.at[ANN_HOLD], t->notes.at[ANN_OTHER_HOLD],
		       t->notes.at[ANN_MARK], t->class);
}

static void
check_clean(struct cleaner *x)
{
	struct world *w = x->w;

	if (x->clean_at[0] < 0 || x->clean_at[1] < 0 ||
	    x->clean_at[1] - x->clean_at[0] < UNINSTALL_PAUSE_MS)
		broken(w, "I11: two lists have to show nothing");
	for (int i = 0; i < w->things_n; i++) {
		const struct thing *t = &w->things[i];

		if (t->used && t->kind < KIND_COUNT &&
		    t->touched < x->listed_at[t->kind])
			look_at(x, t);
	}
}

/* Did a person write the mark that the command reports, by hand and since the
 * command began, on an object that is younger than the command?  If such a mark
 * is no time, an admission policy may have written it for all that a list shows,
 * so the command is right to report it. */
static bool
is_persons_mark(const struct cleaner *x, const char *foreign)
{
	const struct world *w = x->w;
	char says[160];

	for (int i = 0; i < w->things_n; i++) {
		const struct thing *t = &w->things[i];

		snprintf(says, sizeof(says), "%s %s was created with a mark at ",
			 object_kind_name(t->kind), t->name);
		if (t->marked > x->start_at &&
		    t->born > x->start_at + WEBHOOK_MS &&
		    strncmp(foreign, says, strlen(says)) == 0)
			return true;
	}
	return false;
}

static void
end(struct cleaner *x, enum cleanup_verdict verdict)
{
	bool clean = verdict == CLEANUP_CLEAN;

	tell(x->w, "uninstall  ends: verdict %d", verdict);
	if (clean)
		check_clean(x);
	if (verdict == CLEANUP_FOREIGN_MARKS && !x->clocks_differ &&
	    x->w->turns_until == 0 &&
	    !is_persons_mark(x, cleanup_report(x->core)->foreign))
		broken(x->w, "I11: nobody else marks, and it says so: %s",
		       cleanup_report(x->core)->foreign);
	if (x->calm && !clean)
		broken(x->w, "I11: it ends with verdict %d", verdict);
	x->until = x->w->now + GIVE_UP_MS;
	x->doing = LEAVING;
	if (x->alone || !x->leased)
		return;
	if (clean)
		lease_clear(&x->lease);
	lease_stop(&x->lease);
}

/* --- the command ---------------------------------------------------------- */

static bool
led(struct cleaner *x)
{
	struct cleanup_outcome o = {.anew = x->anew};

	if (!x->alone && !x->leased) {
		lease_begin(x);
		return true;
	}
	if (!leads(x))
		return false;
	x->led = true;
	x->doing = NOTHING;
	cleanup_done(x->core, &o, now_of(x));
	return true;
}

static bool
rested(struct cleaner *x)
{
	if (under_way(x) > 0 ? !write_answered(x) : x->w->now < x->until)
		return false;
	x->doing = NOTHING;
	return true;
}

static bool
wrote(struct cleaner *x)
{
	if (under_way(x) >= x->lanes && !write_answered(x))
		return false;
	write_send(x, &x->todo.write);
	x->doing = NOTHING;
	return true;
}

static bool
left(struct cleaner *x)
{
	if (!x->alone && x->leased && x->w->now < x->until)
		return false;
	stop(x);
	x->ended = x->calm;
	return false;
}

static void
next(struct cleaner *x)
{
	static const enum doing how[] = {
		[CLEANUP_WAIT] = RESTING,    [CLEANUP_REGISTERED] = ASKING,
		[CLEANUP_LEAD] = LEADING,    [CLEANUP_LIST] = ASKING,
		[CLEANUP_WRITE] = WRITING,   [CLEANUP_END] = LEAVING,
	};
	struct cleanup_todo *t = &x->todo;

	*t = cleanup_next(x->core, now_of(x));
	x->doing = how[t->step];
	x->sent = false;
	x->until = x->w->now;
	x->anew = !(x->led && leads(x));
	if (t->step == CLEANUP_WAIT)
		x->until = t->wait_ms == INT64_MAX ? INT64_MAX
						   : x->w->now + t->wait_ms;
	if (t->step == CLEANUP_END)
		end(x, t->verdict);
}

/* Makes one step.  Returns false if it has to wait. */
static bool
turn(struct cleaner *x)
{
	switch (x->doing) {
	case ASKING:
		return asked(x);
	case LEADING:
		return led(x);
	case RESTING:
		return rested(x);
	case WRITING:
		return wrote(x);
	case LEAVING:
		return left(x);
	default:
		next(x);
		return true;
	}
}

static int64_t
calls_next(const struct cleaner *x)
{
	int64_t at = INT64_MAX;

	for (const struct call *c = x->calls; c < x->calls + CALLS; c++) {
		if (c->used && !c->applied)
			at = sooner(at, c->apply_at);
		if (c->used && !c->answered)
			at = sooner(at, c->answer_at);
	}
	for (const struct lease_call *c = x->lease_calls;
	     c < x->lease_calls + LEASE_CALLS; c++) {
		if (c->used && !c->applied)
			at = sooner(at, c->apply_at);
		if (c->used && !c->answered)
			at = sooner(at, c->answer_at);
	}
	return at;
}

static int64_t
next_at(const struct cleaner *x)
{
	if (!x->up)
		return x->ended ? INT64_MAX : x->start_at;
	if (x->doing == ASKING)
		return !x->sent ? x->until
				: !x->taken ? x->take_at : x->answer_at;
	if (x->doing == LEAVING || (x->doing == RESTING && under_way(x) == 0))
		return x->until;
	return INT64_MAX;
}

int64_t
cleaner_step(struct cleaner *x)
{
	int64_t at = INT64_MAX;

	calls_arrive(x);
	if (!x->up && !x->ended && x->w->now >= x->start_at)
		start(x);
	while (x->up && (lease_turn(x, &at) || turn(x))) {
		calls_arrive(x);
		/* While it waits for the Lease there is little to kill. */
		if (x->kills == 0 || x->doing == LEADING || --x->fuse > 0)
			continue;
		tell(x->w, "uninstall  is killed");
		x->kills--;
		stop(x);
	}
	return sooner(at, sooner(next_at(x), calls_next(x)));
}
