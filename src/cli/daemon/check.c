/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/access.h"
#include "cmd.h"
#include "core/base/stamp.h"
#include "daemon/memory.h"
#include "edge/certs/certs.h"
#include "edge/clock.h"
#include "cli/options.h"

static const char usage[] =
	"check [--config FILE] [flags]\n"
	"\n"
	"Validates the configuration, warns of settings that work against "
	"each other, and\n"
	"prints the configuration in effect, as a file that --config "
	"reads. It starts\n"
	"nothing. To check a cluster, use 'holderctl check'.\n";

/* Describes the certificate pair, or warns that the pair cannot be used.  A
 * missing pair is no error, because serve starts without a pair and loads the
 * pair as soon as its files exist. */
static void
report_pair(const struct config *c)
{
	char text[512], until[STAMP_BYTES];
	struct certs_pair pair;
	struct err e;

	if (certs_load(c->webhook.cert_file, c->webhook.key_file,
		       clock_wall_ms(), &pair, &e)) {
		(void)snprintf(text, sizeof(text),
			       "certificate: %s; serve is not ready without "
			       "one.",
			       e.text);
		say_warning(text);
		return;
	}
	stamp_format(pair.not_after_ms, until);
	(void)fprintf(stderr,
		      "karpenter-node-holder: certificate: %s until "
		      "%s\n",
		      pair.names, until);
	if (pair.is_ca)
		say_warning("certificate: it " CERTS_CA_ADVICE ".");
	certs_pair_done(&pair);
}

/* Prints for how many machines and connections the memory limit has room.  The
 * connections are counted for an empty table of machines. */
static void
report_room(const struct config *c)
{
	struct memory m = memory_divide(c->memory_limit, c->patch_concurrency,
					c->rules.tickets[0] != '\0', 0);

	(void)fprintf(stderr,
		      "karpenter-node-holder: memory: room for %u Nodes, %u "
		      "NodeClaims and %u connections\n",
		      m.machines_max, m.machines_max, m.connections_max);
}

static int
check_kubeconfig(const struct options *o, struct err *e)
{
	struct kubeconfig k;
	int rc;

	if (o->kubeconfig == NULL)
		return 0;
	if (options_kubeconfig(o->kubeconfig, o->context, &k, e))
		return -1;
	rc = access_without_plugin(&k, e);
	kubeconfig_done(&k);
	return rc;
}

static int
print_config(const struct config *c)
{
	static char storage[CONFIG_PRINT_BYTES];
	struct buf out;

	buf_init(&out, storage, sizeof(storage));
	config_print(c, &out);
	(void)fputs(storage, stdout);
	return say_flushed();
}

int
cmd_check(int argc, char **argv, const struct timing *t)
{
	struct options o;
	struct err e;
	int rc;

	(void)t;
	rc = options_parse(argc, argv, usage, &o, &e);
	if (rc == 1)
		return say_flushed();
	if (rc < 0 || check_kubeconfig(&o, &e))
		return say_failure(&e);
	for (size_t i = 0; i < o.warnings_n; i++)
		say_warning(o.warnings[i]);
	report_pair(&o.config);
	report_room(&o.config);
	return print_config(&o.config);
}
