/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_BASE64_H
#define WIRE_BASE64_H

#include "core/base/buf.h"

/* Decodes base64 (RFC 4648 §4) with padding; white space is ignored.  *out is a
 * string that the caller frees, or NULL if s is empty or not base64, or if the
 * decoded bytes contain a NUL.  Returns -1, with *out NULL, if there is no
 * memory.  Any thread may call these functions. */
int base64_decode(const char *s, char **out);

/* Appends the base64 of n bytes, with padding and without line breaks. */
void base64_encode(struct buf *b, const char *bytes, size_t n);
/* Length of the base64 of n bytes, without a NUL. */
#define BASE64_BYTES(n) (((n) + 2) / 3 * 4)

#endif
