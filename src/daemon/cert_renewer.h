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
struct renewer;

/* pair: what is served here.  namespace_name: where Secret and Service are. */
struct renewer *renewer_new(struct shared *s, struct kube *k,
			    const struct config *c, struct pair *pair,
			    const char *namespace_name, const struct timing *t,
			    struct err *e);
int renewer_start(struct renewer *r, struct err *e);

/* After shared_stop: a call under way is cut.  NULL is fine, as below. */
void renewer_stop(struct renewer *r);
bool renewer_ended(const struct renewer *r);
void renewer_join(struct renewer *r);
void renewer_free(struct renewer *r);
int64_t renewer_heartbeat_age_ms(const struct renewer *r);

#endif
