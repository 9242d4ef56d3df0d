/* SPDX-License-Identifier: Apache-2.0 */
#include "prometheus_flags.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/base/duration.h"
#include "core/base/limits.h"
#include "core/base/stamp.h"

#define STEP_LEAST_MS 1000
#define STEP "30s"
#define FROM "24h"
#define TO "0s"

static const struct {
	const char *name, *def, *help;
	size_t at;
} flags[] = {
	{"prometheus", "",
	 "the URL of Prometheus, or of a server that has its API",
	 offsetof(struct prometheus_flags, url)},
	{"prometheus-match", "",
	 "the matchers of one cluster's series, such as cluster=\"prod\"",
	 offsetof(struct prometheus_flags, match)},
	{"from", FROM, "the beginning: 2026-03-01T00:00:00Z, or how long ago",
	 offsetof(struct prometheus_flags, from)},
	{"to", TO, "the end, in the same form",
	 offsetof(struct prometheus_flags, to)},
	{"step", STEP,
	 "the time between two samples, which is Karpenter's scrape interval",
	 offsetof(struct prometheus_flags, step)},
	{"prometheus-ca", "", "a file of CAs to trust instead of the system's",
	 offsetof(struct prometheus_flags, ca_file)},
	{"prometheus-token-file", "", "a file with a bearer token",
	 offsetof(struct prometheus_flags, token_file)},
	{"prometheus-header", "",
	 "a header for each request, such as \"X-Scope-OrgID: TENANT\"",
	 offsetof(struct prometheus_flags, header)},
};
#define FLAGS_N (sizeof(flags) / sizeof(flags[0]))

bool
prometheus_flags_take(struct prometheus_flags *f, const char *name,
		      const char *value)
{
	for (size_t i = 0; i < FLAGS_N; i++)
		if (strcmp(name, flags[i].name) == 0) {
			*(const char **)((char *)f + flags[i].at) = value;
			return true;
		}
	return false;
}

void
prometheus_flags_help(void)
{
	for (size_t i = 0; i < FLAGS_N; i++)
		(void)printf("    --%s='%s':\n        %s\n", flags[i].name,
			     flags[i].def, flags[i].help);
}

static int
read_step(const char *text, int64_t *out, struct err *e)
{
	if (duration_parse(text, out) == 0 && *out >= STEP_LEAST_MS &&
	    *out <= PROMETHEUS_STEP_MAX_MS)
		return 0;
	return err_set(e, ERR_INPUT,
		       "--step: \"%.60s\", expected a duration of 1s to 1h, "
		       "such as 30s",
		       text);
}

/* Reads a time, or an age such as 24h.  An age becomes a time that is rounded
 * down to a whole step, so that the same command sends the same query until the
 * next step begins. */
static int
read_time(const char *flag, const char *text, int64_t now_ms, int64_t step_ms,
	  int64_t *out, struct err *e)
{
	int64_t ms;

	if (stamp_parse(text, out) == 0 && *out >= 0)
		return 0;
	if (duration_parse(text, &ms))
		return err_set(e, ERR_INPUT,
			       "--%s: \"%.60s\", expected a time such as "
			       "2026-03-01T00:00:00Z, or how long ago, such as "
			       "168h",
			       flag, text);
	*out = (now_ms - ms) / step_ms * step_ms;
	return 0;
}

static int
refuse_alone(const struct prometheus_flags *f, struct err *e)
{
	for (size_t i = 0; i < FLAGS_N; i++)
		if (*(const char *const *)((const char *)f + flags[i].at) !=
		    NULL)
			return err_set(e, ERR_INPUT,
				       "--%s: only with --prometheus",
				       flags[i].name);
	return 0;
}

int
prometheus_flags_end(const struct prometheus_flags *f, int64_t now_ms,
		     struct prometheus_setup *out, struct err *e)
{
	struct prometheus_setup s = {.url = f->url,
				     .match = f->match,
				     .ca_file = f->ca_file,
				     .token_file = f->token_file,
				     .header = f->header};

	if (f->url == NULL)
		return refuse_alone(f, e);
	if (read_step(f->step != NULL ? f->step : STEP, &s.step_ms, e) ||
	    read_time("from", f->from != NULL ? f->from : FROM, now_ms,
		      s.step_ms, &s.from_ms, e) ||
	    read_time("to", f->to != NULL ? f->to : TO, now_ms, s.step_ms,
		      &s.to_ms, e))
		return -1;
	if (s.match != NULL && strlen(s.match) > PROMETHEUS_MATCH_MAX)
		return err_set(e, ERR_LIMIT,
			       "--prometheus-match: more than %d bytes",
			       PROMETHEUS_MATCH_MAX);
	if (s.from_ms >= s.to_ms)
		return err_set(e, ERR_INPUT,
			       "--from is not before --to: expected an earlier "
			       "time");
	if ((s.to_ms - s.from_ms) / s.step_ms >= PROMETHEUS_STEPS_MAX)
		return err_set(e, ERR_LIMIT,
			       "more than %d steps from --from to --to: "
			       "expected a longer --step, or less time",
			       PROMETHEUS_STEPS_MAX);
	*out = s;
	return 1;
}
