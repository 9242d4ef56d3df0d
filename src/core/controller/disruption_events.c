/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/disruption_events.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"

static uint32_t
uid_hash(const void *ctx, uint32_t id)
{
	const struct disruption_events *d = ctx;

	return index_hash(d->at[id].uid, d->seed);
}

static bool
uid_same(const void *ctx, uint32_t id, const void *key)
{
	const struct disruption_events *d = ctx;

	return strcmp(d->at[id].uid, key) == 0;
}

static uint32_t
find(const struct disruption_events *d, const char *uid)
{
	return index_find(&d->by_uid, index_hash(uid, d->seed), uid);
}

int
disruption_events_init(struct disruption_events *d, uint32_t max, uint64_t seed)
{
	*d = (struct disruption_events){.max = max, .seed = seed};
	d->at = calloc(max, sizeof(*d->at));
	return d->at == NULL || index_init(&d->by_uid, max, max, uid_hash,
					   uid_same, d)
		       ? -1
		       : 0;
}

void
disruption_events_done(struct disruption_events *d)
{
	free(d->at);
	index_done(&d->by_uid);
	*d = (struct disruption_events){0};
}

static void
drop(struct disruption_events *d, uint32_t i)
{
	index_remove(&d->by_uid, i);
	d->at[i].uid[0] = '\0';
}

void
disruption_events_put(struct disruption_events *d, const char *uid,
		      const char *reason)
{
	uint32_t i = find(d, uid);

	if (i != NO_ID) {
		if (strcmp(d->at[i].reason, DISRUPTION_UNKNOWN) == 0)
			(void)str_copy(d->at[i].reason, CLASS_BYTES, reason);
		return;
	}
	i = d->next;
	d->next = (d->next + 1) % d->max;
	if (d->at[i].uid[0] != '\0')
		drop(d, i);
	if (str_copy(d->at[i].uid, UID_BYTES, uid))
		return;
	(void)str_copy(d->at[i].reason, CLASS_BYTES, reason);
	index_add(&d->by_uid, i);
}

const char *
disruption_events_take(struct disruption_events *d, const char *uid)
{
	uint32_t i = find(d, uid);

	if (i == NO_ID)
		return NULL;
	drop(d, i);
	return d->at[i].reason;
}

void
disruption_events_forget(struct disruption_events *d)
{
	for (uint32_t i = 0; i < d->max && d->by_uid.n > 0; i++)
		if (d->at[i].uid[0] != '\0')
			drop(d, i);
	d->next = 0;
}
