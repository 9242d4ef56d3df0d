/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_PROCESS_H
#define EDGE_PROCESS_H

#include "wire/metrics/metrics.h"

/* Sets *out to what the kernel says about this process (proc(5)).  A member that
 * cannot be read is 0.  Any thread. */
void process_read(struct metrics_process *out);

/* Sets how memory is allocated: pages that we do not touch cost none, and no
 * thread gets an arena of its own (mallopt(3)).  Call it before anything is
 * allocated.  glibc raises its thresholds by what has been freed by then, and a
 * MiB more would stay with the heap. */
void process_spare_memory(void);

#endif
