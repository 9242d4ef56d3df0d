/* SPDX-License-Identifier: Apache-2.0 */
#include "stash.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/base/str.h"
#include "parts.h"
#include "wire/json/json.h"

void
stash_drop(struct stash *s, struct stash_value *v)
{
	s->alive -= v->bytes != NULL;
	free(v->bytes);
	*v = (struct stash_value){.bytes = NULL};
}

void
stash_done(struct stash *s)
{
	for (int i = 0; i < STASHES; i++)
		stash_drop(s, &s->values[i]);
}

void
stash_give_up(struct stash *s, struct stash_value *v)
{
	s->decisions += log_may_decide(v->bytes, v->n);
	stash_drop(s, v);
	s->lost++;
}

/* Returns -1, with the value given up, if it becomes too long. */
static int
append(struct stash *s, struct stash_value *v, const char *bytes, size_t n)
{
	char *room = v->bytes;

	if (n > ITEM_BYTES_MAX - v->n) {
		stash_give_up(s, v);
		return -1;
	}
	if (v->n + n > v->room) {
		room = realloc(v->bytes, 2 * (v->n + n));
		if (room == NULL) {
			stash_give_up(s, v);
			return -1;
		}
		v->bytes = room;
		v->room = 2 * (v->n + n);
	}
	memcpy(v->bytes + v->n, bytes, n);
	v->n += n;
	return 0;
}

void
stash_keep(struct stash *s, const struct stash_origin *of, const char *bytes,
	   size_t n)
{
	struct stash_value *to = &s->values[0];

	for (int i = 1; i < STASHES && to->bytes != NULL; i++)
		if (s->values[i].bytes == NULL ||
		    s->values[i].misses > to->misses)
			to = &s->values[i];
	if (to->bytes != NULL)
		stash_give_up(s, to);
	to->bytes = malloc(n + 1);
	if (to->bytes == NULL || n > ITEM_BYTES_MAX) {
		free(to->bytes);
		to->bytes = NULL;
		s->lost++;
		return;
	}
	memcpy(to->bytes, bytes, n);
	to->n = n;
	to->room = n + 1;
	str_cut(to->name, sizeof(to->name), of->name);
	to->from = of->from;
	to->at_ms = of->at_ms;
	s->alive++;
}

/* Returns whether the text continues this value.  If it may go on after the
 * text, that counts only if `open` is set. */
static bool
continues(struct stash *s, struct stash_value *v, const char *bytes, size_t n,
	  bool open, struct stash_value **whole)
{
	static const struct json_keep nothing[] = {{NULL, NULL}};
	size_t before = v->n, used;
	enum json_end end;

	if (append(s, v, bytes, n))
		return false;
	json_free(json_pick_first(v->bytes, v->n, nothing, &json_bounds_stored,
				  &used, &end));
	if (end == JSON_WHOLE)
		*whole = v;
	if (end == JSON_WHOLE || (end == JSON_CUT && open))
		return true;
	v->n = before;
	if (++v->misses > READER_MISSES_MAX || end == JSON_LARGE)
		stash_give_up(s, v);
	return false;
}

bool
stash_join(struct stash *s, const struct stash_origin *of, const char *bytes,
	   size_t n, bool last, struct stash_value **whole)
{
	*whole = NULL;
	/* First the values of the same origin, then the others.  Any text makes
	 * a string longer, so a text of another origin must end the value. */
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < STASHES; i++) {
			struct stash_value *v = &s->values[i];

			if (v->bytes != NULL &&
			    strcmp(v->name, of->name) == 0 &&
			    (v->from == of->from) == (pass == 0) &&
			    continues(s, v, bytes, n, pass == 0 && !last,
				      whole))
				return true;
		}
	return false;
}
