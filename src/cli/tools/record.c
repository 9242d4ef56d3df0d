/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/recorder/recorder.h"

#include <stdio.h>
#include <string.h>

#include "cli/access.h"
#include "cmd.h"
#include "edge/output.h"
#include "cli/options.h"
#include "core/base/duration.h"

static const char usage[] =
	"record [--for 1h] [--kubeconfig FILE] [--context NAME]\n"
	"\n"
	"Prints what happens to Karpenter's NodeClaims, as a record that "
	"simulate reads. The\n"
	"command only lists and watches NodeClaims, and Events in the "
	"namespace default.\n"
	"\n"
	"    --for='0':\n"
	"        stop after this time; 0: stop at SIGINT or SIGTERM\n" OPTIONS_ACCESS_HELP;

struct record_request {
	struct recorder_setup setup;
	const char *kubeconfig, *context;
};

static int
take_duration(const char *name, const char *value, int64_t *out, struct err *e)
{
	if (duration_parse(value, out) == 0 && *out >= 0)
		return 0;
	return err_set(e, ERR_INPUT,
		       "--%s: \"%.60s\", expected a duration such as 1h", name,
		       value);
}

static int
take_value(struct record_request *q, const struct flags *f, const char *value,
	   struct err *e)
{
	if (strcmp(f->name, "for") == 0)
		return take_duration(f->name, value, &q->setup.for_ms, e);
	if (strcmp(f->name, "context") == 0)
		q->context = value;
	else
		q->kubeconfig = value;
	return 0;
}

/* Reads the flags into *q.  Returns 1 for --help, 0 at the end, and -1 on
 * failure. */
static int
parse_record(struct record_request *q, struct flags *f, struct err *e)
{
	const char *value = NULL;
	int rc;

	while ((rc = flags_next(f, e)) > 0) {
		if (strcmp(f->name, "help") == 0)
			return 1;
		if (strcmp(f->name, "for") != 0 &&
		    strcmp(f->name, "kubeconfig") != 0 &&
		    strcmp(f->name, "context") != 0)
			return flags_unknown(f, e);
		if (flags_value(f, &value, e) || take_value(q, f, value, e))
			return -1;
	}
	return rc;
}

int
cmd_record(int argc, char **argv, const struct timing *t)
{
	struct record_request q = {.setup.for_ms = 0};
	struct flags f = {.argc = argc, .argv = argv};
	struct kubeconfig access = {0};
	struct err e = {0};
	int rc = parse_record(&q, &f, &e);

	if (rc == 1) {
		(void)printf("Usage: %s %s", PROGRAM, usage);
		return say_flushed();
	}
	if (rc < 0 || access_find(q.kubeconfig, q.context, &access, &e))
		return say_failure(&e);
	rc = recorder_run(&q.setup, &access, t, &e);
	kubeconfig_done(&access);
	if (rc != 0)
		output_tell(PROGRAM ": %s", e.text);
	output_tell_end();
	return rc == 0 ? CMD_OK : CMD_FAILED;
}
