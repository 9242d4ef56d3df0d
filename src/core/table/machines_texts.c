/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "machines_parts.h"

/* Unpacks the texts of an entry. */

struct uid
machines_entry_owner_uid(const struct entry *e)
{
	return e->kind == KIND_NODE ? e->owner_uid : UID_NONE;
}

bool
machines_entry_has_owner(const struct entry *e)
{
	return !packed_uid_is_none(machines_entry_owner_uid(e));
}

const char *
machines_name(const struct machines *m, const struct entry *e)
{
	return strings_text(&m->strings, e->name);
}

const char *
machines_nodepool(const struct machines *m, const struct entry *e)
{
	return strings_text(&m->strings, e->nodepool);
}

const char *
machines_other_name(const struct machines *m, const struct entry *e)
{
	return strings_text(&m->strings, e->other_name);
}

const char *
machines_replaces(const struct machines *m, const struct entry *e)
{
	return strings_text(&m->strings,
			    e->kind == KIND_NODECLAIM ? e->replaces : 0);
}

const char *
machines_said(const struct machines *m, const struct entry *e)
{
	return strings_text(&m->strings,
			    e->kind == KIND_NODECLAIM ? e->said : 0);
}

void
machines_uid(const struct machines *m, const struct entry *e,
	     char out[UID_BYTES])
{
	packed_uid_text(&m->strings, e->uid, out);
}

void
machines_owner_uid(const struct machines *m, const struct entry *node,
		   char out[UID_BYTES])
{
	packed_uid_text(&m->strings, machines_entry_owner_uid(node), out);
}

void
machines_rv(const struct machines *m, const struct entry *e, char out[RV_BYTES])
{
	packed_version_text(&m->strings, e->rv, out);
}

bool
machines_uid_is(const struct machines *m, const struct entry *e,
		const char *uid)
{
	struct uid u;

	return packed_uid_find(&m->strings, uid, &u) &&
	       packed_uid_equals(u, e->uid);
}

bool
machines_owner_uid_is(const struct machines *m, const struct entry *node,
		      const char *uid)
{
	struct uid u;

	return packed_uid_find(&m->strings, uid, &u) &&
	       packed_uid_equals(u, machines_entry_owner_uid(node));
}

bool
machines_rv_is(const struct machines *m, const struct entry *e, const char *rv)
{
	struct version v;

	return packed_version_find(&m->strings, rv, &v) && v.n == e->rv.n;
}

void
machines_set_replaces(struct machines *m, struct entry *claim,
		      const char *class)
{
	if (strlen(class) < CLASS_BYTES)
		(void)strings_set(&m->strings, &claim->replaces, class);
}

void
machines_set_said(struct machines *m, struct entry *claim, const char *reason)
{
	if (strlen(reason) < CLASS_BYTES)
		(void)strings_set(&m->strings, &claim->said, reason);
}
