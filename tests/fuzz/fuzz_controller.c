/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include "unit/core/walk.h"

/* Check's own functions need a suite that runs; the linker puts these in their
 * place. */
_Noreturn void __wrap__ck_assert_failed(const char *file, int line,
					const char *expr, const char *msg, ...);
void __wrap__mark_point(const char *file, int line);

_Noreturn void
__wrap__ck_assert_failed(const char *file, int line, const char *expr,
			 const char *msg, ...)
{
	promise_broken(file, line, msg != NULL ? msg : expr);
}

void
__wrap__mark_point(const char *file, int line)
{
	(void)file;
	(void)line;
}

/* The first byte is the seed of what the others do not decide. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n > 1)
		walk(data[0], data + 1, n - 1, 200);
	return 0;
}
