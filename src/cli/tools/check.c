/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/access.h"
#include "cmd.h"
#include "tools/doctor/doctor.h"
#include "edge/output.h"
#include "cli/options.h"
#include "wire/doctor/findings.h"

static const char usage[] =
	"check [--wait 0s] [--timeout 2m] [-o text|json] [--namespace NAME]\n"
	"          [--config FILE] [--kubeconfig FILE] [--context NAME] "
	"[flags]\n"
	"\n"
	"Checks an installed holder and its cluster, and reports what is "
	"wrong, why it\n"
	"matters and what fixes it. It writes nothing but dry runs. The "
	"exit code is 1\n"
	"if there are errors, and 0 if there are only warnings.\n"
	"\n"
	"    --wait='0s':\n"
	"        repeat the check until a dry run comes back held and a "
	"replica leads, for\n"
	"        at most this long\n"
	"    --timeout='2m':\n"
	"        how long the check may take, beside the time of --wait; what "
	"is not checked\n"
	"        by then is reported as unknown\n"
	"    -o, --output='text':\n"
	"        the format of the report: text or json\n"
	"    --namespace='':\n"
	"        the namespace of the installation; the default is "
	"leaderElection.namespace,\n"
	"        then the namespace of the webhook's Service\n"
	"\n"
	"The check asks the leader for its configuration. If no replica "
	"can be asked, the\n"
	"check uses mode, holdAnnotation, holdDuration, nodePools, "
	"replacements and scope\n"
	"of the flags and of FILE. It always takes leaderElection from the "
	"flags and FILE.\n";

struct cluster_request {
	struct options options;
	struct doctor_setup setup;
	bool json;
};

static int
own_output(struct cluster_request *c, struct flags *f, struct err *e)
{
	const char *value = NULL;

	if (flags_value(f, &value, e))
		return -1;
	c->json = strcmp(value, "json") == 0;
	if (c->json || strcmp(value, "text") == 0)
		return 1;
	return err_set(e, ERR_INPUT,
		       "--output: \"%.60s\", expected text or json", value);
}

static int
own_flag(void *ctx, struct flags *f, struct err *e)
{
	struct cluster_request *c = ctx;

	if (strcmp(f->name, "output") == 0)
		return own_output(c, f, e);
	if (strcmp(f->name, "namespace") == 0)
		return options_namespace(f, &c->setup.namespace_flag, e);
	if (strcmp(f->name, "timeout") == 0)
		return options_duration(f, "2m", &c->setup.timeout_ms, e);
	if (strcmp(f->name, "wait") != 0)
		return 0;
	return options_duration(f, "60s", &c->setup.wait_ms, e);
}

static int
print_report(const struct findings *f, bool json)
{
	static char storage[REPORT_BYTES];
	struct buf b;
	int code;

	buf_init(&b, storage, sizeof(storage));
	if (json)
		findings_json(&b, f, HOLDER_VERSION);
	else
		findings_text(&b, f);
	(void)fputs(storage, stdout);
	code = say_flushed();
	return f->errors > 0 ? CMD_FAILED : code;
}

int
cmd_check(int argc, char **argv, const struct timing *t)
{
	static struct cluster_request r; /* Too large for the stack. */
	static struct findings findings;
	struct kubeconfig access = {0};
	struct err e = {0};
	int rc;

	r = (struct cluster_request){.setup.timeout_ms = DOCTOR_MS};
	rc = options_parse_with(argc, argv, usage, own_flag, &r, &r.options,
				&e);
	if (rc == 1)
		return say_flushed();
	if (rc < 0 ||
	    access_find(r.options.kubeconfig, r.options.context, &access, &e))
		return say_failure(&e);
	if (r.setup.namespace_flag != NULL && r.setup.namespace_flag[0] == '\0')
		r.setup.namespace_flag = NULL;
	r.setup.config = &r.options.config;
	r.setup.in_cluster =
		access_in_cluster(r.options.kubeconfig, r.options.context);
	findings_init(&findings);
	rc = doctor_run(&r.setup, &access, t, &findings, &e);
	/* If nobody reads stderr, output_tell does not block as a write would,
	 * so a signal can still end the command. */
	if (rc != 0)
		output_tell("%s: %s", say_program(), e.text);
	output_tell_end();
	return rc != 0 ? CMD_FAILED : print_report(&findings, r.json);
}
