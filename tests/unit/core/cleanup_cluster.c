/* SPDX-License-Identifier: Apache-2.0 */
#include "cleanup_cluster.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct cluster cluster;
const struct hold_key cluster_hold = {DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE};
const struct cleanup_config cluster_plain = {
	.hold = {DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE},
	.machines_max = THINGS,
	.settle_ms = SETTLE,
	.until_ms = INT64_MAX,
};

/* --- the cluster ---------------------------------------------------------- */

void
cluster_init(void)
{
	cluster = (struct cluster){.lanes = 1};
}

struct now
cluster_at(int64_t ms)
{
	return (struct now){.server_ms = EPOCH + ms, .boot_ms = ms};
}

struct now
cluster_now(void)
{
	return cluster_at(cluster.now);
}

void
cluster_note(const char *fmt, ...)
{
	size_t n = strlen(cluster.walk);
	va_list ap;

	if (n > 0 && n + 1 < sizeof(cluster.walk))
		cluster.walk[n++] = ' ';
	va_start(ap, fmt);
	(void)vsnprintf(cluster.walk + n, sizeof(cluster.walk) - n, fmt, ap);
	va_end(ap);
}

void
cluster_changed(struct thing *t)
{
	(void)snprintf(t->o.rv, sizeof(t->o.rv), "%u", ++t->version);
}

void
cluster_put(struct thing *t, enum what what)
{
	t->o.hold = what == BARE ? HOLD_ABSENT
		    : what == YIELDED ? HOLD_OTHER
				      : HOLD_SAME;
	t->o.mark = what == BARE || what == PERSONS ? MARK_ABSENT
		    : what == ODD		    ? MARK_ODD
						    : MARK_TIME;
	t->o.mark_ms = EPOCH - 60000;
	t->persons = what == PERSONS || what == YIELDED;
	cluster_changed(t);
}

struct thing *
cluster_add(enum kind kind, const char *name, const char *owner, enum what what)
{
	struct thing *t = &cluster.at[cluster.n++];

	ck_assert_int_le(cluster.n, THINGS);
	*t = (struct thing){.there = true};
	t->o = kind == KIND_NODE ? node_new(name, owner, EPOCH - 90000)
				 : claim_new(name, EPOCH - 90000);
	t->o.registered = true;
	cluster_put(t, what);
	return t;
}

struct thing *
cluster_find(enum kind kind, const char *name)
{
	for (int i = 0; i < cluster.n; i++)
		if (cluster.at[i].there && cluster.at[i].o.kind == kind &&
		    strcmp(cluster.at[i].o.name, name) == 0)
			return &cluster.at[i];
	return NULL;
}

enum cleanup_code
cluster_apply(const struct sent *s)
{
	struct thing *t = cluster_find(s->object.kind, s->name);
	struct object *o = t == NULL ? NULL : &t->o;

	if (t == NULL)
		return CLEANUP_GONE;
	if (strcmp(o->uid, s->w.uid) != 0)
		return CLEANUP_CHANGED;
	if (s->w.act == CLEANUP_DECLASSIFY) {
		o->has_class = false;
		cluster_changed(t);
		return CLEANUP_OK;
	}
	if (s->w.mark_exact ? o->mark != MARK_TIME ||
				      o->mark_ms != s->object.mark_ms
			    : strcmp(o->rv, s->w.rv) != 0)
		return CLEANUP_CHANGED;
	if (s->w.act == CLEANUP_RELEASE) {
		if (o->hold != HOLD_SAME)
			return CLEANUP_CHANGED;
		ck_assert_msg(!t->persons, "%s: a person's hold is removed",
			      o->name);
		o->hold = HOLD_ABSENT;
	}
	o->mark = MARK_ABSENT;
	cluster_changed(t);
	return CLEANUP_OK;
}

/* --- the caller ----------------------------------------------------------- */

void
cluster_start(const struct cleanup_config *config)
{
	cleanup_free(cluster.x);
	for (int i = 0; i < cluster.n; i++)
		cluster.at[i].under_way = false;
	cluster.sent_n = 0;
	cluster.x = cleanup_new(config, 1);
	ck_assert_ptr_nonnull(cluster.x);
	cluster.hold = config->hold;
}

void
cluster_done(const struct cleanup_outcome *o)
{
	cleanup_done(cluster.x, o, cluster_now());
}

/* Returns the object as wire/api/object decodes it with cleanup_hold. */
static struct object
shown(const struct thing *t)
{
	const struct hold_key *k = cleanup_hold(cluster.x);
	const struct hold_key *m = t->marked.value[0] != '\0' ? &t->marked
							      : &cluster.hold;
	struct object o = t->o;

	if (o.mark == MARK_ABSENT || strcmp(k->key, m->key) == 0)
		return o;
	o.is_other = true;
	o.other_hold = *m;
	o.mark = MARK_ABSENT;
	o.hold = HOLD_OTHER;
	return o;
}

void
cluster_list(enum kind kind)
{
	cleanup_listing(cluster.x);
	for (int i = 0; i < cluster.n; i++)
		if (cluster.at[i].there && cluster.at[i].o.kind == kind) {
			struct object o = shown(&cluster.at[i]);

			cleanup_seen(cluster.x, &o, cluster_now());
			if (cluster.at[i].unowned)
				cleanup_unowned(cluster.x,
						cluster.at[i].o.name);
		}
	for (unsigned i = 0; i < cluster.unread[kind]; i++)
		cleanup_unread(cluster.x, "odd");
}

static const char *const acts[] = {
	[CLEANUP_RELEASE] = "release",
	[CLEANUP_UNMARK] = "unmark",
	[CLEANUP_DECLASSIFY] = "declassify",
};

void
cluster_send(const struct cleanup_write *w)
{
	struct thing *t = cluster_find(w->object->kind, w->name);
	struct sent *s = &cluster.sent[cluster.sent_n++];

	ck_assert_uint_le(cluster.sent_n, cluster.lanes);
	cluster_note("%s:%s", acts[w->act], w->name);
	ck_assert(w->act != CLEANUP_RELEASE || w->hold != NULL);
	s->w = *w;
	s->object = *w->object;
	strcpy(s->name, w->name);
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

void
cluster_answer(unsigned i)
{
	struct sent s = cluster.sent[i];
	struct thing *t = cluster_find(s.object.kind, s.name);
	struct cleanup_outcome o = {.id = s.w.id};
	char why[NAME_BYTES + 16];

	ck_assert_int_eq(cleanup_writing(cluster.x, s.w.id).act, s.w.act);
	if (cluster.lanes > 1)
		cluster_note("=%s", s.name);
	memmove(&cluster.sent[i], &cluster.sent[i + 1],
		(--cluster.sent_n - i) * sizeof(cluster.sent[0]));
	if (t != NULL)
		t->under_way = false;
	if (t != NULL && t->times > 0) {
		t->times--;
		o.code = t->answer;
	} else {
		o.code = cluster_apply(&s);
	}
	(void)snprintf(why, sizeof(why), "%s_%s", s.name,
		       codes[o.code]);
	o.why = o.code == CLEANUP_OK ? NULL : why;
	cluster_done(&o);
}

void
cluster_ask(const struct cleanup_todo *t, const struct cleanup_outcome *o)
{
	if (t->step == CLEANUP_LIST)
		cluster_list(t->kind);
	cluster_done(o);
}

struct cleanup_todo
cluster_go_on(void)
{
	struct cleanup_todo t;

	for (int i = 0; i < 100; i++) {
		t = cleanup_next(cluster.x, cluster_now());
		if (t.step == CLEANUP_WRITE || t.step == CLEANUP_END)
			return t;
		if (t.step == CLEANUP_WAIT)
			cluster.now += t.wait_ms;
		else
			cluster_ask(&t, &(struct cleanup_outcome){.led = true});
	}
	ck_abort_msg("no end");
	return t;
}
