/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/serve.h"

#include "access.h"
#include "cmd.h"
#include "edge/log.h"
#include "options.h"

static const char usage[] =
	"serve [--config FILE] [--kubeconfig FILE] [--context NAME] [flags]\n\n"
	"Answers admission reviews, holds what scales up and releases it when "
	"quiet.\nRuns until SIGTERM; holds stay.\n";

int
cmd_serve(int argc, char **argv)
{
	static struct options o;	/* too large for a stack */
	struct kubeconfig access = {0};
	struct err e;
	int rc = options_parse(argc, argv, usage, &o, &e);

	if (rc == 1)
		return output_code();
	if (rc < 0 || access_find(o.kubeconfig, o.context, &access, &e))
		return fail_code(&e);
	if (access_namespace(&o.config, &access, &e)) {
		kubeconfig_done(&access);
		return fail_code(&e);
	}
	log_open(o.config.log_text ? LOG_TEXT : LOG_JSON,
		 (enum log_level)o.config.log_level);
	for (size_t i = 0; i < o.warnings_n; i++)
		LOG(LOG_WARN, "configuration", LS("warning", o.warnings[i]));
	return serve_run(&o.config, &access, &timing_default);
}
