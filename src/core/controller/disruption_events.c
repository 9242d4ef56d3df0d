/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/disruption_events.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"

static const char *
key_uid(const void *ctx, uint32_t id)
{
	return ((const struct disruption_events *)ctx)->at[id].uid;
}

int
disruption_events_init(struct disruption_events *s, uint32_t max)
{
	*s = (struct disruption_events){.max = max};
	s->at = calloc(max, sizeof(*s->at));
	return s->at == NULL || index_init(&s->by_uid, max, key_uid, s) ? -1
									 : 0;
}

void
disruption_events_done(struct disruption_events *s)
{
	free(s->at);
	index_done(&s->by_uid);
	*s = (struct disruption_events){0};
}

static void
drop(struct disruption_events *s, uint32_t i)
{
	index_remove(&s->by_uid, i);
	s->at[i].uid[0] = '\0';
}

void
disruption_events_put(struct disruption_events *s, const char *uid,
		      const char *reason)
{
	uint32_t i = index_find(&s->by_uid, uid);

	if (i != NO_ID) {
		if (strcmp(s->at[i].reason, DISRUPTION_UNKNOWN) == 0)
			(void)str_copy(s->at[i].reason, CLASS_BYTES, reason);
		return;
	}
	i = s->next;
	s->next = (s->next + 1) % s->max;
	if (s->at[i].uid[0] != '\0')
		drop(s, i);
	if (str_copy(s->at[i].uid, UID_BYTES, uid))
		return;
	(void)str_copy(s->at[i].reason, CLASS_BYTES, reason);
	index_add(&s->by_uid, i);
}

const char *
disruption_events_take(struct disruption_events *s, const char *uid)
{
	uint32_t i = index_find(&s->by_uid, uid);

	if (i == NO_ID)
		return NULL;
	drop(s, i);
	return s->at[i].reason;
}

void
disruption_events_forget(struct disruption_events *s)
{
	for (uint32_t i = 0; i < s->max && s->by_uid.n > 0; i++)
		if (s->at[i].uid[0] != '\0')
			drop(s, i);
	s->next = 0;
}
