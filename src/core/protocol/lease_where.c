/* SPDX-License-Identifier: Apache-2.0 */
#include "core/protocol/lease_where.h"

#include <string.h>

#define LATE_MS 5000 /* allowance for differing clocks */

void
lease_where_begin(struct lease_where *w)
{
	w->there = false;
	w->found[0] = w->second[0] = w->live[0] = '\0';
}

static bool
is_live(const struct lease_record *r, int64_t now_ms)
{
	int64_t ms = (int64_t)r->duration_s * 1000;

	if (ms > LEASE_MS_MAX)
		ms = LEASE_MS_MAX;
	return r->holder[0] != '\0' && r->renew_us != STAMP_NONE &&
	       r->renew_us / 1000 + ms + LATE_MS > now_ms;
}

void
lease_where_seen(struct lease_where *w,
		 const char namespace_name[LEASE_NAMESPACE_BYTES],
		 const struct lease_record *r)
{
	char *to = w->found[0] == '\0' ? w->found : w->second;

	if (strcmp(namespace_name, w->given) == 0) {
		w->there = true;
	} else if (is_live(r, w->server_ms)) {
		memcpy(w->live, namespace_name, sizeof(w->live));
		memcpy(w->holder, r->holder, sizeof(w->holder));
	}
	memcpy(to, namespace_name, LEASE_NAMESPACE_BYTES);
}

int
lease_where_choose(const struct lease_where *w, char out[LEASE_NAMESPACE_BYTES],
		   struct err *e)
{
	if (w->given[0] != '\0') {
		if (!w->there && w->live[0] != '\0')
			return err_set(e, ERR_INPUT,
				       "none in %s, but %.120s renews one in "
				       "%s: --namespace %s",
				       w->given, w->holder, w->live, w->live);
		memcpy(out, w->given, strlen(w->given) + 1);
		return 0;
	}
	if (w->second[0] != '\0')
		return err_set(e, ERR_INPUT,
			       "there is one in %s and one in %s, expected "
			       "--namespace",
			       w->found, w->second);
	memcpy(out, w->found, sizeof(w->found));
	return 0;
}
