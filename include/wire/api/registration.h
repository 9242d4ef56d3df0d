/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_REGISTRATION_H
#define WIRE_API_REGISTRATION_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/base/limits.h"

/*
 * Decodes a MutatingWebhookConfiguration (admissionregistration.k8s.io/v1), the
 * object that makes the API server call our webhook.  A configuration is ours
 * if it contains a webhook named REGISTRATION_WEBHOOK; its own name does not
 * matter.  The function keeps no state; any thread may call it.
 */
#define REGISTRATION_WEBHOOK "hold.karpenter-node-holder.io"
#define REGISTRATION_PATH                                                      \
	"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"

struct registration {
	char name[NAME_BYTES];
	bool ours;   /* whether it has our webhook */
	bool others; /* whether it has other webhooks, too */
};

/* Decodes one item of a list.  ERR_INPUT: it has no name. */
int registration_decode(const char *bytes, size_t n, struct registration *out,
			struct err *e);

#endif
