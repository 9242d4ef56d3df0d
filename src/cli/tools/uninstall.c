/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/uninstall/uninstall.h"

#include <stdlib.h>
#include <string.h>

#include "cli/access.h"
#include "cmd.h"
#include "core/base/limits.h"
#include "edge/output.h"
#include "cli/options.h"

static const char usage[] =
	"uninstall [--remove-webhook] [--dry-run] [--timeout 10m] "
	"[--namespace NAME]\n"
	"          [--config FILE] [--kubeconfig FILE] [--context NAME] "
	"[flags]\n"
	"\n"
	"Removes all holds and marks of the holder from Nodes and "
	"NodeClaims. Holds that\n"
	"people have set stay. Stop the holder first. The exit code is 0 "
	"if two lists in a\n"
	"row show no mark, and nothing was marked meanwhile.\n"
	"\n"
	"    --remove-webhook:\n"
	"        also delete the webhook and the mutating admission "
	"policy; without this\n"
	"        flag both must be gone already\n"
	"    --dry-run:\n"
	"        print what would be done, and do nothing\n"
	"    --timeout='10m':\n"
	"        give up after this time\n"
	"    --namespace='':\n"
	"        the namespace of the holder's Lease; the default is\n"
	"        leaderElection.namespace, then the pod's own, then any "
	"that has the Lease\n"
	"\n"
	"Of the configuration, only leaderElection, holdAnnotation and "
	"patchConcurrency are\n"
	"used.\n";

struct uninstall_request {
	struct options options;
	struct uninstall_setup setup;
};

/* Stores the flag at which *f stands (options_own).  Returns 1 if this command
 * has the flag, 0 if options_parse_with has to read it, and -1 on failure. */
static int
own_flag(void *ctx, struct flags *f, struct err *e)
{
	struct uninstall_request *u = ctx;

	if (strcmp(f->name, "dry-run") == 0) {
		u->setup.dry_run = true;
		return flags_no_value(f, e) ? -1 : 1;
	}
	if (strcmp(f->name, "remove-webhook") == 0) {
		u->setup.remove_webhook = true;
		return flags_no_value(f, e) ? -1 : 1;
	}
	if (strcmp(f->name, "namespace") == 0)
		return options_namespace(f, &u->setup.namespace_flag, e);
	if (strcmp(f->name, "timeout") != 0)
		return 0;
	return options_duration(f, "10m (0: no end)", &u->setup.timeout_ms, e);
}

int
cmd_uninstall(int argc, char **argv, const struct timing *t)
{
	static struct uninstall_request r; /* Too large for the stack. */
	struct kubeconfig access = {0};
	struct err e = {0};
	int rc;

	r = (struct uninstall_request){.setup = {.timeout_ms = UNINSTALL_MS}};
	rc = options_parse_with(argc, argv, usage, own_flag, &r, &r.options,
				&e);
	if (rc == 1)
		return say_flushed();
	if (rc < 0 ||
	    access_find(r.options.kubeconfig, r.options.context, &access, &e))
		return say_failure(&e);
	r.setup.config = &r.options.config;
	r.setup.in_cluster =
		access_in_cluster(r.options.kubeconfig, r.options.context);
	rc = uninstall_run(&r.setup, &access, t, &e);
	if (rc != 0)
		output_tell(PROGRAM ": %s", e.text);
	output_tell_end();
	return rc == 0 ? CMD_OK : CMD_FAILED;
}
