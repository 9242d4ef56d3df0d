/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_TURNS_H
#define TOOLS_SIMULATE_TURNS_H

#include "replay.h"

struct open_turn {
	struct turn t;
	size_t kept; /* index in `list`, or SIZE_MAX if there was no room */
};

/* Records when each scope was held.  To report what is held now, call
 * turns_look, then turns_held for each scope that is held, then turns_looked.
 * turns_looked ends the hold of each scope that was not named.  A zeroed struct
 * is a valid start.  Not thread-safe. */
struct turns {
	/* The turns that are open, which means that their scopes are held.
	 * turns_held has named the first `looked` of them since turns_look. */
	struct open_turn *open;
	size_t open_n, open_room, looked;
	struct turn *list;
	size_t n, room;
	uint64_t holds, caps;
	/* since_ms: since when at least one scope is held, if any is held.
	 * held_ms: how long at least one scope was held in earlier periods. */
	int64_t since_ms, held_ms, longest_ms;
};

void turns_done(struct turns *t);
void turns_look(struct turns *t);
void turns_held(struct turns *t, const char *scope, int64_t now_ms);
void turns_looked(struct turns *t, int64_t now_ms);
/* Ends the hold of this scope.  Call it between turns_looked and the next
 * turns_look. */
void turns_over(struct turns *t, const char *scope, int64_t now_ms);
/* Call these while the scope counts as held, before turns_looked ends the hold.
 * turns_because names the machine that keeps the scope busy.  turns_capped
 * records that the cap has ended the hold of the scope. */
void turns_because(struct turns *t, const char *scope, const char *machine);
void turns_capped(struct turns *t, const char *scope);
/* Returns the machine that keeps the scope busy, or "" if the scope is not
 * held.
 */
const char *turns_machine(const struct turns *t, const char *scope);
/* Ends all holds. */
void turns_end(struct turns *t, int64_t now_ms);
void turns_report(const struct turns *t, struct replay_sums *out);

#endif
