/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_PROCESS_H
#define EDGE_PROCESS_H

#include "wire/metrics/metrics.h"

/* Reads what the kernel says of this process (proc(5)).  Fields that it does
 * not give stay 0.  Any thread. */
void process_read(struct metrics_process *out);

#endif
