/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_UTF8_H
#define CORE_BASE_UTF8_H

#include <stddef.h>

/* The length in bytes of the well-formed UTF-8 sequence at the begin of s[0..n)
 * (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF).  0 if there
 * is none. */
size_t utf8_len(const char *s, size_t n);

#endif
