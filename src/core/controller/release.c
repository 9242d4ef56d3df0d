/* SPDX-License-Identifier: Apache-2.0 */
#include "release.h"

#include <stdlib.h>

#include "core/base/limits.h"

int
release_init(struct release *r, uint32_t ids)
{
	*r = (struct release){.waits_from = NO_ID};
	r->due_boot_ms = calloc(ids, sizeof(*r->due_boot_ms));
	return r->due_boot_ms == NULL ? -1 : 0;
}

void
release_free(struct release *r)
{
	free(r->due_boot_ms);
	*r = (struct release){0};
}

void
release_forget(struct release *r)
{
	r->wanted = r->claims_good = false;
	r->failed = NULL;
	r->done_boot_ms = 0;
}

void
release_due(struct release *r, uint32_t id, int64_t boot_ms)
{
	if (r->due_boot_ms[id] == 0)
		r->due_boot_ms[id] = boot_ms;
}

void
release_not_due(struct release *r, uint32_t id)
{
	r->due_boot_ms[id] = 0;
}

bool
release_may(struct release *r, uint32_t id)
{
	if (r->done_boot_ms >= r->due_boot_ms[id])
		return true;
	r->wanted = true;
	if (id < r->waits_from)
		r->waits_from = id;
	if (id >= r->waits_to)
		r->waits_to = id + 1;
	return false;
}

uint32_t
release_take(struct release *r)
{
	while (r->waits_from < r->waits_to)
		if (r->due_boot_ms[r->waits_from++] != 0)
			return r->waits_from - 1;
	r->waits_from = NO_ID;
	r->waits_to = 0;
	return NO_ID;
}

void
release_want(struct release *r)
{
	r->wanted = true;
}

void
release_unseen(struct release *r)
{
	r->claims_good = false;
}

bool
release_start(struct release *r, int64_t boot_ms, enum kind *kind)
{
	if (!r->wanted || r->in_flight || boot_ms < r->not_before_boot_ms)
		return false;
	r->in_flight = true;
	r->wanted = false;
	r->unknown = 0;
	if (!r->claims_good)
		r->begun_boot_ms = boot_ms;
	*kind = r->claims_good ? KIND_NODEPOOL : KIND_NODECLAIM;
	return true;
}

unsigned
release_page(const struct release *r)
{
	return r->failed == NULL ? LIST_FRESH_PAGE : LIST_METADATA_PAGE;
}

void
release_unknown(struct release *r)
{
	r->unknown++;
}

/* Asks for the lists again, because one failed or showed what the table does
 * not know. */
static enum release_result
again(struct release *r, enum kind kind, bool ok, int64_t boot_ms,
      struct pace *pace, struct notes *notes)
{
	r->wanted = true;
	r->tries++;
	r->not_before_boot_ms = boot_ms + FRESH_RETRY_MS;
	if (!ok) {
		r->not_before_boot_ms =
			boot_ms + pace_backoff(pace, r->tries, FRESH_RETRY_MS,
					       BACKOFF_MAX_MS);
		return RELEASE_WAITS;
	}
	/* Machines that older lists allowed to be released wait as well. */
	r->done_boot_ms = 0;
	notes_put(notes, NOTE_STOPPED, object_kind_name(kind))->as.objects =
		r->unknown;
	/* The watch should have shown by now what the list showed. */
	return r->tries % FRESH_TRIES == 0 ? RELEASE_MISTRUSTS : RELEASE_WAITS;
}

enum release_result
release_done(struct release *r, enum kind kind, bool ok, int64_t boot_ms,
	     struct pace *pace, struct notes *notes)
{
	r->in_flight = false;
	if (!ok)
		r->failed = object_kind_name(kind);
	if (ok && r->unknown == 0 && kind == KIND_NODECLAIM) {
		r->claims_good = r->wanted = true;
		r->not_before_boot_ms = boot_ms;
		return RELEASE_WAITS;
	}
	/* If the view was lost in between, the lists start from the
	 * beginning. */
	if (ok && kind == KIND_NODEPOOL && !r->claims_good) {
		r->wanted = true;
		return RELEASE_WAITS;
	}
	r->claims_good = false;
	if (!ok || r->unknown > 0)
		return again(r, kind, ok, boot_ms, pace, notes);
	r->tries = 0;
	r->failed = NULL;
	r->done_boot_ms = r->begun_boot_ms;
	/* Machines that fall due one after another share one list a second. */
	r->not_before_boot_ms = r->begun_boot_ms + FRESH_RETRY_MS;
	return RELEASE_GOOD;
}

int64_t
release_next_boot_ms(const struct release *r)
{
	return !r->wanted || r->in_flight ? STAMP_NONE : r->not_before_boot_ms;
}
