/* SPDX-License-Identifier: Apache-2.0 */
#include "turns.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/stamp.h"
#include "core/base/str.h"

void
turns_done(struct turns *t)
{
	free(t->open);
	free(t->list);
	*t = (struct turns){.open = NULL};
}

static struct open_turn *
find_from(const struct turns *t, size_t from, const char *scope)
{
	for (size_t i = from; i < t->open_n; i++)
		if (strcmp(t->open[i].t.scope, scope) == 0)
			return &t->open[i];
	return NULL;
}

static struct open_turn *
find_open(const struct turns *t, const char *scope)
{
	return find_from(t, 0, scope);
}

void
turns_look(struct turns *t)
{
	t->looked = 0;
}

/* Grows the array if it is full.  Returns the array, or NULL if there is no
 * memory. */
static void *
grow(void *array, size_t n, size_t *room, size_t size)
{
	void *more;

	if (n < *room)
		return array;
	more = realloc(array, (2 * n + 8) * size);
	if (more != NULL)
		*room = 2 * n + 8;
	return more;
}

/* Reserves the next place in the list, in which the turns are in the order of
 * their beginnings.  Returns SIZE_MAX if there is no room. */
static size_t
list_place(struct turns *t)
{
	struct turn *list;

	if (t->n == SIMULATE_TURNS_MAX)
		return SIZE_MAX;
	list = grow(t->list, t->n, &t->room, sizeof(*list));
	if (list == NULL)
		return SIZE_MAX;
	t->list = list;
	return t->n++;
}

/* Moves the open turn o behind the other turns that were named since
 * turns_look.  The scopes are named in the same order the next time, so
 * turns_held finds each turn at once. */
static void
see(struct turns *t, struct open_turn *o)
{
	struct open_turn *to = &t->open[t->looked++], moved = *o;

	if (o == to)
		return;
	memmove(to + 1, to, (size_t)(o - to) * sizeof(*o));
	*to = moved;
}

void
turns_held(struct turns *t, const char *scope, int64_t now_ms)
{
	struct open_turn *o = find_from(t, t->looked, scope), *open;

	if (o != NULL) {
		see(t, o);
		return;
	}
	if (find_open(t, scope) != NULL)
		return;
	open = grow(t->open, t->open_n, &t->open_room, sizeof(*open));
	if (open == NULL)
		return;
	t->open = open;
	if (t->open_n == 0)
		t->since_ms = now_ms;
	o = &open[t->open_n++];
	*o = (struct open_turn){.kept = list_place(t)};
	str_cut(o->t.scope, sizeof(o->t.scope), scope);
	o->t.from_ms = now_ms;
	o->t.to_ms = STAMP_NONE;
	if (o->kept != SIZE_MAX)
		t->list[o->kept] = o->t;
	t->holds++;
	see(t, o);
}

static void
close_turn(struct turns *t, struct open_turn *o, int64_t now_ms)
{
	o->t.to_ms = now_ms;
	if (now_ms - o->t.from_ms > t->longest_ms)
		t->longest_ms = now_ms - o->t.from_ms;
	t->caps += o->t.capped;
	if (o->kept != SIZE_MAX)
		t->list[o->kept] = o->t;
	t->open_n--;
	if ((size_t)(o - t->open) < t->looked)
		t->looked--;
	memmove(o, o + 1, (size_t)(&t->open[t->open_n] - o) * sizeof(*o));
	if (t->open_n == 0)
		t->held_ms += now_ms - t->since_ms;
}

void
turns_looked(struct turns *t, int64_t now_ms)
{
	while (t->open_n > t->looked)
		close_turn(t, &t->open[t->open_n - 1], now_ms);
}

void
turns_over(struct turns *t, const char *scope, int64_t now_ms)
{
	struct open_turn *o = find_open(t, scope);

	if (o != NULL)
		close_turn(t, o, now_ms);
}

void
turns_because(struct turns *t, const char *scope, const char *machine)
{
	struct open_turn *o = find_open(t, scope);

	if (o != NULL)
		str_cut(o->t.machine, sizeof(o->t.machine), machine);
}

void
turns_capped(struct turns *t, const char *scope)
{
	struct open_turn *o = find_open(t, scope);

	if (o != NULL)
		o->t.capped = true;
}

const char *
turns_machine(const struct turns *t, const char *scope)
{
	const struct open_turn *o = find_open(t, scope);

	return o == NULL ? "" : o->t.machine;
}

void
turns_end(struct turns *t, int64_t now_ms)
{
	turns_look(t);
	turns_looked(t, now_ms);
}

void
turns_report(const struct turns *t, struct replay_sums *out)
{
	out->holds = t->holds;
	out->caps = t->caps;
	out->held_ms = t->held_ms;
	out->longest_ms = t->longest_ms;
	out->turns = t->list;
	out->turns_n = t->n;
}
