/* SPDX-License-Identifier: Apache-2.0 */
#include "kube_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "edge/exec/plugin.h"

/* Credential plugins: when a plugin is run, what it is given, and what comes of
 * one that fails.  The plugin of each test is a shell script in a folder of its
 * own, where it notes each run. */

#define V1 "client.authentication.k8s.io/v1"
#define PRINT(status) "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 \
	"\",\"status\":{" status "}}'\n"
#define RUNS "n=$(wc -l < runs)\n"

static char dir[] = "/tmp/test_exec.XXXXXX";

static void
make_dir(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void
in_dir(char path[128], const char *name)
{
	(void)snprintf(path, 128, "%s/%s", dir, name);
}

static void
forget(void)
{
	static const char *const files[] = {"runs", "plugin", "saw", "ca"};
	char path[128];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		in_dir(path, files[i]);
		(void)unlink(path);
	}
}

static void
drop_dir(void)
{
	forget();
	(void)rmdir(dir);
}

static void
write_text(const char *name, const char *before, const char *text)
{
	char path[128];
	FILE *f;

	in_dir(path, name);
	f = fopen(path, "we");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(before, f), 0);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(chmod(path, 0700), 0);
}

static void
read_text(const char *name, char *out, size_t cap)
{
	char path[128];
	FILE *f;

	in_dir(path, name);
	f = fopen(path, "re");
	out[0] = '\0';
	if (f == NULL)
		return;
	out[fread(out, 1, cap - 1, f)] = '\0';
	(void)fclose(f);
}

static unsigned
runs(void)
{
	char text[1024];
	unsigned n = 0;

	read_text("runs", text, sizeof(text));
	for (const char *p = text; *p != '\0'; p++)
		n += *p == '\n';
	return n;
}

static struct exec *
exec_of(const char *command)
{
	struct exec *x = calloc(1, sizeof(*x));

	x->api_version = V1;
	x->command = strdup(command);
	return x;
}

/* Writes the plugin of this test. */
static struct exec *
plugin(const char *script)
{
	char path[128];

	forget();
	write_text("plugin", "#!/bin/sh\ncd \"${0%/*}\"\necho run >> runs\n",
		   script);
	in_dir(path, "plugin");
	return exec_of(path);
}

/* Lets "Bearer new" in. */
static bool
door(struct scripted_peer *p, void *ctx)
{
	char auth[64];

	(void)ctx;
	scripted_header(p, "Authorization", auth, sizeof(auth));
	return strcmp(auth, "Bearer new") == 0
		       ? scripted_reply(p, "200 OK", "", "welcome")
		       : scripted_reply(p, "401 Unauthorized", "", "who?");
}

static int
call(struct fixture *f, bool in_pool)
{
	struct kube_request q = get(PATIENT_MS);
	struct kube_reply reply;
	struct kube_lanes *p;
	struct err e = {0};

	if (in_pool) {
		p = kube_lanes_new(f->kube, 4, &e);
		e = lanes_call(p, &q, &reply);
		kube_lanes_free(p);
	} else {
		(void)kube_stream_run(f->stream, &q, NULL, NULL, NULL, &reply,
				      &e);
	}
	ck_assert_msg(e.code == ERR_NONE, "%s", e.text);
	return reply.status;
}

/* --- when it is run ------------------------------------------------------- */

#define NEW "\"token\":\"new\""
#define THEN_NEW(first) RUNS "[ $n -gt 1 ] && t=new || t=" first "\n"          \
	"echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1              \
	"\",\"status\":{\"token\":\"'$t'\"}}'\n"

static const struct {
	const char *name, *script;
	int status;
	unsigned runs, requests;
} times[] = {
	{"once for all", PRINT(NEW), 200, 1, 3},
	{"that expires later",
	 PRINT(NEW ",\"expirationTimestamp\":\"2999-01-01T00:00:00Z\""), 200, 1,
	 3},
	{"401", THEN_NEW("old"), 200, 2, 4},
	{"401, and nothing new", PRINT("\"token\":\"old\""), 401, 2, 3},
	{"401, and then it fails",
	 RUNS "[ $n -gt 1 ] && exit 3\n" PRINT("\"token\":\"old\""), 401, 2, 1},
};

START_TEST(test_times)
{
	const bool in_pool = _i % 2;
	const int row = _i / 2;
	struct fixture f;

	fixture_server(&f, NULL, door, NULL);
	f.options.access.exec = plugin(times[row].script);
	fixture_kube(&f);
	ck_assert_uint_eq(runs(), 1);
	ck_assert_uint_eq(f.server.requests, 0);
	ck_assert_msg(call(&f, in_pool) == times[row].status, "%s",
		      times[row].name);
	for (unsigned i = 1; i < 3 && times[row].requests > 1; i++)
		ck_assert_int_eq(call(&f, in_pool), times[row].status);
	ck_assert_msg(runs() == times[row].runs, "%s: %u runs",
		      times[row].name, runs());
	ck_assert_uint_eq(f.server.requests, times[row].requests);
	fixture_done(&f);
}
END_TEST

/* If the plugin fails after a 401, the error has its words and not those of the
 * next 401. */
START_TEST(test_says_why)
{
	struct kube_request q = get(PATIENT_MS);
	struct kube_reply reply;
	struct fixture f;
	struct err e = {0};

	fixture_server(&f, NULL, door, NULL);
	f.options.access.exec = plugin(RUNS
		"[ $n -gt 1 ] && { echo 'session expired' >&2; exit 3; }\n"
		PRINT("\"token\":\"old\""));
	fixture_kube(&f);
	ck_assert_int_eq(call(&f, false), 401);
	ck_assert_int_eq(
		kube_stream_run(f.stream, &q, NULL, NULL, NULL, &reply, &e),
		-1);
	ck_assert_ptr_nonnull(strstr(e.text, "exit code 3: session expired"));
	fixture_done(&f);
}
END_TEST

static const char *const dates[] = {
	"date -u +%Y-%m-%dT%H:%M:%SZ",
	"date -u -d '+3 seconds' +%Y-%m-%dT%H:%M:%SZ",
	"echo 2001-01-01T00:00:00Z",
};

#define PAUSE_MS 1000	/* EXEC_PAUSE_MS */

/* A plugin whose token has expired is run again, but not at each call. */
START_TEST(test_expires)
{
	int64_t begin = clock_boot_ms();
	char script[512];
	struct fixture f;

	fixture_server(&f, NULL, door, NULL);
	(void)snprintf(script, sizeof(script),
		       "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\""
		       V1 "\",\"status\":{\"token\":\"new\","
		       "\"expirationTimestamp\":\"'$(%s)'\"}}'\n", dates[_i]);
	f.options.access.exec = plugin(script);
	fixture_kube(&f);
	while (runs() < 2) {
		ck_assert_int_lt(clock_boot_ms(), begin + PATIENT_MS);
		ck_assert_int_eq(call(&f, false), 200);
		(void)usleep(10000);
	}
	/* Two clocks are compared here, each cut to milliseconds. */
	ck_assert_int_ge(clock_boot_ms() - begin, PAUSE_MS - 2);
	fixture_done(&f);
}
END_TEST

/* A new token is asked for early.  If that fails, the old one is good until it
 * expires. */
START_TEST(test_expires_and_fails)
{
	int64_t end = clock_boot_ms() + PATIENT_MS;
	struct fixture f;

	fixture_server(&f, NULL, door, NULL);
	f.options.access.exec = plugin(RUNS "[ $n -gt 1 ] && exit 1\n"
		"echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
		"\",\"status\":{\"token\":\"new\",\"expirationTimestamp\":\"'"
		"$(date -u -d '+9 seconds' +%Y-%m-%dT%H:%M:%SZ)'\"}}'\n");
	fixture_kube(&f);
	while (runs() < 2) {
		ck_assert_int_lt(clock_boot_ms(), end);
		ck_assert_int_eq(call(&f, false), 200);
		(void)usleep(10000);
	}
	ck_assert_int_eq(call(&f, false), 200);
	ck_assert_uint_eq(runs(), 2);
	fixture_done(&f);
}
END_TEST

/* One that has expired is not sent. */
START_TEST(test_expired_and_fails)
{
	struct kube_request q = get(PATIENT_MS);
	int64_t end = clock_boot_ms() + PATIENT_MS;
	struct kube_reply reply;
	struct fixture f;
	struct err e = {0};
	int rc;

	fixture_server(&f, NULL, door, NULL);
	f.options.access.exec = plugin(RUNS "[ $n -gt 1 ] && exit 1\n"
		"echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
		"\",\"status\":{\"token\":\"new\",\"expirationTimestamp\":"
		"\"2001-01-01T00:00:00Z\"}}'\n");
	fixture_kube(&f);
	do {
		ck_assert_int_lt(clock_boot_ms(), end);
		(void)usleep(10000);
		rc = kube_stream_run(f.stream, &q, NULL, NULL, NULL, &reply,
				     &e);
	} while (runs() < 2);
	ck_assert_int_eq(rc, -1);
	ck_assert_ptr_nonnull(strstr(e.text, "exit code 1"));
	fixture_done(&f);
}
END_TEST

/* A token in the kubeconfig itself comes before the plugin. */
START_TEST(test_a_token_wins)
{
	struct fixture f;

	fixture_server(&f, NULL, door, NULL);
	f.options.access.exec = plugin(PRINT("\"token\":\"old\""));
	f.options.access.token = strdup("new");
	fixture_kube(&f);
	ck_assert_int_eq(call(&f, false), 200);
	ck_assert_uint_eq(runs(), 0);
	fixture_done(&f);
}
END_TEST

static void *
one_call(void *ctx)
{
	struct fixture *f = ctx;
	struct kube_request q = get(PATIENT_MS);
	struct kube_reply reply;
	struct err e = {0};
	struct kube_stream *s = kube_stream_new(f->kube, &e);

	(void)kube_stream_run(s, &q, NULL, NULL, NULL, &reply, &e);
	kube_stream_free(s);
	return reply.status == 200 ? NULL : ctx;
}

/* Eight threads get a 401 at once, and the plugin runs once for all of them. */
START_TEST(test_threads)
{
	pthread_t t[8];
	struct fixture f;
	void *failed;

	fixture_server(&f, NULL, door, NULL);
	f.options.access.exec = plugin("sleep 0.1\n" THEN_NEW("old"));
	fixture_kube(&f);
	for (size_t i = 0; i < 8; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, one_call, &f), 0);
	for (size_t i = 0; i < 8; i++) {
		(void)pthread_join(t[i], &failed);
		ck_assert_ptr_null(failed);
	}
	ck_assert_uint_eq(runs(), 2);
	fixture_done(&f);
}
END_TEST

/* --- what fails ----------------------------------------------------------- */

static const struct {
	const char *name, *script;
	int64_t ms;
	enum err_code code;
	const char *says;
} faults[] = {
	{"exit code",
	 "echo >&2; echo 'Unable to locate credentials' >&2\n"
	 "echo 'more' >&2; exit 255\n",
	 PATIENT_MS, ERR_INPUT,
	 "plugin: exit code 255: Unable to locate credentials"},
	{"a credential, but failed", PRINT("\"token\":\"SECRET\"") "exit 1\n",
	 PATIENT_MS, ERR_INPUT, "plugin: exit code 1"},
	{"killed", "kill -9 $$\n", PATIENT_MS, ERR_INPUT, "ended by signal 9"},
	{"hangs", "sleep 60\n", 200, ERR_TIMEOUT, "did not end within 200 ms"},
	{"hangs with a helper", "( while :; do sleep 1; done ) &\nsleep 60\n",
	 200, ERR_TIMEOUT, "did not end within 200 ms"},
	{"hangs after its credential",
	 PRINT("\"token\":\"SECRET\"") "exec sleep 60\n", 200, ERR_TIMEOUT,
	 "did not end within 200 ms"},
	{"complains for ever", "trap '' TERM\nwhile :; do echo no >&2; done\n",
	 200, ERR_TIMEOUT, "did not end within 200 ms"},
	{"nothing", ":\n", PATIENT_MS, ERR_INPUT, "not JSON"},
	{"rubbish", "echo SECRET\n", PATIENT_MS, ERR_INPUT, "not JSON"},
	{"10 MB", "head -c 10000000 /dev/zero\n", PATIENT_MS, ERR_LIMIT,
	 "prints more than 65536 bytes"},
	{"another version",
	 "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":"
	 "\"" V1 "beta1\",\"status\":{\"token\":\"SECRET\"}}'",
	 PATIENT_MS, ERR_INPUT, "but the kubeconfig asks for " V1},
};

/* Is a process of the plugin left?  Its command line says so.  The brackets
 * keep the search from finding itself. */
static bool
is_running(void)
{
	char command[128];
	int n = -1;
	FILE *f;

	(void)snprintf(command, sizeof(command),
		       "grep -lsa '%s/plugi[n]' /proc/[0-9]*/cmdline | wc -l",
		       dir);
	f = popen(command, "re");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%d", &n), 1);
	(void)pclose(f);
	return n > 0;
}

static struct err
refused(struct exec *x, int64_t ms)
{
	struct kube_options o = {.user_agent = AGENT,
				 .plugin_new = plugin_new,
				 .exec_ms = ms};
	struct err e = {0};

	o.access.server = strdup("https://127.0.0.1:1");
	o.access.exec = x;
	ck_assert_ptr_null(kube_new(&o, &e));
	kubeconfig_done(&o.access);
	return e;
}

START_TEST(test_faults)
{
	struct err e = refused(plugin(faults[_i].script), faults[_i].ms);

	ck_assert_msg(e.code == faults[_i].code &&
			      strstr(e.text, faults[_i].says) != NULL,
		      "%s: %d %s", faults[_i].name, e.code, e.text);
	ck_assert_ptr_null(strstr(e.text, "SECRET"));
	/* What it started is killed with it, and ends a moment later. */
	for (int i = 0; i < 100 && is_running(); i++)
		(void)usleep(10000);
	ck_assert_msg(!is_running(), "%s is still there", faults[_i].name);
}
END_TEST

START_TEST(test_not_found)
{
	struct exec *x = exec_of("no-such-plugin-anywhere");
	struct err e;

	x->install_hint = strdup("Install it from https://example.com");
	e = refused(x, 1000);
	ck_assert_int_eq(e.code, ERR_INPUT);
	ck_assert_str_eq(e.text, "exec no-such-plugin-anywhere: not found; "
				 "Install it from https://example.com");
	e = refused(exec_of(dir), 1000);
	ck_assert_ptr_nonnull(strstr(e.text, "cannot be run: Permission"));
	/* One of a kubeconfig. */
	x = exec_of("no-such-plugin-anywhere");
	x->place = strdup("kc:9:7: user \"u\"");
	e = refused(x, 1000);
	ck_assert_str_eq(e.text, "kc:9:7: user \"u\": exec "
				 "no-such-plugin-anywhere: not found");
	x = exec_of("no-such-plugin-anywhere");
	x->place = strdup("kc:9:7: user \"u\"");
	x->install_hint = strdup("Install it.");
	e = refused(x, 1000);
	ck_assert_str_eq(e.text, "kc:9:7: user \"u\": exec "
				 "no-such-plugin-anywhere: not found; Install it.");
	x = exec_of(dir);
	x->place = strdup("kc:9:7: user \"u\"");
	e = refused(x, 1000);
	ck_assert_ptr_nonnull(strstr(e.text, "denied"));
}
END_TEST

START_TEST(test_where_none_runs)
{
	struct kube_options o = {.user_agent = AGENT};
	struct err e = {0};

	o.access.server = strdup("https://127.0.0.1:1");
	o.access.exec = plugin(PRINT(NEW));
	ck_assert_ptr_null(kube_new(&o, &e));
	ck_assert_int_eq(e.code, ERR_INPUT);
	ck_assert_ptr_nonnull(strstr(e.text, "no credential plugin runs here"));
	ck_assert_uint_eq(runs(), 0);
	kubeconfig_done(&o.access);
}
END_TEST

START_TEST(test_in_clear)
{
	struct kube_options o = {.user_agent = AGENT,
				 .plugin_new = plugin_new};
	struct err e = {0};

	o.access.server = strdup("http://10.0.0.1:8080");
	o.access.exec = plugin(PRINT(NEW));
	ck_assert_ptr_null(kube_new(&o, &e));
	ck_assert_ptr_nonnull(strstr(e.text, "in clear"));
	ck_assert_uint_eq(runs(), 0);
	kubeconfig_done(&o.access);
}
END_TEST

/* --- what it is given ----------------------------------------------------- */

static const char given[] =
	"{ echo \"$*\"; echo \"$A $B\"\n"
	"tr '\\0' '\\n' < /proc/$$/environ | grep -cE '^(B|KUBERNETES_E.*)='\n"
	"echo \"$KUBERNETES_EXEC_INFO\"; cat\n"
	"sed -nE 's/^(SigIgn).*(.{7})$/\\1 \\2/p' /proc/self/status\n"
	"ls /proc/self/fd | tr '\\n' ' '; echo\n"
	"cut -d' ' -f5 /proc/$$/stat; echo $$; } > saw\n" PRINT(NEW);

START_TEST(test_given)
{
	char saw[2048], want[1024], *line, *group;
	struct fixture f;
	int leak = open("/dev/null", O_RDONLY); /* opened without O_CLOEXEC */

	ck_assert_int_eq(setenv("A", "ours", 1), 0);
	ck_assert_int_eq(setenv("B", "ours", 1), 0);
	ck_assert_int_eq(setenv(EXEC_INFO, "ours", 1), 0);
	fixture_server(&f, NULL, door, NULL);
	f.options.access.exec = plugin(given);
	f.options.access.exec->args[0] = strdup("a  b");
	f.options.access.exec->args[1] = strdup("$(c)");
	f.options.access.exec->env[0] = strdup("B=first");
	f.options.access.exec->env[1] = strdup("B=x y");
	f.options.access.exec->env[3] = strdup("AA=longer than A");
	f.options.access.exec->env[2] = strdup(EXEC_INFO "=theirs");
	f.options.access.exec->cluster_info = true;
	write_text("ca", "", "foo");
	f.options.access.ca_file = malloc(128);
	in_dir(f.options.access.ca_file, "ca");
	(void)snprintf(want, sizeof(want),
		       "a  b $(c)\nours x y\n2\n"
		       "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
		       "\",\"spec\":{\"cluster\":{\"server\":\"%s\","
		       "\"certificate-authority-data\":\"Zm9v\","
		       "\"config\":null},\"interactive\":false}}\n"
		       "SigIgn 0000000\n"	/* signals 1 to 28 */
		       "0 1 2 3 \n",	/* ls itself has opened 3 */
		       f.options.access.server);
	fixture_kube(&f);
	read_text("saw", saw, sizeof(saw));
	ck_assert_msg(strncmp(saw, want, strlen(want)) == 0,
		      "got\n%s\nwant\n%s", saw, want);
	group = saw + strlen(want);
	line = strchr(group, '\n');
	ck_assert_ptr_nonnull(line);
	*line = '\0';
	ck_assert_int_eq(atoi(group), atoi(line + 1));	/* the plugin has a
							   process group of its
							   own */
	(void)close(leak);
	fixture_done(&f);
}
END_TEST

/* The signals that our threads block are not blocked in the plugin.  The test
 * needs no shell, which would unblock them itself. */
START_TEST(test_no_signal_blocked)
{
	sigset_t all, before;
	struct fixture f;

	fixture_server(&f, NULL, door, NULL);
	f.options.access.exec = exec_of("sed");
	f.options.access.exec->args[0] = strdup("-nE");
	f.options.access.exec->args[1] =
		strdup("s/^SigBlk:\t0+$/{\"kind\":\"ExecCredential\","
		       "\"apiVersion\":\"client.authentication.k8s.io\\/v1\","
		       "\"status\":{\"token\":\"new\"}}/p");
	f.options.access.exec->args[2] = strdup("/proc/self/status");
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, &before);
	fixture_kube(&f);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	ck_assert_int_eq(call(&f, false), 200);
	fixture_done(&f);
}
END_TEST

/* Under nohup nobody asks us to end.  No other thread takes the signal here. */
START_TEST(test_a_signal_that_is_ignored)
{
	sigset_t hup, before;
	struct fixture f;

	(void)sigemptyset(&hup);
	(void)sigaddset(&hup, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &hup, &before);
	fixture_server(&f, NULL, door, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)signal(SIGHUP, SIG_IGN);
	f.options.access.exec =
		plugin("kill -HUP $PPID; sleep 0.3\n" PRINT(NEW));
	fixture_kube(&f);
	(void)signal(SIGHUP, SIG_DFL);
	ck_assert_int_eq(call(&f, false), 200);
	fixture_done(&f);
}
END_TEST

/* A helper process of the plugin may stay and keep its pipes open.  Nobody
 * waits for it. */
START_TEST(test_a_helper_stays)
{
	struct fixture f;

	fixture_server(&f, NULL, door, NULL);
	f.options.exec_ms = 8000;
	f.options.access.exec = plugin("sleep 9 &\n" PRINT(NEW));
	fixture_kube(&f);
	ck_assert_int_eq(call(&f, false), 200);
	fixture_done(&f);
}
END_TEST

static void *
cancel(void *ctx)
{
	int64_t end = clock_boot_ms() + PATIENT_MS;

	while (runs() < 2 && clock_boot_ms() < end)
		(void)usleep(5000);
	kube_stream_cancel(ctx);
	return NULL;
}

/* A stop does not wait for a plugin that hangs. */
START_TEST(test_cancel)
{
	struct kube_request q = get(PATIENT_MS);
	struct kube_reply reply;
	struct fixture f;
	struct err e = {0};
	pthread_t t;

	fixture_server(&f, NULL, door, NULL);
	f.options.access.exec = plugin(RUNS "[ $n -gt 1 ] && sleep 60\n"
		PRINT("\"token\":\"old\""));
	fixture_kube(&f);
	ck_assert_int_eq(pthread_create(&t, NULL, cancel, f.stream), 0);
	(void)kube_stream_run(f.stream, &q, NULL, NULL, NULL, &reply, &e);
	(void)pthread_join(t, NULL);
	ck_assert_uint_eq(runs(), 2);
	ck_assert(!is_running());
	fixture_done(&f);
}
END_TEST

#define N(table) ((int)(sizeof(table) / sizeof((table)[0])))

int
main(void)
{
	Suite *s = suite_create("edge/exec");
	TCase *t = tcase_create("exec");

	tcase_set_timeout(t, 60);
	tcase_add_unchecked_fixture(t, make_dir, drop_dir);
	tcase_add_loop_test(t, test_times, 0, 2 * N(times));
	tcase_add_test(t, test_says_why);
	tcase_add_loop_test(t, test_expires, 0, N(dates));
	tcase_add_test(t, test_expires_and_fails);
	tcase_add_test(t, test_expired_and_fails);
	tcase_add_test(t, test_a_token_wins);
	tcase_add_test(t, test_threads);
	tcase_add_loop_test(t, test_faults, 0, N(faults));
	tcase_add_test(t, test_not_found);
	tcase_add_test(t, test_in_clear);
	tcase_add_test(t, test_where_none_runs);
	tcase_add_test(t, test_given);
	tcase_add_test(t, test_no_signal_blocked);
	tcase_add_test(t, test_a_signal_that_is_ignored);
	tcase_add_test(t, test_a_helper_stays);
	tcase_add_test(t, test_cancel);
	suite_add_tcase(s, t);
	return suite_run(s);
}
