/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TABLE_MACHINES_PARTS_H
#define CORE_TABLE_MACHINES_PARTS_H

#include "core/table/machines.h"

/* The functions that the files of core/table/machines.h share.  machines.c
 * calls machines_keys.c, and both call machines_texts.c, but never the other
 * way round.  No other file includes this header. */

/* machines_texts.c.  Returns whether the entry is a Node whose ownerReference
 * names a claim. */
bool machines_entry_has_owner(const struct entry *e);

/* machines_keys.c keeps the indexes.  Remove an entry from them before its
 * names or uids change, and add it again afterwards. */
int machines_keys_init(struct machines *m); /* -1 if no memory */
void machines_keys_done(struct machines *m);
void machines_keys_add(struct machines *m, uint32_t id);
void machines_keys_remove(struct machines *m, uint32_t id);
/* machines_claim_of returns the id of the claim to which the Node belongs, and
 * machines_node_of the id of the Node that belongs to the claim.  Both return
 * NO_ID if the table has none. */
uint32_t machines_claim_of(const struct machines *m, const struct entry *node);
uint32_t machines_node_of(const struct machines *m, const struct entry *claim);

#endif
