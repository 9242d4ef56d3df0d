/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_WEBHOOK_CONFIG_H
#define WIRE_API_WEBHOOK_CONFIG_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/limits.h"
#include "wire/api/registration.h"

/*
 * The caBundle of each webhook in a MutatingWebhookConfiguration
 * (admissionregistration.k8s.io/v1 types.go), bytes to struct and back.
 * Stateless; any thread.
 *
 *	GET	WEBHOOKS_PATH
 *	update	PATCH WEBHOOKS_PATH, PATCH_JSON_TYPE, webhooks_patch
 */
#define WEBHOOKS_PATH REGISTRATION_PATH "/%s"
#define WEBHOOKS_MAX 8		/* our configuration has one */
#define WEBHOOKS_BUNDLE_MAX (64u << 10)	/* PEM; a CA takes 1 KiB */
#define WEBHOOKS_BODY_BYTES (WEBHOOKS_MAX * (WEBHOOKS_BUNDLE_MAX / 3 * 4 + 128))

struct webhooks {
	char rv[RV_BYTES];	/* "": there is no such configuration */
	unsigned n;
	/* PEM, owned; NULL: none, over its bound, or no base64 of text. */
	char *bundle[WEBHOOKS_MAX];
};
void webhooks_done(struct webhooks *w);

/* ERR_INPUT names what is no such configuration.  ERR_LIMIT: it has more
 * webhooks than WEBHOOKS_MAX. */
int webhooks_decode(const char *bytes, size_t n, struct webhooks *out,
		    struct err *e);

/* Writes a JSON Patch: tests resourceVersion (422 if the object has changed),
 * sets the bundle of all webhooks, and changes nothing else. */
void webhooks_patch(struct buf *b, const struct webhooks *w, const char *pem);

#endif
