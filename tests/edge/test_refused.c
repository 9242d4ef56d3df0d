/* SPDX-License-Identifier: Apache-2.0 */
/* Each call of ours for memory, for files and sockets, and for threads and
 * processes fails in turn.  What is done must end in an error, or with its
 * result all the same, and never in a crash or with something left behind. */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/limits.h"
#include "core/controller/controller.h"
#include "edge/certs/certs.h"
#include "edge/certs/certs_own.h"
#include "edge/clock.h"
#include "edge/file.h"
#include "kube_fixture.h"
#include "refuse.h"
#include "rig.h"
#include "suite.h"
#include "wire/admission/admission.h"
#include "wire/api/disruption_event.h"
#include "wire/api/lease.h"
#include "wire/api/nodepool.h"
#include "wire/api/object.h"
#include "wire/api/pager.h"
#include "wire/api/secret.h"
#include "wire/api/webhook_config.h"
#include "wire/config/config.h"
#include "wire/json/json.h"
#include "wire/yaml/yaml.h"

#define NOW INT64_C(1790000000000) /* 2026-09-21T14:13:20Z */
#define DAY_MS INT64_C(86400000)
#define CALLS_MOST 2000	/* of one kind, in one of the things that are done */

static char dir[64];
static struct certs_own ca;
static const struct certs_names names = {.dns = {"a.svc"}, .dns_n = 1};

static const char *
at(const char *name)
{
	static char path[2][128];
	static int i;

	i = 1 - i;
	(void)snprintf(path[i], sizeof(path[i]), "%s/%s", dir, name);
	return path[i];
}

static void
put(const char *name, const char *text, mode_t mode)
{
	FILE *f = fopen(at(name), "w");

	ck_assert(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
	ck_assert_int_eq(chmod(at(name), mode), 0);
}

static void
text_of(const char *name, char *out, size_t cap)
{
	FILE *f = fopen(at(name), "r");

	ck_assert_ptr_nonnull(f);
	out[fread(out, 1, cap - 1, f)] = '\0';
	(void)fclose(f);
}

/* --- what is done ------------------------------------------------------------
 *
 * Each returns 0 if it was done, and then asserts that its result is whole, or
 * -1 with *e set. */

#define META "\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"7\"," \
	     "\"creationTimestamp\":\"2026-01-02T03:04:05Z\"}"
#define PEM64 "LS0tLS1CRUdJTiA=" /* "-----BEGIN " */

static int
do_json(struct err *e)
{
	static const char text[] = "{\"a\":[1,\"b\",{\"c\":null}],\"d\":\"e\"}";
	static const struct json_keep keep[] = {{"d", NULL}, {NULL, NULL}};
	AUTO_JSON all = json_parse(text, strlen(text), &json_bounds_default, e);
	AUTO_JSON part = NULL;

	if (all == NULL)
		return -1;
	part = json_pick(text, strlen(text), keep, &json_bounds_default, e);
	if (part == NULL)
		return -1;
	ck_assert(json_says(all, "d", "e") && json_says(part, "d", "e"));
	return 0;
}

static int
do_yaml(struct err *e)
{
	static const char text[] = "a: [1, b]\nc:\n  d: 'e'\n";
	AUTO_YAML v = yaml_tree_parse("file", text, strlen(text), e);
	const struct yaml *d = yaml_member(yaml_member(v, "c"), "d");

	if (v == NULL)
		return -1;
	ck_assert_str_eq(yaml_string(d), "e");
	return 0;
}

static int
do_config(struct err *e)
{
	static const char text[] = "apiVersion: karpenter-node-holder.io/v1\n"
				   "kind: HolderConfig\nnodePools:\n"
				   "  exclude: [a, b-*]\n";
	static struct config c;

	config_defaults(&c);
	if (config_file(&c, "file", text, strlen(text), NULL, e))
		return -1;
	ck_assert_uint_eq(c.rules.exclude.n, 2);
	return 0;
}

static int
do_kubeconfig(struct err *e)
{
	static const char text[] =
		"current-context: c\n"
		"clusters: [{name: k, cluster: {server: 'https://h:1/p/',"
		" certificate-authority: ca.pem, tls-server-name: host}}]\n"
		"contexts: [{name: c, context: {cluster: k, user: u,"
		" namespace: s}}]\n"
		"users: [{name: u, user: {client-certificate-data: " PEM64
		", client-key-data: " PEM64 ", exec: {command: ./x, "
		"apiVersion: client.authentication.k8s.io/v1, args: [a],"
		" env: [{name: VAR, value: val}], installHint: h,"
		" interactiveMode: Never}}}]\n";
	struct kubeconfig k = {.server = NULL};

	if (kubeconfig_parse("file", "/dir", text, strlen(text), NULL, &k, e)) {
		ck_assert_ptr_null(k.server);
		return -1;
	}
	ck_assert_str_eq(k.server, "https://h:1/p");
	ck_assert_str_eq(k.tls_server_name, "host");
	ck_assert_str_eq(k.ca_file, "/dir/ca.pem");
	ck_assert_str_eq(k.cert_pem, "-----BEGIN ");
	ck_assert_str_eq(k.key_pem, "-----BEGIN ");
	ck_assert_str_eq(k.namespace_, "s");
	ck_assert_str_eq(k.exec->args[0], "a");
	ck_assert_str_eq(k.exec->env[0], "VAR=val");
	ck_assert_str_eq(k.exec->install_hint, "h");
	kubeconfig_done(&k);
	return 0;
}

static int
do_credential(struct err *e)
{
	static const char v1[] = "client.authentication.k8s.io/v1";
	static const char text[] =
		"{\"kind\":\"ExecCredential\",\"apiVersion\":\"client."
		"authentication.k8s.io/v1\",\"status\":{\"token\":\"t\"}}";
	struct exec_credential c;

	if (exec_credential_decode(text, strlen(text), v1, &c, e))
		return -1;
	ck_assert_str_eq(c.token, "t");
	exec_credential_done(&c);
	return 0;
}

static int
do_secret(struct err *e)
{
	static const char text[] =
		"{\"kind\":\"Secret\"," META ",\"data\":{\"ca.crt\":\"" PEM64
		"\",\"ca.key\":\"" PEM64 "\",\"tls.crt\":\"" PEM64
		"\",\"tls.key\":\"" PEM64 "\"}}";
	struct secret s;

	if (secret_decode(text, strlen(text), &s, e))
		return -1;
	/* Without its CA the leader would make another one. */
	ck_assert(s.ca_cert && s.ca_key && s.cert && s.key);
	secret_done(&s);
	return 0;
}

static int
do_webhooks(struct err *e)
{
	static const char text[] =
		"{\"kind\":\"MutatingWebhookConfiguration\"," META
		",\"webhooks\":[{\"clientConfig\":{\"caBundle\":\"" PEM64
		"\"}},{\"clientConfig\":{\"caBundle\":\"" PEM64 "\"}}]}";
	struct webhooks w;

	if (webhook_config_decode(text, strlen(text), &w, e))
		return -1;
	ck_assert(w.n == 2 && w.bundle[0] && w.bundle[1]);
	webhook_config_done(&w);
	return 0;
}

static int
do_objects(struct err *e)
{
	static const char text[] = "{\"kind\":\"Lease\"," META ",\"spec\":{}}";
	static const struct hold_key hold = {DEFAULT_HOLD_KEY,
					     DEFAULT_HOLD_VALUE};
	static struct lease_record lease;
	struct disruption_event event;
	struct nodepool pool;
	struct object o;

	if (object_decode(text, strlen(text), KIND_NODE, &hold, &o, e) ||
	    nodepool_decode(text, strlen(text), &pool, e) ||
	    disruption_event_decode(text, strlen(text), &event, e) ||
	    lease_decode(text, strlen(text), false, &lease, e))
		return -1;
	ck_assert_str_eq(o.rv, "7");
	ck_assert_str_eq(pool.uid, "u");
	ck_assert_str_eq(event.rv, "7");
	ck_assert_str_eq(lease.rv, "7");
	return 0;
}

static int
do_review(struct err *e)
{
	static const char text[] =
		"{\"kind\":\"AdmissionReview\",\"apiVersion\":"
		"\"admission.k8s.io/v1\",\"request\":{\"uid\":\"1\","
		"\"operation\":\"CREATE\",\"resource\":{\"group\":\"\","
		"\"version\":\"v1\",\"resource\":\"nodes\"},\"object\":{" META
		"}}}";
	static const struct hold_key hold = {DEFAULT_HOLD_KEY,
					     DEFAULT_HOLD_VALUE};
	struct admission_request q;

	if (admission_decode(text, strlen(text), &hold, &q, e))
		return -1;
	ck_assert_str_eq(q.uid, "1");
	return 0;
}

static int
count_item(void *ctx, const char *bytes, size_t n, struct err *e)
{
	(void)bytes, (void)n, (void)e;
	++*(int *)ctx;
	return 0;
}

static int
do_pages(struct err *e)
{
	static const char text[] =
		"{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{},{}]}";
	struct pager p;
	int items = 0;

	pager_init(&p, 500, 0, LIST_WHOLE_MS);
	if (pager_page(&p, text, strlen(text), count_item, &items, 0, e)) {
		pager_drop(&p);
		return -1;
	}
	ck_assert_int_eq(items, 2);
	return 0;
}

static int
do_controller(struct err *e)
{
	static struct counters counters;
	static const struct rules r = {
		.hold_ms = 60000, .min_scale_up = 1, .include = {1, {"*"}}};
	struct controller *s = controller_new(&r, 1000, 1, &counters);
	struct controller_report report;

	if (s == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	controller_report(s, &report);
	ck_assert_uint_eq(report.objects_max, 1000);
	controller_free(s);
	return 0;
}

static int
do_file(struct err *e)
{
	char *text;
	size_t n;

	if (file_read(at("token"), 100, &text, &n, e))
		return -1;
	ck_assert_str_eq(text, "secret-token");
	refused_free(text);
	return 0;
}

/* Promises that no file is cut, and that none is left beside its name. */
static void
check_folder(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *f;
	struct stat st;

	while (d != NULL && (f = readdir(d)) != NULL) {
		if (strcmp(f->d_name, ".") == 0 || strcmp(f->d_name, "..") == 0)
			continue;
		ck_assert_msg(f->d_name[0] != '.', "%s is left", f->d_name);
		ck_assert_int_eq(fstatat(dirfd(d), f->d_name, &st, 0), 0);
		ck_assert_msg(st.st_size > 100, "%s is cut", f->d_name);
	}
	if (d != NULL)
		(void)closedir(d);
}

static int
do_mint(struct err *e)
{
	static const char *const files[] = {"ca.crt", "ca.key", "tls.crt",
					    "tls.key"};
	char made[128], path[192];
	int rc;

	(void)snprintf(made, sizeof(made), "%s/minted", dir);
	rc = certs_mint(made, &names, 30, false, NOW, e);
	check_folder(made);
	for (int i = 0; i < 4; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", made, files[i]);
		ck_assert(unlink(path) == 0 || rc != 0);
	}
	(void)rmdir(made);
	return rc;
}

static int
do_mint_again(struct err *e)
{
	char before[4096], after[4096];
	int rc;

	text_of("pair/ca.crt", before, sizeof(before));
	rc = certs_mint(at("pair"), &names, 30, false, NOW, e);
	check_folder(at("pair"));
	/* Whatever went wrong, the CA that was there still is. */
	text_of("pair/ca.crt", after, sizeof(after));
	ck_assert_str_eq(after, before);
	return rc;
}

static int
do_load(struct err *e)
{
	struct certs_pair p;

	if (certs_load(at("pair/tls.crt"), at("pair/tls.key"), NOW, &p, e))
		return -1;
	ck_assert_str_eq(p.names, "DNS:a.svc");
	certs_pair_done(&p);
	return 0;
}

static int
do_inspect(struct err *e)
{
	static char text[CERTS_INSPECT_BYTES];
	struct buf b;

	buf_init(&b, text, sizeof(text));
	if (certs_inspect(at("pair/tls.crt"), at("pair/tls.key"), NOW, &b, e))
		return -1;
	ck_assert_ptr_nonnull(strstr(text, "a.svc"));
	return 0;
}

static int
do_own_ca(struct err *e)
{
	struct certs_own o;

	if (certs_own_ca(NOW, DAY_MS, &o, e))
		return -1;
	ck_assert(certs_own_is_ca(o.cert, o.key, &o.facts));
	certs_own_done(&o);
	return 0;
}

static int
do_own_leaf(struct err *e)
{
	struct certs_own o;

	if (certs_own_leaf(ca.cert, ca.key, &names, NOW, DAY_MS, &o, e))
		return -1;
	ck_assert(certs_own_is_leaf(o.cert, o.key, ca.cert, &names, &o.facts));
	certs_own_done(&o);
	return 0;
}

static void
serve(void *ctx, const struct server_request *q, struct server_reply *a)
{
	(void)ctx, (void)q;
	a->status = 200;
}

static int
do_server(struct err *e)
{
	static const struct server_route routes[] = {
		{"/", "GET", NULL, 0, serve, serve}};
	struct server_options o = rig_options();
	struct server *s;
	struct pems pair;
	int rc;

	o.tls = true;
	o.routes = routes;
	o.routes_n = 1;
	pems_mint(&pair, 1);
	s = server_new(&o, e);
	if (s == NULL)
		return -1;
	ck_assert_uint_ne(server_port(s), 0);
	rc = rotate(s, &pair, e);
	server_free(s);
	return rc;
}

static bool
answer(struct scripted_peer *p, void *ctx)
{
	(void)ctx;
	return scripted_reply(p, "200 OK", "", "{}");
}

static struct fixture fixture;

static struct kube_options
kube_with(const char *exec, const char *token_file)
{
	struct kube_options o = fixture.options;

	o.access = (struct kubeconfig){0};
	o.access.server = strdup(fixture.options.access.server);
	o.access.token_file = token_file ? strdup(token_file) : NULL;
	if (exec != NULL) {
		o.access.exec = calloc(1, sizeof(*o.access.exec));
		ck_assert_ptr_nonnull(o.access.exec);
		o.access.exec->api_version = "client.authentication.k8s.io/v1";
		o.access.exec->command = strdup(exec);
	}
	return o;
}

static struct kube_options kube_options;

static int
do_call(struct err *e)
{
	const struct kube_request q = get(PATIENT_MS);
	struct kube_stream *s = NULL;
	struct kube_reply r;
	struct kube *k = kube_new(&kube_options, e);
	int rc;

	if (k == NULL)
		return -1;
	s = kube_stream_new(k, e);
	rc = s == NULL ? -1 : kube_stream_run(s, &q, NULL, NULL, NULL, &r, e);
	ck_assert(rc != 0 || r.status == 200);
	kube_stream_free(s);
	kube_free(k);
	return rc;
}

static int
do_lanes(struct err *e)
{
	const struct kube_request q = get(PATIENT_MS);
	struct kube *k = kube_new(&kube_options, e);
	struct kube_lanes *p = NULL;
	struct kube_reply r;
	uint64_t tag = 0;
	int rc = -1;

	if (k == NULL)
		return -1;
	p = kube_lanes_new(k, 2, e);
	if (p != NULL && kube_lanes_start(p, &q, 7, e) == 0) {
		while (!kube_lanes_finished(p, &tag, &r, e))
			kube_lanes_wait(p, 1000);
		ck_assert_uint_eq(tag, 7);
		rc = e->code == ERR_NONE ? 0 : -1;
		ck_assert(rc != 0 || r.status == 200);
	}
	kube_lanes_free(p);
	kube_free(k);
	return rc;
}

static int
do_in_cluster(struct err *e)
{
	struct kubeconfig k = {.server = NULL};

	if (kube_in_cluster(dir, &k, e)) {
		ck_assert_ptr_null(k.server);
		return -1;
	}
	ck_assert_str_eq(k.server, "https://127.0.0.1:1");
	ck_assert_ptr_nonnull(k.token_file);
	/* A service account may be without its namespace. */
	ck_assert(k.namespace_ == NULL || strcmp(k.namespace_, "ns") == 0);
	kubeconfig_done(&k);
	return 0;
}

static int
do_clock(struct err *e)
{
	struct clock *c = clock_new();

	if (c == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	clock_free(c);
	return 0;
}

static const struct done {
	const char *name;
	int (*run)(struct err *e);
	enum { PLAIN, WITH_TOKEN, WITH_PLUGIN } kube;
} things[] = {
	{"json", do_json, PLAIN},
	{"yaml", do_yaml, PLAIN},
	{"config", do_config, PLAIN},
	{"kubeconfig", do_kubeconfig, PLAIN},
	{"credential", do_credential, PLAIN},
	{"secret", do_secret, PLAIN},
	{"webhooks", do_webhooks, PLAIN},
	{"objects", do_objects, PLAIN},
	{"review", do_review, PLAIN},
	{"pages", do_pages, PLAIN},
	{"controller", do_controller, PLAIN},
	{"file", do_file, PLAIN},
	{"mint", do_mint, PLAIN},
	{"mint by a CA", do_mint_again, PLAIN},
	{"load", do_load, PLAIN},
	{"inspect", do_inspect, PLAIN},
	{"a CA of our own", do_own_ca, PLAIN},
	{"a pair of our own", do_own_leaf, PLAIN},
	{"server", do_server, PLAIN},
	{"call", do_call, WITH_TOKEN},
	{"call by a plugin", do_call, WITH_PLUGIN},
	{"lanes", do_lanes, WITH_TOKEN},
	{"in a cluster", do_in_cluster, PLAIN},
	{"clock", do_clock, PLAIN},
};

/* --- each call in turn ------------------------------------------------------- */

/* How many entries a folder of /proc/self has. */
static int
entries(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d) != NULL)
		n++;
	(void)closedir(d);
	return n;
}

/* A thread that was joined leaves /proc a moment later. */
static void
expect_entries(const char *path, int n, const char *name)
{
	for (int i = 0; i < 500 && entries(path) > n; i++)
		(void)usleep(10000);
	ck_assert_msg(entries(path) <= n, "%s: %d of %s, %d before", name,
		      entries(path), path, n);
}

/* Does it once.  Returns whether the nth call was made and failed. */
static bool
do_once(const struct done *t, enum refuse kind, unsigned nth, unsigned *errors)
{
	char name[128];
	struct err e = {0};
	bool failed;
	int rc;

	(void)snprintf(name, sizeof(name), "%s, %s %u", t->name,
		       refuse_names[kind], nth);
	if (t->kube != PLAIN) {
		fixture_server(&fixture, NULL, answer, NULL);
		kube_options = kube_with(
			t->kube == WITH_PLUGIN ? at("plugin") : NULL,
			t->kube == WITH_TOKEN ? at("token") : NULL);
	}
	refuse_begin(kind, nth);
	rc = t->run(&e);
	failed = refuse_end();
	if (t->kube != PLAIN) {
		kubeconfig_done(&kube_options.access);
		fixture_done(&fixture);
	}
	ck_assert_msg(rc == 0 || failed, "%s: %s", name, e.text);
	ck_assert_msg(rc == 0 || (e.code != ERR_NONE && e.text[0] != '\0'),
		      "%s: failed without a word", name);
	ck_assert_msg(refuse_kept() == 0, "%s: %zu blocks left (%s)", name,
		      refuse_kept(), e.text);
	*errors += rc != 0;
	return failed;
}

START_TEST(test_refused)
{
	const struct done *t = &things[_i];
	int fds, threads;

	/* What is made once for the whole process is made here. */
	(void)do_once(t, REFUSE_MEMORY, 0, &(unsigned){0});
	for (int k = 0; k < REFUSE_KINDS; k++) {
		unsigned nth = 1, errors = 0;

		fds = entries("/proc/self/fd");
		threads = entries("/proc/self/task");
		while (do_once(t, (enum refuse)k, nth, &errors)) {
			expect_entries("/proc/self/task", threads, t->name);
			expect_entries("/proc/self/fd", fds, t->name);
			ck_assert_uint_lt(nth++, CALLS_MOST);
		}
		if (getenv("REFUSED_SHOW") != NULL)
			(void)printf("%-18s %-8s %3u calls, %3u errors\n",
				     t->name, refuse_names[k], nth - 1, errors);
	}
}
END_TEST

static void
setup(void)
{
	struct err e = {0};

	(void)signal(SIGPIPE, SIG_IGN);
	(void)snprintf(dir, sizeof(dir), "/tmp/refused-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	put("token", "secret-token", 0600);
	put("ca.crt", "-----BEGIN CERTIFICATE-----\n", 0600);
	put("namespace", "ns", 0600);
	put("plugin", "#!/bin/sh\necho '{\"kind\":\"ExecCredential\","
	    "\"apiVersion\":\"client.authentication.k8s.io/v1\","
	    "\"status\":{\"token\":\"t\"}}'\n", 0700);
	ck_assert_int_eq(setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1", 1), 0);
	ck_assert_int_eq(setenv("KUBERNETES_SERVICE_PORT", "1", 1), 0);
	ck_assert_msg(certs_mint(at("pair"), &names, 30, false, NOW, &e) == 0 &&
			      certs_own_ca(NOW, DAY_MS, &ca, &e) == 0,
		      "%s", e.text);
}

static void
teardown(void)
{
	char command[96];

	certs_own_done(&ca);
	(void)snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

int
main(void)
{
	Suite *s = suite_create("calls that are refused");
	TCase *c = tcase_create("each in turn");

	tcase_set_timeout(c, 120);
	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_loop_test(c, test_refused, 0,
			    sizeof(things) / sizeof(things[0]));
	suite_add_tcase(s, c);
	return suite_run(s);
}
