/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* One input for one decoder.  It must return 0, and abort where what came out
 * breaks a promise of the decoder's header. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Like assert, whatever NDEBUG says. */
#define PROMISE(held)                                                          \
	do {                                                                   \
		if (!(held)) {                                                 \
			(void)fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, \
				      __LINE__, #held);                        \
			abort();                                               \
		}                                                              \
	} while (0)

#endif
