/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rules/rules.h"

#include <fnmatch.h>
#include <string.h>

static bool
patterns_match(const struct patterns *p, const char *nodepool)
{
	for (size_t i = 0; i < p->n; i++) {
		if (nodepool[0] == '\0' ? strcmp(p->at[i], "*") == 0
					: fnmatch(p->at[i], nodepool, 0) == 0)
			return true;
	}
	return false;
}

bool
rules_nodepool_included(const struct rules *r, const char *nodepool)
{
	return patterns_match(&r->include, nodepool) &&
	       !patterns_match(&r->exclude, nodepool);
}

bool
rules_tell_replacements(const struct rules *r)
{
	return r->replacements == REPLACEMENTS_IGNORE && r->scope != SCOPE_NODE;
}

bool
rules_tickets(const struct rules *r)
{
	return r->tickets[0] != '\0';
}

bool
rules_hold_is_default(const struct hold_key *k)
{
	return strcmp(k->key, DEFAULT_HOLD_KEY) == 0 &&
	       strcmp(k->value, DEFAULT_HOLD_VALUE) == 0;
}
