/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include "edge/timing.h"

/*
 * The subcommands.  argv[0] is the command's own name.  Each returns the exit
 * code: CMD_OK, CMD_FAILED if the work failed, or CMD_USAGE if the input was
 * wrong.  Every failure prints one line on stderr.
 */
#define CMD_OK 0
#define CMD_FAILED 1
#define CMD_USAGE 2

struct command {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv);
};

int cmd_serve(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_certs(int argc, char **argv);
int cmd_uninstall(int argc, char **argv);
int cmd_simulate(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_version(int argc, char **argv);

/* `certs --renew`, with argv[0] standing for both words. */
int renew_main(int argc, char **argv, const struct timing *t);

/* `check` with --cluster among its flags. */
int check_cluster_main(int argc, char **argv, const struct timing *t);

/* cmd_record with other deadlines, for tests. */
int record_main(int argc, char **argv, const struct timing *t);

/* cmd_simulate with other deadlines, for tests. */
int simulate_main(int argc, char **argv, const struct timing *t);

/* cmd_uninstall with other deadlines, for tests. */
int uninstall_main(int argc, char **argv, const struct timing *t);

#endif
