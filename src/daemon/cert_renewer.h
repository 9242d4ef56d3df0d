/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_CERT_RENEWER_H
#define DAEMON_CERT_RENEWER_H

#include "edge/timing.h"
#include "serving_cert.h"
#include "state.h"
#include "wire/config/config.h"

/* The thread that keeps, while we lead or nothing is served, a CA and a
 * serving pair of our own in a Secret, and the CA in the webhook's caBundle:
 * core/protocol/renewal says what to do.  What replicas serve comes to them through the
 * mounted Secret. */
struct cert_renewer;

/* pair: what is served here.  namespace_name: where Secret and Service are. */
struct cert_renewer *cert_renewer_new(struct state *s, struct kube *k,
			    const struct config *c, struct serving_cert *pair,
			    const char *namespace_name, const struct timing *t,
			    struct err *e);
int cert_renewer_start(struct cert_renewer *r, struct err *e);

/* After state_stop: a call under way is cut.  NULL is fine, as below. */
void cert_renewer_stop(struct cert_renewer *r);
bool cert_renewer_ended(const struct cert_renewer *r);
void cert_renewer_join(struct cert_renewer *r);
void cert_renewer_free(struct cert_renewer *r);
int64_t cert_renewer_heartbeat_age_ms(const struct cert_renewer *r);

#endif
