/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operations NAME COUNT [SIZE]: does one of the operations below so many times,
 * in a table of SIZE machines.  `make instructions` counts the instructions of
 * measured(); the benchmark of timers takes its time, which is printed.  There
 * is no network here: the linker puts functions of ours in the place of the
 * server and of the calls to the API server.
 *
 * operations locks COUNT [SIZE]: for how long the table's lock is held by so
 * many patches, and by one answer of /status for each ten of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/limits.h"
#include "core/table/timers.h"
#include "daemon/hook.h"
#include "daemon/job.h"
#include "daemon/sighting.h"
#include "daemon/state_parts.h"
#include "edge/log.h"
#include "wire/api/split.h"
#include "wire/metrics/metrics.h"

struct server *__wrap_server_new(const struct server_options *o, struct err *e);
void __wrap_server_free(struct server *s);
int __wrap_kube_lanes_start(struct kube_lanes *p, const struct kube_request *q,
			    uint64_t tag, struct err *e);

static struct config config;
static struct state *shared;
static struct hook hook;
static struct server_options options;
static size_t sent;	/* bytes of bodies of calls to the API server */

struct server *
__wrap_server_new(const struct server_options *o, struct err *e)
{
	(void)e;
	options = *o;
	return (struct server *)&options;
}

void
__wrap_server_free(struct server *s)
{
	(void)s;
}

int
__wrap_kube_lanes_start(struct kube_lanes *p, const struct kube_request *q,
			uint64_t tag, struct err *e)
{
	(void)p, (void)tag, (void)e;
	sent += q->body_bytes;
	return 0;
}

static void
fail(const char *what)
{
	(void)fprintf(stderr, "operations: %s\n", what);
	exit(1);
}

static void
setup(uint32_t size)
{
	int64_t boot = clock_boot_ms();
	struct err e = {0};

	log_open(LOG_TEXT, LOG_ERROR);
	config.rules = (struct rules){
		.scope = SCOPE_CLUSTER,
		.hold = {DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE},
		.include = {1, {"*"}},
		.min_scale_up = 1,
		.hold_ms = 600000,
		.startup_ms = 900000,
	};
	shared = state_new(&config.rules, size + 1000, &e);
	if (shared == NULL)
		fail(e.text);
	clock_date(shared->clock, (int64_t)time(NULL) * 1000, boot, boot);
}

/* --- a review --------------------------------------------------------------- */

static char review[4096];
static struct server_request request;

static void
review_setup(void)
{
	FILE *f = fopen("tests/bench/review.json", "r");
	struct err e = {0};

	if (f == NULL)
		fail("tests/bench/review.json: not there; run it from the root "
		     "of the tree");
	request = (struct server_request){
		.method = "POST",
		.path = "/mutate",
		.query = "",
		.content_type = "application/json",
		.body = review,
		.body_bytes = fread(review, 1, sizeof(review), f)};
	(void)fclose(f);
	if (hook_start(&hook, shared, &config, &timing_default, 16, &e))
		fail(e.text);
}

static void
review_do(uint32_t i)
{
	struct server_reply reply = {0};

	(void)i;
	options.routes[0].handler(options.ctx, &request, &reply);
	if (reply.status != 200 || reply.body_bytes < 300)
		fail("a review was not answered");
	if (reply.body_free != NULL)
		reply.body_free((void *)reply.body);
}

/* --- a line of a watch -------------------------------------------------------- */

#define LABELS                                                                 \
	"\"labels\":{\"beta.kubernetes.io/arch\":\"amd64\","                   \
	"\"beta.kubernetes.io/os\":\"linux\",\"karpenter.sh/nodepool\":"       \
	"\"general\",\"karpenter.sh/capacity-type\":\"spot\","                 \
	"\"kubernetes.io/arch\":\"amd64\",\"kubernetes.io/os\":\"linux\","     \
	"\"kubernetes.io/hostname\":\"node-%05u\","                            \
	"\"node.kubernetes.io/instance-type\":\"m6i.2xlarge\","                \
	"\"topology.kubernetes.io/region\":\"eu-west-1\","                     \
	"\"topology.kubernetes.io/zone\":\"eu-west-1b\"},"
#define CONDITION(TYPE, STATUS)                                                \
	"{\"type\":\"" TYPE "\",\"status\":\"" STATUS "\",\"reason\":\"" TYPE  \
	"\",\"message\":\"\",\"observedGeneration\":1,"                        \
	"\"lastTransitionTime\":\"%s\"}"

static char line[4096];

static size_t
node_line(uint32_t i, uint32_t version)
{
	return (size_t)snprintf(
		line, sizeof(line),
		"{\"type\":\"MODIFIED\",\"object\":{\"kind\":"
		"\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
		"\"metadata\":{\"name\":\"node-%05u\",\"uid\":"
		"\"11111111-2222-4333-8444-%012u\",\"resourceVersion\":\"%u\","
		"\"creationTimestamp\":\"2026-01-02T03:00:00Z\"," LABELS
		"\"annotations\":{\"node.alpha.kubernetes.io/ttl\":\"0\","
		"\"volumes.kubernetes.io/controller-managed-attach-detach\":"
		"\"true\"},\"ownerReferences\":[{\"apiVersion\":"
		"\"karpenter.sh/v1\",\"kind\":\"NodeClaim\",\"name\":"
		"\"claim-%05u\",\"uid\":\"99999999-2222-4333-8444-%012u\","
		"\"blockOwnerDeletion\":true}],\"finalizers\":["
		"\"karpenter.sh/termination\"]}}}",
		i, i, version, i, i, i);
}

static size_t
claim_line(uint32_t i, uint32_t version, const char *created,
	   const char *initialized)
{
	return (size_t)snprintf(
		line, sizeof(line),
		"{\"type\":\"MODIFIED\",\"object\":{\"apiVersion\":"
		"\"karpenter.sh/v1\",\"kind\":\"NodeClaim\",\"metadata\":{"
		"\"name\":\"claim-%05u\",\"uid\":"
		"\"99999999-2222-4333-8444-%012u\",\"resourceVersion\":\"%u\","
		"\"creationTimestamp\":\"%s\"," LABELS
		"\"annotations\":{\"karpenter.sh/nodepool-hash\":"
		"\"4067990795911415110\","
		"\"karpenter.sh/nodepool-hash-version\":\"v3\"}},"
		"\"spec\":{\"expireAfter\":\"720h\",\"nodeClassRef\":{"
		"\"group\":\"karpenter.k8s.aws\",\"kind\":\"EC2NodeClass\","
		"\"name\":\"default\"},\"requirements\":[{\"key\":"
		"\"kubernetes.io/arch\",\"operator\":\"In\",\"values\":["
		"\"amd64\"]}],\"resources\":{\"requests\":{\"cpu\":\"3\","
		"\"memory\":\"6Gi\",\"pods\":\"5\"}}},"
		"\"status\":{\"providerID\":\"aws:///eu-west-1b/i-%017u\","
		"\"nodeName\":\"node-%05u\",\"capacity\":{\"cpu\":\"8\"},"
		"\"conditions\":[" CONDITION("Launched", "True") ","
		CONDITION("Registered", "True") ","
		"{\"type\":\"Initialized\",\"status\":\"%s\",\"reason\":"
		"\"Initialized\",\"message\":\"\",\"lastTransitionTime\":"
		"\"%s\"}]}}}",
		i, i, version, created, i, i, i, created, created, initialized,
		created);
}

static void
take(enum kind kind, size_t n)
{
	struct sighting o = {.kind = kind};
	enum watch_type type;
	struct err e = {0};
	int code;

	if (n >= sizeof(line) ||
	    sighting_line(line, n, &config.rules.hold, &type, &o, &code, &e))
		fail(e.text);
	sighting_take(shared, type, &o);
}

#define LONG_AGO "2026-01-02T03:00:00Z"

static void
listing(void)
{
	for (int k = 0; k < VIEW_COUNT; k++)
		state_listing(shared, (enum kind)k);
}

static void
listed(void)
{
	for (int k = 0; k < VIEW_COUNT; k++) {
		state_listed(shared, (enum kind)k, true);
		state_watch(shared, (enum kind)k, true);
	}
}

static void
cluster(uint32_t size)
{
	listing();
	for (uint32_t i = 0; i < size; i++) {
		take(KIND_NODECLAIM, claim_line(i, 1, LONG_AGO, "True"));
		take(KIND_NODE, node_line(i, 1));
	}
	listed();
}

static uint32_t machines;

/* Composing the line is ours, and not of the operation, but costs it the same
 * each time. */
static void
node_do(uint32_t i)
{
	take(KIND_NODE, node_line(i % machines, 2 + i));
}

static void
claim_do(uint32_t i)
{
	take(KIND_NODECLAIM,
	     claim_line(i % machines, 2 + i, LONG_AGO, "True"));
}

/* --- an item of a list, as it streams ------------------------------------------ */

static struct split *list;

static int
item_take(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct sighting o = {.kind = KIND_NODECLAIM};

	(void)ctx;
	if (sighting_item(bytes, n, &config.rules.hold, &o, e))
		fail("an item was not decoded");
	sighting_track(shared, &o);
	return 0;
}

static void
list_feed(const char *bytes, size_t n)
{
	struct err e = {0};

	if (split_feed(list, bytes, n, &e))
		fail(e.text);
}

static void
item_setup(void)
{
	cluster(machines);
	list = split_new(SPLIT_LIST, item_take, NULL);
	if (list == NULL)
		fail("no memory for a list");
	list_feed("{\"items\":[", 10);
}

/* The object of a line of a watch, and the comma after it. */
static void
item_do(uint32_t i)
{
	const size_t head = strlen("{\"type\":\"MODIFIED\",\"object\":");
	size_t n = claim_line(i % machines, 2 + i, LONG_AGO, "True");

	line[n - 1] = ',';
	list_feed(line + head, n - head);
}

/* --- a timer ------------------------------------------------------------------ */

static struct timers *timers;
#define TIMER_START INT64_C(1767323045000)

static void
timer_put(uint32_t id, int64_t deadline_ms)
{
	struct timer_facts f = {.nodepool = "general",
				.deadline_ms = deadline_ms,
				.counts_ms = TIMER_START - 1,
				.created_ms = TIMER_START - 2,
				.hold_ms = 600000};

	if (timers_put(timers, id, &f, TIMER_START))
		fail("no room for a timer");
}

/* A fixed sequence that looks random. */
static uint32_t
scattered(uint32_t i)
{
	i = (i ^ 61) ^ (i >> 16);
	i *= 9;
	i ^= i >> 4;
	i *= 0x27d4eb2d;
	return i ^ (i >> 15);
}

static void
timer_setup(void)
{
	timers = calloc(1, sizeof(*timers));
	if (timers == NULL ||
	    timers_init(timers, &config.rules, machines))
		fail("no memory for timers");
	for (uint32_t i = 0; i < machines; i++)
		timer_put(i, TIMER_START + 1 + scattered(i) % 600000);
}

static void
timer_do(uint32_t i)
{
	timer_put(scattered(i) % machines,
		  TIMER_START + 1 + scattered(i + 7) % 600000);
}

/* --- a patch: from what is due to what came of it ------------------------------ */

static void
patch_setup(void)
{
	char now[32];
	time_t at = time(NULL) - 10; /* so that it counts */
	struct tm tm;

	(void)strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ",
		       gmtime_r(&at, &tm));
	cluster(machines);
	/* It holds all others. */
	take(KIND_NODECLAIM, claim_line(machines, 2, now, "False"));
}

/* The call to the API server, and what came of it. */
static void
patch_made(uint32_t i, const struct controller_todo *todo,
	   struct controller_outcome *out)
{
	static struct job job;
	struct job_env env = {.shared = shared,
			      .rules = &config.rules,
			      .timing = &timing_default};
	char body[512];
	struct kube_reply reply = {.status = 200, .retry_after_ms = -1};
	struct err e = {0};

	if (todo->step != CONTROLLER_ACT || todo->action.act != ACT_HOLD)
		fail("there is nothing to hold");
	job_init(&job, &todo->action);
	if (job_start(&env, &job, i, NULL, &e))
		fail(e.text);
	reply.body = body;
	reply.body_bytes = (size_t)snprintf(
		body, sizeof(body),
		"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":"
		"\"meta.k8s.io/v1\",\"metadata\":{\"name\":\"%s\",\"uid\":"
		"\"%s\",\"resourceVersion\":\"%u\",\"creationTimestamp\":"
		"\"" LONG_AGO "\",\"annotations\":{\"" DEFAULT_HOLD_KEY
		"\":\"true\"}}}",
		todo->action.name, todo->action.uid, 1000000 + i);
	if (!job_answered(&env, &job, &reply, &e, out) ||
	    out->code != CONTROLLER_OK)
		fail("a patch was not answered");
}

static void
patch_do(uint32_t i)
{
	struct controller_todo todo = state_next(shared);
	struct controller_outcome out;

	patch_made(i, &todo, &out);
	state_done(shared, &out);
}

/* --- a change of a NodePool ---------------------------------------------- */

#define FEW_MACHINES 100

/* Each NodePool is a scope.  The number of machines does not grow with that of
 * the NodePools. */
static struct controller *fleet;
static const struct now fleet_now = {TIMER_START, 1000000};

static void
nodepool_show(uint32_t i, int64_t hold_ms)
{
	struct nodepool p;

	nodepool_init(&p);
	(void)snprintf(p.name, sizeof(p.name), "nodepool-%u", i);
	(void)snprintf(p.uid, sizeof(p.uid), "uid-%u", i);
	p.spec_known = true;
	p.hold_ms = hold_ms;
	p.released_at_ms = TIMER_START - 86400000 - hold_ms;
	p.hold_until_ms = TIMER_START + hold_ms;
	controller_nodepool(fleet, &p, fleet_now);
	while (controller_next(fleet, fleet_now).step == CONTROLLER_ACT)
		;
}

static void
nodepool_setup(void)
{
	static struct counters counters;
	struct rules rules = config.rules;
	char scopes[64 * SCOPES_MAX];
	struct buf b;

	rules.scope = SCOPE_NODEPOOL;
	rules.cap = (struct cap_rules){3600000, 600000};
	fleet = controller_new(&rules, FEW_MACHINES, 1, &counters);
	if (fleet == NULL)
		fail("no memory for a controller");
	for (int k = 0; k < VIEW_COUNT; k++) {
		controller_listing(fleet, (enum kind)k);
		controller_listed(fleet, (enum kind)k, true, fleet_now);
		controller_watch(fleet, (enum kind)k, true);
	}
	buf_init(&b, scopes, sizeof(scopes));
	for (uint32_t i = 0; i < machines; i++)
		buf_printf(&b, "%snodepool-%u debt=30m paused "
			   "at=2026-01-02T03:04:05Z", i > 0 ? "; " : "", i);
	controller_restore(fleet, scopes, STAMP_NONE, fleet_now);
	for (uint32_t i = 0; i < machines; i++)
		nodepool_show(i, 60000 + i);
}

static void
nodepool_do(uint32_t i)
{
	nodepool_show(scattered(i) % machines, 100000 + i);
}

/* --- the lock ----------------------------------------------------------------- */

/* CPU time: whoever else uses the processor does not count. */
static int64_t
cpu_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void
lock_held(const char *by, int64_t ns)
{
	(void)printf("%s %lld\n", by, (long long)ns);
}

/* It is taken to find out what to do, and for what came of it. */
static void
lock_of_patch(uint32_t i)
{
	struct controller_outcome out;
	struct controller_todo todo;
	int64_t begun = cpu_ns(), ns;

	todo = state_next(shared);
	ns = cpu_ns() - begun;
	patch_made(i, &todo, &out);
	begun = cpu_ns();
	state_done(shared, &out);
	lock_held("patch", ns + cpu_ns() - begun);
}

/* It is given away after each slice, and after each item. */
static void
lock_of_status(struct figures *f)
{
	struct now now = clock_now(shared->clock);
	const struct controller *c = shared->table->controller;
	struct nodepool_status nodepool;
	struct machine_status machine;
	struct status_report report;
	struct scope_status scope;
	char last[16];
	int64_t begun = cpu_ns();
	uint32_t i = 0;
	bool more;

	(void)snprintf(last, sizeof(last), "claim-%05u", machines);
	controller_status(c, now, &report);
	lock_held("status", cpu_ns() - begun);
	figures_begin(f);
	do {
		begun = cpu_ns();
		more = figures_count(c, f, now);
		lock_held("status", cpu_ns() - begun);
	} while (more);
	begun = cpu_ns();
	more = controller_scope_status(c, f, &i, now, &scope);
	lock_held("status", cpu_ns() - begun);
	if (!more)
		fail("there is no scope");
	i = 0;
	begun = cpu_ns();
	(void)controller_nodepool_status(c, f, &i, now, &nodepool);
	lock_held("status", cpu_ns() - begun);
	begun = cpu_ns();
	if (!controller_machine(c, last, now, &machine))
		fail("there is no last machine");
	lock_held("status", cpu_ns() - begun);
}

static void
locks(uint32_t count)
{
	struct figures *f = figures_new();

	if (f == NULL)
		fail("no memory for figures");
	patch_setup();
	for (uint32_t i = 0; i < count; i++) {
		lock_of_patch(i);
		if (i % 10 == 0)
			lock_of_status(f);
	}
	figures_free(f);
}

/* --- a page of metrics --------------------------------------------------- */

#define A_SCOPE 5	/* machines; SCOPES_MAX with some 20,000 */

static struct figures *figures;

static void
scrape_setup(void)
{
	struct object o = {.kind = KIND_NODECLAIM,
			   .karpenter = true,
			   .launched = true,
			   .launch_known = true,
			   .disrupted_ms = STAMP_NONE,
			   .deleted_ms = STAMP_NONE,
			   .mark_ms = STAMP_NONE};

	state_free(shared);
	config.rules.scope = SCOPE_NODEPOOL;
	shared = state_new(&config.rules, machines, &(struct err){0});
	figures = figures_new();
	if (shared == NULL || figures == NULL)
		fail("no memory for a table");
	o.created_ms = o.ready_ms = clock_now(shared->clock).server_ms - 60000;
	listing();
	for (uint32_t i = 0; i < machines; i++) {
		(void)snprintf(o.name, sizeof(o.name), "claim-%05u", i);
		(void)snprintf(o.uid, sizeof(o.uid),
			       "99999999-2222-4333-8444-%012u", i);
		(void)snprintf(o.rv, sizeof(o.rv), "%u", i + 1);
		(void)snprintf(o.nodepool, sizeof(o.nodepool), "pool-%u",
			       i % (machines / A_SCOPE));
		state_track(shared, &o);
	}
	listed();
	(void)state_next(shared);	/* takes over the lead */
}

static bool
next_scope(void *ctx, uint32_t *i, struct scope_report *out)
{
	(void)ctx;
	return state_scope(shared, figures, i, out);
}

static bool
next_nodepool(void *ctx, uint32_t *i, struct nodepool_report *out)
{
	(void)ctx;
	return state_nodepool_at(shared, i, out);
}

static void
scrape_do(uint32_t n)
{
	static char page[METRICS_PAGE_BYTES];
	struct metrics_gauges g = {
		.leads = true, .version = "", .cluster_scope = "cluster",
		.lease_name = ""};
	struct buf b;

	(void)n;
	buf_init(&b, page, sizeof(page));
	state_count(shared, figures);
	state_report(shared, &g.controller);
	metrics_write(&b, &shared->counters, &g, next_scope, next_nodepool,
		      NULL);
	if (b.full || strstr(page, "quiet_timestamp_seconds{scope=\"pool-0\"")
			      == NULL)
		fail("a scope is missing");
}

/* --- all of them ----------------------------------------------------------------- */

static void
lines_setup(void)
{
	cluster(machines);
}

static const struct operation {
	const char *name;
	void (*setup)(void);
	void (*once)(uint32_t i);
} operations[] = {
	{"review", review_setup, review_do},
	{"node-line", lines_setup, node_do},
	{"claim-line", lines_setup, claim_do},
	{"list-item", item_setup, item_do},
	{"timer", timer_setup, timer_do},
	{"patch", patch_setup, patch_do},
	{"scrape", scrape_setup, scrape_do},
	{"nodepool", nodepool_setup, nodepool_do},
};

void measured(const struct operation *o, uint32_t from, uint32_t count);

__attribute__((noinline)) void
measured(const struct operation *o, uint32_t from, uint32_t count)
{
	for (uint32_t i = from; i < from + count; i++)
		o->once(i);
}

static void
warm(const struct operation *o, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		o->once(i);
}

int
main(int argc, char **argv)
{
	struct timespec begun, ended;
	uint32_t count;

	if (argc < 3 || argc > 4)
		fail("usage: operations NAME COUNT [SIZE]");
	count = (uint32_t)strtoul(argv[2], NULL, 10);
	machines = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1000;
	if (strcmp(argv[1], "locks") == 0) {
		setup(machines);
		locks(count);
		return 0;
	}
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
		const struct operation *o = &operations[i];

		if (strcmp(o->name, argv[1]) != 0)
			continue;
		setup(machines);
		o->setup();
		warm(o, 20);
		(void)clock_gettime(CLOCK_MONOTONIC, &begun);
		measured(o, 20, count);
		(void)clock_gettime(CLOCK_MONOTONIC, &ended);
		(void)printf("{\"ns\": %.1f}\n",
			     ((double)(ended.tv_sec - begun.tv_sec) * 1e9 +
			      (double)(ended.tv_nsec - begun.tv_nsec)) /
				     count);
		return 0;
	}
	fail("no such operation");
}
