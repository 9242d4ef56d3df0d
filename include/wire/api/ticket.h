/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_TICKET_H
#define WIRE_API_TICKET_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/base/ticket.h"
#include "wire/api/watch.h"

/*
 * Decodes Leases (coordination.k8s.io/v1) and their watch lines to struct
 * ticket.  The functions keep no state; any thread may call them.
 */

/* Decodes one item of a list.  ERR_INPUT names what is wrong, such as a missing
 * uid, or a field of a wrong type, which no API server stores.  Missing fields
 * and too many patterns are no error (ticket_flaw). */
int ticket_decode(const char *bytes, size_t n, struct ticket *out,
		  struct err *e);

/* Decodes one watch line, like object_watch_decode.  Returns 0 also for
 * WATCH_ERROR, where *status_code and e are set and out is untouched.  Of a
 * BOOKMARK only out->rv is set. */
int ticket_watch_decode(const char *bytes, size_t n, enum watch_type *type,
			struct ticket *out, int *status_code, struct err *e);

#endif
