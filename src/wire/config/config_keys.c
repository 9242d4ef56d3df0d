/* SPDX-License-Identifier: Apache-2.0 */
#include "config_keys.h"

#include <assert.h>
#include <string.h>

#define AT(field)                                                              \
	.offset = offsetof(struct config, field),                              \
	.bytes = sizeof(((struct config *)0)->field)
#define UNSTORED .offset = CONFIG_UNSTORED
#define KEY(path_, flag_, type_, def_, help_)                                  \
	.path = (path_), .flag = (flag_), .type = (type_), .def = (def_),      \
	.help = (help_)

/* The keys in the order in which config_print and --help show them. */
/* clang-format off */
const struct config_key config_keys[] = {
	{KEY("mode", "mode", TYPE_WORD, "enforce",
	     "hold and release (enforce), or only report the decisions (observe)"),
	 AT(rules.mode), .words = "enforce|observe"},
	{KEY("scope", "scope", TYPE_WORD, "cluster",
	     "which machines are held and released together: cluster, nodepool or "
	     "node"),
	 AT(rules.scope), .words = "cluster|nodepool|node"},
	{KEY("holdDuration", "hold-duration", TYPE_DURATION, "10m",
	     "release a scope after it has been quiet for this long"),
	 AT(rules.hold_ms), .min = 1},
	{KEY("maxHoldDuration", "max-hold-duration", TYPE_DURATION, "1h",
	     "release a scope after it has been held for this long; 0: no cap"),
	 AT(rules.cap.max_ms)},
	{KEY("releaseWindow", "release-window", TYPE_DURATION, "10m",
	     "how long a scope stays released after max-hold-duration"),
	 AT(rules.cap.window_ms), .min = 1},
	{KEY("startupTimeout", "startup-timeout", TYPE_DURATION, "15m",
	     "how long a machine that is not ready counts as starting"),
	 AT(rules.startup_ms)},
	{KEY("replacements", "replacements", TYPE_WORD, "ignore",
	     "ignore: machines that replace others do not hold their scope; "
	     "count: they do"),
	 AT(rules.replacements), .words = "ignore|count"},
	{KEY("drift", "drift", TYPE_WORD, "hold",
	     "hold: a held scope holds its drifted machines, too; allow: "
	     "Karpenter may replace them"),
	 AT(rules.drift), .words = "hold|allow"},
	{KEY("minScaleUp", "min-scale-up", TYPE_SHARE, "1",
	     "how many new machines, or which share of the scope's machines (2%), "
	     "hold the scope; fewer hold only themselves"),
	 .offset = offsetof(struct config, rules.min_scale_up),
	 .bytes = 2 * sizeof(uint32_t), .min = 1, .max = 100000,
	 .words = "a number from 1 to 100000, or a share from 1% to 100%"},
	{KEY("holdAnnotation.key", "hold-annotation-key", TYPE_ANNOTATION,
	     DEFAULT_HOLD_KEY,
	     "the annotation that keeps Karpenter from disrupting a machine"),
	 AT(rules.hold.key)},
	{KEY("holdAnnotation.value", "hold-annotation-value", TYPE_TEXT,
	     DEFAULT_HOLD_VALUE,
	     "the value of that annotation"),
	 AT(rules.hold.value)},
	{KEY("nodePools.include", NULL, TYPE_PATTERNS, "*",
	     "shell patterns of the NodePools to hold"),
	 AT(rules.include)},
	{KEY("nodePools.exclude", NULL, TYPE_PATTERNS, "",
	     "shell patterns of the NodePools to leave alone"),
	 AT(rules.exclude)},
	{KEY("tickets.namespace", "tickets-namespace", TYPE_LABEL, "",
	     "the namespace of the tickets (Leases that hold NodePools); empty: "
	     "read no tickets"),
	 AT(rules.tickets)},
	{KEY("webhook.address", "webhook-address", TYPE_ADDRESS, ":9443",
	     "the address at which admission reviews are answered"),
	 AT(webhook.address)},
	{KEY("webhook.certFile", "webhook-cert-file", TYPE_PATH, "/tls/tls.crt",
	     "the serving certificate: a PEM file, the leaf first"),
	 AT(webhook.cert_file)},
	{KEY("webhook.keyFile", "webhook-key-file", TYPE_PATH, "/tls/tls.key",
	     "the private key of the serving certificate: a PEM file"),
	 AT(webhook.key_file)},
	{KEY("webhook.clientCAFile", "webhook-client-ca-file", TYPE_TEXT, "",
	     "reserved for a later version; leave it empty"),
	 UNSTORED, .off_only = true},
	{KEY("webhook.allowedClients", NULL, TYPE_PATTERNS, "",
	     "reserved for a later version; leave it empty"),
	 UNSTORED, .off_only = true},
	{KEY("webhook.drainTimeout", "webhook-drain-timeout", TYPE_DURATION,
	     "95s",
	     "how long reviews are answered after SIGTERM, at most"),
	 AT(webhook.drain_ms)},
	{KEY("metrics.address", "metrics-address", TYPE_ADDRESS, ":8080",
	     "the address of /metrics, /status and the probes"),
	 AT(metrics_address)},
	{KEY("leaderElection.enabled", "leader-election-enabled", TYPE_BOOL,
	     "true",
	     "elect the replica that leads, which alone holds and releases "
	     "existing machines"),
	 AT(leader.enabled), .words = "false|true"},
	{KEY("leaderElection.namespace", "leader-election-namespace",
	     TYPE_LABEL, "",
	     "the namespace of the election's Lease; empty: the pod's own"),
	 AT(leader.namespace_)},
	{KEY("leaderElection.name", "leader-election-name", TYPE_NAME,
	     "karpenter-node-holder",
	     "the name of the election's Lease"),
	 AT(leader.name)},
	{KEY("leaderElection.leaseDuration", "leader-election-lease-duration",
	     TYPE_DURATION, "15s",
	     "how long the other replicas wait for a leader that does not renew "
	     "the Lease"),
	 AT(leader.lease_ms), .min = 1, .max = LEASE_MS_MAX,
	 .words = "a duration above 0 and up to 1m"},
	{KEY("leaderElection.renewDeadline", "leader-election-renew-deadline",
	     TYPE_DURATION, "10s",
	     "how long a leader that cannot renew the Lease goes on leading"),
	 AT(leader.renew_ms), .min = 1},
	{KEY("leaderElection.retryPeriod", "leader-election-retry-period",
	     TYPE_DURATION, "2s",
	     "the time between two tries to get or renew the Lease"),
	 AT(leader.retry_ms), .min = 1},
	{KEY("selfSigned.enabled", "self-signed-enabled", TYPE_BOOL, "false",
	     "keep a CA and the serving certificate in a Secret, and renew both"),
	 AT(self_signed.enabled), .words = "false|true"},
	{KEY("selfSigned.secret", "self-signed-secret", TYPE_NAME,
	     "karpenter-node-holder-tls",
	     "the name of that Secret, in the pod's namespace"),
	 AT(self_signed.secret)},
	{KEY("selfSigned.configuration", "self-signed-configuration", TYPE_NAME,
	     "karpenter-node-holder",
	     "the MutatingWebhookConfiguration whose caBundle is maintained"),
	 AT(self_signed.configuration)},
	{KEY("selfSigned.service", "self-signed-service", TYPE_NAME,
	     "karpenter-node-holder",
	     "the Service whose DNS names are in the serving certificate"),
	 AT(self_signed.service)},
	{KEY("selfSigned.caDuration", "self-signed-ca-duration", TYPE_DURATION,
	     "8760h",
	     "how long a CA is valid; it is renewed after two thirds of that"),
	 AT(self_signed.ca_ms), .min = 1},
	{KEY("selfSigned.duration", "self-signed-duration", TYPE_DURATION,
	     "2160h",
	     "how long a serving certificate is valid; it is renewed after two "
	     "thirds of that"),
	 AT(self_signed.leaf_ms), .min = 1},
	{KEY("patchConcurrency", "patch-concurrency", TYPE_COUNT, "64",
	     "how many patches may be in flight"),
	 AT(patch_concurrency), .min = 1, .max = 100,
	 .words = "a number from 1 to 100"},
	{KEY("memoryLimit", "memory-limit", TYPE_BYTES, "128Mi",
	     "the memory limit of the container; it decides for how many machines "
	     "there is room"),
	 AT(memory_limit), .min = MEMORY_MIN,
	 .words = "a whole number of k, M, G, T, Ki, Mi, Gi or Ti, at "
		  "least 64Mi, such as 256Mi"},
	{KEY("logging.format", "logging-format", TYPE_WORD, "json",
	     "the format of the log: json or text"),
	 AT(log_text), .words = "json|text"},
	{KEY("logging.level", "logging-level", TYPE_WORD, "info",
	     "the least severe level that is logged: error, warn, info or debug"),
	 AT(log_level), .words = "error|warn|info|debug"},
};
/* clang-format on */
const size_t config_keys_n = sizeof(config_keys) / sizeof(config_keys[0]);
_Static_assert(sizeof(config_keys) / sizeof(config_keys[0]) <= CONFIG_KEY_ROOM,
	       "CONFIG_KEY_ROOM is too small");
_Static_assert(offsetof(struct rules, min_scale_up) + sizeof(uint32_t) ==
		       offsetof(struct rules, min_scale_up_percent),
	       "TYPE_SHARE");

void
config_defaults(struct config *c)
{
	*c = (struct config){0};
	for (size_t i = 0; i < config_keys_n; i++) {
		const struct config_key *k = &config_keys[i];
		int rc = 0;

		if (k->type != TYPE_PATTERNS)
			rc = config_value_set(c, k, k->def, NULL);
		else if (k->def[0] != '\0')
			rc = config_value_add(c, k, k->def, NULL);
		assert(rc == 0);
		(void)rc;
	}
}

const struct config_key *
config_key_of_path(const char *path)
{
	const struct config_key *k = config_keys;

	while (strcmp(k->path, path) != 0)
		k++;
	return k;
}

static const struct config_key *
key_of_flag(const char *name)
{
	for (size_t i = 0; i < config_keys_n; i++)
		if (config_keys[i].flag != NULL &&
		    strcmp(config_keys[i].flag, name) == 0)
			return &config_keys[i];
	return NULL;
}

int
config_flag(struct config *c, const char *name, const char *value,
	    struct config_places *places, bool *known, struct err *e)
{
	const struct config_key *k = key_of_flag(name);

	*known = k != NULL;
	if (k == NULL)
		return err_set(e, ERR_INPUT, "unknown flag --%.60s", name);
	if (config_value_set(c, k, value, e))
		return err_wrap(e, "--%s", name);
	if (places != NULL)
		places->key[k - config_keys].flag = k->flag;
	return 0;
}

bool
config_flag_help(size_t i, const char **name, const char **help, char def[64])
{
	struct buf b;

	for (size_t k = 0; k < config_keys_n; k++) {
		if (config_keys[k].flag == NULL || i-- > 0)
			continue;
		*name = config_keys[k].flag;
		*help = config_keys[k].help;
		buf_init(&b, def, 64);
		buf_puts(&b, config_keys[k].def);
		return true;
	}
	return false;
}
