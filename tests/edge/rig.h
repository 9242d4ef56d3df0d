/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EDGE_RIG_H
#define TESTS_EDGE_RIG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "core/base/err.h"
#include "edge/server/server.h"
#include "peer.h"
#include "pems.h"

/*
 * The server under test with routes and handlers of its own:
 *
 *     POST /echo	the body comes back
 *     POST /wait	answers once the test unlocks `gate`
 *     GET  /query	method, path and query as text; also below /query/
 *     GET  /both	the same; POST /both is an echo of up to 16 bytes
 *     GET  /big	32 MiB
 *     GET  /fault	a handler that sets no status
 */

#define JSON "application/json"
#define REVIEW_MAX (7u << 20)	/* bytes of a body that /echo and /wait take */

struct rig {
	struct server *server;
	uint16_t port;
	_Atomic unsigned events[3];	/* how often each server_event came */
	pthread_mutex_t gate;
	_Atomic unsigned waiting;	/* handlers of /wait that have begun */
};

/* Options on a free port of 127.0.0.1, with deadlines that pass in no test. */
struct server_options rig_options(void);
/* Starts the server, or fails the test.  The caller frees r->server. */
void rig_start(struct rig *r, struct server_options *o);
/* server_rotate with such a pair. */
int rotate(struct server *s, const struct pems *p, struct err *e);

#endif
