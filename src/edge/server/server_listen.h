/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_SERVER_SERVER_LISTEN_H
#define EDGE_SERVER_SERVER_LISTEN_H

#include <stdint.h>

#include "core/base/err.h"

/*
 * A listening TCP socket, non-blocking and close-on-exec, for "host:port",
 * "[v6]:port" or ":port" (every address, IPv4 and IPv6).  *port is the one
 * it got.  The error names the address.
 */
int listen_open(const char *address, int *fd, uint16_t *port, struct err *e);

#endif
