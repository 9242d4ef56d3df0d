/* SPDX-License-Identifier: Apache-2.0 */
#include "kube_fixture.h"

/* Where the client goes and as whom: addresses, tokens, and the files of a
 * service account. */

static char dir[] = "/tmp/test_kube_access.XXXXXX";

static char *
in_dir(const char *name)
{
	char *s = NULL;

	return asprintf(&s, "%s/%s", dir, name) < 0 ? NULL : s;
}

/* Writes a new file and renames it, as a kubelet does. */
static char *
file(const char *name, const char *text)
{
	char *path = in_dir(name), *part = in_dir("part");
	FILE *f = fopen(part, "we");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(rename(part, path), 0);
	free(part);
	return path;
}

static void
make_dir(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void
drop_dir(void)
{
	static const char *const files[] = {"ca.crt", "token", "namespace"};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *path = in_dir(files[i]);

		(void)unlink(path);
		free(path);
	}
	(void)rmdir(dir);
}

/* --- tokens --------------------------------------------------------------- */

/* Lets only "Bearer new" in, and answers with the Authorization that came. */
static bool
door(struct scripted_peer *p, void *ctx)
{
	char auth[64];

	scripted_header(p, "Authorization", auth, sizeof(auth));
	if (ctx != NULL && p->server->requests == 1)
		free(file("token", ctx));
	return strcmp(auth, "Bearer new") == 0
		       ? scripted_reply(p, "200 OK", "", "welcome")
		       : scripted_reply(p, "401 Unauthorized", "", "who?");
}

/* Lets nobody in, whatever token comes next. */
static bool
no_door(struct scripted_peer *p, void *ctx)
{
	char token[16];

	(void)ctx;
	(void)snprintf(token, sizeof(token), "t%u",
		       atomic_load(&p->server->requests));
	free(file("token", token));
	return scripted_reply(p, "401 Unauthorized", "", "who?");
}

static bool
echo_token(struct scripted_peer *p, void *ctx)
{
	char auth[64];

	(void)ctx;
	return scripted_reply(p, "200 OK", "",
			      scripted_header(p, "Authorization", auth,
					      sizeof(auth)));
}

static const struct {
	const char *name, *first, *then;
	int64_t token_ms;
	int status;
	unsigned requests;
	bool pool;
} doors[] = {
	{"the first one does", "new\n", NULL, 60000, 200, 1, false},
	{"the file has another one", "old", " new\n", 60000, 200, 2, false},
	{"the same, in a pool", "old", "new", 60000, 200, 2, true},
	{"another one, still wrong", "old", "older", 60000, 401, 2, false},
	{"the same, in a pool", "old", "older", 60000, 401, 2, true},
	{"still the old one", "old", NULL, 60000, 401, 1, false},
};

START_TEST(test_401)
{
	struct kube_request q = get(PATIENT_MS);
	struct kube_lanes *p = NULL;
	struct kube_reply reply;
	struct fixture f;
	struct err e = {0};

	fixture_server(&f, NULL, door, (void *)(uintptr_t)doors[_i].then);
	f.options.access.token_file = file("token", doors[_i].first);
	f.options.token_ms = doors[_i].token_ms;
	fixture_kube(&f);
	if (doors[_i].pool) {
		p = kube_lanes_new(f.kube, 4, &e);
		e = lanes_call(p, &q, &reply);
	} else {
		(void)kube_stream_run(f.stream, &q, NULL, NULL, NULL, &reply,
				      &e);
	}
	ck_assert_msg(e.code == ERR_NONE && reply.status == doors[_i].status,
		      "%s: %d %s", doors[_i].name, reply.status, e.text);
	ck_assert_uint_eq(f.server.requests, doors[_i].requests);
	kube_lanes_free(p);
	fixture_done(&f);
}
END_TEST

/* A call is made once more, and not as long as there is another token. */
START_TEST(test_401_for_ever)
{
	struct kube_request q = get(PATIENT_MS);
	struct kube_reply reply;
	struct kube_lanes *p;
	struct fixture f;
	struct err e = {0};

	fixture_server(&f, NULL, no_door, NULL);
	f.options.access.token_file = file("token", "old");
	f.options.token_ms = 60000;
	fixture_kube(&f);
	p = kube_lanes_new(f.kube, 4, &e);
	e = lanes_call(p, &q, &reply);
	ck_assert_msg(e.code == ERR_NONE && reply.status == 401, "%s", e.text);
	ck_assert_uint_eq(f.server.requests, 2);
	kube_lanes_free(p);
	fixture_done(&f);
}
END_TEST

static void
sends(struct fixture *f, const char *want)
{
	struct kube_request q = get(PATIENT_MS);
	struct kube_reply reply;
	struct err e = {0};

	ck_assert_int_eq(
		kube_stream_run(f->stream, &q, NULL, NULL, NULL, &reply, &e),
		0);
	ck_assert_str_eq(reply.body, want);
}

/* The file is read again when it is time, and not before. */
START_TEST(test_token_renewed)
{
	struct fixture f;

	for (int again = 0; again < 2; again++) {
		fixture_server(&f, NULL, echo_token, NULL);
		f.options.access.token_file = file("token", "old");
		f.options.token_ms = again ? 30 : 60000;
		fixture_kube(&f);
		sends(&f, "Bearer old");
		free(file("token", "new"));
		(void)usleep(40000);
		sends(&f, again ? "Bearer new" : "Bearer old");
		fixture_done(&f);
	}
}
END_TEST

/* A call that is made once more gathers nothing before its own first bytes.  A
 * single round that was shorter than a look at the heartbeat shows it. */
START_TEST(test_401_gathers_anew)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < 5 && least >= 900; i++) {
		struct kube_request q = get(PATIENT_MS);
		int64_t before = clock_boot_ms();
		struct kube_reply reply;
		struct fixture f;
		struct err e = {0};

		q.gather_ms = PATIENT_MS;
		fixture_server(&f, NULL, door, (void *)(uintptr_t) "new");
		f.options.access.token_file = file("token", "old");
		fixture_kube(&f);
		ck_assert_int_eq(kube_stream_run(f.stream, &q, NULL, NULL, NULL,
						 &reply, &e),
				 0);
		ck_assert_int_eq(reply.status, 200);
		before = clock_boot_ms() - before;
		least = before < least ? before : least;
		fixture_done(&f);
	}
	ck_assert_int_lt(least, 900);
}
END_TEST

START_TEST(test_token_again)
{
	struct kube_request q = get(PATIENT_MS);
	struct kube_reply reply;
	struct fixture f;
	struct err e = {0};
	char *path;

	fixture_server(&f, NULL, door, NULL);
	f.options.access.token_file = file("token", "new");
	f.options.token_ms = 30;
	fixture_kube(&f);
	ck_assert_int_eq(
		kube_stream_run(f.stream, &q, NULL, NULL, NULL, &reply, &e), 0);
	ck_assert_int_eq(reply.status, 200);
	/* While the file cannot be read, the last token still counts. */
	path = in_dir("token");
	ck_assert_int_eq(unlink(path), 0);
	free(path);
	(void)usleep(40000);
	ck_assert_int_eq(
		kube_stream_run(f.stream, &q, NULL, NULL, NULL, &reply, &e), 0);
	ck_assert_int_eq(reply.status, 200);
	fixture_done(&f);
}
END_TEST

static const struct {
	const char *name, *text; /* text NULL: there is no such file */
	enum err_code code;
	const char *says;
} tokens[] = {
	{"no file", NULL, ERR_SYSTEM, "No such file"},
	{"an empty one", " \n", ERR_INPUT, "is empty"},
	{"a header in it", "a\r\nX-Evil: 1", ERR_INPUT, "no bearer token"},
};

START_TEST(test_token_bad)
{
	struct kube_request q = get(PATIENT_MS);
	struct kube_reply reply;
	struct fixture f;
	struct err e = {0};

	fixture_server(&f, NULL, door, NULL);
	f.options.access.token_file = tokens[_i].text == NULL
					      ? in_dir("none")
					      : file("token", tokens[_i].text);
	fixture_kube(&f);
	ck_assert_int_eq(
		kube_stream_run(f.stream, &q, NULL, NULL, NULL, &reply, &e),
		-1);
	ck_assert_msg(e.code == tokens[_i].code &&
			      strstr(e.text, tokens[_i].says) != NULL,
		      "%s: %d %s", tokens[_i].name, e.code, e.text);
	ck_assert_uint_eq(f.server.requests, 0);
	fixture_done(&f);
}
END_TEST

/* --- addresses ------------------------------------------------------------ */

static const struct {
	const char *server, *name, *token;
	const char *says; /* NULL: the file is good */
} servers[] = {
	{"https://10.0.0.1:6443", NULL, "t", NULL},
	{"HTTPS://[fd00::1]:6443/", NULL, "t", NULL},
	{"https://rancher.example/k8s/clusters/c-1", "in.example", "t", NULL},
	{"http://127.0.0.1:8001", NULL, "t", NULL},
	{"http://localhost", NULL, "t", NULL},
	{"http://10.0.0.1:8080", NULL, NULL, NULL},
	{"http://10.0.0.1:8080", NULL, "t", "in clear"},
	{"http://127.0.0.1.example:8080", NULL, "t", "in clear"},
	{NULL, NULL, NULL, "no server"},
	{"", NULL, NULL, "no server"},
	{"10.0.0.1:6443", NULL, NULL, "expected https://"},
	{"ftp://10.0.0.1", NULL, NULL, "expected https://"},
	{"https://", NULL, NULL, "expected https://"},
	{"https://:6443", NULL, NULL, "expected https://"},
	{"https://h:0", NULL, NULL, "expected https://"},
	{"https://h:65536", NULL, NULL, "expected https://"},
	{"https://h:", NULL, NULL, "expected https://"},
	{"https://h:6443x", NULL, NULL, "expected https://"},
	{"https://[::1", NULL, NULL, "expected https://"},
	{"https://u:p@h", NULL, NULL, "a user, query"},
	{"https://h/?a=b", NULL, NULL, "a user, query"},
	{"https://h\n", NULL, NULL, "blank or control"},
	{"https://h", "a b", NULL, "expected a host name"},
};

START_TEST(test_server)
{
	struct kube_options o = {.user_agent = AGENT};
	const char *says = servers[_i].says, *server = servers[_i].server;
	struct kube *k;
	struct err e = {0};

	o.access.server = server == NULL ? NULL : strdup(server);
	o.access.tls_server_name =
		servers[_i].name == NULL ? NULL : strdup(servers[_i].name);
	o.access.token =
		servers[_i].token == NULL ? NULL : strdup(servers[_i].token);
	k = kube_new(&o, &e);
	ck_assert_msg((k != NULL) == (says == NULL), "%s: %s", server, e.text);
	if (says != NULL) {
		ck_assert_int_eq(e.code, ERR_INPUT);
		ck_assert_msg(strstr(e.text, says) != NULL, "%s", e.text);
	}
	kube_free(k);
	kubeconfig_done(&o.access);
}
END_TEST

/* --- in the cluster ------------------------------------------------------- */

static const struct {
	const char *name, *host, *port, *token, *ca;
	enum err_code code;
	const char *text; /* expected in the error, or as the server */
} clusters[] = {
	{"v4", "10.96.0.1", "443", "t", "x", .text = "https://10.96.0.1:443"},
	{"v6", "fd00::1", "443", "t", "x", .text = "https://[fd00::1]:443"},
	{"no host", NULL, "443", "t", "x", ERR_INPUT, "not in a cluster"},
	{"no port", "10.96.0.1", NULL, "t", "x", ERR_INPUT, "not in a"},
	{"empty host", "", "443", "t", "x", ERR_INPUT, "not in a cluster"},
	{"no token", "10.96.0.1", "443", NULL, "x", ERR_SYSTEM, "/token"},
	{"empty token", "10.96.0.1", "443", "\n", "x", ERR_INPUT, "is empty"},
	{"no CA", "10.96.0.1", "443", "t", NULL, ERR_SYSTEM, "/ca.crt"},
};

static void
set_env(const char *name, const char *value)
{
	ck_assert_int_eq(
		value == NULL ? unsetenv(name) : setenv(name, value, 1), 0);
}

static void
set_file(const char *name, const char *text)
{
	char *path = in_dir(name);

	(void)unlink(path);
	free(path);
	if (text != NULL)
		free(file(name, text));
}

START_TEST(test_in_cluster)
{
	struct kubeconfig k = {0};
	struct err e = {0};
	int rc;

	set_env("KUBERNETES_SERVICE_HOST", clusters[_i].host);
	set_env("KUBERNETES_SERVICE_PORT", clusters[_i].port);
	set_file("token", clusters[_i].token);
	set_file("ca.crt", clusters[_i].ca);
	set_file("namespace", "karpenter\n");
	rc = kube_in_cluster(dir, &k, &e);
	ck_assert_msg(e.code == clusters[_i].code, "%s: %s", clusters[_i].name,
		      e.text);
	if (rc == 0) {
		ck_assert_str_eq(k.server, clusters[_i].text);
		ck_assert_str_eq(k.namespace_, "karpenter");
		ck_assert_ptr_nonnull(strstr(k.token_file, "/token"));
		ck_assert_ptr_nonnull(strstr(k.ca_file, "/ca.crt"));
	} else {
		ck_assert_msg(strstr(e.text, clusters[_i].text) != NULL, "%s",
			      e.text);
	}
	kubeconfig_done(&k);
}
END_TEST

#define N(table) ((int)(sizeof(table) / sizeof((table)[0])))

int
main(void)
{
	Suite *s = suite_create("edge/kube_access");
	TCase *t = tcase_create("access");

	tcase_add_unchecked_fixture(t, make_dir, drop_dir);
	tcase_add_loop_test(t, test_401, 0, N(doors));
	tcase_add_test(t, test_401_gathers_anew);
	tcase_add_test(t, test_401_for_ever);
	tcase_add_test(t, test_token_renewed);
	tcase_add_test(t, test_token_again);
	tcase_add_loop_test(t, test_token_bad, 0, N(tokens));
	tcase_add_loop_test(t, test_server, 0, N(servers));
	tcase_add_loop_test(t, test_in_cluster, 0, N(clusters));
	suite_add_tcase(s, t);
	return suite_run(s);
}
