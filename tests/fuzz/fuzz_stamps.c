/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/duration.h"
#include "core/base/stamp.h"

#define YEAR_10000_MS INT64_C(253402300800000)

/* Promises that what stamp_format writes is the same time to the second. */
static void
check_stamp(int64_t ms)
{
	char text[STAMP_BYTES];
	int64_t again;

	PROMISE(ms != STAMP_NONE && ms < YEAR_10000_MS + 86400000);
	/* An offset may lead out of the years that have four digits. */
	if (ms < 0 || ms >= YEAR_10000_MS)
		return;
	stamp_format(ms, text);
	PROMISE(stamp_parse(text, &again) == 0);
	PROMISE(again == ms - ms % 1000);
}

static void
check_us(int64_t ms)
{
	char text[STAMP_US_BYTES];
	int64_t again;

	if (ms < 0 || ms >= YEAR_10000_MS)
		return;
	stamp_format_us(ms * 1000 + 999, text);
	PROMISE(stamp_parse(text, &again) == 0);
	PROMISE(again == ms);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *s = text_of_input(data, n), text[DURATION_BYTES];
	int64_t ms = 4711, again;

	if (stamp_parse(s, &ms) == 0) {
		check_stamp(ms);
		check_us(ms);
	} else {
		PROMISE(ms == 4711);
	}
	ms = 4711;
	if (stamp_parse_http(s, &ms) == 0) {
		PROMISE(strlen(s) == 29 && ms % 1000 == 0);
		check_stamp(ms);
	} else {
		PROMISE(ms == 4711);
	}
	ms = 4711;
	if (duration_parse(s, &ms) == 0) {
		PROMISE(ms >= 0 && ms <= DURATION_MS_MAX);
		duration_format(ms, text);
		PROMISE(duration_parse(text, &again) == 0 && again == ms);
	} else {
		PROMISE(ms == 4711);
	}
	free(s);
	return 0;
}
