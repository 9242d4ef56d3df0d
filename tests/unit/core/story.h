/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CORE_STORY_H
#define TESTS_CORE_STORY_H

#include <stdint.h>

#include "core/controller/status.h"

/*
 * The history of the scene's controller (scene.h) as one text, and leaders that
 * follow one another.
 */

#define TERM 7		/* leaseTransitions of the first leader */

/* What the latest leader wrote for the next one. */
extern char text[16384];

/* The turns, the oldest first, with how many minutes it was held. */
const char *story(void);
struct turn latest(void);

/* Takes what the leader writes into the Lease. */
void save(int32_t term);

/* The leader is killed, and another one starts a minute later.  `leads` gives
 * it the text, and lists.  open_again does only the latter. */
void killed(void);
void open_again(void);
void leads(int32_t term);
void another_leader(void);

/* Asserts that this is the story. */
void tells(const char *expected);

/* What one leader has told, the next one tells as well, and nothing else. */
void told_by_both(const char *expected);

#endif
