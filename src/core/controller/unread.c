/* SPDX-License-Identifier: Apache-2.0 */
#include "unread.h"

#include <stdlib.h>

int
unread_init(struct unread *u, uint32_t ids)
{
	*u = (struct unread){.list = 1};
	u->at = calloc(ids, sizeof(*u->at));
	return u->at == NULL ? -1 : 0;
}

void
unread_free(struct unread *u)
{
	free(u->at);
	*u = (struct unread){0};
}

void
unread_put(struct unread *u, uint32_t id)
{
	u->n += u->at[id] == 0;
	u->at[id] = u->list;
}

void
unread_end(struct unread *u, uint32_t id)
{
	/* Writing 0 here would touch a page that may never have been used. */
	if (u->at[id] == 0)
		return;
	u->at[id] = 0;
	u->n--;
}

void
unread_list(struct unread *u)
{
	u->list++;
	u->incomplete = false;
}

void
unread_list_incomplete(struct unread *u)
{
	u->incomplete = true;
}

bool
unread_is_gone(const struct unread *u, uint32_t id)
{
	return unread_has(u, id) && u->at[id] != u->list && !u->incomplete;
}
