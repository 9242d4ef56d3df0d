/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_TURNS_H
#define TOOLS_SIMULATE_TURNS_H

#include "replay.h"

/*
 * When which scope was held.  A look begins with turns_look, names each scope
 * that is held now, and ends with turns_looked: what was not named is held no
 * longer.  A zeroed struct is a valid start.  Not thread-safe.
 */
struct open_turn {
	struct turn t;
	size_t kept; /* its place in the list; SIZE_MAX: there was no room */
};

struct turns {
	struct open_turn *open; /* the first `looked` of them have been named in
				   this look */
	size_t open_n, open_room, looked;
	struct turn *list;
	size_t n, room;
	uint64_t holds, caps;
	/* since_ms: since when any scope is held */
	int64_t since_ms, held_ms, longest_ms;
};

void turns_done(struct turns *t);
void turns_look(struct turns *t);
void turns_held(struct turns *t, const char *scope, int64_t now_ms);
void turns_looked(struct turns *t, int64_t now_ms);
/* Instead of a look: this one ends. */
void turns_over(struct turns *t, const char *scope, int64_t now_ms);
/* Between turns_look and turns_looked: why the scope is held, and that its cap
 * has ended the hold. */
void turns_because(struct turns *t, const char *scope, const char *machine);
void turns_capped(struct turns *t, const char *scope);
/* "" if the scope is not held. */
const char *turns_machine(const struct turns *t, const char *scope);
/* All turns end. */
void turns_end(struct turns *t, int64_t now_ms);
void turns_report(const struct turns *t, struct replay_sums *out);

#endif
