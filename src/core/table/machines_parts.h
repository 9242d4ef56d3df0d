/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TABLE_MACHINES_PARTS_H
#define CORE_TABLE_MACHINES_PARTS_H

#include "core/table/machines.h"

/* What machines.c asks of machines_keys.c, and both of machines_texts.c.
 * Nothing is asked the other way.  Not for other files. */

/* machines_texts.c: does the Node name its claim? */
bool machines_entry_has_owner(const struct entry *e);

/* machines_keys.c: the indexes.  An entry that is in them is taken out before
 * its names or uids change, and added again. */
int machines_keys_init(struct machines *m); /* -1: no memory */
void machines_keys_done(struct machines *m);
void machines_keys_add(struct machines *m, uint32_t id);
void machines_keys_remove(struct machines *m, uint32_t id);
/* Return the id of the claim that a Node belongs to, or of the Node that
 * belongs to a claim, as far as we see it, or NO_ID. */
uint32_t machines_claim_of(const struct machines *m, const struct entry *node);
uint32_t machines_node_of(const struct machines *m, const struct entry *claim);

#endif
