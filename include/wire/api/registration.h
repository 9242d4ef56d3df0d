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
 * known by the webhook's name, whatever its own name is.  Stateless; any
 * thread.
 */
#define REGISTRATION_WEBHOOK "hold.karpenter-node-holder.io"
#define REGISTRATION_PATH                                                      \
	"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"

struct registration {
	char name[NAME_BYTES];
	bool ours;	/* it has our webhook */
	bool others;	/* it has other webhooks */
};

/* Decodes one item of a list.  ERR_INPUT: it has no name. */
int registration_decode(const char *bytes, size_t n, struct registration *out,
			struct err *e);

#endif
