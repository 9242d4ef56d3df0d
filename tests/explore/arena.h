/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EXPLORE_ARENA_H
#define TESTS_EXPLORE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Memory that can be saved as a whole and put back.  While arena_on(true)
 * holds, everything that the core and the simulator allocate comes from one
 * region at a fixed address.  (The program is linked with --wrap=malloc and so
 * on.)  When the pages of the region are copied back, a modelled world with its
 * replicas is as it was, pointers and all.
 *
 *     arena_clear ──▶ (a world is made) ──▶ arena_base ──▶ save, restore …
 *
 * Only pages that were written to since the base are copied.  The fault that
 * the first write to a page raises finds them.  There is one region, and one
 * thread.
 */
struct snapshot;

void arena_new(void);
void arena_clear(void);
/* Snapshots are taken relative to this moment.  Older ones are void. */
void arena_base(void);
/* Says whether allocations come from the region from now on. */
void arena_on(bool on);
size_t arena_bytes(void);	/* how many a snapshot copies */

struct snapshot *snapshot_new(void);
void snapshot_save(struct snapshot *s);
void snapshot_restore(const struct snapshot *s);

#endif
