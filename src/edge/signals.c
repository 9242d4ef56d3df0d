/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/signals.h"

#include <time.h>

static const struct {
	int number;
	const char *name;
} ends[] = {{SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"},	{SIGHUP, "SIGHUP"},
	    {SIGQUIT, "SIGQUIT"}, {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"}};
#define ENDS_N (sizeof(ends) / sizeof(ends[0]))

const char *
signals_name(int number)
{
	size_t i = 0;

	while (i < ENDS_N && ends[i].number != number)
		i++;
	return i < ENDS_N ? ends[i].name : "a signal";
}

static bool
is_ignored(int number)
{
	struct sigaction now = {.sa_handler = SIG_DFL};

	return number != SIGTERM && number != SIGINT &&
	       sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

void
signals_fill(sigset_t *set)
{
	(void)sigemptyset(set);
	for (size_t i = 0; i < ENDS_N; i++)
		if (!is_ignored(ends[i].number))
			(void)sigaddset(set, ends[i].number);
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

	if (sigpending(&waiting))
		return false;
	for (size_t i = 0; i < ENDS_N; i++)
		if (sigismember(&waiting, ends[i].number) == 1)
			return true;
	return false;
}
