/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_SERVING_CERT_H
#define DAEMON_SERVING_CERT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "core/base/counters.h"
#include "edge/clock.h"
#include "edge/server/server.h"
#include "wire/config/config.h"

/*
 * The certificate pair on disk and the one that is served.  Looked at by main
 * alone; what /readyz and /metrics read is atomic.
 */
struct serving_cert {
	const char *cert_file, *key_file;
	struct clock *clock;
	struct counters *counters;
	struct server *server;
	struct stat cert_stat, key_stat;	/* as last read */
	int64_t read_ms;			/* boot */
	char serial[64];
	uint64_t digest;	/* of both files as served */
	char refused[240];	/* the last complaint, said once */
	_Atomic int64_t not_before_ms, not_after_ms;	/* 0: none served */
};

void serving_cert_init(struct serving_cert *p, const struct config *c,
		       struct clock *clock, struct counters *counters,
		       struct server *server);

/* Reads the files if they have changed (a kubelet swaps the ..data symlink)
 * or every 10 s: query, check, commit; or keep the old pair and say why. */
void serving_cert_look(struct serving_cert *p);

/* Is a pair served that is valid now? */
bool serving_cert_valid(struct serving_cert *p);

#endif
