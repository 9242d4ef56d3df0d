/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <stdlib.h>
#include <string.h>

/* The objects of the API server: versions, the watch log, patches (api.c). */

#define JUST_MS 30000	/* watches begin again after an outage */
#define UNSERVED_MS 5000	/* until it is seen that a resource is served again */

static void
log_line(struct world *w, const struct thing *t, bool deleted)
{
	size_t *n = &w->lines_n[t->kind], *cap = &w->lines_cap[t->kind];

	w->changes++;
	w->larges |= t->large;
	if (t->large && t->kind != KIND_NODECLAIM)
		w->large_line = w->now;
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
	if (t->told > 0 && t->notes.at[t->told - 1][0] != '\0')
		t->told = -1;
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

/* --- as api.c has them ---------------------------------------------------- */

static void
api_of(const struct thing *t, struct api_object *o)
{
	*o = (struct api_object){.uid = ""};
	memcpy(o->uid, t->uid, sizeof(t->uid));
	api_version(t->rv, o->rv);
	memcpy(o->at, t->notes.at, sizeof(o->at));
	memcpy(o->class, t->class, sizeof(o->class));
	memcpy(o->class_uid, t->class_uid, sizeof(t->class_uid));
}

static void
api_kept(struct thing *t, const struct api_object *o)
{
	memcpy(t->notes.at, o->at, sizeof(t->notes.at));
	memcpy(t->class, o->class, sizeof(t->class));
	memcpy(t->class_uid, o->class_uid, sizeof(t->class_uid));
}

void
thing_object(const struct thing *t, const struct hold_key *hold,
	     struct object *o)
{
	struct api_object kept;
	bool repaired = t->repaired && t->ready_ms == STAMP_NONE &&
			!t->rebooted;

	*o = (struct object){
		.kind = t->kind,
		.created_ms = t->created_ms,
		.deleting = t->deleting,
		.deleted_ms = t->deleted_ms,
		/* As far as metadata shows it. */
		.karpenter = t->kind == KIND_NODECLAIM ||
			     t->nodepool[0] != '\0' || t->other[0] != '\0' ||
			     t->notes.at[ANN_MARK][0] != '\0',
		.launched = t->launched,
		.launch_known = t->launch_known,
		.ready_ms = t->ready_ms,
		.rebooted = t->rebooted,
		.registered = t->registered,
		.disrupted = t->disrupted && !t->terminated_first && !repaired,
		.repaired = repaired,
		.disrupted_ms = t->disrupted_ms,
		.drifted = t->drifted,
		/* Every other machine, once it is ready. */
		.exposed = t->kind == KIND_NODECLAIM &&
			   t->ready_ms != STAMP_NONE && t->machine % 2 == 1,
	};
	memcpy(o->name, t->name, sizeof(t->name));
	memcpy(o->uid, t->uid, sizeof(t->uid));
	memcpy(o->nodepool, t->nodepool, sizeof(t->nodepool));
	api_of(t, &kept);
	api_show(&kept, hold, o);
	if (t->kind == KIND_NODECLAIM) {
		memcpy(o->node_name, t->other, sizeof(t->other));
		o->registered = t->other[0] != '\0';
	} else if (t->other[0] != '\0') {
		memcpy(o->owner_uid, t->other, sizeof(t->other));
		snprintf(o->owner_name, sizeof(o->owner_name), "%s",
			 t->other + 2);
	}
	o->unread = t->large && t->kind == KIND_NODECLAIM;
	if (o->unread)
		api_metadata_only(o);
}

void
thing_pool(const struct thing *t, bool whole, struct nodepool *p)
{
	nodepool_init(p);
	memcpy(p->name, t->name, sizeof(t->name));
	memcpy(p->uid, t->uid, sizeof(t->uid));
	api_version(t->rv, p->rv);
	for (int k = 0; k < NODEPOOL_KEY_COUNT; k++)
		nodepool_set(p, (enum nodepool_key)k,
			 t->says[k][0] != '\0' ? t->says[k] : NULL);
	p->generation = 1 + t->respecified;
	p->spec_known = whole;
	p->inert = whole &&
		   (t->says[SPEC_REPLICAS][0] != '\0' ||
		    strcmp(t->says[SPEC_CONSOLIDATE_AFTER], "Never") == 0);
}

void
thing_ticket(const struct thing *t, struct ticket *out)
{
	*out = (struct ticket){.renewed_ms = t->renewed_ms,
			       .lasts_ms = t->lasts_ms,
			       .deleting = t->deleting};
	if (t->unreadable)
		snprintf(out->fault, sizeof(out->fault), "spoilt");
	memcpy(out->name, t->name, sizeof(t->name));
	memcpy(out->uid, t->uid, sizeof(t->uid));
	api_version(t->rv, out->rv);
	ticket_set_patterns(out, t->nodepool[0] != '\0' ? t->nodepool : NULL);
}

/* --- patches -------------------------------------------------------------- */

void
thing_hold(struct thing *t, const struct hold_key *hold, int64_t mark_ms)
{
	struct api_object o;

	api_of(t, &o);
	api_hold(&o, hold, mark_ms);
	api_kept(t, &o);
	t->notes.by[ann_of(hold)] = BY_US;
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
		api_hold_of(w->things[i].notes.at, k) == HOLD_SAME);
}

/* The thing is as it was before the patch. */
static void
check_clear(struct world *w, const struct thing *t, const struct action *a)
{
	enum ann k = ann_of(&a->hold);
	bool unknown = false;
	int claim = w->machines[t->machine].claim;

	if (a->act == ACT_CLEAR) {
		/* Where the claim is gone, or there are no claims, nobody can
		 * ask whose it is. */
		unknown |= claim >= 0 && !w->things[claim].used;
		if (t->notes.by[k] == BY_PERSON && !unknown &&
		    w->now >= w->unserved_until[KIND_NODECLAIM] + UNSERVED_MS)
			broken(w, "I1: the hold on %s is a person's, and is "
			       "taken away", t->name);
	} else if (api_hold_of(t->notes.at, &a->hold) == HOLD_SAME &&
		   t->notes.by[k] == BY_US &&
		   !kept_beside(w, t, &a->hold)) {
		broken(w, "I2: the mark goes from %s, and our hold stays",
		       t->name);
	}
}

static void
check_hold(struct world *w, const struct thing *t, enum ann k)
{
	if (t->notes.at[k][0] != '\0' || t->notes.at[ANN_MARK][0] != '\0')
		broken(w, "I1: %s is held over hold \"%s\" mark \"%s\"",
		       t->name, t->notes.at[k], t->notes.at[ANN_MARK]);
}

enum controller_code
thing_patch(struct world *w, const struct action *a,
	    const struct hold_key *hold, char rv[RV_BYTES])
{
	struct thing *t = thing_named(w, a->kind, a->name);
	struct api_object o;
	enum controller_code code;

	if (t == NULL)
		return CONTROLLER_GONE;
	api_of(t, &o);
	code = api_patch(&o, a, hold);
	if (code != CONTROLLER_OK)
		return code;
	if (a->act == ACT_HOLD) {
		check_hold(w, t, ann_of(hold));
		t->notes.by[ann_of(hold)] = BY_US;
	} else if (a->act != ACT_CLASSIFY) {
		check_clear(w, t, a);
	}
	if (a->act == ACT_CLEAR)
		t->notes.by[ann_of(&a->hold)] = BY_NOBODY;
	if (a->act == ACT_UNMARK) /* nobody can say whose it is */
		t->notes.by[ann_of(&a->hold)] = BY_PERSON;
	api_kept(t, &o);
	t->writes++;
	w->seen.writes++;
	thing_written(w, t);
	api_version(t->rv, rv);
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
