/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_PROCESS_H
#define EDGE_PROCESS_H

#include "wire/metrics/metrics.h"

/* Reads what the kernel says about this process (proc(5)).  A member that
 * cannot be read is 0.  Any thread. */
void process_read(struct metrics_process *out);

/* Sets how memory is allocated (mallopt(3)): untouched pages cost nothing, and
 * no thread gets an arena of its own.  Call it before anything is allocated,
 * because glibc raises its thresholds when memory is freed, and the heap would
 * then keep a MiB more. */
void process_spare_memory(void);

#endif
