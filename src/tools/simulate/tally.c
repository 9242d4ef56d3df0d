/* SPDX-License-Identifier: Apache-2.0 */
#include "tally.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"

void
tally_init(struct tally *t)
{
	memset(t, 0, sizeof(*t));
	t->from_ms = t->to_ms = STAMP_NONE;
}

/* Counts a message.  The list is searched from the front: it is short, and
 * frequent messages move towards the front. */
void
tally_message(struct tally *t, const char *message)
{
	struct tally_message *m = t->messages, *end = m + t->messages_n, swap;
	char text[SIMULATE_MESSAGE_BYTES];

	str_cut(text, sizeof(text), message);
	while (m < end && strcmp(m->text, text) != 0)
		m++;
	if (m == end && t->messages_n == SIMULATE_MESSAGES_MAX) {
		t->messages_rest++;
		return;
	}
	if (m == end) {
		memcpy(m->text, text, sizeof(text));
		m->n = 0;
		t->messages_n++;
	}
	m->n++;
	if (m > t->messages && m[-1].n < m->n) {
		swap = m[-1];
		m[-1] = *m;
		*m = swap;
	}
}

static int
by_number(const void *a, const void *b)
{
	const struct tally_message *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return strcmp(x->text, y->text);
}

void
tally_sort(struct tally *t)
{
	qsort(t->messages, t->messages_n, sizeof(t->messages[0]), by_number);
}

uint64_t
tally_created(const struct tally *t)
{
	uint64_t n = 0;

	for (int m = 0; m < MAKER_COUNT; m++)
		n += t->makers[m];
	return n;
}
