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

/* Returns the length of the character at s, which is not "", and sets whether a
 * terminal shows it.  It would do something else with C0, DEL, C1, with those
 * that end a line or turn the direction of what follows, and with a byte that
 * is no character. */
size_t utf8_shown(const char *s, bool *shows);

/* Replaces what a terminal does not show in s by '?'. */
void utf8_make_shown(char *s);

#endif
