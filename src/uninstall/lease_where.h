/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNINSTALL_LEASE_WHERE_H
#define UNINSTALL_LEASE_WHERE_H

#include "edge/clock.h"
#include "lease_session.h"

/*
 * In which namespace is the Lease of that name?  namespace_name "": wherever
 * there is one, "" where there is none; two are an error.  Else that one, an
 * error where it has none and another has one that is renewed: a holder runs
 * there.  Who may not list Leases is not told of those.
 */
int lease_where(struct lease_session *l, const struct clock *clock,
		const char *name, char namespace_name[64], struct err *e);

#endif
