/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/object.h"

#include <string.h>

int
object_hold_compare(const struct hold_key *a, const struct hold_key *b)
{
	int by_key = strcmp(a->key, b->key);

	return by_key != 0 ? by_key : strcmp(a->value, b->value);
}

enum tenure
object_tenure(enum hold hold, enum mark mark)
{
	if (mark == MARK_ABSENT)
		return hold == HOLD_ABSENT ? TENURE_FREE : TENURE_PERSON;
	return hold == HOLD_SAME ? TENURE_OURS : TENURE_YIELDED;
}

const char *
object_kind_name(enum kind kind)
{
	static const char *const names[VIEW_COUNT] = {
		[KIND_NODE] = "Node",	      [KIND_NODECLAIM] = "NodeClaim",
		[KIND_NODEPOOL] = "NodePool", [KIND_EVENT] = "Event",
		[KIND_TICKET] = "Ticket",
	};

	return names[kind];
}
