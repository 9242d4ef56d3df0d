/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/* Gives one input to one decoder and returns 0.  It aborts where the result
 * breaks a promise of the decoder's header. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Like assert, whatever NDEBUG says. */
#define PROMISE(held) \
	((held) ? (void)0 : promise_broken(__FILE__, __LINE__, #held))

_Noreturn void promise_broken(const char *file, int line, const char *promise);

/* Promises that a decoder refused its input as each of them does: as bad or as
 * beyond a bound, in one line of text. */
void promise_refused(const struct err *e);

/* Promises that the text is well-formed UTF-8. */
void promise_utf8(const char *text);

/* Promises that the n bytes are one JSON document. */
void promise_json(const char *bytes, size_t n);

/* Returns the bytes up to the first NUL as a string in memory of its exact
 * size, which the caller frees. */
char *text_of_input(const uint8_t *data, size_t n);

#endif
