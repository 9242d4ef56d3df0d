/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_PROCESS_H
#define EDGE_PROCESS_H

#include "wire/metrics/metrics.h"

/* What the kernel says of this process (proc(5)); fields it does not say stay
 * 0.  Any thread. */
void process_read(struct metrics_process *out);

#endif
