/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_WEBHOOK_CONFIG_H
#define WIRE_API_WEBHOOK_CONFIG_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/limits.h"
#include "wire/api/registration.h"

/*
 * Decodes and patches the caBundle of each webhook in a
 * MutatingWebhookConfiguration (k8s.io/api/admissionregistration/v1 types.go).
 * The functions keep no state; any thread may call them.
 *
 *	GET	WEBHOOKS_PATH
 *	update	PATCH WEBHOOKS_PATH, PATCH_JSON_TYPE, webhook_config_patch
 */
#define WEBHOOKS_PATH REGISTRATION_PATH "/%s"
#define WEBHOOKS_BODY_BYTES (WEBHOOKS_MAX * (WEBHOOKS_BUNDLE_MAX / 3 * 4 + 128))

struct webhooks {
	char rv[RV_BYTES]; /* "" if there is no such configuration */
	unsigned n;
	/* The caBundle of each webhook as PEM, owned.  NULL if it is missing,
	 * longer than WEBHOOKS_BUNDLE_MAX, or not the base64 of a text. */
	char *bundle[WEBHOOKS_MAX];
};
/* Frees the bundles.  A zeroed struct is allowed. */
void webhook_config_done(struct webhooks *w);

/* Decodes the answer to a GET.  The caller frees *out with webhook_config_done.
 * ERR_INPUT: it is no such configuration.  ERR_LIMIT: it has more than
 * WEBHOOKS_MAX webhooks. */
int webhook_config_decode(const char *bytes, size_t n, struct webhooks *out,
			  struct err *e);

/* Appends a JSON Patch that tests w->rv and sets the caBundle of all w->n
 * webhooks to pem.  The API server answers 422 if the object has changed. */
void webhook_config_patch(struct buf *b, const struct webhooks *w,
			  const char *pem);

#endif
