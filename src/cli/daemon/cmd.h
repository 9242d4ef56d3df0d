/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_DAEMON_CMD_H
#define CLI_DAEMON_CMD_H

#include "cli/program.h"

#define PROGRAM "karpenter-node-holder"

/* The program that runs in the pod. */
extern const struct program daemon_program;

int cmd_serve(int argc, char **argv, const struct timing *t);
int cmd_certs(int argc, char **argv, const struct timing *t);
int cmd_check(int argc, char **argv, const struct timing *t);

/* Runs `certs --renew`.  argv[0] is "certs --renew", both words in one
 * string. */
int cmd_renew(int argc, char **argv, const struct timing *t);

#endif
