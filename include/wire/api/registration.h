/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_REGISTRATION_H
#define WIRE_API_REGISTRATION_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/base/limits.h"

/*
 * What makes new objects come held, as the API server keeps it: a
 * MutatingWebhookConfiguration (admissionregistration.k8s.io/v1).  Ours is
 * known by the webhook's name, whatever its own is.  Stateless; any thread.
 */
#define REGISTRATION_WEBHOOK "hold.karpenter-node-holder.io"
#define REGISTRATION_PATH                                                      \
	"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"

struct registration {
	char name[NAME_BYTES];
	bool ours;	/* our webhook is in it */
	bool others;	/* and others, too */
};

/* One item of a list.  ERR_INPUT: it has no name. */
int registration_decode(const char *bytes, size_t n, struct registration *out,
			struct err *e);

#endif
