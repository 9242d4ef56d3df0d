/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/duration.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Reads a unit ("h", "m", "s" or "ms") and advances *s past it.  Returns the
 * length of the unit in ms, or 0 if *s does not begin with a unit. */
static int64_t
unit_ms(const char **s)
{
	switch (**s) {
	case 'h':
		(*s)++;
		return 3600000;
	case 's':
		(*s)++;
		return 1000;
	case 'm':
		(*s)++;
		if (**s != 's')
			return 60000;
		(*s)++;
		return 1;
	default:
		return 0;
	}
}

/* Reads one term such as "1.5h" and adds it to *ms.  Ignores decimals after the
 * ninth. */
static int
duration_term(const char **s, int64_t *ms)
{
	int64_t v = 0, frac = 0, scale = 1, unit;
	int seen = 0, decimals = 0;

	for (; **s >= '0' && **s <= '9'; (*s)++, seen = 1) {
		v = v * 10 + (**s - '0');
		if (v > DURATION_MS_MAX)
			return -1;
	}
	if (**s == '.') {
		for ((*s)++; **s >= '0' && **s <= '9'; (*s)++, decimals++) {
			if (decimals >= 9)
				continue;
			frac = frac * 10 + (**s - '0');
			scale *= 10;
		}
		seen = seen && decimals > 0;
	}
	if (!seen)
		return -1;
	unit = unit_ms(s);
	if (unit == 0 || v > DURATION_MS_MAX / unit)
		return -1;
	*ms += v * unit + frac * unit / scale;
	return *ms > DURATION_MS_MAX ? -1 : 0;
}

int
duration_parse(const char *s, int64_t *ms)
{
	int64_t sum = 0;

	if (*s == '\0')
		return -1;
	if (strcmp(s, "0") != 0)
		while (*s != '\0')
			if (duration_term(&s, &sum))
				return -1;
	*ms = sum;
	return 0;
}

void
duration_format(int64_t ms, char out[DURATION_BYTES])
{
	static const struct {
		int64_t ms;
		const char *name;
	} units[] = {{3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};
	size_t used = 0;

	for (size_t i = 0; i < 4; i++) {
		int64_t n = ms / units[i].ms;

		if (n == 0)
			continue;
		used += (size_t)snprintf(out + used, DURATION_BYTES - used,
					 "%lld%s", (long long)n, units[i].name);
		ms -= n * units[i].ms;
	}
	if (used == 0)
		memcpy(out, "0s", 3);
}
