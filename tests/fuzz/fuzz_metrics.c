/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/metrics/metrics.h"

static char page[1 << 18];

/* The lines of the input, as names of scopes. */
struct lines {
	const char *at;
	int64_t quiet_ms;
};

static bool
next_name(struct lines *l, uint32_t *i, char name[NODEPOOL_BYTES])
{
	size_t n;

	if (*i == 0)
		l->at = page + sizeof(page) / 2;
	n = strcspn(l->at, "\n");
	if (*l->at == '\0' || *i == 16)
		return false;
	(*i)++;
	snprintf(name, NODEPOOL_BYTES, "%.*s", (int)n, l->at);
	l->at += n + (l->at[n] == '\n');
	return true;
}

static bool
next_scope(void *ctx, uint32_t *i, struct scope_report *out)
{
	struct lines *l = ctx;

	*out = (struct scope_report){.held = *i % 2 == 0};
	out->quiet_ms = *i % 3 == 0 ? STAMP_NONE : l->quiet_ms;
	return next_name(l, i, out->name);
}

static bool
next_nodepool(void *ctx, uint32_t *i, struct nodepool_report *out)
{
	struct lines *l = ctx;

	*out = (struct nodepool_report){.hand_ms = l->quiet_ms};
	return next_name(l, i, out->name);
}

/* "NAME{LABEL="VALUE",…} NUMBER": returns the end of what is before the
 * number. */
static const char *
past_labels(const char *s)
{
	s += strspn(s, "abcdefghijklmnopqrstuvwxyz_");
	if (*s != '{')
		return s;
	do {
		s++;
		s += strspn(s, "abcdefghijklmnopqrstuvwxyz_");
		PROMISE(s[0] == '=' && s[1] == '"');
		for (s += 2; *s != '"'; s++) {
			PROMISE(*s != '\0' && *s != '\n');
			if (*s == '\\')
				PROMISE(strchr("\\\"n", *++s) != NULL);
		}
		s++;
	} while (*s == ',');
	PROMISE(*s == '}');
	return s + 1;
}

static void
check_page(char *s, size_t n)
{
	char *line, *rest = s, *end;

	PROMISE(strlen(s) == n && s[n - 1] == '\n');
	while ((line = strsep(&rest, "\n")) != NULL) {
		if (*line == '#' || *line == '\0')
			continue;
		line = (char *)(uintptr_t)past_labels(line);
		PROMISE(*line == ' ');
		(void)strtod(line + 1, &end);
		PROMISE(end != line + 1 && *end == '\0');
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct counters c;
	struct metrics_gauges g = {.leads = true, .version = "v",
				   .cluster_scope = "cluster"};
	struct lines l = {.quiet_ms = (int64_t)n * 997};
	char *s = text_of_input(data, n < 4096 ? n : 4096);
	struct buf b;

	strcpy(page + sizeof(page) / 2, s);
	memset(&c, 0, sizeof(c));
	for (size_t i = 0; i < n && i < COUNTER_COUNT; i++)
		counter_add(&c, (enum counter)(data[i] % COUNTER_COUNT));
	for (size_t i = 0; i + 1 < n; i += 2) {
		c.rest[data[i] % REST_METHODS]
		      [(data[i] + 256u * data[i + 1]) % HTTP_CODE_MAX]++;
		counters_latency(&c, (uint64_t)data[i] << data[i + 1] % 40);
	}
	g.controller.has_tickets = n % 2 == 1;
	g.lease_name = s;
	g.cert_not_after_ms = (int64_t)n;
	buf_init(&b, page, sizeof(page) / 2);
	metrics_write(&b, &c, &g, next_scope, next_nodepool, &l);
	PROMISE(!b.full);
	check_page(page, b.len);
	free(s);
	return 0;
}
