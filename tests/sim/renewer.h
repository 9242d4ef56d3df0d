/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_RENEWER_H
#define TESTS_SIM_RENEWER_H

#include "holder.h"

/*
 * The certificates of a cluster, and the worker of each replica that renews
 * them while it leads: the product's own core/protocol/renewal, whose steps are
 * performed as daemon/cert_renewer does.  A CA lives for 40 minutes here and a
 * serving certificate for ten, so that a history sees many of both.  Leads that
 * change, replicas that sleep and crash, clocks and the API server's faults are
 * the history's.  It has dice of its own, and nothing depends on it: a history
 * without it is the same.
 *
 * Its invariant is I15, as long as no clock is wrong.  A CA leaves caBundle only
 * when no certificate by it is served any more, and no certificate is served
 * before each API server trusts its CA.  When the faults are over, both are
 * valid and trusted, whatever the clocks have said.
 */
struct certs;
struct renewer;

struct certs *certs_new(uint64_t seed);
void certs_free(struct certs *c); /* NULL: nothing */

struct renewer *renewer_new(uint64_t seed, int64_t now);
void renewer_free(struct renewer *r); /* NULL: nothing */
/* Does what has been due since the last call. */
void renewer_step(struct holder *h);
/* The faults have been over for long. */
void renewer_last(struct holder *h);

#endif
