/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_BASE64_H
#define WIRE_BASE64_H

#include "core/base/buf.h"

/* Decodes base64 (RFC 4648 §4) with padding; white space is ignored.  The
 * result ends with a NUL, and the caller frees it.  NULL if s is not base64, if
 * it holds a NUL byte, or if there is no memory. */
char *base64_decode(const char *s);

void base64_encode(struct buf *b, const char *bytes, size_t n);
#define BASE64_BYTES(n) (((n) + 2) / 3 * 4)	/* bytes of the result, without
						   NUL */

#endif
