/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/stamp.h"
#include "core/rules/admit.h"

/* What the API server does: versions, the watch log, patches. */

#define JUST_MS 30000	/* watches begin again after an outage */

static void
log_line(struct world *w, const struct thing *t, bool deleted)
{
	size_t *n = &w->lines_n[t->kind], *cap = &w->lines_cap[t->kind];

	w->changes++;
	if (*n == *cap) {
		*cap = *cap == 0 ? 256 : 2 * *cap;
		w->lines[t->kind] = realloc(w->lines[t->kind],
					    *cap * sizeof(struct line));
		if (w->lines[t->kind] == NULL)
			abort();
	}
	w->lines[t->kind][(*n)++] = (struct line){w->now, deleted, *t};
}

static void
thing_written(struct world *w, struct thing *t)
{
	t->rv = ++w->rv;
	log_line(w, t, false);
}

void
thing_changed(struct world *w, struct thing *t)
{
	t->touched = w->caused = w->now;
	thing_written(w, t);
}

void
thing_gone(struct world *w, struct thing *t)
{
	t->rv = ++w->rv;
	t->used = false;
	t->gone_at = w->caused = w->now;
	log_line(w, t, true);
}

struct thing *
thing_named(struct world *w, enum kind kind, const char *name)
{
	for (int i = w->things_n - 1; i >= 0; i--) {
		struct thing *t = &w->things[i];

		if (t->used && t->kind == kind && strcmp(t->name, name) == 0)
			return t;
	}
	return NULL;
}

/* --- what the wire makes of it (wire/api/object.c, in small) -------------- */

enum ann
ann_of(const struct hold_key *k)
{
	return strcmp(k->key, hold_default.key) == 0 ? ANN_HOLD
						     : ANN_OTHER_HOLD;
}

static enum hold
hold_of(const struct thing *t, const struct hold_key *k)
{
	const char *value = t->notes.at[ann_of(k)];

	if (value[0] == '\0')
		return HOLD_ABSENT;
	return strcmp(value, k->value) == 0 ? HOLD_SAME : HOLD_OTHER;
}

static void
held_key_of(const struct hold_key *k, char out[TEXT])
{
	snprintf(out, TEXT, "%.30s=%.20s", k->key, k->value);
}

static void
former_of(const struct thing *t, const struct hold_key *today,
	  struct object *o)
{
	const struct hold_key *k = &hold_default;
	const char *text = t->notes.at[ANN_HELD_KEY];
	char other[TEXT];

	held_key_of(&hold_other, other);
	if (strcmp(text, other) == 0)
		k = &hold_other;
	else if (text[0] != '\0' && strchr(text, '=') == NULL) {
		o->has_previous = true;
		return;
	}
	if (strcmp(k->key, today->key) == 0)
		return;
	o->has_previous = true;
	o->previous_key = *k;
	o->previous_hold = hold_of(t, k);
}

void
thing_object(const struct thing *t, const struct hold_key *hold,
	     struct object *o)
{
	*o = (struct object){
		.kind = t->kind,
		.created_ms = t->created_ms,
		.deleting = t->deleting,
		.deleted_ms = t->deleted_ms,
		/* As far as metadata shows it. */
		.karpenter = t->kind == KIND_NODECLAIM ||
			     t->nodepool[0] != '\0' || t->other[0] != '\0' ||
			     t->notes.at[ANN_MARK][0] != '\0',
		.hold = hold_of(t, hold),
		.default_hold = hold_of(t, &hold_default),
		.mark_ms = STAMP_NONE,
		.launched = t->launched,
		.launch_known = t->launch_known,
		.ready_ms = t->ready_ms,
		.registered = t->registered,
		.disrupted = t->disrupted,
		.disrupted_ms = t->disrupted_ms,
		.has_class = t->kind == KIND_NODECLAIM &&
			     (t->class[0] != '\0' || t->class_uid[0] != '\0'),
	};
	memcpy(o->name, t->name, sizeof(t->name));
	memcpy(o->uid, t->uid, sizeof(t->uid));
	memcpy(o->nodepool, t->nodepool, sizeof(t->nodepool));
	snprintf(o->rv, sizeof(o->rv), "%llu", (unsigned long long)t->rv);
	if (t->kind == KIND_NODECLAIM) {
		if (strcmp(t->class_uid, t->uid) == 0)
			memcpy(o->replaces, t->class, sizeof(t->class));
		memcpy(o->node_name, t->other, sizeof(t->other));
		o->registered = t->other[0] != '\0';
	} else if (t->other[0] != '\0') {
		memcpy(o->owner_uid, t->other, sizeof(t->other));
		snprintf(o->owner_name, sizeof(o->owner_name), "%s",
			 t->other + 2);
	}
	o->has_held_key = t->notes.at[ANN_HELD_KEY][0] != '\0';
	if (t->notes.at[ANN_MARK][0] == '\0')
		return;
	o->mark = stamp_read(t->notes.at[ANN_MARK], &o->mark_ms) ? MARK_TIME
								: MARK_ODD;
	if (o->mark == MARK_ODD)
		o->mark_ms = STAMP_NONE;
	former_of(t, hold, o);
}

void
thing_pool(const struct thing *t, struct nodepool *p)
{
	nodepool_init(p);
	memcpy(p->name, t->name, sizeof(t->name));
	memcpy(p->uid, t->uid, sizeof(t->uid));
	snprintf(p->rv, sizeof(p->rv), "%llu", (unsigned long long)t->rv);
	for (int k = 0; k < NODEPOOL_KEY_COUNT; k++)
		nodepool_set(p, (enum nodepool_key)k,
			 t->says[k][0] != '\0' ? t->says[k] : NULL);
}

/* --- patches (wire/api/patch.c says what is in them) ---------------------- */

void
thing_hold(struct thing *t, const struct hold_key *hold, int64_t mark_ms)
{
	enum ann a = ann_of(hold);

	(void)str_copy(t->notes.at[a], TEXT, hold->value);
	stamp_write(mark_ms, t->notes.at[ANN_MARK]);
	t->notes.at[ANN_HELD_KEY][0] = '\0';
	if (!hold_key_is_default(hold))
		held_key_of(hold, t->notes.at[ANN_HELD_KEY]);
	t->notes.by[a] = BY_US;
}

static enum controller_code
patch_hold(struct world *w, struct thing *t, const struct action *a,
	   const struct hold_key *hold)
{
	char rv[RV_BYTES];
	enum ann k = ann_of(hold);

	snprintf(rv, sizeof(rv), "%llu", (unsigned long long)t->rv);
	if (strcmp(rv, a->rv) != 0)
		return CONTROLLER_CONFLICT;
	if (t->notes.at[k][0] != '\0' || t->notes.at[ANN_MARK][0] != '\0')
		broken(w, "I1: %s is held over hold \"%s\" mark \"%s\"",
		       t->name, t->notes.at[k], t->notes.at[ANN_MARK]);
	thing_hold(t, hold, a->mark_ms);
	return CONTROLLER_OK;
}

static bool
tests_pass(const struct thing *t, const struct action *a)
{
	char text[TEXT];

	if (strcmp(t->uid, a->uid) != 0 || t->notes.at[ANN_MARK][0] == '\0')
		return false;
	if (a->mark_exact) {
		stamp_write(a->mark_ms, text);
		return strcmp(t->notes.at[ANN_MARK], text) == 0;
	}
	snprintf(text, sizeof(text), "%llu", (unsigned long long)t->rv);
	return strcmp(text, a->rv) == 0;
}

/* Does a person keep that hold on the machine's other object, or has somebody
 * just changed it?  Then nobody can say whose it is here. */
static bool
kept_beside(const struct world *w, const struct thing *t,
	    const struct hold_key *k)
{
	const struct machine *m = &w->machines[t->machine];
	int i = t->kind == KIND_NODE ? m->claim : m->node;

	if (i < 0 || !w->things[i].used)
		return false;
	return w->now < w->unserved_until[w->things[i].kind] ||
	       w->now - w->things[i].touched <= JUST_MS ||
	       w->now - w->trouble_until <= JUST_MS ||
	       (w->things[i].notes.at[ANN_MARK][0] == '\0' &&
		hold_of(&w->things[i], k) == HOLD_SAME);
}

static enum controller_code
patch_clear(struct world *w, struct thing *t, const struct action *a,
	    const struct hold_key *today)
{
	enum ann k = ann_of(&a->hold);
	/* Of a former hold that is not the default, the claim says nothing. */
	bool unknown = k != ann_of(today) && k != ANN_HOLD;

	if (!tests_pass(t, a) ||
	    (a->has_held_key && t->notes.at[ANN_HELD_KEY][0] == '\0'))
		return CONTROLLER_INVALID;
	if (a->act == ACT_CLEAR) {
		if (hold_of(t, &a->hold) != HOLD_SAME)
			return CONTROLLER_INVALID;
		/* Where there are no claims, nobody can ask whose it is. */
		if (t->notes.by[k] == BY_PERSON && !unknown &&
		    w->now >= w->unserved_until[KIND_NODECLAIM])
			broken(w, "I1: the hold on %s is a person's, and is "
			       "taken away", t->name);
		t->notes.at[k][0] = '\0';
		t->notes.by[k] = BY_NOBODY;
	} else if (hold_of(t, &a->hold) == HOLD_SAME &&
		   t->notes.by[k] == BY_US && !unknown &&
		   !kept_beside(w, t, &a->hold)) {
		broken(w, "I2: the mark goes from %s, and our hold stays",
		       t->name);
	}
	t->notes.at[ANN_MARK][0] = '\0';
	if (a->has_held_key)
		t->notes.at[ANN_HELD_KEY][0] = '\0';
	return CONTROLLER_OK;
}

static enum controller_code
patch_class(struct thing *t, const struct action *a)
{
	char rv[RV_BYTES];

	snprintf(rv, sizeof(rv), "%llu", (unsigned long long)t->rv);
	if (strcmp(rv, a->rv) != 0)
		return CONTROLLER_CONFLICT;
	memcpy(t->class, a->replaces, sizeof(t->class));
	memcpy(t->class_uid, t->uid, sizeof(t->class_uid));
	return CONTROLLER_OK;
}

enum controller_code
thing_patch(struct world *w, const struct action *a,
	    const struct hold_key *hold, char rv[RV_BYTES])
{
	struct thing *t = thing_named(w, a->kind, a->name);
	enum controller_code code;

	if (t == NULL)
		return CONTROLLER_GONE;
	code = a->act == ACT_HOLD       ? patch_hold(w, t, a, hold)
	       : a->act == ACT_CLASSIFY ? patch_class(t, a)
					: patch_clear(w, t, a, hold);
	if (code != CONTROLLER_OK)
		return code;
	t->writes++;
	w->seen.writes++;
	thing_written(w, t);
	snprintf(rv, RV_BYTES, "%llu", (unsigned long long)t->rv);
	return CONTROLLER_OK;
}

enum controller_code
thing_declassify(struct world *w, enum kind kind, const char *name,
		 const char *uid)
{
	struct thing *t = thing_named(w, kind, name);

	if (t == NULL)
		return CONTROLLER_GONE;
	if (strcmp(t->uid, uid) != 0)
		return CONTROLLER_CONFLICT;
	t->class[0] = t->class_uid[0] = '\0';
	t->writes++;
	w->seen.writes++;
	thing_written(w, t);
	return CONTROLLER_OK;
}
