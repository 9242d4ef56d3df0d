/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EDGE_KUBE_FIXTURE_H
#define TESTS_EDGE_KUBE_FIXTURE_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "edge/kube/kube.h"
#include "scripted.h"
#include "suite.h"

/*
 * A scripted server and a kube that speaks to it, for one test.  The test calls
 * fixture_server, changes `options` where it wants, and calls fixture_kube.
 * What fails here fails the test.
 */

#define AGENT "karpenter-node-holder/test"
#define PATIENT_MS 30000	/* a deadline that passes on no machine */

struct fixture {
	struct scripted server;
	struct clock *clock;
	struct counters counters;
	struct kube_options options;
	struct kube *kube;
	struct kube_stream *stream;
};

void fixture_server(struct fixture *f, SSL_CTX *tls, scripted_answer *answer,
		    void *ctx);
void fixture_kube(struct fixture *f);
void fixture_done(struct fixture *f);

/* Waits until the server has had n requests, up to PATIENT_MS. */
void await_requests(const struct fixture *f, unsigned n);

/* A list of Nodes as a request. */
struct kube_request get(int64_t timeout_ms);
/* Makes one call on the lanes and waits for it.  Returns how it failed, or an
 * empty err. */
struct err lanes_call(struct kube_lanes *p, const struct kube_request *q,
		      struct kube_reply *reply);

/* What the sink of a stream was given.  seen_sink and seen_opened are its
 * functions, with a struct seen as ctx; the test frees `bytes`. */
struct seen {
	char *bytes;		/* NUL-terminated */
	size_t n, cap;
	unsigned opened;
	bool refuse;		/* set by the test: the sink fails */
};

int seen_sink(void *ctx, const char *bytes, size_t n, struct err *e);
void seen_opened(void *ctx);

#endif
