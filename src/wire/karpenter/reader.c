/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/karpenter/reader.h"

#include <stdlib.h>

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
	r->read = text_read;
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
	free(r->tail.bytes);
	judge_forget(r, 0);
	free(r);
}

int
reader_step(struct reader *r, const char *bytes, size_t n,
	    enum reader_rest rest, size_t *used, struct err *e)
{
	struct around a = AROUND_NOTHING;

	a.rest = rest;
	r->e = e;
	*used = text_step(r, bytes, n, &a);
	r->begun = r->begun || *used > 0;
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
	stash_end_up(r);
	for (int i = 0; i < STASHES && !r->opened; i++)
		if (r->stashes[i].bytes != NULL)
			stash_give_up(r, &r->stashes[i]);
	return r->failed ? -1 : 0;
}
