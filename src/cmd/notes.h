/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_NOTES_H
#define CMD_NOTES_H

#include "shared.h"

/* What the sweep tells of itself, to the log. */
void notes_tell(struct shared *s, enum scope_kind scope);

#endif
