/* SPDX-License-Identifier: Apache-2.0 */
#include "serve.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cert_renewer.h"
#include "core/base/limits.h"
#include "edge/log.h"
#include "elector.h"
#include "event_recorder.h"
#include "health.h"
#include "hook.h"
#include "memory.h"
#include "serving_cert.h"
#include "state.h"
#include "sweeper.h"
#include "watcher.h"

/*
 * The main thread owns all signals: they are blocked before any other thread
 * starts and taken by sigtimedwait, so there is no handler.  It also watches
 * the files of the serving certificate, and it starts and stops the workers.
 * The webhook and health servers start before the workers and end after them,
 * so that admission reviews are answered whatever the API server does.
 */

/* The workers, in the order in which they start. */
enum {
	WORKER_WATCHERS, /* VIEW_COUNT watchers, one for each kind */
	WORKER_SWEEPER = WORKER_WATCHERS + VIEW_COUNT,
	WORKER_EVENT_RECORDER,
	WORKER_RENEWER,
	WORKER_ELECTOR,
	WORKER_COUNT,
};

struct serve {
	const struct config *config;
	const struct timing *timing;
	sigset_t signals;
	struct state *shared;
	struct hook hook;
	struct serving_cert pair;
	struct health health;
	struct kube *kube;
	struct worker workers[WORKER_COUNT];
	/* One watcher for each kind; NULL if the configuration needs none. */
	struct watcher *watchers[VIEW_COUNT];
	struct sweeper *sweeper;
	struct elector *elector; /* NULL if no Lease is kept */
	struct event_recorder *recorder;
	/* NULL if this process does not renew the pair. */
	struct cert_renewer *renewer;
	char namespace_name[64];
	unsigned connections_max; /* upper bound of the webhook's connections */
	/* With `certs --renew` the renewer is the only worker, and there is no
	 * server. */
	bool renews_only;
	bool serves;	     /* Whether the servers have started. */
	int64_t stopping_ms; /* Boot time at which the stop began. */
	/* Number of connections that were still open when the webhook ended. */
	unsigned cut;
};

static void
raise_files(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &r);
	}
}

static void
block_signals(sigset_t *set)
{
	(void)sigemptyset(set);
	(void)sigaddset(set, SIGTERM);
	(void)sigaddset(set, SIGINT);
	(void)sigaddset(set, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, set, NULL);
}

/* Waits for a signal for `ms` milliseconds at most.  Returns SIGTERM or SIGINT
 * if one of them came, and 0 otherwise.  On SIGHUP it returns 0 at once, so
 * that main checks the certificate's files. */
static int
wait_signal(const sigset_t *set, int64_t ms)
{
	struct timespec t = {.tv_sec = ms / 1000,
			     .tv_nsec = ms % 1000 * 1000000};
	int sig = sigtimedwait(set, NULL, &t);

	return sig == SIGTERM || sig == SIGINT ? sig : 0;
}

/* --- start ---------------------------------------------------------------- */

static int
start_servers(struct serve *v, struct err *e)
{
	const struct config *c = v->config;

	if (hook_start(&v->hook, v->shared, c, v->timing, v->connections_max,
		       e))
		return err_wrap(e, "webhook.address %s", c->webhook.address);
	serving_cert_init(&v->pair, c, v->shared->clock, &v->shared->counters,
			  v->hook.server);
	v->health.shared = v->shared;
	v->health.hook = &v->hook;
	v->health.pair = &v->pair;
	v->health.workers = v->workers;
	v->health.workers_n = WORKER_COUNT;
	v->health.timing = v->timing;
	v->health.cluster_scope =
		c->rules.scope == SCOPE_CLUSTER ? "cluster" : "";
	v->health.lease_name = c->leader.name;
	if (status_init(&v->health.status, v->shared, &v->pair, c, e))
		return -1;
	if (health_start(&v->health, c->metrics_address, e))
		return err_wrap(e, "metrics.address %s", c->metrics_address);
	serving_cert_look(&v->pair);
	return 0;
}

static int
start_kube(struct serve *v, struct kubeconfig *access, struct err *e)
{
	struct kube_options o = {
		.access = *access,
		.clock = v->shared->clock,
		.counters = &v->shared->counters,
		.user_agent = "karpenter-node-holder/" HOLDER_VERSION,
		.connect_ms = v->timing->connect_ms,
		.keepalive_idle_s = KEEPALIVE_IDLE_S,
		.keepalive_probe_s = KEEPALIVE_PROBE_S,
		.token_ms = v->timing->token_ms,
	};

	if (access->namespace_ != NULL)
		(void)snprintf(v->namespace_name, sizeof(v->namespace_name),
			       "%s", access->namespace_);
	v->kube = kube_new(&o, e);
	if (v->kube == NULL)
		return -1;
	*access = (struct kubeconfig){0};
	return 0;
}

/* Refuses a namespace of tickets that is also the namespace of the Lease.  If
 * the configuration names the Lease's namespace, config_validate has checked
 * this.  Otherwise the Lease is in the namespace of this pod. */
static int
check_tickets(const struct serve *v, struct err *e)
{
	const struct config *c = v->config;

	if (!rules_tickets(&c->rules) || c->leader.namespace_[0] != '\0' ||
	    strcmp(c->rules.tickets, v->namespace_name) != 0)
		return 0;
	return err_set(e, ERR_INPUT,
		       "tickets.namespace: %s is the holder's own namespace, "
		       "expected another, because its Lease would hold every "
		       "NodePool",
		       c->rules.tickets);
}

static int
make_watchers(struct serve *v, struct err *e)
{
	struct watcher_setup o = {
		.shared = v->shared,
		.kube = v->kube,
		.rules = &v->config->rules,
		.timing = v->timing,
	};

	for (int k = 0; k < VIEW_COUNT; k++) {
		if ((k == KIND_EVENT && !rules_tell_replacements(o.rules)) ||
		    (k == KIND_TICKET && !rules_tickets(o.rules)))
			continue;
		o.kind = (enum kind)k;
		v->watchers[k] =
			watcher_new(&o, &v->workers[WORKER_WATCHERS + k], e);
		if (v->watchers[k] == NULL)
			return -1;
	}
	return 0;
}

static int
make_sweeper(struct serve *v, struct err *e)
{
	struct sweeper_setup o = {
		.shared = v->shared,
		.kube = v->kube,
		.rules = &v->config->rules,
		.watchers = v->watchers,
		.recorder = v->recorder,
		.timing = v->timing,
		.concurrency = v->config->patch_concurrency,
	};

	v->sweeper = sweeper_new(&o, &v->workers[WORKER_SWEEPER], e);
	return v->sweeper == NULL ? -1 : 0;
}

static int
make_event_recorder(struct serve *v, struct err *e)
{
	char host[65] = "holder";
	struct event_recorder_setup o = {
		.clock = v->shared->clock,
		.kube = v->kube,
		.instance = host,
		.timing = v->timing,
	};

	(void)gethostname(host, sizeof(host) - 1);
	v->recorder =
		event_recorder_new(&o, &v->workers[WORKER_EVENT_RECORDER], e);
	return v->recorder == NULL ? -1 : 0;
}

static int
make_renewer(struct serve *v, struct err *e)
{
	struct cert_renewer_setup o = {
		.shared = v->shared,
		.kube = v->kube,
		.config = v->config,
		.pair = &v->pair,
		.namespace_name = v->namespace_name[0] != '\0'
					  ? v->namespace_name
					  : v->config->leader.namespace_,
		.timing = v->timing,
	};

	v->renewer = cert_renewer_new(&o, &v->workers[WORKER_RENEWER], e);
	return v->renewer == NULL ? -1 : 0;
}

static int
make_elector(struct serve *v, struct err *e)
{
	struct elector_setup o = {
		.shared = v->shared,
		.kube = v->kube,
		.config = v->config,
		.watchers = v->watchers,
		.namespace_name = v->namespace_name,
		.timing = v->timing,
	};

	/* Without leader election the elector only keeps the soft state.  In
	 * that case, the elector is left out if no namespace for the Lease is
	 * known. */
	if (!v->config->leader.enabled && v->namespace_name[0] == '\0' &&
	    v->config->leader.namespace_[0] == '\0')
		return 0;
	v->elector = elector_new(&o, &v->workers[WORKER_ELECTOR], e);
	return v->elector == NULL ? -1 : 0;
}

/* The event recorder is made before the sweeper, which records Events with
 * it. */
static int
make_workers(struct serve *v, struct err *e)
{
	if (make_elector(v, e) || make_watchers(v, e) ||
	    make_event_recorder(v, e) || make_sweeper(v, e))
		return -1;
	return v->config->self_signed.enabled ? make_renewer(v, e) : 0;
}

static int
start_workers(struct serve *v, struct err *e)
{
	for (int i = 0; i < WORKER_COUNT; i++)
		if (worker_start(&v->workers[i], e))
			return -1;
	return 0;
}

static struct memory
memory_of(const struct config *c, uint32_t machines)
{
	return memory_divide(c->memory_limit, c->patch_concurrency,
			     rules_tickets(&c->rules), machines);
}

static int
start(struct serve *v, struct kubeconfig *access, struct err *e)
{
	struct memory m = memory_of(v->config, 0);

	if (v->renews_only) {
		v->shared = state_new(&v->config->rules, 1, e);
		if (v->shared == NULL || start_kube(v, access, e) ||
		    make_renewer(v, e) || start_workers(v, e))
			return -1;
		LOG(LOG_INFO, "renewing", LS("version", HOLDER_VERSION));
		return 0;
	}
	v->connections_max = hook_places(m.connections_max);
	v->shared = state_new(&v->config->rules, m.machines_max, e);
	if (v->shared == NULL || start_kube(v, access, e) ||
	    check_tickets(v, e) || make_workers(v, e) || start_servers(v, e) ||
	    start_workers(v, e))
		return -1;
	v->serves = true;
	LOG(LOG_INFO, "serving", LS("version", HOLDER_VERSION),
	    LS("mode",
	       v->config->rules.mode == MODE_OBSERVE ? "observe" : "enforce"),
	    LI("webhookPort", server_port(v->hook.server)),
	    LI("metricsPort", server_port(v->health.server)),
	    LI("machinesMax", m.machines_max),
	    LI("connectionsMax", v->connections_max));
	return 0;
}

/* --- stop ----------------------------------------------------------------- */

/* Returns whether all writing to Nodes, NodeClaims and certificates has
 * ended. */
static bool
writers_ended(const struct serve *v)
{
	return worker_ended(&v->workers[WORKER_SWEEPER]) &&
	       worker_ended(&v->workers[WORKER_RENEWER]);
}

static bool
elector_ended(const struct serve *v)
{
	return worker_ended(&v->workers[WORKER_ELECTOR]);
}

/* Returns whether the webhook may end: drainTimeout is over, or the webhook has
 * had no open connection for quiet_ms.  There are two reasons why it must not
 * end earlier.  The API server keeps idle connections for 90 s, and does not
 * retry a review if we close its connection first.  And each kube-proxy sends
 * new connections here until it learns that this replica is going. */
static bool
reviews_ended(const struct serve *v)
{
	int64_t ms = clock_boot_ms() - v->stopping_ms;

	return ms >= v->config->webhook.drain_ms ||
	       (ms >= v->timing->quiet_ms &&
		server_unused_ms(v->hook.server) >= v->timing->quiet_ms);
}

static void
await(struct serve *v, bool (*over)(const struct serve *v))
{
	while (!over(v)) {
		health_beat(&v->health);
		(void)log_flush();
		if (wait_signal(&v->signals, 50) != 0) {
			LOG(LOG_WARN, "second signal, exiting at once");
			_exit(1);
		}
	}
}

/* Stops the workers one after the other.  Reviews are answered until all
 * workers have ended. */
static void
stop(struct serve *v)
{
	if (v->shared == NULL)
		return; /* nothing has been made */
	v->stopping_ms = clock_boot_ms();
	if (v->serves)
		server_drain(v->hook.server); /* before /readyz fails */
	state_stop(v->shared); /* the sweeper takes no new action */
	worker_stop(&v->workers[WORKER_RENEWER]);
	await(v, writers_ended);
	worker_stop(&v->workers[WORKER_ELECTOR]);
	await(v, elector_ended); /* the Lease is given up */
	if (v->serves) {
		await(v, reviews_ended);
		/* The wait is over because no connection was open for a while,
		 * or because drainTimeout has passed.  In the second case the
		 * open connections are cut, and the log says how many. */
		v->cut = server_connections(v->hook.server);
	}
	/* Until here the watchers have kept the webhook's set of disabled
	 * NodePools up to date.  No thread records Events any more. */
	for (int k = 0; k < VIEW_COUNT; k++)
		worker_stop(&v->workers[WORKER_WATCHERS + k]);
	worker_stop(&v->workers[WORKER_EVENT_RECORDER]);
	for (int i = 0; i < WORKER_COUNT; i++)
		worker_join(&v->workers[i]);
}

static void
free_all(struct serve *v)
{
	health_stop(&v->health);
	status_done(&v->health.status);
	hook_stop(&v->hook);
	for (int k = 0; k < VIEW_COUNT; k++)
		watcher_free(v->watchers[k]);
	sweeper_free(v->sweeper);
	elector_free(v->elector);
	event_recorder_free(v->recorder);
	cert_renewer_free(v->renewer);
	kube_free(v->kube);
	state_free(v->shared);
}

/* Lets the webhook use the memory that the table does not use. */
static void
divide_memory(struct serve *v)
{
	struct controller_report r;
	struct memory m;

	state_report(v->shared, &r);
	m = memory_of(v->config,
		      r.objects[KIND_NODE] > r.objects[KIND_NODECLAIM]
			      ? r.objects[KIND_NODE]
			      : r.objects[KIND_NODECLAIM]);
	server_bound(v->hook.server,
		     m.connections_max < v->connections_max
			     ? m.connections_max
			     : v->connections_max,
		     m.bodies_max);
}

static void
loop(struct serve *v)
{
	int sig = 0;

	while (sig == 0) {
		health_beat(&v->health);
		serving_cert_look(&v->pair);
		divide_memory(v);
		(void)log_flush();
		sig = wait_signal(&v->signals, v->timing->cert_ms);
	}
	LOG(LOG_INFO, "stopping, holds stay",
	    LS("signal", sig == SIGTERM ? "SIGTERM" : "SIGINT"));
}

/* Waits for a signal, and meanwhile checks that the renewer is well.  No
 * kubelet probes this process, because it has no port.  So if the renewer is
 * stuck, the process ends, and the kubelet starts it again. */
static void
loop_renewing(struct serve *v)
{
	int sig = 0;

	while (sig == 0) {
		(void)log_flush();
		sig = wait_signal(&v->signals, v->timing->cert_ms);
		if (!worker_is_well(&v->workers[WORKER_RENEWER],
				    v->timing->heart_ms)) {
			LOG(LOG_ERROR, "the renewer is stuck, exiting");
			(void)log_flush();
			_exit(1);
		}
	}
	LOG(LOG_INFO, "stopping",
	    LS("signal", sig == SIGTERM ? "SIGTERM" : "SIGINT"));
}

/* Gives a slow reader of stderr some time to take the last lines. */
static void
last_lines(void)
{
	int64_t until_ms = clock_boot_ms() + LOG_END_MS;

	while (!log_flush() && clock_boot_ms() < until_ms)
		(void)usleep(10000);
}

static int
run(struct serve *v, struct kubeconfig *access, void (*loop_of)(struct serve *))
{
	struct err e = {0};
	int rc;

	raise_files();
	block_signals(&v->signals);
	rc = start(v, access, &e);
	if (rc == 0)
		loop_of(v);
	else
		LOG(LOG_ERROR, "cannot start", LS("err", e.text));
	stop(v);
	free_all(v);
	kubeconfig_done(access);
	if (rc == 0)
		LOG(LOG_INFO, "stopped", LI("connectionsCut", v->cut));
	last_lines();
	return rc == 0 ? 0 : 1;
}

int
serve_run(const struct config *c, struct kubeconfig *access,
	  const struct timing *t)
{
	struct serve v = {.config = c, .timing = t};

	return run(&v, access, loop);
}

int
serve_renew(const struct config *c, struct kubeconfig *access,
	    const struct timing *t)
{
	struct serve v = {.config = c, .timing = t, .renews_only = true};

	return run(&v, access, loop_renewing);
}
