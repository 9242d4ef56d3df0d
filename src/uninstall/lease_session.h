/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNINSTALL_LEASE_SESSION_H
#define UNINSTALL_LEASE_SESSION_H

#include "edge/clock.h"
#include "edge/kube/kube.h"
#include "edge/timing.h"
#include "wire/config/config.h"

/*
 * For a command that does what otherwise the leader does: one thread that
 * takes the Lease, and keeps it while it makes its calls.  Every function here
 * that waits renews it meanwhile, and ends with ERR_TIMEOUT or ERR_CANCELLED
 * (SIGINT, SIGTERM, SIGHUP) where the time is over.  What happens to the Lease
 * is said on stderr.
 */
struct lease_session;

struct lease_session_setup {
	struct kube *kube;
	struct clock *clock;
	const struct config *config;	/* leader, patch_concurrency */
	const struct timing *timing;
	int64_t until_ms;		/* boot time; INT64_MAX: no end */
};

/* Signals are blocked from here on. */
struct lease_session *lease_session_new(const struct lease_session_setup *s,
					struct err *e);
void lease_session_free(struct lease_session *l);

/* Waits until the Lease is ours.  A holder that still runs would hold again
 * what we clear: the Lease is taken only when nobody else has wanted it for
 * LEAD_RETRIES of a holder's retryPeriod.  Where there is no Lease, no holder
 * has ever led there, and we go on without. */
#define LEAD_RETRIES 4
int lease_session_take(struct lease_session *l, const char *namespace_name,
		       struct err *e);
/* May we write?  Where not, take it again. */
bool lease_session_holds(const struct lease_session *l);
/* At the end; waits for the answer, not long.  clean: nothing is held any
 * more, and what the Lease's state says of it is forgotten. */
void lease_session_give_up(struct lease_session *l, bool clean);

/* Calls, as of a kube_pool.  A write is refused (ERR_TIMEOUT) where the lead
 * is over, and cut when it ends. */
unsigned lease_session_room(const struct lease_session *l);
int lease_session_start(struct lease_session *l, struct kube_request *q,
			uint64_t tag, struct err *e);
/* Waits for the next that ends.  -1: the time is over. */
int lease_session_finished(struct lease_session *l, uint64_t *tag,
			   struct kube_reply *r, struct err *no, struct err *e);

/* One call, none other under way; again, where no answer came or the API
 * server is busy (said once).  reply: valid until the next call. */
int lease_session_ask(struct lease_session *l, struct kube_request *q,
		      struct kube_reply *r, struct err *e);
int lease_session_sleep(struct lease_session *l, int64_t ms, struct err *e);

/* Each item of a list, whole pages of it.  path goes up to where limit= may
 * follow.  0; 1: there is no such resource; -1.  An item that is refused ends
 * it.  begin is called first, and where the list has to start again. */
struct lease_session_list {
	const char *path, *accept;
	void (*begin)(void *ctx);	/* or NULL */
	int (*item)(void *ctx, const char *bytes, size_t n, struct err *e);
	void *ctx;
};
int lease_session_list(struct lease_session *l,
		       const struct lease_session_list *list, struct err *e);

#endif
