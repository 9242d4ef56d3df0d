/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_ELECT_H
#define TESTS_SIM_ELECT_H

#include "holder.h"

void elect_init(struct holder *h, uint64_t seed);
int64_t elect_step(struct holder *h);
/* Delivers what is on its way, even while the replica sleeps. */
void elect_serve(struct holder *h);

/* Draws which of the faults that are on now meets a call.  A late one arrives up
 * to late_ms from now, after its caller has given it up. */
enum reply_fault call_fault(struct world *w, int64_t late_ms,
			    int64_t timeout_ms, int64_t *apply_at,
			    int64_t *answer_at);

/* The calls for the Lease, whoever makes them.  Returns an unused one. */
struct lease_call *lease_call_free(struct lease_call calls[LEASE_CALLS]);
/* Sends it, and draws when it arrives and what becomes of it. */
void lease_call_send(struct lease_call *c, struct world *w,
		     const struct lease_todo *todo);
/* It arrives; the caller sees to it that this is at apply_at.  leads: it comes
 * from the replica that leads. */
void lease_call_serve(struct lease_call *c, struct world *w, bool leads);

#endif
