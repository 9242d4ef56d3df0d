/* SPDX-License-Identifier: Apache-2.0 */
#include "history.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/duration.h"
#include "core/base/limits.h"
#include "core/base/stamp.h"

/*
 * Enters the facts, in order of time, into the roster and into each replay.
 * The roster has the machines as the log shows them.  A replay has them as they
 * would be in one setting.  Before each fact every replay advances to the time
 * of the fact (replay_pass), so that its controller acts when it would have
 * acted.
 *
 * Some machines were created before the log begins, so the log does not show
 * their creation.  If the first fact about a machine is its disruption or
 * deletion, the machine counts as older than the log (add_old).  If the first
 * fact is a step of its boot, the machine counts as new (add_new).  Facts about
 * what a holder did go into `happened` only.
 */

/* A machine that is older than the log counts as created this long before its
 * first fact.  No hold lasts so long. */
#define BEFORE_MS DURATION_MS_MAX

static int64_t
stamp_of(int64_t ms)
{
	return ms - (ms % 1000 + 1000) % 1000;
}

int
history_init(struct history *h, struct tally *t)
{
	*h = (struct history){.tally = t,
			      .watched_from_ms = STAMP_NONE,
			      .watched_to_ms = STAMP_NONE};
	story_init(&h->story);
	h->replays = calloc(SIMULATE_SETTINGS_MAX, sizeof(struct replay *));
	if (h->replays == NULL)
		return -1;
	if (roster_init(&h->roster, SIMULATE_MACHINES_MAX) == 0)
		return 0;
	free(h->replays);
	h->replays = NULL;
	return -1;
}

void
history_done(struct history *h)
{
	for (size_t i = 0; i < h->replays_n; i++)
		replay_free(h->replays[i]);
	waits_free(h->alone);
	free(h->replays);
	free(h->ids);
	turns_done(&h->happened);
	roster_done(&h->roster);
}

int
history_setting(struct history *h, const struct rules *rules,
		const struct waits_setup *waits, int64_t start_ms)
{
	/* Stamps are cut to whole seconds, so a stamp may be up to a second
	 * earlier than the first fact. */
	struct replay *r =
		replay_new(rules, &h->roster, waits, stamp_of(start_ms) - 1000);

	if (r == NULL)
		return -1;
	h->replays[h->replays_n++] = r;
	if (h->alone == NULL)
		h->alone = waits_new(waits);
	return h->alone == NULL ? -1 : 0;
}

#define EACH(h, call)                                                          \
	for (size_t i_ = 0; i_ < (h)->replays_n; i_++) {                       \
		struct replay *r = (h)->replays[i_];                           \
		call;                                                          \
	}

/* --- machines that the log has not shown being created -------------------- */

/* Adds a machine that is older than the log. */
static uint32_t
add_old(struct history *h, const char *claim, const char *node,
	const char *pool, int64_t now_ms)
{
	int64_t created_ms = stamp_of(now_ms) - BEFORE_MS;
	uint32_t id = roster_add(&h->roster, claim, node, pool, created_ms);
	struct logged *m;

	if (id == NO_ID) {
		h->tally->no_room++;
		return NO_ID;
	}
	h->tally->unknown++;
	m = &h->roster.at[id];
	m->launched = true;
	m->ready_ms = created_ms;
	m->registered_ms = node[0] != '\0' ? created_ms : STAMP_NONE;
	story_count(&h->story, now_ms, 0, 1, 0);
	EACH(h, replay_created(r, id));
	return id;
}

/* Adds a machine that is booting although the log does not show its creation.
 */
static uint32_t
add_new(struct history *h, const struct fact *f)
{
	uint32_t id = roster_add(&h->roster, f->claim, "", f->pool,
				 stamp_of(f->at_ms));

	if (id == NO_ID) {
		h->tally->no_room++;
		return NO_ID;
	}
	h->tally->makers[f->maker]++;
	story_count(&h->story, f->at_ms, 1, 0, 0);
	h->roster.at[id].maker = f->maker;
	h->roster.at[id].counted = true;
	if (f->maker == MAKER_PROVISIONER && h->alone != NULL)
		waits_scale_up(h->alone, h->roster.at[id].pool, f->at_ms);
	EACH(h, replay_created(r, id));
	return id;
}

/* --- facts ---------------------------------------------------------------- */

static void
created(struct history *h, const struct fact *f)
{
	uint32_t id = roster_find(&h->roster, f->claim, "");

	if (id == NO_ID) {
		if (f->maker == MAKER_STATIC)
			EACH(h, replay_static(r, f->pool));
		(void)add_new(h, f);
		return;
	}
	if (h->roster.at[id].maker != MAKER_UNKNOWN ||
	    f->maker == MAKER_UNKNOWN)
		return;
	/* A machine that counted as older than the log is not in makers[]
	 * yet. */
	h->tally->makers[MAKER_UNKNOWN] -= h->roster.at[id].counted;
	h->tally->makers[f->maker]++;
	h->roster.at[id].counted = true;
	/* Only Karpenter's Event says who created the machine.  The NodeClaim
	 * does not. */
	h->roster.at[id].maker = f->maker;
	EACH(h, replay_changed(r, id));
}

/* Returns the machine of the fact, which is booting.  Adds the machine if the
 * log has not shown it yet. */
static uint32_t
booting(struct history *h, const struct fact *f)
{
	uint32_t id = roster_find(&h->roster, f->claim, "");

	if (id == NO_ID) {
		id = add_new(h, f);
		h->tally->unknown += id != NO_ID;
	}
	return id;
}

static void
launched(struct history *h, const struct fact *f)
{
	uint32_t id = booting(h, f);

	if (id == NO_ID || h->roster.at[id].launched)
		return;
	h->roster.at[id].launched = true;
	EACH(h, replay_changed(r, id));
}

static int
registered(struct history *h, const struct fact *f)
{
	uint32_t id = booting(h, f);
	struct logged *m = id == NO_ID ? NULL : &h->roster.at[id];

	if (m == NULL || m->registered_ms != STAMP_NONE)
		return 0;
	if (roster_name_node(&h->roster, id, f->node))
		return -1;
	m->launched = true;
	m->registered_ms = stamp_of(f->at_ms);
	EACH(h, replay_registered(r, id));
	return 0;
}

/* Takes the fact that a machine is ready.  A reboot brings this fact again. */
static void
ready(struct history *h, const struct fact *f)
{
	uint32_t id = booting(h, f);

	if (id == NO_ID || h->roster.at[id].ready_ms == stamp_of(f->at_ms))
		return;
	h->roster.at[id].launched = true;
	h->roster.at[id].rebooted = h->roster.at[id].ready_ms != STAMP_NONE;
	h->roster.at[id].ready_ms = stamp_of(f->at_ms);
	EACH(h, replay_changed(r, id));
}

static void
count_deleted(struct history *h, const struct logged *m, const struct fact *f)
{
	h->tally->deleted++;
	h->tally->undecided_nodes += m->decision == 0 && f->reason[0] == '\0';
}

static void
deleting(struct history *h, const struct fact *f)
{
	uint32_t id = roster_find(&h->roster, f->claim, f->node);

	if (id == NO_ID)
		id = add_old(h, f->claim, f->node, f->pool, f->at_ms);
	if (id == NO_ID || h->roster.at[id].deleted_ms != STAMP_NONE)
		return;
	h->roster.at[id].deleted_ms = stamp_of(f->at_ms);
	count_deleted(h, &h->roster.at[id], f);
	EACH(h, replay_deleting(r, id));
}

static void
go(struct history *h, const struct fact *f, uint32_t id)
{
	const struct logged *m = &h->roster.at[id];

	/* Not every input tells when the deletion of a Node begins, nor of its
	 * registration. */
	if (m->deleted_ms == STAMP_NONE &&
	    (m->registered_ms != STAMP_NONE || m->ready_ms != STAMP_NONE ||
	     m->node_gone || f->node[0] != '\0'))
		count_deleted(h, m, f);
	story_count(&h->story, f->at_ms, 0, 0, 1);
	roster_gone(&h->roster, id);
	EACH(h, replay_gone(r, id));
	if (h->roster.at[id].waits == 0)
		roster_drop(&h->roster, id);
}

static void
node_gone(struct history *h, const struct fact *f)
{
	uint32_t id = roster_find(&h->roster, f->claim, f->node);

	if (id == NO_ID)
		return;
	h->roster.at[id].node_gone = true;
	EACH(h, replay_node_gone(r, id));
	/* If the log has never named the NodeClaim, it will not show the end of
	 * the NodeClaim either.  The machine then ends with its Node. */
	if (h->roster.at[id].claim[0] != '\0')
		return;
	go(h, f, id);
}

static void
gone(struct history *h, const struct fact *f)
{
	uint32_t id = roster_find(&h->roster, f->claim, f->node);

	if (id != NO_ID)
		go(h, f, id);
}

static int
find_decided(struct history *h, const struct fact *f)
{
	h->decisions++;
	h->ids_n = 0;
	if (f->nodes_n > h->ids_room) {
		uint32_t *ids = realloc(h->ids, f->nodes_n * sizeof(*ids));

		if (ids == NULL)
			return -1;
		h->ids = ids;
		h->ids_room = f->nodes_n;
	}
	for (size_t i = 0; i < f->nodes_n; i++) {
		const struct fact_node *n = &f->nodes[i];
		uint32_t id = roster_find(&h->roster, n->claim, n->node);

		if (id == NO_ID)
			id = add_old(h, n->claim, n->node, f->pool, f->at_ms);
		if (id == NO_ID || h->roster.at[id].decision == h->decisions)
			continue;
		h->roster.at[id].decision = h->decisions;
		h->ids[h->ids_n++] = id;
	}
	return 0;
}

/* Counts the decision for Karpenter without a holder: none of its nodes
 * waits. */
static void
take_alone(struct history *h, const struct fact *f)
{
	uint32_t nodes = (uint32_t)h->ids_n, n;

	if (nodes == 0 || h->alone == NULL || !fact_heeds_hold(f))
		return;
	n = waits_begin(h->alone, f, h->decisions, h->roster.at[h->ids[0]].pool,
			nodes, nodes);
	for (uint32_t i = 0; n != UINT32_MAX && i < nodes; i++)
		waits_end_one(h->alone, n, f->at_ms);
}

static int
decided(struct history *h, const struct fact *f)
{
	uint32_t waits = 0;

	if (find_decided(h, f))
		return -1;
	h->tally->disrupted += h->ids_n;
	h->tally->podless += f->pods < 0;
	h->tally->pods += f->pods > 0 ? (uint64_t)f->pods : 0;
	take_alone(h, f);
	for (size_t i = 0; h->ids_n > 0 && i < h->replays_n; i++)
		if (replay_decided(h->replays[i], f, h->ids, h->ids_n))
			waits |= UINT32_C(1) << i;
	story_mark(&h->story, f->at_ms, (uint32_t)h->ids_n, waits);
	return 0;
}

/* --- what a holder did ---------------------------------------------------- */

/* Call this before you take a fact of a holder.  An answer of /status covers at
 * most the day before the answer.  If two answers are further apart, the time
 * between them is unknown, and a hold that is open in the first answer counts
 * as ended at that answer. */
static void
end_known(struct history *h, int64_t at_ms)
{
	if (h->watched_to_ms == STAMP_NONE ||
	    at_ms <= h->watched_to_ms + JOURNAL_MS)
		return;
	turns_end(&h->happened, h->watched_to_ms);
	h->unwatched_ms += at_ms - h->watched_to_ms;
	h->watched_to_ms = at_ms;
}

static void
holder_did(struct history *h, const struct fact *f)
{
	const char *scope = f->pool;

	end_known(h, f->at_ms);
	if (f->kind == FACT_WATCHED) {
		if (h->watched_from_ms == STAMP_NONE)
			h->watched_from_ms = f->at_ms;
		h->watched_to_ms = f->at_ms;
		return;
	}
	if (f->kind == FACT_HELD)
		turns_held(&h->happened, scope, f->at_ms);
	if (f->claim[0] != '\0')
		turns_because(&h->happened, scope, f->claim);
	if (f->kind == FACT_HELD)
		return;
	if (strcmp(f->action, "cap") == 0)
		turns_capped(&h->happened, scope);
	turns_over(&h->happened, scope, f->at_ms);
}

bool
history_replays(const struct history *h)
{
	uint64_t n = 0;

	for (int k = 0; k < FACT_HELD; k++)
		n += h->tally->facts[k];
	return n > 0;
}

void
history_happened(const struct history *h, struct replay_sums *out)
{
	memset(out, 0, sizeof(*out));
	turns_report(&h->happened, out);
}

int
history_take(struct history *h, const struct fact *f)
{
	h->tally->facts[f->kind]++;
	if (f->kind >= FACT_HELD) {
		holder_did(h, f);
		return 0;
	}
	EACH(h, replay_pass(r, f->at_ms));
	switch (f->kind) {
	case FACT_CREATED:
		created(h, f);
		return 0;
	case FACT_LAUNCHED:
		launched(h, f);
		return 0;
	case FACT_REGISTERED:
		return registered(h, f);
	case FACT_READY:
		ready(h, f);
		return 0;
	case FACT_DECIDED:
		return decided(h, f);
	case FACT_DELETING:
		deleting(h, f);
		return 0;
	case FACT_NODE_GONE:
		node_gone(h, f);
		return 0;
	default:
		gone(h, f);
		return 0;
	}
}

void
history_end(struct history *h, int64_t at_ms)
{
	EACH(h, {
		replay_pass(r, at_ms);
		replay_end(r);
	});
	if (h->alone != NULL)
		waits_finish(h->alone, at_ms);
	if (at_ms != STAMP_NONE)
		story_count(&h->story, at_ms, 0, 0, 0);
	turns_end(&h->happened, h->watched_to_ms);
}
