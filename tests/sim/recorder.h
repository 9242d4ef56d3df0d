/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_RECORDER_H
#define TESTS_SIM_RECORDER_H

#include "holder.h"

/*
 * The Events of one replica: the product's core/protocol/event_series says
 * what its controller reports of NodePools, as daemon/notes and
 * daemon/event_recorder have it do.  The API server's faults meet its writes,
 * too.  It has dice of its own, and nothing waits for it or depends on it: a
 * history without it is the same.
 *
 * Its invariant is I14.  Two Events never share a name, no count is written
 * that is lower than one before, and only reports that were made are counted.
 * A write that is known to be done is not made again, and a refused one is not
 * made again soon.  The writes keep to the token bucket.  When the faults are
 * over, every report is counted, except those that were refused or given up,
 * and as many others as the product says that it dropped.
 */
struct recorder;

struct recorder *recorder_new(uint64_t seed, int64_t now);
void recorder_free(struct recorder *r); /* NULL: nothing */
/* Takes what the controller of h reports. */
void recorder_note(struct holder *h, const struct note *n);
/* Does what has been due since the last call. */
void recorder_step(struct holder *h);
/* The faults are over: writes what is left, and counts. */
void recorder_last(struct holder *h);

#endif
