/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_NOTES_H
#define DAEMON_NOTES_H

#include "event_recorder.h"
#include "state.h"

/* Drains the controller's notes into the log and, as Events on NodePools, into
 * the event recorder.  The sweeper calls this.  rec may be NULL: no Events are
 * recorded. */
void notes_report(struct state *s, const struct rules *r,
		  struct event_recorder *rec);

#endif
