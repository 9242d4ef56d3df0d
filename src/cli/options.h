/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "cli/flags.h"
#include "cli/say.h"
#include "core/base/err.h"
#include "wire/config/config.h"
#include "wire/kubeconfig/kubeconfig.h"

/*
 * The command line.  Commands whose flags include those of the configuration
 * (serve, both checks, certs --renew and uninstall) use options_parse or
 * options_parse_with.  The other commands walk their flags with flags_next.
 */

#define OPTIONS_WARNINGS_MAX 12

/* The help texts of --kubeconfig and --context (see access_find). */
#define OPTIONS_KUBECONFIG_HELP                                                \
	"the kubeconfig file; the default is $KUBECONFIG, then the pod's "     \
	"account, then ~/.kube/config"
#define OPTIONS_CONTEXT_HELP "the context of the kubeconfig"
/* The end of the help of a command that has no flags of the configuration. */
#define OPTIONS_ACCESS_HELP                                                    \
	"    --kubeconfig='':\n        " OPTIONS_KUBECONFIG_HELP               \
	"\n    --context='':\n        " OPTIONS_CONTEXT_HELP                   \
	"\n    -h, --help:\n        print this text\n"

struct options {
	/* The valid configuration: the defaults, overridden by the file, then
	 * by the environment, then by the flags. */
	struct config config;
	/* Values of --config, --kubeconfig and --context, or NULL. */
	const char *config_file, *kubeconfig, *context;
	char warnings[OPTIONS_WARNINGS_MAX][240]; /* Full sentences. */
	size_t warnings_n;
};

/* Parses the command line of a command.  For --help it prints "Usage:", the
 * program's name, `usage` and the list of flags.  It returns:
 *
 *  0  if *o is complete.
 *  1  if it has printed the help text.  The command then exits with 0.
 * -1  on failure.  For ERR_INPUT and ERR_LIMIT the command exits with 2, see
 *     say_failure. */
int options_parse(int argc, char **argv, const char *usage, struct options *o,
		  struct err *e);

/* Like options_parse, for a command that also has flags of its own.  `own`
 * takes the flag at which *f stands.  It returns 1 if that flag belongs to the
 * command, 0 if it does not, and -1 on failure. */
typedef int options_own(void *ctx, struct flags *f, struct err *e);
int options_parse_with(int argc, char **argv, const char *usage,
		       options_own *own, void *ctx, struct options *o,
		       struct err *e);

/* Two helpers for `own` functions.  options_namespace takes the value of
 * --namespace, which is a name or "".  options_duration takes a duration;
 * `example` is for the error text.  Both return 1 on success and -1 on failure,
 * as `own` does. */
int options_namespace(struct flags *f, const char **name, struct err *e);
int options_duration(struct flags *f, const char *example, int64_t *ms,
		     struct err *e);

/* Reads and parses one kubeconfig file.  If the file cannot be read, the error
 * is ERR_INPUT, because the user has named the file. */
int options_kubeconfig(const char *file, const char *context,
		       struct kubeconfig *out, struct err *e);

#endif
