/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_UTF8_H
#define CORE_BASE_UTF8_H

#include <stddef.h>

/* Returns the length in bytes of the well-formed UTF-8 character at the
 * beginning of s, which has n bytes, or 0 if there is none.  Well-formed means
 * as in RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
size_t utf8_len(const char *s, size_t n);

#endif
