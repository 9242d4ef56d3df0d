/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_BASE64_H
#define WIRE_BASE64_H

#include "core/base/buf.h"

/* Text of RFC 4648 §4 with padding, white space ignored, decoded with a NUL at
 * its end; to be freed.  NULL if it is none, holds a NUL byte, or there is no
 * memory. */
char *base64_decode(const char *s);

void base64_encode(struct buf *b, const char *bytes, size_t n);
#define BASE64_BYTES(n) (((n) + 2) / 3 * 4)	/* what it takes, no NUL */

#endif
