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
struct lead;

struct lead_setup {
	struct kube *kube;
	struct clock *clock;
	const struct config *config;	/* leader, patch_concurrency */
	const struct timing *timing;
	int64_t until_ms;		/* boot time; INT64_MAX: no end */
};

/* Signals are blocked from here on. */
struct lead *lead_new(const struct lead_setup *s, struct err *e);
void lead_free(struct lead *l);

/* Waits until the Lease is ours.  A holder that still runs would hold again
 * what we clear: the Lease is taken only when nobody else has wanted it for
 * LEAD_RETRIES of a holder's retryPeriod.  Where there is no Lease, no holder
 * has ever led there, and we go on without. */
#define LEAD_RETRIES 4
int lead_take(struct lead *l, const char *namespace_name, struct err *e);
/* May we write?  Where not, take it again. */
bool lead_holds(const struct lead *l);
/* At the end; waits for the answer, not long.  clean: nothing is held any
 * more, and what the Lease's state says of it is forgotten. */
void lead_give_up(struct lead *l, bool clean);

/* Calls, as of a kube_pool.  A write is refused (ERR_TIMEOUT) where the lead
 * is over, and cut when it ends. */
unsigned lead_room(const struct lead *l);
int lead_start(struct lead *l, struct kube_request *q, uint64_t tag,
	       struct err *e);
/* Waits for the next that ends.  -1: the time is over. */
int lead_finished(struct lead *l, uint64_t *tag, struct kube_reply *r,
		  struct err *no, struct err *e);

/* One call, none other under way; again, where no answer came or the API
 * server is busy (said once).  reply: valid until the next call. */
int lead_ask(struct lead *l, struct kube_request *q, struct kube_reply *r,
	     struct err *e);
int lead_sleep(struct lead *l, int64_t ms, struct err *e);

/* Each item of a list, whole pages of it.  path goes up to where limit= may
 * follow.  0; 1: there is no such resource; -1.  An item that is refused ends
 * it.  begin is called first, and where the list has to start again. */
struct lead_list {
	const char *path, *accept;
	void (*begin)(void *ctx);	/* or NULL */
	int (*item)(void *ctx, const char *bytes, size_t n, struct err *e);
	void *ctx;
};
int lead_list(struct lead *l, const struct lead_list *list, struct err *e);

#endif
