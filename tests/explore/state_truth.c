/* SPDX-License-Identifier: Apache-2.0 */
#include "mix.h"

void
mix_truth(struct mix *m, const struct run *r)
{
	(void)m;
	(void)r;
}
