/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <string.h>

/*
 * What people do to a hold and a mark.  Whose the hold is from then on is what
 * anybody could say who looks at the object.  If a person sets the same value
 * again while ours is there, nobody can see that.
 */

/* Does the object look like one that we hold?  Then the hold is ours. */
static void
look_again(struct thing *t)
{
	bool other = t->notes.at[ANN_HELD_KEY][0] != '\0';
	const struct hold_key *k = other ? &hold_other : &hold_default;
	enum ann a = ann_of(k);

	if (t->notes.at[ANN_MARK][0] != '\0' &&
	    strcmp(t->notes.at[a], k->value) == 0)
		t->notes.by[a] = BY_US;
}

static void
set(struct thing *t, const char *value)
{
	if (strcmp(t->notes.at[ANN_HOLD], value) == 0)
		return;
	snprintf(t->notes.at[ANN_HOLD], TEXT, "%s", value);
	t->notes.by[ANN_HOLD] = BY_PERSON;
	look_again(t);
}

static void
unmark(struct thing *t)
{
	t->notes.at[ANN_MARK][0] = '\0';
	for (int k = 0; k <= ANN_OTHER_HOLD; k++)
		if (t->notes.at[k][0] != '\0')
			t->notes.by[k] = BY_PERSON;
}

static void
unhold(struct thing *t)
{
	for (int k = 0; k <= ANN_OTHER_HOLD; k++) {
		t->notes.at[k][0] = '\0';
		t->notes.by[k] = BY_NOBODY;
	}
}

/* If a Node has our mark and a hold that was copied from its claim, only the
 * claim shows whose it is, and only as long as it has it. */
void
claim_shows(struct world *w, const struct thing *claim)
{
	int i = w->machines[claim->machine].node;
	struct thing *node = i >= 0 ? &w->things[i] : NULL;
	bool other = node != NULL && node->notes.at[ANN_HELD_KEY][0] != '\0';
	enum ann a = other ? ANN_OTHER_HOLD : ANN_HOLD;

	if (node != NULL && node->used &&
	    (claim->notes.at[ANN_MARK][0] != '\0' ||
	     strcmp(claim->notes.at[a], node->notes.at[a]) != 0))
		look_again(node);
}

/* Works out what the annotation means, without the product's parser. */
static void
mean(struct pool_state *p, enum nodepool_key key, const char *value, int64_t at)
{
	bool good = value[0] == '\0';

	switch (key) {
	case NODEPOOL_ENABLED:
		p->disabled = strcmp(value, "false") == 0;
		break;
	case NODEPOOL_HOLD_UNTIL:
		p->until = good ? at / 1000 * 1000 : STAMP_NONE;
		break;
	case NODEPOOL_RELEASED_AT:
		p->released = good ? at / 1000 * 1000 : STAMP_NONE;
		break;
	default:
		p->hold = good ? at : -1;
	}
}

void
person_says(struct world *w, const char *nodepool, enum nodepool_key key,
	    const char *value, int64_t at)
{
	struct pool_state *p = pool_state(w, nodepool);
	struct thing *t = p->thing < 0 ? NULL : &w->things[p->thing];
	char *says, stamp[TEXT];
	bool is_time =
		key == NODEPOOL_HOLD_UNTIL || key == NODEPOOL_RELEASED_AT;

	/* There is no object to write to. */
	if (t == NULL || w->now < w->unserved_until[KIND_NODEPOOL])
		return;
	says = t->says[key];
	if (value[0] == '\0' && key == NODEPOOL_ENABLED)
		value = "-";
	if (value[0] != '\0')
		snprintf(says, sizeof(t->says[0]), "%.30s",
			 strcmp(value, "-") == 0 ? "" : value);
	else if (is_time)
		stamp_write(at, stamp);
	else
		snprintf(stamp, sizeof(stamp), "%lldms", (long long)at);
	if (value[0] == '\0')
		snprintf(says, sizeof(t->says[0]), "%.30s", stamp);
	mean(p, key, value, at);
	p->changed = w->now;
	tell(w, "person     NodePool %s: %s: %s", p->name,
	     nodepool_key_name(key) + strlen(OWN_PREFIX),
	     says[0] != '\0' ? says : "(removed)");
	thing_changed(w, t);
}

/* --- tickets -------------------------------------------------------------- */

bool
ticket_holds(const struct thing *ticket, const char *nodepool)
{
	return ticket->nodepool[0] == '\0' ||
	       strcmp(ticket->nodepool, nodepool) == 0;
}

/* The NodePools that it holds are others from now on. */
static void
ticket_turns(struct world *w, const struct thing *t)
{
	for (int i = 0; i < w->pools_n; i++)
		if (ticket_holds(t, w->nodepools[i].name))
			w->nodepools[i].changed = w->now;
}

void
ticket_renewed(struct world *w, const char *name, const char *nodepool,
	       int64_t lasts_ms, int64_t ahead_ms)
{
	struct thing *t = thing_named(w, KIND_TICKET, name);
	int64_t now = world_server_ms(w), until = STAMP_NONE;

	if (t == NULL) {
		t = thing_new(w, KIND_TICKET, -1);
		if (t == NULL)
			return;
		snprintf(t->name, sizeof(t->name), "%.20s", name);
		snprintf(t->uid, sizeof(t->uid), "u-%.12s%d", name, t->index);
	} else {
		until = t->renewed_ms + t->lasts_ms;
		if (strcmp(t->nodepool, nodepool) != 0)
			ticket_turns(w, t);
	}
	snprintf(t->nodepool, sizeof(t->nodepool), "%s", nodepool);
	t->unreadable = false;
	t->renewed_ms = now + ahead_ms;
	t->lasts_ms = (lasts_ms + 999) / 1000 * 1000;
	if (until <= now || t->renewed_ms + t->lasts_ms < until)
		ticket_turns(w, t);
	tell(w, "person     ticket %s holds %s for %lld s", t->name,
	     nodepool[0] != '\0' ? nodepool : "all",
	     (long long)t->lasts_ms / 1000);
	thing_changed(w, t);
}

void
ticket_gone(struct world *w, const char *name)
{
	struct thing *t = thing_named(w, KIND_TICKET, name);

	if (t == NULL)
		return;
	tell(w, "person     deletes ticket %s", t->name);
	ticket_turns(w, t);
	thing_gone(w, t);
}

void
ticket_spoilt(struct world *w, const char *name)
{
	struct thing *t = thing_named(w, KIND_TICKET, name);

	if (t == NULL)
		return;
	tell(w, "person     ticket %s cannot be read", t->name);
	t->unreadable = true;
	ticket_turns(w, t);
	thing_changed(w, t);
}

void
ticket_lingers(struct world *w, const char *name)
{
	struct thing *t = thing_named(w, KIND_TICKET, name);

	if (t == NULL || t->deleting)
		return;
	tell(w, "person     deletes ticket %s, which has a finalizer", t->name);
	t->deleting = true;
	ticket_turns(w, t);
	thing_changed(w, t);
}

bool
ticket_is_whole(const struct thing *ticket)
{
	return !ticket->unreadable && !ticket->deleting;
}

const char *
pool_key_name(int key)
{
	static const char *const fields[SPEC_FIELDS] = {"replicas",
							"consolidateAfter"};

	return key < NODEPOOL_KEY_COUNT
		       ? nodepool_key_name((enum nodepool_key)key) +
				 strlen(OWN_PREFIX)
		       : fields[key - NODEPOOL_KEY_COUNT];
}

void
person_specifies(struct world *w, const char *nodepool, enum spec_field field,
		 const char *value)
{
	struct pool_state *p = pool_state(w, nodepool);
	struct thing *t = p->thing < 0 ? NULL : &w->things[p->thing];

	if (t == NULL || w->now < w->unserved_until[KIND_NODEPOOL])
		return;
	snprintf(t->says[field], sizeof(t->says[0]), "%.30s",
		 strcmp(value, "-") == 0 ? "" : value);
	t->respecified++;
	if (field == SPEC_REPLICAS)
		p->fixed = t->says[field][0] != '\0';
	else
		p->never = strcmp(t->says[field], "Never") == 0;
	p->respecified = p->changed = w->now;
	tell(w, "person     NodePool %s: spec: %s: %s", p->name,
	     pool_key_name((int)field),
	     t->says[field][0] != '\0' ? t->says[field] : "(removed)");
	thing_changed(w, t);
}

void
person_does(struct world *w, struct thing *t, enum person what,
	    const char *value)
{
	static const char *const verbs[] = {
		[PERSON_SET] = "sets the hold of",
		[PERSON_UNHOLD] = "removes the hold of",
		[PERSON_UNMARK] = "removes the mark of",
		[PERSON_STRIP] = "strips hold and mark of",
		[PERSON_MARK] = "marks",
		[PERSON_TOUCH] = "labels",
		[PERSON_SWELL] = "makes too large",
		[PERSON_SHRINK] = "makes small again",
	};

	tell(w, "person     %s %s %s %s", verbs[what], object_kind_name(t->kind),
	     t->name, value);
	switch (what) {
	case PERSON_TOUCH:
		break;
	case PERSON_SWELL:
	case PERSON_SHRINK:
		t->large = what == PERSON_SWELL;
		t->large_at = w->now;
		break;
	case PERSON_SET:
		set(t, value);
		break;
	case PERSON_UNHOLD:
		unhold(t);
		break;
	case PERSON_UNMARK:
		unmark(t);
		break;
	case PERSON_STRIP:
		if (t->notes.at[ANN_MARK][0] != '\0')
			t->strips++;
		memset(&t->notes, 0, sizeof(t->notes));
		break;
	case PERSON_MARK:
		snprintf(t->notes.at[ANN_MARK], TEXT, "%s", value);
		t->marked = w->now;
		look_again(t);
		break;
	}
	if (t->kind == KIND_NODECLAIM)
		claim_shows(w, t);
	t->reasons += 2;
	thing_changed(w, t);
}
