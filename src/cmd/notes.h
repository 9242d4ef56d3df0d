/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_NOTES_H
#define CMD_NOTES_H

#include "shared.h"
#include "teller.h"

/* What the sweep tells of itself, to the log and, as Events, on NodePools. */
void notes_tell(struct shared *s, const struct rules *r, struct teller *t);

#endif
