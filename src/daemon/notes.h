/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_NOTES_H
#define DAEMON_NOTES_H

#include "event_recorder.h"
#include "state.h"

/* Takes all notes of the controller, logs them, and records Events on NodePools
 * for some of them.  The sweeper calls this.  If rec is NULL, no Events are
 * recorded. */
void notes_report(struct state *s, const struct rules *r,
		  struct event_recorder *rec);

#endif
