/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_UTF8_H
#define CORE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the length in bytes of the well-formed UTF-8 character at the
 * beginning of s, which has n bytes, or 0 if there is none.  Well-formed means
 * as in RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
size_t utf8_len(const char *s, size_t n);

/* Returns the code point of the well-formed character at s, which has n
 * bytes. */
uint32_t utf8_code(const char *s, size_t n);

/* Returns the length of the character at s, which is not "", and sets *shows to
 * whether a terminal shows it.  A terminal does not show C0, DEL and C1,
 * characters that end a line or change the direction of the text, and bytes
 * that are no character. */
size_t utf8_shown(const char *s, bool *shows);

/* Replaces each character of s that a terminal does not show by '?'. */
void utf8_make_shown(char *s);

#endif
