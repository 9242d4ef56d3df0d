/* SPDX-License-Identifier: Apache-2.0 */
#include "kube_call.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SLEEP_MS 3600000

/*
 * The part of a lane that does not use libcurl.  A wake-up uses an eventfd of
 * our own instead of curl_multi_wakeup.  A lane may thus close its multi
 * handle, and with it all connections, while another thread wakes the lane.
 */

int
kube_lane_init(struct kube_lane *l, unsigned connections, struct err *e)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int poll_fd = epoll_create1(EPOLL_CLOEXEC);

	ev.data.fd = fd;
	if (fd < 0 || poll_fd < 0 ||
	    epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &ev)) {
		(void)err_set(e, ERR_SYSTEM, "epoll: %s", strerror(errno));
		if (fd >= 0)
			(void)close(fd);
		if (poll_fd >= 0)
			(void)close(poll_fd);
		return -1;
	}
	*l = (struct kube_lane){.wake_fd = fd,
				.poll_fd = poll_fd,
				.due_ms = INT64_MAX,
				.connections = connections};
	return 0;
}

void
kube_lane_done(struct kube_lane *l)
{
	kube_lane_rest(l);
	(void)close(l->poll_fd);
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
	now = clock_boot_ms(); /* A plugin may take seconds. */
	kube_call_reset(c);
	c->token_version = t->version;
	c->last_ms = now;
	if (!c->again)
		c->start_ms = now;
	/* After a 401 the connections are closed.  A client certificate belongs
	 * to a connection, so a certificate that has been renewed in its file
	 * is presented only on a new connection. */
	if (l->refused && l->active == 0) {
		kube_lane_rest(l);
		l->refused = false;
	}
	if (kube_call_authorize(c, token) || kube_lane_add(l, c))
		return err_set(e, ERR_SYSTEM, "out of memory");
	return 0;
}

/* Waits until fd is readable, for wait_ms at most.  Returns whether there was a
 * wake-up, and clears it. */
static bool
await(const struct kube_lane *l, int fd, int64_t wait_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t wakes;

	(void)poll(&p, 1,
		   wait_ms < 0		? 0
		   : wait_ms > SLEEP_MS ? SLEEP_MS
					: (int)wait_ms);
	return read(l->wake_fd, &wakes, sizeof(wakes)) > 0;
}

bool
kube_lane_sleep(struct kube_lane *l, int64_t wait_ms)
{
	int64_t due_ms = l->due_ms == INT64_MAX ? INT64_MAX
						: l->due_ms - clock_boot_ms();

	return await(l, l->poll_fd, due_ms < wait_ms ? due_ms : wait_ms);
}

bool
kube_lane_ready(const struct kube_lane *l)
{
	struct pollfd p = {.fd = l->poll_fd, .events = POLLIN};

	return l->due_ms <= clock_boot_ms() || poll(&p, 1, 0) > 0;
}

void
kube_lane_pause(struct kube_lane *l, int64_t wait_ms)
{
	(void)await(l, l->wake_fd, wait_ms);
}

void
kube_lane_wake(struct kube_lane *l)
{
	uint64_t one = 1;

	/* This fails only if 2^64 - 2 wake-ups are already waiting. */
	if (write(l->wake_fd, &one, sizeof(one)) < 0)
		return;
}
