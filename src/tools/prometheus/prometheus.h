/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_PROMETHEUS_PROMETHEUS_H
#define TOOLS_PROMETHEUS_PROMETHEUS_H

#include <stdint.h>

#include "core/base/err.h"
#include "edge/timing.h"
#include "wire/karpenter/matrix.h"

/*
 * Asks a Prometheus, or what speaks its API, for Karpenter's metrics over a
 * range of time (docs/what-if.md#prometheus), by the API client of edge/kube.
 * Prometheus gives no more than 11,000 samples of a series at once, so it is
 * asked for one metric and one stretch of time after the other.  A stretch that
 * is too much for it is asked for in smaller ones.  Makes no thread; one caller
 * at a time.
 */
struct prometheus_setup {
	const char *url;	/* http(s)://HOST[:PORT][/PREFIX] */
	const char *ca_file;	/* NULL: the system's CAs */
	const char *token_file; /* the file of a bearer token; NULL: none */
	const char *match;	/* the labels that the series must have, as
				   PromQL writes them between braces; NULL: any.
				   At most PROMETHEUS_MATCH_MAX bytes */
	int64_t from_ms, to_ms; /* since 1970, both included */
	int64_t step_ms;	/* above 0 */
	const struct timing *timing;
};

/* `ctx` is a struct prometheus_setup.  All strings are borrowed.  No error
 * shows the token, or a password that somebody has put into the URL.  e is not
 * NULL. */
matrix_ask_fn prometheus_ask;

#endif
