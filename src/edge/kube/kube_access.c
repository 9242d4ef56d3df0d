/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/kube/kube.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/limits.h"
#include "kube_call.h"

/* This file makes struct kube, which all threads share: the address of the API
 * server and our credentials. */

static int
check(const struct kube_options *o, const struct kube_url *u, struct err *e)
{
	const struct kubeconfig *a = &o->access;

	if (!u->tls && !u->loopback &&
	    (a->token != NULL || a->token_file != NULL || a->exec != NULL))
		return err_set(e, ERR_INPUT,
			       "%s: a token would go out in clear: expected "
			       "https://",
			       u->peer);
	return 0;
}

/* Starts the credential plugin if it is needed.  As in kubectl, a token in the
 * kubeconfig takes precedence over the plugin. */
static int
start_plugin(struct kube *k, const struct kube_options *o, struct err *e)
{
	const struct kubeconfig *a = &o->access;

	if (a->exec == NULL || a->token != NULL || a->token_file != NULL)
		return 0;
	if (o->plugin_new == NULL)
		return err_set(e, ERR_INPUT,
			       "exec %.60s: no credential plugin runs here",
			       a->exec->command);
	k->access = *a;
	k->plugin = o->plugin_new(&k->access, o->exec_ms, e);
	k->access = (struct kubeconfig){0};
	return k->plugin != NULL ? 0 : -1;
}

static void
take_options(struct kube *k, struct kube_options *o)
{
	k->access = o->access;
	o->access = (struct kubeconfig){0};
	k->clock = o->clock;
	k->counters = o->counters;
	k->connect_ms = o->connect_ms;
	k->token_ms = o->token_ms;
	/* Idle connections are closed, because each takes about 50 KiB for TLS.
	 */
	k->rest_ms = o->rest_ms > 0 ? o->rest_ms : LANES_REST_MS;
	k->keepalive_idle_s = o->keepalive_idle_s;
	k->keepalive_probe_s = o->keepalive_probe_s;
}

struct kube *
kube_new(struct kube_options *o, struct err *e)
{
	struct kube *k = calloc(1, sizeof(*k));

	/* The API server pretty-prints for curl's own user agent. */
	assert(o->user_agent != NULL &&
	       strncasecmp(o->user_agent, "curl", 4) != 0);
	if (k == NULL || (k->user_agent = strdup(o->user_agent)) == NULL ||
	    kube_library_init()) {
		if (k != NULL)
			free(k->user_agent);
		free(k);
		(void)err_set(e, ERR_SYSTEM, "out of memory");
		return NULL;
	}
	if (kube_url_init(&k->url, o->access.server, o->access.tls_server_name,
			  e) ||
	    check(o, &k->url, e) || start_plugin(k, o, e)) {
		kube_free(k);
		return NULL;
	}
	take_options(k, o);
	return k;
}

void
kube_free(struct kube *k)
{
	if (k == NULL)
		return;
	if (k->plugin != NULL)
		k->plugin->free(k->plugin);
	kubeconfig_done(&k->access);
	kube_url_done(&k->url);
	free(k->user_agent);
	free(k);
	kube_library_done();
}
