/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include "core/base/limits.h"
#include "edge/exec/plugin.h"

struct kube *
client_new(struct kubeconfig *access, struct clock *c, const struct timing *t,
	   struct err *e)
{
	struct kube_options o = {
		.access = *access,
		.clock = c,
		.plugin_new = plugin_new,
		.user_agent = "holderctl/" HOLDER_VERSION,
		.connect_ms = t->connect_ms,
		.keepalive_idle_s = KEEPALIVE_IDLE_S,
		.keepalive_probe_s = KEEPALIVE_PROBE_S,
		.token_ms = t->token_ms,
	};
	struct kube *k = kube_new(&o, e);

	if (k != NULL)
		*access = (struct kubeconfig){0};
	return k;
}
