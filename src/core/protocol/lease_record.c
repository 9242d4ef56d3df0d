/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/protocol/lease.h"

/* 64 KiB that are mostly empty, every two seconds. */
void
lease_record_copy(struct lease_record *to, const struct lease_record *from)
{
	size_t head = offsetof(struct lease_record, state);

	if (from == NULL) {
		memset(to, 0, head + 1);
		return;
	}
	memcpy(to, from, head + strlen(from->state) + 1);
}

const char *
lease_state(const struct lease *l)
{
	return l->read ? l->want.state : NULL;
}

int
lease_state_set(struct lease *l, const char *text)
{
	if (!l->read || l->stopping)
		return -1;
	return str_copy(l->want.state, sizeof(l->want.state), text);
}
