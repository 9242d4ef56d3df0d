/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_NOTES_H
#define DAEMON_NOTES_H

#include "event_recorder.h"
#include "state.h"

/* What the controller tells of itself, to the log and, as Events, on NodePools.
 */
void notes_tell(struct state *s, const struct rules *r,
		struct event_recorder *t);

#endif
