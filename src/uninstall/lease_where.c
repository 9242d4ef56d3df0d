/* SPDX-License-Identifier: Apache-2.0 */
#include "lease_where.h"

#include <stdio.h>
#include <string.h>

#include "wire/api/lease.h"

#define LATE_MS 5000	/* allowance for differing clocks */

struct where {
	const char *said;	/* the given namespace; "": none */
	int64_t now_ms;		/* server time */
	bool there;		/* the given namespace has a Lease */
	char found[64], second[64];
	/* The other namespace in which a Lease is being renewed. */
	char live[64];
	char holder[LEASE_HOLDER_BYTES];
};

static void
begin(void *ctx)
{
	struct where *w = ctx;

	w->there = false;
	w->found[0] = w->second[0] = w->live[0] = '\0';
}

static bool
is_live(const struct lease_record *r, int64_t now_ms)
{
	return r->holder[0] != '\0' && r->renew_us != STAMP_NONE &&
	       r->renew_us / 1000 + (int64_t)r->duration_s * 1000 + LATE_MS >
		       now_ms;
}

static int
item(void *ctx, const char *bytes, size_t n, struct err *e)
{
	static struct lease_record r;	/* too large for a stack */
	struct where *w = ctx;
	char name[64];

	if (lease_item_decode(bytes, n, name, &r, e))
		return -1;
	if (strcmp(name, w->said) == 0) {
		w->there = true;
	} else if (is_live(&r, w->now_ms)) {
		memcpy(w->live, name, sizeof(name));
		memcpy(w->holder, r.holder, sizeof(r.holder));
	}
	memcpy(w->found[0] == '\0' ? w->found : w->second, name, sizeof(name));
	return 0;
}

/* For a given namespace.  It is no error if we may not or cannot list the
 * Leases of others. */
static int
elsewhere(const struct where *w, int rc, struct err *e)
{
	if (rc < 0 && (e->code == ERR_TIMEOUT || e->code == ERR_CANCELLED))
		return -1;
	*e = (struct err){0};
	if (rc != 0 || w->there || w->live[0] == '\0')
		return 0;
	return err_set(e, ERR_INPUT,
		       "none in %s, but %.120s renews one in %s: --namespace "
		       "%s",
		       w->said, w->holder, w->live, w->live);
}

int
lease_where(struct lease_session *l, const struct clock *clock,
	    const char *name, char namespace_name[64], struct err *e)
{
	struct where w = {.said = namespace_name,
			  .now_ms = clock_now(clock).server_ms};
	char path[100 + NAME_BYTES];
	int rc;

	(void)snprintf(path, sizeof(path),
		       "/apis/coordination.k8s.io/v1/leases"
		       "?fieldSelector=metadata.name%%3D%s",
		       name);
	rc = lease_session_list(l,
		       &(struct lease_session_list){.path = path,
					   .begin = begin,
					   .item = item,
					   .ctx = &w},
		       e);
	if (namespace_name[0] != '\0')
		return elsewhere(&w, rc, e) ? err_wrap(e, "lease %s", name)
					    : 0;
	if (rc == 0 && w.second[0] != '\0')
		rc = err_set(e, ERR_INPUT,
			     "there is one in %s and one in %s, expected "
			     "--namespace",
			     w.found, w.second);
	if (rc < 0)
		return err_wrap(e, "lease %s", name);
	memcpy(namespace_name, w.found, sizeof(w.found));
	return 0;
}
