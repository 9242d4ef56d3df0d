/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_TURNS_H
#define TOOLS_SIMULATE_TURNS_H

#include "replay.h"

/* Keeps when which scope was held.  A look begins with turns_look, names each
 * scope that is held now by turns_held, and ends with turns_looked: a scope
 * that was not named is held no longer.  A zeroed struct is a valid start.  Not
 * thread-safe. */
struct open_turn {
	struct turn t;
	size_t kept; /* its place in the list; SIZE_MAX: there was no room */
};

struct turns {
	/* The look that is under way has named the first `looked` of these
	 * scopes. */
	struct open_turn *open;
	size_t open_n, open_room, looked;
	struct turn *list;
	size_t n, room;
	uint64_t holds, caps;
	/* since_ms is since when any scope is held. */
	int64_t since_ms, held_ms, longest_ms;
};

void turns_done(struct turns *t);
void turns_look(struct turns *t);
void turns_held(struct turns *t, const char *scope, int64_t now_ms);
void turns_looked(struct turns *t, int64_t now_ms);
/* Ends the hold of this scope, outside of a look. */
void turns_over(struct turns *t, const char *scope, int64_t now_ms);
/* Call these between turns_look and turns_looked.  turns_because tells because
 * of which machine the scope is held, and turns_capped that its cap has ended
 * the hold. */
void turns_because(struct turns *t, const char *scope, const char *machine);
void turns_capped(struct turns *t, const char *scope);
/* Returns the machine because of which the scope is held, or "" if it is not
 * held. */
const char *turns_machine(const struct turns *t, const char *scope);
/* Ends all holds. */
void turns_end(struct turns *t, int64_t now_ms);
void turns_report(const struct turns *t, struct replay_sums *out);

#endif
