/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EXPLORE_ARENA_H
#define TESTS_EXPLORE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Memory that can be saved as a whole and put back.  While arena_on(true) holds,
 * everything that the core and the simulator allocate comes from one region at
 * a fixed address (the program is linked with --wrap=malloc and so on), so a
 * modelled world with its replicas is as it was, pointers and all, when the
 * region's pages are copied back.
 *
 *     arena_clear ──▶ (a world is made) ──▶ arena_base ──▶ save, restore …
 *
 * Only pages that were written to since the base are copied: they are found by
 * the fault that the first write raises.  One region, one thread.
 */
struct snapshot;

void arena_new(void);
void arena_clear(void);
/* From here on snapshots are taken; older ones are void. */
void arena_base(void);
/* From now on allocations are made there, or not. */
void arena_on(bool on);
size_t arena_bytes(void);	/* that a snapshot copies */

struct snapshot *snapshot_new(void);
void snapshot_save(struct snapshot *s);
void snapshot_restore(const struct snapshot *s);

#endif
