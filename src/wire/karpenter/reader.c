/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/karpenter/reader.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/stamp.h"
#include "reader_parts.h"

/*
 * The stream is text with JSON values in it (text.c).  The window grows until
 * it has the next value.  If a value is too large for the window, damaged, or
 * cut at the end, only its '{' is text, so the values in it are read.  This
 * takes the memory of one window, however large a list is.  What a large list
 * has besides its items is kept in `envelope`, because it may have the warnings
 * of Prometheus.
 */

struct reader *
reader_new(reader_fn *fn, void *ctx)
{
	struct reader *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->fn = fn;
	r->ctx = ctx;
	buf_init(&r->envelope, r->envelope_text, sizeof(r->envelope_text));
	return r;
}

void
reader_free(struct reader *r)
{
	if (r == NULL)
		return;
	pieces_done(&r->pieces);
	audit_free(r->audit);
	for (int i = 0; i < STASHES; i++)
		free(r->stashes[i].bytes);
	judge_forget(r, 0);
	free(r);
}

void
reader_text(struct reader *r, const char *s, size_t n)
{
	bool texty = false, bracket = false;

	for (size_t i = 0; i < n && !texty && r->inside == 0; i++) {
		bracket = bracket || s[i] == '}' || s[i] == ']';
		texty = !isspace((unsigned char)s[i]) &&
			strchr("[]{},", s[i]) == NULL;
	}
	if (r->opened && (texty || bracket))
		buf_add(&r->envelope, s, n);
	if (texty && r->line == LINE_EMPTY)
		r->line = LINE_TEXT;
}

void
reader_end_line(struct reader *r)
{
	if (r->inside > 0)
		return;
	if (r->line != LINE_EMPTY && r->line != LINE_READ && !r->opened)
		judge_tell(r, r->decides ? READ_UNDECIDED : READ_BROKEN,
			   r->decides ? "(a decision that is cut or damaged)"
				      : "",
			   STAMP_NONE);
	r->opened = r->opened && !r->in_line;
	r->line = LINE_EMPTY;
	r->decides = false;
}

void
reader_broken(struct reader *r, const char *s, size_t n)
{
	if (r->inside > 0 || r->line >= LINE_BROKEN)
		return;
	r->line = LINE_BROKEN;
	r->decides = log_may_decide(s, n);
}

void
reader_too_long(struct reader *r)
{
	if (r->line != LINE_READ)
		judge_tell(r, READ_LONG, "", STAMP_NONE);
	r->line = LINE_READ;
}

int
reader_step(struct reader *r, const char *bytes, size_t n,
	    enum reader_rest rest, size_t *used, struct err *e)
{
	struct around a = AROUND_NOTHING;

	a.rest = rest;
	r->e = e;
	*used = text_step(r, bytes, n, &a);
	return r->failed ? -1 : 0;
}

int
reader_end(struct reader *r, bool *cut, struct err *e)
{
	struct around a = AROUND_NOTHING;

	a.depth = 1; /* The envelope has no shape of its own. */
	r->e = e;
	reader_end_line(r);
	*cut = r->cut && r->found > r->before;
	text_read(r, r->envelope.data, r->envelope.len, true, &a);
	for (int i = 0; i < STASHES && !r->opened; i++)
		if (r->stashes[i].bytes != NULL)
			stash_give_up(r, &r->stashes[i]);
	return r->failed ? -1 : 0;
}
