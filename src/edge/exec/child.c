/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/exec/child.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "edge/process.h"
#include "edge/signals.h"

void
child_prepare(struct child *c)
{
	struct sigaction pipe = {.sa_handler = SIG_DFL};
	sigset_t chld;

	*c = (struct child){.pid = 0};
	for (int fd = 0; fd < CHILD_DESCRIPTORS; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			c->inherited[fd / 64] |= UINT64_C(1) << fd % 64;
	(void)sigaction(SIGPIPE, NULL, &pipe);
	c->pipe_kills = pipe.sa_handler != SIG_IGN;
	/* If SIGCHLD were ignored, the exit status would be lost. */
	(void)signal(SIGCHLD, SIG_DFL);
	(void)sigemptyset(&chld);
	(void)sigaddset(&chld, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &chld, &c->mask);
}

/* Keeps the command from inheriting what this process has opened itself.
 * Libraries open some descriptors without O_CLOEXEC. */
static void
keep_descriptors(const struct child *c)
{
	for (int fd = 3; fd < CHILD_DESCRIPTORS; fd++)
		if ((c->inherited[fd / 64] >> fd % 64 & 1) == 0)
			(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static int
spawn_child(struct child *c, char *const *argv)
{
	posix_spawnattr_t a;
	sigset_t reset;
	int no;

	(void)sigemptyset(&reset);
	if (c->pipe_kills)
		(void)sigaddset(&reset, SIGPIPE);
	if (posix_spawnattr_init(&a))
		return ENOMEM;
	no = posix_spawnattr_setsigmask(&a, &c->mask) ||
			     posix_spawnattr_setsigdefault(&a, &reset) ||
			     posix_spawnattr_setflags(
				     &a, POSIX_SPAWN_SETSIGMASK |
						 POSIX_SPAWN_SETSIGDEF)
		     ? ENOMEM
		     : posix_spawnp(&c->pid, argv[0], NULL, &a, argv, environ);
	(void)posix_spawnattr_destroy(&a);
	return no;
}

int
child_start(struct child *c, char *const *argv, struct err *e)
{
	int no;

	keep_descriptors(c);
	process_restore_memory();
	no = spawn_child(c, argv);
	if (no == 0)
		return 0;
	(void)err_set(e, ERR_SYSTEM, "cannot start %.100s: %s", argv[0],
		      strerror(no));
	return no == ENOENT ? 127 : 126;
}

/* Waits for a signal of the set, for `ms` milliseconds at most.  Returns its
 * number, or 0. */
static int
next_signal(const sigset_t *set, int64_t ms, siginfo_t *info)
{
	struct timespec t = {.tv_sec = ms / 1000,
			     .tv_nsec = ms % 1000 * 1000000};
	int sig = sigtimedwait(set, info, &t);

	return sig > 0 ? sig : 0;
}

/* Passes a signal on to the command, unless the kernel or the command has sent
 * it.  The kernel sends the signals of a terminal to the whole process group,
 * so the command got such a signal already.  A second signal would make many
 * programs end at once, without cleaning up. */
static void
pass_on(const struct child *c, int sig, const siginfo_t *info)
{
	if (info->si_code <= 0 && info->si_pid != c->pid)
		(void)kill(c->pid, sig);
}

static bool
is_over(struct child *c)
{
	siginfo_t info;
	sigset_t set;

	if (c->ended || waitpid(c->pid, &c->status, WNOHANG) != c->pid)
		return c->ended;
	c->ended = true;
	/* Discard the signals that came for the command.  They must not end
	 * this process, whose caller still has work to do. */
	signals_fill(&set);
	while (next_signal(&set, 0, &info) != 0)
		;
	return true;
}

bool
child_wait(struct child *c, int64_t ms)
{
	siginfo_t info;
	sigset_t set;
	int sig;

	if (is_over(c))
		return true;
	signals_fill(&set);
	(void)sigaddset(&set, SIGCHLD);
	sig = next_signal(&set, ms, &info);
	if (sig != 0 && sig != SIGCHLD)
		pass_on(c, sig, &info);
	return is_over(c);
}

int
child_code(const struct child *c)
{
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status)
				      : WEXITSTATUS(c->status);
}
