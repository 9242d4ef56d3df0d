/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/index.h"
#include "core/base/stamp.h"
#include "reader_parts.h"

/*
 * Keeps values that were cut, until the texts come in which they go on.
 * Container runtimes and log shippers cut long lines into pieces, and mark the
 * pieces in many ways.  No mark is needed: a piece goes on where it makes the
 * value longer and leaves it valid JSON.  A piece of another origin has to end
 * the value.
 */

/* Checks the value at the beginning of the text, and sets *used to its size. */
static enum json_end
check(const char *s, size_t n, size_t *used)
{
	static const struct json_keep nothing[] = {{NULL, NULL}};
	enum json_end end;

	json_free(json_pick_first(s, n, nothing, &json_bounds_stored, used,
				  &end));
	return end;
}

/* Returns whether a member is the name of one line alone. */
static bool
is_id(const char *key)
{
	size_t n = key == NULL ? 0 : strlen(key);

	return n >= 2 && strcasecmp(key + n - 2, "id") == 0;
}

/* Hashes the long strings around a piece, which are the same for all pieces of
 * a line: its pod, its stream and the like. */
static uint32_t
hash_origin(const struct json *v, const char *piece)
{
	uint32_t h = 1;
	int64_t at;

	for (v = json_first(v); v != NULL; v = json_next(v)) {
		const char *s = json_string(v);

		if (json_is_object(v))
			h = h * 31 + hash_origin(v, piece);
		else if (s != NULL && s != piece && strlen(s) > 5 &&
			 !is_id(json_key(v)) && !when_value(v, &at))
			h = h * 31 + index_hash(s, 0);
	}
	return h;
}

static void
stash_drop(struct reader *r, struct stash *s)
{
	r->stashed -= s->bytes != NULL;
	free(s->bytes);
	*s = (struct stash){.bytes = NULL};
}

void
stash_give_up(struct reader *r, struct stash *s)
{
	judge_broken(r, log_may_decide(s->bytes, s->n));
	stash_drop(r, s);
}

/* Returns -1, with the value given up, if it becomes too long. */
static int
append(struct reader *r, struct stash *s, const char *bytes, size_t n)
{
	char *more =
		n > ITEM_BYTES_MAX - s->n ? NULL : realloc(s->bytes, s->n + n);

	if (more == NULL) {
		stash_give_up(r, s);
		return -1;
	}
	memcpy(more + s->n, bytes, n);
	s->bytes = more;
	s->n += n;
	return 0;
}

void
stash_keep(struct reader *r, const char *bytes, size_t n,
	   const struct around *a)
{
	struct stash *to = r->stashes;

	/* The value that has waited in vain most often is given up. */
	for (int i = 1; i < STASHES && to->bytes != NULL; i++)
		if (r->stashes[i].bytes == NULL ||
		    r->stashes[i].misses > to->misses)
			to = &r->stashes[i];
	if (to->bytes != NULL)
		stash_give_up(r, to);
	*to = (struct stash){.bytes = malloc(1),
			     .name = index_hash_text(a->name),
			     .from = hash_origin(a->in, a->piece),
			     .at_ms = judge_time(NULL, a)};
	r->stashed += to->bytes != NULL;
	r->found++;
	if (to->bytes != NULL)
		(void)append(r, to, bytes, n);
}

/* Returns whether the text continues this value, and sets *whole to whether it
 * ends it.  If the value may go on after the text, that counts only if `open`
 * is set. */
static bool
continues(struct reader *r, struct stash *s, const char *bytes, size_t n,
	  bool open, bool *whole)
{
	size_t before = s->n, used;
	enum json_end end;

	if (append(r, s, bytes, n))
		return false;
	end = check(s->bytes, s->n, &used);
	*whole = end == JSON_WHOLE;
	if (*whole || (end == JSON_CUT && open))
		return true;
	s->n = before;
	if (++s->misses > READER_MISSES_MAX || end == JSON_LARGE)
		stash_give_up(r, s);
	return false;
}

static struct stash *
stash_find(struct reader *r, const char *bytes, size_t n, bool last,
	   const struct around *a, bool *whole)
{
	uint32_t name = index_hash_text(a->name);
	uint32_t from = hash_origin(a->in, a->piece);

	/* First the values of the same origin, then the others.  Any text makes
	 * a string longer, so a text of another origin must end the value. */
	for (int other = 0; other < 2; other++)
		for (int i = 0; i < STASHES; i++) {
			struct stash *s = &r->stashes[i];

			if (s->bytes != NULL && s->name == name &&
			    (s->from != from) == other &&
			    continues(r, s, bytes, n, !other && !last, whole))
				return s;
		}
	return NULL;
}

bool
stash_join(struct reader *r, const char *bytes, size_t n, bool last,
	   const struct around *a)
{
	struct around in = *a;
	struct stash *s, was;
	bool whole;
	size_t used;

	last = last || (n > 0 && bytes[n - 1] == '\n');
	if (n == 0 || (bytes[0] == '{' &&
		       check(bytes, n, &used) == JSON_WHOLE && used == n))
		return false;
	s = stash_find(r, bytes, n, last, a, &whole);
	if (s == NULL)
		return false;
	r->found++;
	if (!whole)
		return true;
	was = *s;
	s->bytes = NULL;
	r->stashed--;
	in.at_ms = was.at_ms;
	in.before_n = in.behind_n = 0;
	r->read(r, was.bytes, was.n, true, &in);
	free(was.bytes);
	return true;
}

/* --- the newest line first ------------------------------------------------ */

static const char *
tail_text(const struct tail *t)
{
	return t->bytes + ITEM_BYTES_MAX - t->n;
}

void
stash_end_up(struct reader *r)
{
	if (r->tail.parts)
		judge_broken(r, log_may_decide(tail_text(&r->tail), r->tail.n));
	r->tail.parts = false;
	r->tail.n = 0;
}

static bool
put_before(struct tail *t, const char *bytes, size_t n)
{
	if (t->bytes == NULL)
		t->bytes = malloc(ITEM_BYTES_MAX);
	if (t->bytes == NULL || n > ITEM_BYTES_MAX - t->n)
		return false;
	memcpy(t->bytes + ITEM_BYTES_MAX - t->n - n, bytes, n);
	t->n += n;
	return true;
}

/* Returns whether a value is at `skip`, and nothing behind it. */
static bool
ends_in_value(const char *s, size_t n, size_t skip)
{
	size_t used;

	return check(s + skip, n - skip, &used) == JSON_WHOLE &&
	       used == n - skip;
}

static bool
is_of_tail(const struct reader *r, const struct around *a)
{
	return r->tail.n > 0 && r->tail.name == index_hash_text(a->name) &&
	       r->tail.from == hash_origin(a->in, a->piece);
}

void
stash_end(struct reader *r, const char *bytes, size_t n, const struct around *a)
{
	while (n > 0 && isspace((unsigned char)bytes[n - 1]))
		n--;
	if (n == 0 || bytes[n - 1] != '}')
		return;
	if (bytes[0] == '{' && ends_in_value(bytes, n, 0)) {
		if (is_of_tail(r, a))
			stash_end_up(r);
		return;
	}
	stash_end_up(r);
	r->tail.name = index_hash_text(a->name);
	r->tail.from = hash_origin(a->in, a->piece);
	(void)put_before(&r->tail, bytes, n);
}

bool
stash_before(struct reader *r, const char *bytes, size_t n,
	     const struct around *a)
{
	struct tail *t = &r->tail, was;
	const char *p = memchr(bytes, '{', n);

	if (!is_of_tail(r, a) || !put_before(t, bytes, n))
		return false;
	r->found++;
	t->parts = true;
	if (p == NULL ||
	    !ends_in_value(tail_text(t), t->n, (size_t)(p - bytes)))
		return true;
	was = *t;
	*t = (struct tail){.bytes = NULL};
	r->read(r, tail_text(&was), was.n, true, a);
	free(was.bytes);
	return true;
}
