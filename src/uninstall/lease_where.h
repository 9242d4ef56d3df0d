/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNINSTALL_LEASE_WHERE_H
#define UNINSTALL_LEASE_WHERE_H

#include "edge/clock.h"
#include "lease_session.h"

/*
 * Finds the namespace of the Lease with this name.  If namespace_name is "", it
 * becomes the namespace that has one, or stays "" if none has.  Two such
 * namespaces are an error.  If namespace_name is given, it is checked: it is an
 * error if it has no Lease and another namespace has one that is being renewed,
 * because a holder runs there.  Without the right to list Leases this error
 * cannot be found.
 */
int lease_where(struct lease_session *l, const struct clock *clock,
		const char *name, char namespace_name[64], struct err *e);

#endif
