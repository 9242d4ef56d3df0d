/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_SECRET_H
#define WIRE_API_SECRET_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/limits.h"

/*
 * Decodes and encodes the Secret (k8s.io/api/core/v1 types.go) that contains
 * our CA and the serving pair.  The functions keep no state; any thread may
 * call them.
 *
 *	GET	SECRET_ITEM_PATH
 *	create	POST SECRET_PATH, application/json, secret_create
 *	update	PATCH SECRET_ITEM_PATH, PATCH_MERGE_TYPE, secret_update,
 *		which keeps everything else in the Secret
 */
#define SECRET_PATH "/api/v1/namespaces/%s/secrets"
#define SECRET_ITEM_PATH SECRET_PATH "/%s" /* arguments: namespace, name */
#define SECRET_BODY_BYTES (3 * SECRET_PEM_MAX + 4 * NAME_BYTES)

struct secret {
	char rv[RV_BYTES]; /* "" if there is no Secret */
	/* PEM texts, owned.  A text is NULL if it is missing, longer than
	 * SECRET_PEM_MAX, or not the base64 of a text. */
	char *ca_cert, *ca_key, *cert, *key;
};
/* Wipes the keys and frees everything.  A zeroed struct is allowed. */
void secret_done(struct secret *s);

/* Decodes the answer to a GET.  The caller ends *out with secret_done.
 * ERR_INPUT: it is no Secret. */
int secret_decode(const char *bytes, size_t n, struct secret *out,
		  struct err *e);

/* One of the two pairs of certificate and key in a Secret.  cert_name and
 * key_name are their keys in the Secret's data: "ca.crt" and "ca.key", or
 * "tls.crt" and "tls.key". */
struct secret_pair {
	const char *cert_name, *key_name;
	const char *cert, *key; /* PEM */
};
/* In these two, cert and key are NULL. */
extern const struct secret_pair secret_ca, secret_tls;

/* Appends a whole Secret with this pair. */
void secret_create(struct buf *b, const char *namespace_name, const char *name,
		   const struct secret_pair *p);
/* Appends a merge patch (RFC 7396) at resourceVersion rv that sets this pair.
 * The API server answers 409 if the Secret has changed. */
void secret_update(struct buf *b, const char *rv, const struct secret_pair *p);

#endif
