/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "core/base/stamp.h"
#include "reader_parts.h"

/* Accounts for the lines of the stream: tells those that could not be read. */

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
		judge_broken(r, r->decides);
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
