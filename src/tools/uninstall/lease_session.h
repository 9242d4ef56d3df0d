/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_UNINSTALL_LEASE_SESSION_H
#define TOOLS_UNINSTALL_LEASE_SESSION_H

#include "edge/clock.h"
#include "edge/kube/kube.h"
#include "edge/output.h"
#include "edge/timing.h"
#include "wire/config/config.h"

/*
 * A lease_session lets a command do work that is otherwise the leader's.  On
 * one thread it takes the Lease and keeps it while the command makes its calls.
 * Every function that waits renews the Lease meanwhile, and writes what waits
 * for the reader of stdout.  Such a function fails with ERR_TIMEOUT when
 * until_ms has passed, and with ERR_CANCELLED on SIGINT, SIGTERM or SIGHUP; a
 * second one of these ends the process at once.  What happens to the Lease is
 * told on stderr.
 */
struct lease_session;

struct lease_session_setup {
	struct kube *kube;
	struct clock *clock;
	const struct config *config;	/* leader, patch_concurrency */
	const struct timing *timing;
	struct output *out;		/* of the command; NULL: none */
	int64_t until_ms;		/* boot time; INT64_MAX: no end */
};

/* Blocks the three signals until lease_session_free.  It returns NULL on
 * failure, and *e says why.  The setup's pointers are borrowed. */
struct lease_session *lease_session_new(const struct lease_session_setup *s,
					struct err *e);
void lease_session_free(struct lease_session *l);

/* Waits until the Lease is ours.  A running holder would hold again what we
 * clear, so holders that run get the Lease first (patience_ms in
 * core/protocol/lease.h).  If there is no Lease, no holder has ever led there,
 * and the command goes on without one. */
int lease_session_take(struct lease_session *l, const char *namespace_name,
		       struct err *e);
/* Returns whether the session has the Lease and may write.  If it has not, call
 * lease_session_take again. */
bool lease_session_holds(const struct lease_session *l);
/* Gives the Lease up at the end, and waits a short time for the reply.  `clean`
 * means that nothing is held any more, so the state stored in the Lease is
 * cleared. */
void lease_session_give_up(struct lease_session *l, bool clean);

/* These make calls as kube_lanes does.  A write fails with ERR_TIMEOUT if the
 * lead is over, and it is cut when the lead ends. */
unsigned lease_session_room(const struct lease_session *l);
int lease_session_start(struct lease_session *l, struct kube_request *q,
			uint64_t tag, struct err *e);
/* Waits for the next call to end.  *no_answer says why there is no answer to
 * it; its code is ERR_NONE if there is one.  It returns -1 if the time is up or
 * a signal came. */
int lease_session_finished(struct lease_session *l, uint64_t *tag,
			   struct kube_reply *r, struct err *no_answer,
			   struct err *e);

/* Makes one call and waits for the reply.  No other call may be in flight.  It
 * tries again if there is no reply or the API server is busy, and says so once.
 * *r stays valid until the next call. */
int lease_session_ask(struct lease_session *l, struct kube_request *q,
		      struct kube_reply *r, struct err *e);
/* Waits for `ms`.  The reply of a call that ends meanwhile is lost, so the
 * caller should have no call in flight. */
int lease_session_sleep(struct lease_session *l, int64_t ms, struct err *e);

/* What lease_session_list lists, and the functions that it calls. */
struct lease_session_list {
	const char *path, *accept;	/* path ends where limit= may follow;
					   accept NULL: application/json */
	void (*begin)(void *ctx);	/* may be NULL */
	int (*item)(void *ctx, const char *bytes, size_t n,
		    struct err *e);	/* a split_item_fn: bytes is NULL for
					   an item that is too large */
	void *ctx;
};
/* Passes each item of a list to `item`, one whole page after another.  `begin`
 * is called first, and again whenever the list has to start over.  It returns
 * 0, 1 if the API server does not serve the resource, or -1.  It fails as soon
 * as `item` fails. */
int lease_session_list(struct lease_session *l,
		       const struct lease_session_list *list, struct err *e);

#endif
