/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOOLS_CMD_H
#define CLI_TOOLS_CMD_H

#include "cli/program.h"

#define PROGRAM "holderctl"

/* The program that people and Jobs run. */
extern const struct program tools_program;

int cmd_check(int argc, char **argv, const struct timing *t);
int cmd_uninstall(int argc, char **argv, const struct timing *t);
int cmd_simulate(int argc, char **argv, const struct timing *t);
int cmd_record(int argc, char **argv, const struct timing *t);
int cmd_hold(int argc, char **argv, const struct timing *t);

#endif
