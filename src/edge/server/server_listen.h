/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_SERVER_SERVER_LISTEN_H
#define EDGE_SERVER_SERVER_LISTEN_H

#include <stdint.h>

#include "core/base/err.h"

/*
 * Opens a listening TCP socket, non-blocking and close-on-exec, for
 * "host:port", "[v6]:port" or ":port" (every address, IPv4 and IPv6).  Sets
 * *port to the socket's port, which the kernel chooses for port 0.  Returns -1
 * on failure, and the error names the address.
 */
int listen_open(const char *address, int *fd, uint16_t *port, struct err *e);

#endif
