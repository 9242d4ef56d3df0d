/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/limits.h"
#include "edge/clock.h"
#include "edge/file.h"
#include "edge/signals.h"

/*
 * The plugin runs in a process group of its own.  It has no signal blocked or
 * ignored, its standard input is empty, and it inherits none of our other
 * descriptors.  The run is over when the plugin has exited, even if a process
 * that it has started keeps the pipes open.
 */

#define LOOK_MS 20 /* how often to check whether the plugin has exited */
#define LINE_BYTES 160

struct run {
	const struct exec *exec;
	const atomic_bool *cancelled; /* The argument of plugin_run, or NULL. */
	pid_t pid;
	int out[2], err[2]; /* Pipes: the read end, the write end. */
	char *bytes;	    /* The output, in EXEC_OUT_MAX + 1 bytes. */
	size_t n;
	char line[LINE_BYTES]; /* First line of stderr that is not empty. */
	size_t line_n;
	bool line_whole;
	int status;
};

/* --- the environment of the plugin ---------------------------------------- */

/* Returns whether the list sets the same variable as `a`, which is NAME=VALUE.
 * The list ends with NULL. */
static bool
is_named(const char *a, char *const *list)
{
	size_t n = strcspn(a, "=");

	for (; *list != NULL; list++)
		if (strncmp(a, *list, n) == 0 && (*list)[n] == '=')
			return true;
	return false;
}

/* Makes the plugin's environment from ours, then the variables of the
 * kubeconfig, then `info`.  If a name occurs twice, the later value counts. */
static char **
make_env(const struct exec *x, char *info)
{
	char *last[] = {info, NULL}, **env;
	size_t n = 0;

	while (environ != NULL && environ[n] != NULL)
		n++;
	env = calloc(n + EXEC_ENV_MAX + 2, sizeof(*env));
	if (env == NULL)
		return NULL;
	n = 0;
	for (char **p = environ; p != NULL && *p != NULL; p++)
		if (!is_named(*p, x->env) && !is_named(*p, last))
			env[n++] = *p;
	for (char *const *p = x->env; *p != NULL; p++)
		if (!is_named(*p, p + 1) && !is_named(*p, last))
			env[n++] = *p;
	env[n] = info;
	return env;
}

/* Builds "KUBERNETES_EXEC_INFO={…}".  If the plugin wants the cluster's data
 * (cluster_info) and the kubeconfig names a CA file, the text contains the
 * contents of this file. */
static char *
make_info(const struct kubeconfig *a, struct err *e)
{
	struct exec_cluster c = {.server = a->server,
				 .tls_server_name = a->tls_server_name,
				 .insecure = a->insecure,
				 .ca_pem = a->ca_pem};
	char *pem = NULL, *info;
	struct buf b;
	size_t n;

	if (a->exec->cluster_info && a->ca_file != NULL) {
		if (file_read(a->ca_file, CERT_BYTES_MAX, &pem, &n, e))
			return NULL;
		c.ca_pem = pem;
	}
	n = exec_info_bytes(&c) + sizeof(EXEC_INFO "=");
	info = malloc(n);
	if (info != NULL) {
		buf_init(&b, info, n);
		buf_puts(&b, EXEC_INFO "=");
		exec_info(&b, a->exec, &c);
	} else {
		(void)err_set(e, ERR_SYSTEM, "out of memory");
	}
	free(pem);
	return info;
}

/* --- starting the plugin -------------------------------------------------- */

static int
set_spawn(struct run *r, posix_spawn_file_actions_t *f, posix_spawnattr_t *a)
{
	sigset_t none, all;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	return posix_spawn_file_actions_adddup2(f, r->out[1], 1) ||
	       posix_spawn_file_actions_adddup2(f, r->err[1], 2) ||
	       posix_spawn_file_actions_addopen(f, 0, "/dev/null", O_RDONLY,
						0) ||
#ifdef __GLIBC__
	       posix_spawn_file_actions_addclosefrom_np(f, 3) ||
#endif
	       posix_spawnattr_setsigmask(a, &none) ||
	       posix_spawnattr_setsigdefault(a, &all) ||
	       posix_spawnattr_setpgroup(a, 0) ||
	       posix_spawnattr_setflags(a, POSIX_SPAWN_SETSIGMASK |
						   POSIX_SPAWN_SETSIGDEF |
						   POSIX_SPAWN_SETPGROUP);
}

/* Starts the plugin.  Returns 0 or an errno. */
static int
spawn(struct run *r, char *info)
{
	char *argv[EXEC_ARGS_MAX + 2] = {r->exec->command};
	char **env = make_env(r->exec, info);
	posix_spawn_file_actions_t f;
	posix_spawnattr_t a;
	int rc;

	memcpy(argv + 1, r->exec->args, sizeof(r->exec->args));
	if (env == NULL || posix_spawn_file_actions_init(&f)) {
		free(env);
		return ENOMEM;
	}
	if (posix_spawnattr_init(&a)) {
		(void)posix_spawn_file_actions_destroy(&f);
		free(env);
		return ENOMEM;
	}
	rc = set_spawn(r, &f, &a)
		     ? ENOMEM
		     : posix_spawnp(&r->pid, argv[0], &f, &a, argv, env);
	(void)posix_spawnattr_destroy(&a);
	(void)posix_spawn_file_actions_destroy(&f);
	free(env);
	return rc;
}

static int
not_started(const struct exec *x, int no, struct err *e)
{
	if (no != ENOENT)
		return err_set(e, ERR_INPUT, "cannot be run: %s", strerror(no));
	return err_set(e, ERR_INPUT, "not found%s%s",
		       x->install_hint == NULL ? "" : "; ",
		       x->install_hint == NULL ? "" : x->install_hint);
}

static int
exec_begin(struct run *r, const struct kubeconfig *access, struct err *e)
{
	char *info = make_info(access, e);
	int no;

	if (info == NULL)
		return -1;
	no = spawn(r, info);
	free(info);
	if (no == 0)
		return 0;
	return not_started(r->exec, no, e);
}

/* --- while the plugin runs ------------------------------------------------ */

static void
keep_line(struct run *r, const char *s, size_t n)
{
	for (; n > 0 && !r->line_whole; s++, n--) {
		if (*s == '\n' || *s == '\r')
			r->line_whole = r->line_n > 0;
		else if (r->line_n < sizeof(r->line) - 1)
			r->line[r->line_n++] = *s;
	}
}

/* Reads from the pipe without waiting.  Closes *fd at the end of the stream. */
static int
drain(struct run *r, int *fd, struct err *e)
{
	bool is_out = fd == &r->out[0];
	char some[4096];
	ssize_t n = 0;

	while (*fd >= 0) {
		if (is_out)
			n = read(*fd, r->bytes + r->n, EXEC_OUT_MAX + 1 - r->n);
		else
			n = read(*fd, some, sizeof(some));
		if (n < 0)
			return 0;
		if (n == 0) {
			(void)close(*fd);
			*fd = -1;
		} else if (!is_out) {
			/* stderr is read only once per call, because the plugin
			 * may print for ever. */
			keep_line(r, some, (size_t)n);
			return 0;
		} else if ((r->n += (size_t)n) > EXEC_OUT_MAX) {
			return err_set(e, ERR_LIMIT,
				       "prints more than %u bytes",
				       EXEC_OUT_MAX);
		}
	}
	return 0;
}

/* Returns whether the plugin has exited.  If this process ignores SIGCHLD, the
 * exit status is lost, and only the plugin's output counts. */
static bool
has_exited(struct run *r)
{
	pid_t pid = waitpid(r->pid, &r->status, WNOHANG);

	if (pid < 0 && errno == ECHILD)
		r->status = 0;
	return pid == r->pid || (pid < 0 && errno == ECHILD);
}

static bool
is_interrupted(const struct run *r)
{
	return (r->cancelled != NULL && atomic_load(r->cancelled)) ||
	       signals_pending();
}

/* Waits until the plugin has exited, and reads what it prints. */
static int
attend(struct run *r, int64_t ms, struct err *e)
{
	int64_t end = clock_boot_ms() + ms;
	bool over = false;

	while (!over) {
		struct pollfd p[] = {{.fd = r->out[0], .events = POLLIN},
				     {.fd = r->err[0], .events = POLLIN}};

		(void)poll(p, 2, LOOK_MS);
		over = has_exited(r);
		if (over)
			r->pid = 0;
		if (drain(r, &r->out[0], e) || drain(r, &r->err[0], e))
			return -1;
		if (!over && is_interrupted(r))
			return err_set(e, ERR_CANCELLED, "cancelled");
		if (!over && clock_boot_ms() >= end)
			return err_set(e, ERR_TIMEOUT,
				       "did not end within %lld ms",
				       (long long)ms);
	}
	return 0;
}

/* --- the result of the plugin --------------------------------------------- */

static int
judge(struct run *r, struct exec_credential *out, struct err *e)
{
	r->line[r->line_n] = '\0';
	if (WIFSIGNALED(r->status))
		return err_set(e, ERR_INPUT, "ended by signal %d%s%s",
			       WTERMSIG(r->status), r->line_n ? ": " : "",
			       r->line);
	if (WEXITSTATUS(r->status) != 0)
		return err_set(e, ERR_INPUT, "exit code %d%s%s",
			       WEXITSTATUS(r->status), r->line_n ? ": " : "",
			       r->line);
	return exec_credential_decode(r->bytes, r->n, r->exec->api_version, out,
				      e);
}

static void
close_all(struct run *r)
{
	int *fds[] = {&r->out[0], &r->out[1], &r->err[0], &r->err[1]};

	for (size_t i = 0; i < 4; i++) {
		if (*fds[i] >= 0)
			(void)close(*fds[i]);
		*fds[i] = -1;
	}
}

static int
exec_run(struct run *r, const struct kubeconfig *access, int64_t ms,
	 struct err *e)
{
	r->bytes = malloc(EXEC_OUT_MAX + 1);
	if (r->bytes == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	if (pipe2(r->out, O_CLOEXEC) || pipe2(r->err, O_CLOEXEC) ||
	    fcntl(r->out[0], F_SETFL, O_NONBLOCK) ||
	    fcntl(r->err[0], F_SETFL, O_NONBLOCK))
		return err_set(e, ERR_SYSTEM, "pipe: %s", strerror(errno));
	if (exec_begin(r, access, e))
		return -1;
	(void)close(r->out[1]);
	(void)close(r->err[1]);
	r->out[1] = r->err[1] = -1;
	return attend(r, ms, e);
}

/* Adds the plugin's command to the error, and the place where it is
 * configured. */
static int
blame(const struct exec *x, struct err *e)
{
	(void)err_wrap(e, "exec %.60s", x->command);
	return x->place == NULL ? -1 : err_wrap(e, "%s", x->place);
}

int
plugin_run(const struct kubeconfig *access, int64_t ms,
	   const atomic_bool *cancelled, struct exec_credential *out,
	   struct err *e)
{
	struct run r = {.exec = access->exec,
			.out = {-1, -1},
			.err = {-1, -1},
			.cancelled = cancelled};
	sigset_t ends, before;
	int rc;

	/* Block the signals that would end this process, so that the plugin can
	 * be killed first. */
	signals_fill(&ends);
	(void)pthread_sigmask(SIG_BLOCK, &ends, &before);
	rc = exec_run(&r, access, ms, e);
	if (rc != 0 && r.pid > 0) {
		(void)kill(-r.pid, SIGKILL);
		(void)waitpid(r.pid, NULL, 0);
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	close_all(&r);
	if (rc == 0)
		rc = judge(&r, out, e);
	if (r.bytes != NULL)
		explicit_bzero(r.bytes, r.n);
	free(r.bytes);
	return rc == 0 ? 0 : blame(access->exec, e);
}
