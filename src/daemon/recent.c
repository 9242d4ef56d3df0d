/* SPDX-License-Identifier: Apache-2.0 */
#include "recent.h"

#include <string.h>

#define MINUTE_MS 60000

static uint64_t
now_at(const struct counters *c, enum counter id)
{
	return atomic_load_explicit(&c->at[id], memory_order_relaxed);
}

/* Sums the counters up into n, which has the order of the members of struct
 * status_admissions. */
static void
now_of(const struct counters *c, uint64_t n[RECENT_KINDS])
{
	n[0] = now_at(c, COUNTER_NODE_HELD) + now_at(c, COUNTER_CLAIM_HELD);
	n[1] = now_at(c, COUNTER_NODE_WOULD) + now_at(c, COUNTER_CLAIM_WOULD);
	n[2] = now_at(c, COUNTER_NODE_UNCHANGED) +
	       now_at(c, COUNTER_CLAIM_UNCHANGED) +
	       now_at(c, COUNTER_OTHER_UNCHANGED);
	n[3] = now_at(c, COUNTER_REFUSED);
	n[4] = now_at(c, COUNTER_FAILED);
	n[5] = now_at(c, COUNTER_SHED);
}

void
recent_init(struct recent *r, int64_t boot_ms)
{
	memset(r, 0, sizeof(*r));
	atomic_store(&r->at_ms[0], boot_ms);
	atomic_store(&r->next, 1);
}

void
recent_look(struct recent *r, const struct counters *c, int64_t boot_ms)
{
	unsigned next = atomic_load(&r->next);
	unsigned last = (next + RECENT_LOOKS - 1) % RECENT_LOOKS;
	uint64_t n[RECENT_KINDS];

	if (boot_ms - atomic_load(&r->at_ms[last]) < RECENT_MS)
		return;
	now_of(c, n);
	for (int k = 0; k < RECENT_KINDS; k++)
		atomic_store(&r->n[next][k], n[k]);
	atomic_store(&r->at_ms[next], boot_ms);
	atomic_store(&r->next, (next + 1) % RECENT_LOOKS);
}

/* Returns the index of the youngest copy that is at least a minute old, or of
 * the oldest copy if none is that old. */
static unsigned
look_of(struct recent *r, int64_t boot_ms)
{
	unsigned next = atomic_load(&r->next), oldest = RECENT_LOOKS;

	for (unsigned i = 1; i <= RECENT_LOOKS; i++) {
		unsigned at = (next + RECENT_LOOKS - i) % RECENT_LOOKS;
		int64_t ms = atomic_load(&r->at_ms[at]);

		if (ms == 0)
			break;
		oldest = at;
		if (boot_ms - ms >= MINUTE_MS)
			break;
	}
	return oldest;
}

void
recent_read(struct recent *r, const struct counters *c, int64_t boot_ms,
	    struct status_admissions *out)
{
	unsigned at = look_of(r, boot_ms);
	uint64_t n[RECENT_KINDS];

	now_of(c, n);
	for (int k = 0; k < RECENT_KINDS && at < RECENT_LOOKS; k++)
		n[k] -= atomic_load(&r->n[at][k]);
	*out = (struct status_admissions){
		.seconds = at < RECENT_LOOKS
				   ? (unsigned)((boot_ms -
						 atomic_load(&r->at_ms[at])) /
						1000)
				   : 0,
		.held = n[0],
		.would_hold = n[1],
		.unchanged = n[2],
		.refused = n[3],
		.failed = n[4],
		.shed = n[5],
	};
}
