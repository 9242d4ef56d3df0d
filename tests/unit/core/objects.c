/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"

#include <stdio.h>
#include <string.h>

struct object
object_new(enum kind kind, const char *name, const char *uid,
	   int64_t created_ms)
{
	struct object o = {.kind = kind,
			   .created_ms = created_ms,
			   .karpenter = true,
			   .deleted_ms = STAMP_NONE,
			   .ready_ms = STAMP_NONE,
			   .disrupted_ms = STAMP_NONE};

	snprintf(o.name, sizeof(o.name), "%s", name);
	snprintf(o.uid, sizeof(o.uid), "%s", uid);
	snprintf(o.rv, sizeof(o.rv), "1");
	snprintf(o.nodepool, sizeof(o.nodepool), "web");
	return o;
}

struct object
claim_new(const char *uid, int64_t created_ms)
{
	return object_new(KIND_NODECLAIM, uid, uid, created_ms);
}

struct object
node_new(const char *name, const char *owner_uid, int64_t created_ms)
{
	struct object o = object_new(KIND_NODE, name, name, created_ms);

	snprintf(o.owner_uid, sizeof(o.owner_uid), "%s", owner_uid);
	snprintf(o.owner_name, sizeof(o.owner_name), "%s", owner_uid);
	return o;
}

struct ticket
ticket_new(const char *name, const char *patterns, int64_t renewed_ms,
	   int64_t lasts_ms)
{
	struct ticket t = {.renewed_ms = renewed_ms, .lasts_ms = lasts_ms};

	snprintf(t.name, sizeof(t.name), "%s", name);
	snprintf(t.uid, sizeof(t.uid), "%.30s", name);
	snprintf(t.rv, sizeof(t.rv), "1");
	snprintf(t.holder, sizeof(t.holder), "tester");
	ticket_set_patterns(&t, patterns);
	return t;
}

void
object_hold(struct object *o, int64_t mark_ms)
{
	o->hold = HOLD_SAME;
	o->mark = MARK_TIME;
	o->mark_ms = mark_ms / 1000 * 1000;
}
