/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_BASE64_H
#define WIRE_BASE64_H

#include "core/base/buf.h"

/* Decodes base64 (RFC 4648 §4) with padding; white space is ignored.  Returns a
 * string that the caller frees, or NULL if s is not base64, if the decoded
 * bytes contain a NUL, or if there is no memory.  Any thread. */
char *base64_decode(const char *s);

/* Appends the base64 of n bytes, with padding and without line breaks. */
void base64_encode(struct buf *b, const char *bytes, size_t n);
#define BASE64_BYTES(n) (((n) + 2) / 3 * 4)	/* bytes of the result, without
						   NUL */

#endif
