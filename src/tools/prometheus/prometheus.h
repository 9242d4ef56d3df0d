/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_PROMETHEUS_PROMETHEUS_H
#define TOOLS_PROMETHEUS_PROMETHEUS_H

#include <stdint.h>

#include "core/base/err.h"
#include "edge/timing.h"
#include "wire/karpenter/matrix.h"

/*
 * Queries Prometheus, or a server with the same API, for Karpenter's metrics
 * over a range of time (docs/what-if.md#prometheus), with the API client of
 * edge/kube.  Prometheus returns at most 11,000 samples of a series in one
 * answer, so each query asks for one metric and a part of the range.  A part
 * that is still too large is halved.  There is no thread here.  Not
 * thread-safe.
 */
struct prometheus_setup {
	const char *url;	/* http(s)://HOST[:PORT][/PREFIX] */
	const char *ca_file;	/* NULL: the system's CAs */
	const char *token_file; /* the file of a bearer token; NULL: none */
	const char *header;	/* "NAME: VALUE", for a tenant; NULL: none */
	/* The label matchers of the series, as PromQL writes them between
	 * braces, or NULL for all series.  At most PROMETHEUS_MATCH_MAX
	 * bytes. */
	const char *match;
	int64_t from_ms, to_ms; /* ms since 1970; both are included */
	int64_t step_ms;	/* at least 1 */
	const struct timing *timing;
};

/* `ctx` is a struct prometheus_setup.  All strings are borrowed.  No error text
 * shows the token, or a password in the URL.  `e` must not be NULL. */
matrix_ask_fn prometheus_ask;

#endif
