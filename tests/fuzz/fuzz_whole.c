/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"
#include "fuzz/whole.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	(void)whole_promise((const char *)data, n);
	return 0;
}
