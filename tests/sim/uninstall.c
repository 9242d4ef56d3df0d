/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <string.h>

/*
 * The command `uninstall` beside holders that live: no webhook is registered
 * any more, the Lease is taken out of the leader's hands (as somebody does who
 * deletes it first), every mark is cleared, and it leaves.  The holders then
 * find the Lease free, and hold again what is to be held.
 *
 * Only what the command does to the world is modelled here, because the real
 * one (cleaner.h) never takes the Lease from a holder that lives.
 */

#define STEP_MS 50		/* from one patch to the next */
#define RENEW_MS 2000
#define NAME "uninstall"

static bool
ours(const struct world *w)
{
	return w->lease.present && strcmp(w->lease.holder, NAME) == 0;
}

static void
lease_write(struct world *w, const char *holder)
{
	struct lease_record *r = &w->lease;

	if (!r->present)
		lease_record_copy(r, NULL);
	if (strcmp(r->holder, holder) != 0)
		r->transitions++;
	r->present = true;
	r->duration_s = 15;
	r->renew_us = world_server_ms(w) * 1000;
	snprintf(r->holder, sizeof(r->holder), "%s", holder);
	snprintf(r->rv, sizeof(r->rv), "%llu", (unsigned long long)++w->rv);
}

void
uninstall_begin(struct world *w, int64_t for_ms)
{
	if (w->uninstaller.on || w->now < w->down_until)
		return;
	tell(w, "person     uninstall begins");
	w->uninstaller = (struct uninstaller){.on = true,
					      .at = w->now,
					      .renews = w->now,
					      .until = w->now + for_ms};
}

int64_t
uninstall_next(const struct world *w)
{
	return w->uninstaller.on ? w->uninstaller.at : INT64_MAX;
}

/* JSON Patch: test mark and hold, remove both; a hold that is not ours stays,
 * and the mark alone goes. */
static void
clear(struct world *w, struct thing *t)
{
	bool other = t->notes.at[ANN_HELD_KEY][0] != '\0';
	const struct hold_key *k = other ? &hold_other : &hold_default;
	enum ann a = other ? ANN_OTHER_HOLD : ANN_HOLD;

	if (strcmp(t->notes.at[a], k->value) == 0) {
		t->notes.at[a][0] = '\0';
		t->notes.by[a] = BY_NOBODY;
	}
	t->notes.at[ANN_MARK][0] = t->notes.at[ANN_HELD_KEY][0] = '\0';
	t->reasons += 2;
	t->hold_reasons++;
	t->strips++;
	tell(w, "person     uninstall clears %s %s", object_kind_name(t->kind),
	     t->name);
	thing_changed(w, t);
}

void
uninstall_step(struct world *w)
{
	struct uninstaller *u = &w->uninstaller;

	if (!u->on || w->now < u->at)
		return;
	u->at = w->now + STEP_MS;
	if (w->now < w->down_until)
		return;
	if (w->now >= u->until) {
		tell(w, "person     uninstall ends");
		if (ours(w)) {
			w->lease.hold.key[0] = '\0';
			lease_write(w, "");
		}
		u->on = false;
		return;
	}
	if (w->now >= u->renews) {
		lease_write(w, NAME);
		u->renews = w->now + RENEW_MS;
	}
	for (int i = 0; i < w->things_n; i++) {
		struct thing *t = &w->things[i];

		if (t->used && t->kind < KIND_COUNT &&
		    t->notes.at[ANN_MARK][0] != '\0' &&
		    w->now >= w->unserved_until[t->kind]) {
			clear(w, t);
			return;
		}
	}
}
