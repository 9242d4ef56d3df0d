/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/base/limits.h"
#include "parts.h"

void
batch_clear(struct batch *b)
{
	while (b->n > 0)
		free(b->facts[--b->n]);
	b->given = 0;
	b->failed = false;
}

void
batch_add(struct batch *b, const struct fact *f)
{
	if (b->n == LINE_FACTS_MAX || !fact_whole(f))
		return;
	b->facts[b->n] = fact_copy(f);
	if (b->facts[b->n] == NULL)
		b->failed = true;
	else
		b->n++;
}

bool
batch_next(struct batch *b, struct fact *out)
{
	if (b->given == b->n)
		return false;
	*out = *b->facts[b->given++];
	return true;
}
