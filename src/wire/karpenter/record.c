/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/karpenter/record.h"

#include <stdio.h>

#include "core/base/stamp.h"
#include "wire/json/json_printf.h"

void
record_head(struct buf *b)
{
	json_printf(b, "{'record':'" RECORD_VERSION "'}\n");
}

void
record_end(struct buf *b, int64_t until_ms)
{
	char until[STAMP_US_BYTES];

	stamp_format_us(until_ms * 1000, until);
	json_printf(b, "{'record':'" RECORD_VERSION "','until':%s}\n", until);
}

static void
text(struct buf *b, const char *key, const char *value)
{
	if (value[0] != '\0')
		json_printf(b, ",%s:%s", key, value);
}

static void
nodes(struct buf *b, const struct fact *f)
{
	json_printf(b, ",'nodes':[");
	for (size_t i = 0; i < f->nodes_n; i++) {
		json_printf(b, ",{'node':%s", f->nodes[i].node);
		text(b, "claim", f->nodes[i].claim);
		buf_puts(b, "}");
	}
	buf_puts(b, "]");
}

static void
dollars(struct buf *b, const char *key, int64_t value)
{
	char amount[32];

	if (value < 0)
		return;
	(void)snprintf(amount, sizeof(amount), "%lld.%06lld",
		       (long long)value / 1000000, (long long)value % 1000000);
	text(b, key, amount);
}

void
record_write(struct buf *b, const struct fact *f)
{
	char at[STAMP_US_BYTES];

	stamp_format_us(f->at_ms * 1000, at);
	json_printf(b, "{'at':%s,'what':%s", at, fact_name(f->kind));
	text(b, "claim", f->claim);
	text(b, "node", f->node);
	text(b, "pool", f->pool);
	text(b, "maker", fact_maker_name(f->maker));
	text(b, "action", f->action);
	text(b, "reason", f->reason);
	if (f->pods >= 0)
		json_printf(b, ",'pods':%lld", f->pods);
	dollars(b, "savings", f->savings);
	dollars(b, "price", f->price);
	if (f->kind == FACT_DECIDED)
		nodes(b, f);
	buf_puts(b, "}\n");
}
