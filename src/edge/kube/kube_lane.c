/* SPDX-License-Identifier: Apache-2.0 */
#include "kube_call.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/*
 * The part of a lane that needs no library.  The wake-up is an eventfd of our
 * own instead of curl_multi_wakeup.  So a lane may close its multi handle, and
 * with it all connections, while another thread wakes it.
 */

int
kube_lane_init(struct kube_lane *l, unsigned connections, struct err *e)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return err_set(e, ERR_SYSTEM, "eventfd: %s", strerror(errno));
	*l = (struct kube_lane){.wake_fd = fd, .connections = connections};
	return 0;
}

void
kube_lane_done(struct kube_lane *l)
{
	kube_lane_rest(l);
	(void)close(l->wake_fd);
}

int
kube_lane_start(struct kube_lane *l, struct kube_call *c, struct kube_token *t,
		struct err *e)
{
	const char *token = NULL;
	int64_t now;

	if (kube_token_get(t, clock_boot_ms(), &token, e))
		return -1;
	now = clock_boot_ms(); /* a plugin may take seconds */
	kube_call_reset(c);
	c->token_version = t->version;
	c->last_ms = now;
	if (!c->again)
		c->start_ms = now;
	/* A client certificate belongs to a connection.  If its file has been
	 * renewed, only a new connection presents it. */
	if (l->refused && l->active == 0) {
		kube_lane_rest(l);
		l->refused = false;
	}
	if (kube_call_authorize(c, token) || kube_lane_add(l, c))
		return err_set(e, ERR_SYSTEM, "out of memory");
	return 0;
}

void
kube_lane_wake(struct kube_lane *l)
{
	uint64_t one = 1;

	/* This fails only if 2^64 - 2 wake-ups are already waiting. */
	if (write(l->wake_fd, &one, sizeof(one)) < 0)
		return;
}
