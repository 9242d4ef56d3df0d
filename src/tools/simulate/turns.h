/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_TURNS_H
#define TOOLS_SIMULATE_TURNS_H

#include "replay.h"

/* Records when each scope was held.  A look begins with turns_look, names each
 * scope that is held now with turns_held, and ends with turns_looked.  The hold
 * of a scope that was not named has ended.  A zeroed struct is a valid start.
 * Not thread-safe. */
struct open_turn {
	struct turn t;
	size_t kept; /* Place in the list, or SIZE_MAX if there was no room. */
};

struct turns {
	/* The turns that are open.  The current look has named the scopes of
	 * the first `looked` of them. */
	struct open_turn *open;
	size_t open_n, open_room, looked;
	struct turn *list;
	size_t n, room;
	uint64_t holds, caps;
	/* since_ms is the time since which at least one scope is held. */
	int64_t since_ms, held_ms, longest_ms;
};

void turns_done(struct turns *t);
void turns_look(struct turns *t);
void turns_held(struct turns *t, const char *scope, int64_t now_ms);
void turns_looked(struct turns *t, int64_t now_ms);
/* Ends the hold of this scope, outside of a look. */
void turns_over(struct turns *t, const char *scope, int64_t now_ms);
/* Call these while the scope is held: in a look, before turns_looked ends the
 * hold.  turns_because names the machine that keeps the scope busy.
 * turns_capped tells that the cap has ended the hold of the scope. */
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
