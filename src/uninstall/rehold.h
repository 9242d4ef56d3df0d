/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNINSTALL_REHOLD_H
#define UNINSTALL_REHOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/object.h"

/*
 * Does something still hold while we clear?  A mark that no earlier list had
 * and that is younger than our start comes from a holder that runs, or from an
 * admission policy.  Karpenter's copy of one at registration has the old time.
 */
struct rehold {
	int64_t start_ms;	/* server time */
	int64_t slack_ms;	/* a webhook that is gone marks so long */
	int64_t newest_ms;	/* mark of the first list */
	bool listed;		/* there was a complete list */
	char seen[NAME_BYTES + 80];	/* in this list; "": nothing */
	char text[NAME_BYTES + 80];	/* the first of them; "": none */
};

/* Marks are looked at from now on; what was found stays. */
void rehold_begin(struct rehold *r, int64_t server_ms, int64_t slack_ms);
/* One object of a list. */
void rehold_look(struct rehold *r, const struct object *o, int64_t server_ms);
/* The list is complete.  led: all the while nobody else might hold. */
void rehold_listed(struct rehold *r, bool led);

#endif
