/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/serve.h"

#include "cli/access.h"
#include "cmd.h"
#include "edge/log.h"
#include "cli/options.h"

static const char usage[] =
	"serve [--config FILE] [--kubeconfig FILE] [--context NAME] "
	"[flags]\n"
	"\n"
	"Answers admission reviews, holds new machines, and releases them "
	"when the cluster\n"
	"is quiet. Runs until SIGTERM, after which existing holds stay.\n";

static const char usage_renew[] =
	"certs --renew [--config FILE] [--kubeconfig FILE] [--context "
	"NAME] [flags]\n"
	"\n"
	"Keeps a CA and the serving certificate in a Secret, and the CA in "
	"the webhook's\n"
	"caBundle. Runs until SIGTERM. Of the configuration, only "
	"selfSigned and logging are\n"
	"used.\n";

typedef int run_command(const struct config *c, struct kubeconfig *access,
			const struct timing *t);

static int
run_daemon(struct options *o, run_command *run, const struct timing *t)
{
	struct kubeconfig access = {0};
	struct err e;

	if (access_find(o->kubeconfig, o->context, &access, &e))
		return say_failure(&e);
	if (access_without_plugin(&access, &e) ||
	    access_namespace(&o->config, &access, &e)) {
		kubeconfig_done(&access);
		return say_failure(&e);
	}
	log_open(o->config.log_text ? LOG_TEXT : LOG_JSON,
		 (enum log_level)o->config.log_level);
	for (size_t i = 0; i < o->warnings_n; i++)
		LOG(LOG_WARN, "configuration", LS("warning", o->warnings[i]));
	return run(&o->config, &access, t);
}

int
cmd_renew(int argc, char **argv, const struct timing *t)
{
	static struct options o; /* Too large for the stack. */
	struct err e;
	int rc = options_parse(argc, argv, usage_renew, &o, &e);

	if (rc == 1)
		return say_flushed();
	if (rc < 0)
		return say_failure(&e);
	o.config.self_signed.enabled = true;
	return run_daemon(&o, serve_renew, t);
}

int
cmd_serve(int argc, char **argv, const struct timing *t)
{
	static struct options o; /* Too large for the stack. */
	struct err e;
	int rc = options_parse(argc, argv, usage, &o, &e);

	if (rc == 1)
		return say_flushed();
	if (rc < 0)
		return say_failure(&e);
	return run_daemon(&o, serve_run, t);
}
