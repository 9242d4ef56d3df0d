/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_TIMING_H
#define EDGE_TIMING_H

#include <stdint.h>

/*
 * The deadlines of serve that are not part of the configuration.  limits.h has
 * those of the product; the tests of the whole daemon use shorter ones.
 * Milliseconds.
 */
struct timing {
	int64_t head_ms, body_ms, reply_ms, idle_ms;	/* webhook */
	int64_t connect_ms, call_ms, list_ms, silent_ms;	/* API client */
	int64_t token_ms;
	int64_t cert_ms;	/* how often the pair's files are looked at */
	int64_t quiet_ms;	/* from SIGTERM or the last connection to the
				   end */
	int64_t settle_ms;	/* uninstall: between two lists that show no
				   mark */
	int64_t soft_ms;	/* without election the soft state is written
				   this often */
	int64_t heart_ms;	/* liveness: a thread that is silent for longer
				   is stuck */
};

extern const struct timing timing_default;

#endif
