/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_PROCESS_H
#define EDGE_PROCESS_H

#include "wire/metrics/metrics.h"

/* Reads what the kernel says about this process (proc(5)).  A member that
 * cannot be read is 0.  Any thread. */
void process_read(struct metrics_process *out);

/* Makes this process use less memory.  Untouched pages cost nothing, because
 * transparent huge pages are turned off.  All threads share two arenas of
 * malloc, and freed memory goes back to the kernel at fixed thresholds
 * (mallopt(3)).  Call it before anything is allocated: otherwise glibc raises
 * the thresholds when memory is freed, and the heap keeps a MiB more. */
void process_spare_memory(void);
/* Undoes that part of process_spare_memory which a program started by this
 * process would inherit. */
void process_restore_memory(void);

#endif
