/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_UNINSTALL_H
#define CMD_UNINSTALL_H

#include "timing.h"

/* cmd_uninstall with other deadlines, for tests. */
int uninstall_main(int argc, char **argv, const struct timing *t);

#endif
