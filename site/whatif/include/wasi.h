/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WHATIF_WASI_H
#define WHATIF_WASI_H

/* Included before every file: what WASI's libc does not declare. */
#include <sys/types.h>

#define CLOCK_MONOTONIC_COARSE CLOCK_MONOTONIC
#define CLOCK_BOOTTIME CLOCK_MONOTONIC
int dup(int fd);
mode_t umask(mode_t mask);

#endif
