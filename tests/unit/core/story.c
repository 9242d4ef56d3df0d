/* SPDX-License-Identifier: Apache-2.0 */
#include "story.h"

#include <string.h>

#include "core/base/buf.h"
#include "scene.h"

char text[16384];
static char soft[4096], told[4096];

/* --- the story ------------------------------------------------------------ */

/* The turns, the oldest first, with how many minutes it was held. */
const char *
story(void)
{
	uint64_t before = UINT64_MAX;
	struct turn t[64];
	struct buf b;
	int n = 0;

	while (n < 64 && controller_turn(w->s, &before, &t[n]))
		n++;
	buf_init(&b, told, sizeof(told));
	while (n-- > 0) {
		buf_printf(&b, "%s %s: %s", t[n].nodepool ? t[n].scope : "*",
			   journal_what(t[n].what), journal_cause(t[n].cause));
		if (t[n].held_ms >= 0)
			buf_printf(&b, " %d",
				   (int)((t[n].held_ms + 30000) / MINUTE));
		if (t[n].machine[0] != '\0')
			buf_printf(&b, " %s", t[n].machine);
		if (t[n].reason[0] != '\0')
			buf_printf(&b, " (%s)", t[n].reason);
		buf_puts(&b, "\n");
	}
	return told;
}

struct turn
latest(void)
{
	uint64_t before = UINT64_MAX;
	struct turn t;

	ck_assert(controller_turn(w->s, &before, &t));
	return t;
}

/* --- leaders -------------------------------------------------------------- */

void
save(int32_t term)
{
	struct buf b;

	buf_init(&b, text, sizeof(text));
	ck_assert(controller_history(w->s, &b, term, world_now(w)));
	buf_init(&b, soft, sizeof(soft));
	ck_assert(!controller_history(w->s, &b, term, world_now(w)));
	ck_assert(controller_soft(w->s, &b, true, world_now(w)));
}

/* The leader is killed, and another one leads a minute later. */
void
killed(void)
{
	save(TERM);
	world_restart(w, 9);
	w->boot_ms += MINUTE;
}

void
open_again(void)
{
	for (uint32_t i = 0; i < w->pools_n; i++)
		controller_nodepool(w->s, &w->nodepools[i], world_now(w));
	world_open(w);
	world_run(w, SLACK);
}

void
leads(int32_t term)
{
	controller_recall(w->s, text, term, world_now(w));
	controller_restore(w->s, soft, STAMP_NONE, world_now(w));
	open_again();
}

void
another_leader(void)
{
	killed();
	leads(TERM + 1);
}

void
tells(const char *expected)
{
	ck_assert_str_eq(story(), expected);
}

/* What one leader has told, the next one tells as well, and nothing else. */
void
told_by_both(const char *expected)
{
	tells(expected);
	another_leader();
	tells(expected);
}
