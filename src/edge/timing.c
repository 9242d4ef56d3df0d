/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/timing.h"

#include "core/base/limits.h"

/* How often the soft state is written without leader election.  A crash loses
 * at most the changes of this time. */
#define SOFT_EVERY_MS 60000

const struct timing timing_default = {
	.head_ms = SERVER_HEAD_MS,
	.body_ms = SERVER_BODY_MS,
	.reply_ms = SERVER_REPLY_MS,
	.idle_ms = SERVER_IDLE_MS,
	.connect_ms = CONNECT_MS,
	.call_ms = CALL_MS,
	.list_ms = LIST_MS,
	.whole_ms = LIST_WHOLE_MS,
	.silent_ms = WATCH_SILENT_MS,
	.query_ms = PROMETHEUS_MS,
	.token_ms = TOKEN_MS,
	.cert_ms = CERT_LOOK_MS,
	.quiet_ms = DRAIN_QUIET_MS,
	.listed_ms = HOLD_LEADER_MS,
	.settle_ms = UNINSTALL_PAUSE_MS,
	.soft_ms = SOFT_EVERY_MS,
	.heart_ms = HEART_MS,
};
