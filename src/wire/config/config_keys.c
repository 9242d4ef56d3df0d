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
	     "enforce, or observe: decide and tell, hold nothing"),
	 AT(rules.mode), .words = "enforce|observe"},
	{KEY("scope", "scope", TYPE_WORD, "cluster",
	     "what becomes busy and quiet together"),
	 AT(rules.scope), .words = "cluster|nodepool|node"},
	{KEY("holdDuration", "hold-duration", TYPE_DURATION, "10m",
	     "quiet for this long, then release"),
	 AT(rules.hold_ms), .min = 1},
	{KEY("maxHoldDuration", "max-hold-duration", TYPE_DURATION, "1h",
	     "a scope held for so long is released; 0 = no cap"),
	 AT(rules.cap.max_ms)},
	{KEY("releaseWindow", "release-window", TYPE_DURATION, "10m",
	     "and stays released for so long"),
	 AT(rules.cap.window_ms), .min = 1},
	{KEY("startupTimeout", "startup-timeout", TYPE_DURATION, "15m",
	     "how long a machine that is not ready counts as starting"),
	 AT(rules.startup_ms)},
	{KEY("replacements", "replacements", TYPE_WORD, "ignore",
	     "nodes that Karpenter makes to replace others keep no scope held"),
	 AT(rules.replacements), .words = "ignore|count"},
	{KEY("drift", "drift", TYPE_WORD, "hold",
	     "what a scope does to its drifted nodes: hold them too, or allow "
	     "Karpenter to replace them"),
	 AT(rules.drift), .words = "hold|allow"},
	{KEY("minScaleUp", "min-scale-up", TYPE_SHARE, "1",
	     "fewer new machines than this, or than this share of the scope's "
	     "(2%), hold only themselves"),
	 .offset = offsetof(struct config, rules.min_scale_up),
	 .bytes = 2 * sizeof(uint32_t), .min = 1, .max = 100000,
	 .words = "a number from 1 to 100000, or a share from 1% to 100%"},
	{KEY("holdAnnotation.key", "hold-annotation-key", TYPE_ANNOTATION,
	     DEFAULT_HOLD_KEY, "the annotation that stops Karpenter"),
	 AT(rules.hold.key)},
	{KEY("holdAnnotation.value", "hold-annotation-value", TYPE_TEXT,
	     DEFAULT_HOLD_VALUE, "its value"),
	 AT(rules.hold.value)},
	{KEY("nodePools.include", NULL, TYPE_PATTERNS, "*",
	     "shell patterns of the NodePools to hold"),
	 AT(rules.include)},
	{KEY("nodePools.exclude", NULL, TYPE_PATTERNS, "",
	     "and of those to leave alone"),
	 AT(rules.exclude)},
	{KEY("tickets.namespace", "tickets-namespace", TYPE_LABEL, "",
	     "of the Leases that hold NodePools; empty = none does"),
	 AT(rules.tickets)},
	{KEY("webhook.address", "webhook-address", TYPE_ADDRESS, ":9443",
	     "where admission is answered"),
	 AT(webhook.address)},
	{KEY("webhook.certFile", "webhook-cert-file", TYPE_PATH, "/tls/tls.crt",
	     "serving certificate, PEM, leaf first"),
	 AT(webhook.cert_file)},
	{KEY("webhook.keyFile", "webhook-key-file", TYPE_PATH, "/tls/tls.key",
	     "its private key, PEM"),
	 AT(webhook.key_file)},
	{KEY("webhook.clientCAFile", "webhook-client-ca-file", TYPE_TEXT, "",
	     "CA of the clients to admit; not in this version"),
	 UNSTORED, .off_only = true},
	{KEY("webhook.allowedClients", NULL, TYPE_PATTERNS, "",
	     "names of the clients to admit"),
	 UNSTORED, .off_only = true},
	{KEY("webhook.drainTimeout", "webhook-drain-timeout", TYPE_DURATION,
	     "95s", "how long to go on answering after SIGTERM"),
	 AT(webhook.drain_ms)},
	{KEY("metrics.address", "metrics-address", TYPE_ADDRESS, ":8080",
	     "where /metrics and the probes are answered"),
	 AT(metrics_address)},
	{KEY("leaderElection.enabled", "leader-election-enabled", TYPE_BOOL,
	     "true", "elect the one of the replicas that sweeps"),
	 AT(leader.enabled), .words = "false|true"},
	{KEY("leaderElection.namespace", "leader-election-namespace",
	     TYPE_LABEL, "", "of the Lease; empty = our own"),
	 AT(leader.namespace_)},
	{KEY("leaderElection.name", "leader-election-name", TYPE_NAME,
	     "karpenter-node-holder", "of the Lease"),
	 AT(leader.name)},
	{KEY("leaderElection.leaseDuration", "leader-election-lease-duration",
	     TYPE_DURATION, "15s", "how long a silent leader stays one"),
	 AT(leader.lease_ms), .min = 1},
	{KEY("leaderElection.renewDeadline", "leader-election-renew-deadline",
	     TYPE_DURATION, "10s", "when a leader that cannot renew stops"),
	 AT(leader.renew_ms), .min = 1},
	{KEY("leaderElection.retryPeriod", "leader-election-retry-period",
	     TYPE_DURATION, "2s", "between two tries"),
	 AT(leader.retry_ms), .min = 1},
	{KEY("selfSigned.enabled", "self-signed-enabled", TYPE_BOOL, "false",
	     "the leader keeps a CA and the serving pair in a Secret"),
	 AT(self_signed.enabled), .words = "false|true"},
	{KEY("selfSigned.secret", "self-signed-secret", TYPE_NAME,
	     "karpenter-node-holder-tls", "that Secret, in our own namespace"),
	 AT(self_signed.secret)},
	{KEY("selfSigned.configuration", "self-signed-configuration", TYPE_NAME,
	     "karpenter-node-holder",
	     "the MutatingWebhookConfiguration whose caBundle is kept"),
	 AT(self_signed.configuration)},
	{KEY("selfSigned.service", "self-signed-service", TYPE_NAME,
	     "karpenter-node-holder",
	     "the Service whose DNS names are in the certificate"),
	 AT(self_signed.service)},
	{KEY("selfSigned.caDuration", "self-signed-ca-duration", TYPE_DURATION,
	     "8760h", "how long a CA lives; renewed at two thirds"),
	 AT(self_signed.ca_ms), .min = 1},
	{KEY("selfSigned.duration", "self-signed-duration", TYPE_DURATION,
	     "2160h", "how long a serving certificate lives; the same"),
	 AT(self_signed.leaf_ms), .min = 1},
	{KEY("patchConcurrency", "patch-concurrency", TYPE_COUNT, "64",
	     "patches in flight"),
	 AT(patch_concurrency), .min = 1, .max = 100,
	 .words = "a number from 1 to 100"},
	{KEY("memoryLimit", "memory-limit", TYPE_BYTES, "128Mi",
	     "of the container; machines and connections follow from it"),
	 AT(memory_limit), .min = MEMORY_MIN,
	 .words = "a whole number of k, M, G, T, Ki, Mi, Gi or Ti, at "
		  "least 64Mi, such as 256Mi"},
	{KEY("logging.format", "logging-format", TYPE_WORD, "json",
	     "json or text"),
	 AT(log_text), .words = "json|text"},
	{KEY("logging.level", "logging-level", TYPE_WORD, "info",
	     "error, warn, info or debug"),
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
