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
 * Reads the certificate pair from its files and gives it to the server.  Main
 * alone calls serving_cert_init and serving_cert_look.  Any thread may call
 * serving_cert_valid and read the members that are atomic.  The arguments of
 * serving_cert_init must outlive the struct.
 */
struct serving_cert {
	const char *cert_file, *key_file;
	struct clock *clock;
	struct counters *counters;
	struct server *server;
	/* Results of stat(2) at the last serving_cert_look. */
	struct stat cert_stat, key_stat;
	int64_t read_ms; /* boot time of the last read */
	char serial[64];
	uint64_t digest;   /* digest of the pair that is served (digest_of) */
	char refused[240]; /* the last error, "" if the files are usable */
	_Atomic int64_t not_before_ms,
		not_after_ms;	    /* validity of the served pair; 0 if none */
	_Atomic uint64_t authority; /* as in struct certs_pair */
};

void serving_cert_init(struct serving_cert *p, const struct config *c,
		       struct clock *clock, struct counters *counters,
		       struct server *server);

/* Reads the files if stat(2) shows a change, such as when the kubelet swaps the
 * ..data symlink, and otherwise every 10 s.  It checks a new pair and then
 * serves it.  If the new pair is not usable, the server keeps the old pair, and
 * the log says why.  The same reason is logged only once. */
void serving_cert_look(struct serving_cert *p);

/* Returns whether a pair is served that is valid now, by the API server's
 * time. */
bool serving_cert_valid(struct serving_cert *p);

#endif
