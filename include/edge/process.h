/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_PROCESS_H
#define EDGE_PROCESS_H

#include "wire/metrics/metrics.h"

/* Sets *out to what the kernel says about this process (proc(5)).  A member that
 * cannot be read is 0.  Any thread. */
void process_read(struct metrics_process *out);

#endif
