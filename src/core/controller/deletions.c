/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/deletions.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/stamp.h"
#include "core/base/str.h"

int
deletions_init(struct deletions *d, uint32_t max)
{
	*d = (struct deletions){.max = max};
	d->at = calloc(max, sizeof(*d->at));
	return d->at == NULL ? -1 : 0;
}

void
deletions_done(struct deletions *d)
{
	free(d->at);
	*d = (struct deletions){0};
}

void
deletions_forget(struct deletions *d)
{
	for (uint32_t i = 0; i < d->top; i++)
		d->at[i].used = false;
	d->top = 0;
}

static struct deletion *
deletion_find(struct deletions *d, const char *uid)
{
	for (uint32_t i = 0; i < d->top; i++)
		if (d->at[i].used && strcmp(d->at[i].uid, uid) == 0)
			return &d->at[i];
	return NULL;
}

static bool
goes_before(const struct deletion *a, const struct deletion *b)
{
	if (a->spent != b->spent)
		return a->spent;
	return a->began_ms < b->began_ms;
}

/* Returns a free place.  If there is none, returns the place of a spent
 * deletion, or else that of the oldest deletion. */
static struct deletion *
place(struct deletions *d)
{
	struct deletion *oldest = &d->at[0];

	for (uint32_t i = 0; i < d->top; i++) {
		if (!d->at[i].used)
			return &d->at[i];
		if (goes_before(&d->at[i], oldest))
			oldest = &d->at[i];
	}
	return d->top < d->max ? &d->at[d->top++] : oldest;
}

void
deletions_put(struct deletions *d, const char *uid, const char *nodepool,
	      int64_t began_ms, int64_t disrupted_ms)
{
	struct deletion *new;

	if (deletion_find(d, uid) != NULL)
		return;
	new = place(d);
	*new = (struct deletion){
		.used = true,
		.began_ms = began_ms,
		.disrupted_ms = disrupted_ms,
		.until_ms = began_ms + SUBSTITUTE_MS,
		.failed_ms = STAMP_NONE,
		.gone_ms = STAMP_NONE,
	};
	(void)str_copy(new->uid, sizeof(new->uid), uid);
	(void)str_copy(new->nodepool, sizeof(new->nodepool), nodepool);
}

void
deletions_gone(struct deletions *d, const char *uid, int64_t gone_ms)
{
	struct deletion *it = deletion_find(d, uid);

	if (it != NULL && it->gone_ms == STAMP_NONE)
		it->gone_ms = gone_ms;
}

void
deletions_spend(struct deletions *d, const char *uid)
{
	struct deletion *it = deletion_find(d, uid);

	if (it != NULL)
		it->spent = true;
}

/* Returns whether a claim created at created_ms may be the substitute for this
 * deletion.  That is so if created_ms is not after until_ms, or if the deleted
 * node was still draining at created_ms.  until_ms is shortly after the
 * deletion began.  It moves to a later time if a claim that may be the
 * substitute is deleted before its launch. */
static bool
made_room(const struct deletion *it, int64_t created_ms)
{
	int64_t age = created_ms - it->began_ms;

	if (age < -STAMPS_MS || age > DRAINING_MS)
		return false;
	return created_ms <= it->until_ms || it->gone_ms == STAMP_NONE ||
	       it->gone_ms >= created_ms;
}

/* The same for a claim that was deleted before its launch (deletions_extend).
 * A deletion that another failed claim has extended is left out if both claims
 * existed at the same time. */
static bool
made_room_again(const struct deletion *it, int64_t created_ms)
{
	return it->failed_ms <= created_ms && made_room(it, created_ms);
}

/* Returns whether a claim that Karpenter has named was made for this machine,
 * before it was deleted. */
static bool
was_replaced(const struct deletion *it, int64_t created_ms)
{
	return it->disrupted_ms != STAMP_NONE &&
	       created_ms >= it->disrupted_ms - STAMPS_MS &&
	       created_ms <= it->began_ms;
}

static bool
is_better(const struct deletion *a, const struct deletion *b,
	  const char *nodepool)
{
	bool a_own = strcmp(a->nodepool, nodepool) == 0;
	bool b_own = strcmp(b->nodepool, nodepool) == 0;

	if (a_own != b_own)
		return a_own;
	if (a->began_ms != b->began_ms)
		return a->began_ms < b->began_ms;
	return strcmp(a->uid, b->uid) < 0;
}

/* Returns the best match among the deletions that fit the claim and have no
 * substitute, or NULL. */
static struct deletion *
find_best(const struct deletions *d, enum scope_kind scope,
	  const char *nodepool, int64_t created_ms,
	  bool (*fits)(const struct deletion *it, int64_t created_ms))
{
	struct deletion *best = NULL;

	for (uint32_t i = 0; i < d->top; i++) {
		struct deletion *it = &d->at[i];

		if (!it->used || it->spent || !fits(it, created_ms) ||
		    (scope != SCOPE_CLUSTER &&
		     strcmp(it->nodepool, nodepool) != 0))
			continue;
		if (best == NULL || is_better(it, best, nodepool))
			best = it;
	}
	return best;
}

const struct deletion *
deletions_match(const struct deletions *d, enum scope_kind scope,
		const char *nodepool, int64_t created_ms)
{
	return find_best(d, scope, nodepool, created_ms, made_room);
}

bool
deletions_close(struct deletions *d, enum scope_kind scope,
		const char *nodepool, int64_t created_ms)
{
	struct deletion *it =
		find_best(d, scope, nodepool, created_ms, was_replaced);

	if (it != NULL)
		it->spent = true;
	return it != NULL;
}

void
deletions_extend(struct deletions *d, enum scope_kind scope,
		 const char *nodepool, int64_t created_ms, int64_t deleted_ms)
{
	struct deletion *it =
		find_best(d, scope, nodepool, created_ms, made_room_again);
	int64_t until_ms = deleted_ms + SUBSTITUTE_MS;

	if (it == NULL)
		return;
	it->failed_ms = deleted_ms;
	if (until_ms > it->until_ms)
		it->until_ms = until_ms;
}
