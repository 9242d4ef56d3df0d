/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_ELECT_H
#define TESTS_SIM_ELECT_H

#include "holder.h"

void elect_init(struct holder *h, uint64_t seed);
int64_t elect_step(struct holder *h);
/* What is on its way arrives, though the replica sleeps. */
void elect_serve(struct holder *h);

/* A call for the Lease, whoever makes it: one that is not used, … */
struct lease_call *lease_call_free(struct lease_call calls[LEASE_CALLS]);
/* … is sent, … */
void lease_call_send(struct lease_call *c, struct world *w,
		     const struct lease_todo *todo);
/* … and arrives, at apply_at.  leads: from who leads. */
void lease_call_serve(struct lease_call *c, struct world *w, bool leads);

#endif
