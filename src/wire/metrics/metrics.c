/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/metrics/metrics.h"

#include <string.h>

#include "core/base/utf8.h"

/*
 * Writes the page of /metrics in Prometheus' text format.  The counters are
 * atomics that any thread adds to, so they are read without a lock.  The names
 * and labels of most counters are the rows of COUNTERS (core/base/counters.h),
 * and `helps` has a help for each family.
 *
 * Most gauges come in a struct that the caller has filled under its lock.
 * Scopes and NodePools come one by one from the caller's iterators, which may
 * take that lock for each item.  Names from the cluster are escaped.  If the
 * page does not fit the buffer, b->full is set, and the caller answers with an
 * error.
 */

static const struct {
	const char *name, *labels;
} cells[COUNTER_COUNT] = {
#define X(id, name, labels) [COUNTER_##id] = {name, labels},
	COUNTERS(X)
#undef X
};

static const struct {
	const char *name, *help;
} helps[] = {
	{"admission_requests_total", "Admission reviews by kind and result."},
	{"?holds_total", "Hold patches by result."},
	{"?releases_total", "Release patches by result."},
	{"replacements_total", "NodeClaims found to replace another."},
	{"disruption_events_ignored_total",
	 "Karpenter's Events about a claim before whose creation no other "
	 "claim was marked for disruption."},
	{"table_full_total", "Objects left out because the table was full."},
	{"objects_skipped_total",
	 "Objects left out because they were too large or could not be read."},
	{"tickets_flawed_total",
	 "Tickets that do not hold, or not all that they ask for."},
	{"watch_restarts_total", "Watches begun again, by why the last ended."},
	{"self_signed_writes_total",
	 "CAs, caBundles and serving certificates of our own written."},
	{"self_signed_errors_total", "And those that could not be."},
	{"=certwatcher_read_certificate_total",
	 "Certificate pairs read from their files."},
	{"=certwatcher_read_certificate_errors_total",
	 "Certificate pairs that could not be used."},
};

/* Returns the prefix of a metric, and moves *name past a mark at its beginning.
 * "=name" has no prefix, because other controllers export a metric of this name
 * too.  "?name" is a metric of holds.  With MODE_OBSERVE its name begins with
 * would_, so that it is not mistaken for a metric of real holds. */
static const char *
prefix_of(const char **name, bool observes)
{
	if (**name == '?') {
		(*name)++;
		return observes ? METRICS_PREFIX "would_" : METRICS_PREFIX;
	}
	if (**name != '=')
		return METRICS_PREFIX;
	(*name)++;
	return "";
}

static void
put_name(struct buf *b, bool observes, const char *name)
{
	buf_puts(b, prefix_of(&name, observes));
	buf_puts(b, name);
}

static void
family(struct buf *b, bool observes, const char *name, const char *type,
       const char *help)
{
	buf_puts(b, "# HELP ");
	put_name(b, observes, name);
	buf_printf(b, " %s\n# TYPE ", help);
	put_name(b, observes, name);
	buf_printf(b, " %s\n", type);
}

/* Writes the value of a label.  A character that a terminal does not show is
 * written as the hexadecimal code of each of its bytes, such as \x9b.  A raw
 * byte would not do, because Prometheus refuses a page that is not UTF-8. */
static void
label_value(struct buf *b, const char *s)
{
	bool shows;
	size_t n;

	buf_puts(b, "\"");
	for (; *s != '\0'; s += n) {
		n = utf8_shown(s, &shows);
		if (*s == '\\' || *s == '"')
			buf_printf(b, "\\%c", *s);
		else if (shows)
			buf_add(b, s, n);
		else
			for (size_t i = 0; i < n; i++)
				buf_printf(b, "\\\\x%02x", (unsigned char)s[i]);
	}
	buf_puts(b, "\"");
}

static unsigned long long
load(_Atomic uint64_t *v)
{
	return atomic_load_explicit(v, memory_order_relaxed);
}

static void
write_counters(struct buf *b, struct counters *c, bool observes)
{
	for (size_t h = 0; h < sizeof(helps) / sizeof(helps[0]); h++) {
		family(b, observes, helps[h].name, "counter", helps[h].help);
		for (int i = 0; i < COUNTER_COUNT; i++) {
			if (strcmp(cells[i].name, helps[h].name) != 0)
				continue;
			put_name(b, observes, cells[i].name);
			if (cells[i].labels[0] != '\0')
				buf_printf(b, "{%s}", cells[i].labels);
			buf_printf(b, " %llu\n", load(&c->at[i]));
		}
	}
}

/* Writes a histogram.  One second is per_second units of `bounds` and `sum`;
 * per_second is at most a million.  The sum is written exactly, because it
 * grows for weeks, and each answer adds little. */
static void
write_histogram(struct buf *b, const char *name, const char *help,
		_Atomic uint64_t *buckets, _Atomic uint64_t *sum,
		const uint64_t *bounds, size_t n, unsigned per_second)
{
	unsigned long long total = 0, all = load(sum);

	family(b, false, name, "histogram", help);
	for (size_t i = 0; i < n; i++) {
		total += load(&buckets[i]);
		buf_printf(b, METRICS_PREFIX "%s_bucket{le=\"%g\"} %llu\n",
			   name, (double)bounds[i] / per_second, total);
	}
	total += load(&buckets[n]);
	buf_printf(b, METRICS_PREFIX "%s_bucket{le=\"+Inf\"} %llu\n", name,
		   total);
	buf_printf(b, METRICS_PREFIX "%s_sum %llu.%06llu\n", name,
		   all / per_second, all % per_second * (1000000 / per_second));
	buf_printf(b, METRICS_PREFIX "%s_count %llu\n", name, total);
}

static void
write_histograms(struct buf *b, struct counters *c)
{
	static const uint64_t us[] = LATENCY_BUCKETS_US;
	static const uint64_t ms[] = HOLD_BUCKETS_MS;
	static const uint64_t write_ms[] = WRITE_BUCKETS_MS;

	write_histogram(b, "admission_duration_seconds",
			"Time to answer an admission review.", c->latency,
			&c->latency_us_sum, us, LATENCY_BUCKETS, 1000000);
	write_histogram(b, "hold_latency_seconds",
			"From a scope's activity to its last object held.",
			c->hold_latency, &c->hold_latency_ms_sum, ms,
			HOLD_BUCKETS, 1000);
	write_histogram(b, "write_duration_seconds",
			"From the start of a call that writes to the head of "
			"the API server's answer.",
			c->write_duration, &c->write_duration_ms_sum, write_ms,
			WRITE_BUCKETS, 1000);
}

static void
write_rest(struct buf *b, struct counters *c)
{
	static const char *const methods[REST_METHODS] = {
		[REST_GET] = "GET",
		[REST_PATCH] = "PATCH",
		[REST_POST] = "POST",
		[REST_DELETE] = "DELETE",
	};

	family(b, false, "=rest_client_requests_total", "counter",
	       "Calls to the API server by code and method.");
	for (int m = 0; m < REST_METHODS; m++) {
		for (int code = 0; code < HTTP_CODE_MAX; code++) {
			if (load(&c->rest[m][code]) == 0)
				continue;
			buf_puts(b, "rest_client_requests_total{code=\"");
			if (code == 0)
				buf_puts(b, "<error>");
			else
				buf_printf(b, "%d", code);
			buf_printf(b, "\",method=\"%s\"} %llu\n", methods[m],
				   load(&c->rest[m][code]));
		}
	}
}

static void
write_scopes(struct buf *b, const struct metrics_gauges *g,
	     metrics_scope_fn *scopes, void *ctx)
{
	const char *held = "?scope_held",
		   *at = "?scope_quiet_timestamp_seconds";
	bool observes = g->controller.observes;
	struct scope_report r;

	family(b, observes, held, "gauge",
	       "1 while a scale-up holds the scope, 2 while only hold-untils "
	       "or tickets hold each of its NodePools, otherwise 0.");
	for (uint32_t i = 0; scopes(ctx, &i, &r);) {
		put_name(b, observes, held);
		buf_puts(b, "{scope=");
		label_value(b, r.name[0] != '\0' ? r.name : g->cluster_scope);
		buf_printf(b, "} %d\n", r.held ? 1 : r.by_hand ? 2 : 0);
	}
	family(b, observes, at, "gauge",
	       "When the scope becomes quiet if nothing happens; API server "
	       "time. Which machine moved it stands in the log and in an Event "
	       "on the NodePool.");
	for (uint32_t i = 0; scopes(ctx, &i, &r);) {
		if (r.quiet_ms == STAMP_NONE)
			continue;
		put_name(b, observes, at);
		buf_puts(b, "{scope=");
		label_value(b, r.name[0] != '\0' ? r.name : g->cluster_scope);
		buf_printf(b, "} %.3f\n", (double)r.quiet_ms / 1e3);
	}
}

/* Writes until when NodePools are held by hand, and how many objects are held
 * by hand.  Only the leader writes when the holds end: the other replicas know
 * the NodePools, too, but hold nothing. */
static void
write_by_hand(struct buf *b, const struct metrics_gauges *g,
	      metrics_nodepool_fn *nodepools, void *ctx)
{
	bool observes = g->controller.observes;
	const char *until = "?hold_until_timestamp_seconds";
	const char *held = "?held_by_hand_objects";
	struct nodepool_report p;
	unsigned left = HAND_SERIES_MAX;

	family(b, observes, until, "gauge",
	       "Until when a NodePool's hold-until or ticket holds it; API "
	       "server time.");
	for (uint32_t i = 0; g->leads && left > 0 && nodepools(ctx, &i, &p);) {
		if (p.hand_ms == STAMP_NONE)
			continue;
		left--;
		put_name(b, observes, until);
		buf_puts(b, "{nodepool=");
		label_value(b, p.name);
		buf_printf(b, "} %lld\n", (long long)p.hand_ms / 1000);
	}
	family(b, observes, held, "gauge",
	       "Objects that carry our hold and mark while a hold-until or a "
	       "ticket holds their NodePool.");
	for (int k = 0; k < KIND_COUNT; k++) {
		put_name(b, observes, held);
		buf_printf(b, "{kind=\"%s\"} %u\n",
			   object_kind_name((enum kind)k), g->by_hand[k]);
	}
}

static void
gauge(struct buf *b, const char *name, const char *help, double v)
{
	family(b, false, name, "gauge", help);
	put_name(b, false, name);
	buf_printf(b, " %.10g\n", v);
}

static void
write_held(struct buf *b, const struct controller_report *c)
{
	family(b, false, "held_objects", "gauge",
	       "Objects that carry our hold and mark.");
	for (int k = 0; k < KIND_COUNT; k++)
		buf_printf(b, METRICS_PREFIX "held_objects{kind=\"%s\"} %u\n",
			   object_kind_name((enum kind)k), c->held[k]);
	gauge(b, "observing",
	      "1 with mode: observe, in which nothing is written on Nodes and "
	      "NodeClaims.",
	      c->observes);
	if (!c->observes) {
		gauge(b, "releases_blocked",
		      "1 while holds that are due cannot be released, for over "
		      "a minute: something cannot be listed or watched.",
		      c->blocked);
		return;
	}
	gauge(b, "would_releases_blocked",
	      "1 while holds that would be due could not be released, for over "
	      "a minute: something cannot be listed or watched.",
	      c->blocked);
	family(b, true, "?held_objects", "gauge",
	       "Objects that would carry our hold and mark.");
	for (int k = 0; k < KIND_COUNT; k++)
		buf_printf(b,
			   METRICS_PREFIX
			   "would_held_objects{kind=\"%s\"} %u\n",
			   object_kind_name((enum kind)k), c->would[k]);
}

static void
write_table(struct buf *b, const struct metrics_gauges *g)
{

	family(b, false, "objects", "gauge", "Objects in the table.");
	for (int k = 0; k < KIND_COUNT; k++)
		buf_printf(b, METRICS_PREFIX "objects{kind=\"%s\"} %u\n",
			   object_kind_name((enum kind)k),
			   g->controller.objects[k]);

	gauge(b, "objects_max",
	      "How many objects of each kind have room in the table.",
	      g->controller.objects_max);

	family(b, false, "watch_up", "gauge",
	       "1 while the watch is open; without that on Nodes, NodeClaims "
	       "and NodePools nothing is released.");
	for (int k = 0; k < VIEW_COUNT; k++)
		if (k != KIND_TICKET || g->controller.has_tickets)
			buf_printf(b,
				   METRICS_PREFIX "watch_up{kind=\"%s\"} %d\n",
				   object_kind_name((enum kind)k),
				   g->controller.up[k]);
	if (g->controller.has_tickets)
		gauge(b, "tickets", "Tickets in force.", g->controller.tickets);

	gauge(b, "timers", "Machines whose deadline lies ahead.",
	      g->controller.timers);
	family(b, false, "log_lines_dropped_total", "counter",
	       "Log lines that the reader of stderr did not take in time.");
	buf_printf(b, METRICS_PREFIX "log_lines_dropped_total %llu\n",
		   (unsigned long long)g->log_dropped);

	if (g->cert_not_after_ms != 0)
		gauge(b, "tls_certificate_expiration_timestamp_seconds",
		      "When the served certificate ends.",
		      (double)g->cert_not_after_ms / 1e3);

	family(b, false, "=leader_election_master_status", "gauge",
	       "1 while this replica leads and sweeps.");
	buf_puts(b, "leader_election_master_status{name=");
	label_value(b, g->lease_name);
	buf_printf(b, "} %d\n", g->leads);

	family(b, false, "build_info", "gauge",
	       "Always 1; the version is a label.");
	buf_puts(b, METRICS_PREFIX "build_info{version=");
	label_value(b, g->version);
	buf_puts(b, "} 1\n");
}

static void
write_process(struct buf *b, const struct metrics_process *p)
{
	family(b, false, "=process_cpu_seconds_total", "counter",
	       "User and system CPU time.");
	buf_printf(b, "process_cpu_seconds_total %.2f\n", p->cpu_seconds);
	gauge(b, "=process_resident_memory_bytes", "Resident memory.",
	      (double)p->resident_bytes);
	gauge(b, "=process_virtual_memory_bytes", "Virtual memory.",
	      (double)p->virtual_bytes);
	gauge(b, "=process_open_fds", "Open file descriptors.",
	      (double)p->open_fds);
	gauge(b, "=process_max_fds", "Limit of open file descriptors.",
	      (double)p->max_fds);
	family(b, false, "=process_start_time_seconds", "gauge",
	       "Start time since the epoch.");
	buf_printf(b, "process_start_time_seconds %.2f\n",
		   p->start_time_seconds);
}

void
metrics_write(struct buf *b, struct counters *c, const struct metrics_gauges *g,
	      metrics_scope_fn *scopes, metrics_nodepool_fn *nodepools,
	      void *ctx)
{
	write_counters(b, c, g->controller.observes);
	write_histograms(b, c);
	write_rest(b, c);
	write_scopes(b, g, scopes, ctx);
	write_by_hand(b, g, nodepools, ctx);
	write_held(b, &g->controller);
	write_table(b, g);
	write_process(b, &g->process);
}
