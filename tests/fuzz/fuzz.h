/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Gives one input to one decoder and returns 0.  It aborts where the result
 * breaks a promise of the decoder's header. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Like assert, whatever NDEBUG says. */
#define PROMISE(held) \
	((held) ? (void)0 : promise_broken(__FILE__, __LINE__, #held))

_Noreturn void promise_broken(const char *file, int line, const char *promise);

#endif
