/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_STREAM_H
#define TESTS_SIM_STREAM_H

#include "holder.h"

/* One resource's list and watch, as daemon/watcher.c performs them.
 * stream_step does what is due and returns when the next step is. */
void stream_init(struct stream *s, uint64_t seed);
void stream_done(struct stream *s);
int64_t stream_step(struct holder *h, enum kind kind);
/* Has the controller asked for another list?  Then it begins. */
bool stream_asked(struct holder *h, enum kind kind);

#endif
