/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/signals.h"

#include <time.h>

void
signals_fill(sigset_t *set)
{
	struct sigaction hup = {.sa_handler = SIG_DFL};

	(void)sigemptyset(set);
	(void)sigaddset(set, SIGTERM);
	(void)sigaddset(set, SIGINT);
	(void)sigaction(SIGHUP, NULL, &hup);
	if (hup.sa_handler != SIG_IGN)
		(void)sigaddset(set, SIGHUP);
}

void
signals_block(struct signals *s)
{
	sigset_t set;

	*s = (struct signals){.taken = 0};
	signals_fill(&set);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)pthread_sigmask(SIG_BLOCK, &set, &s->before);
}

void
signals_restore(struct signals *s)
{
	(void)pthread_sigmask(SIG_SETMASK, &s->before, NULL);
}

int
signals_take(struct signals *s, int64_t ms)
{
	struct timespec t = {.tv_sec = ms / 1000,
			     .tv_nsec = ms % 1000 * 1000000};
	sigset_t set;
	int sig;

	if (s->taken != 0)
		return s->taken;
	signals_fill(&set);
	sig = sigtimedwait(&set, NULL, &t);
	if (sig <= 0)
		return 0;
	s->taken = sig;
	signals_restore(s);
	return sig;
}

bool
signals_pending(void)
{
	sigset_t waiting;

	return sigpending(&waiting) == 0 &&
	       (sigismember(&waiting, SIGTERM) == 1 ||
		sigismember(&waiting, SIGINT) == 1 ||
		sigismember(&waiting, SIGHUP) == 1);
}
