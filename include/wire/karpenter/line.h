/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KARPENTER_LINE_H
#define WIRE_KARPENTER_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/karpenter/fact.h"

/*
 * Makes facts (docs/what-if.md#what-is-read) of the lines of Karpenter's JSON
 * log, of a record, or of the API server's audit log
 * (docs/what-if.md#the-audit-log), and of answers of the holder's /status
 * (docs/what-if.md#what-a-holder-did).  A line may be wrapped: it may have text
 * before the JSON, or a log shipper may have put it into the member `log`,
 * `message`, `line` or `properties.log` of an object.
 *
 * A reader is for one stream, because a container runtime may cut a line into
 * pieces, and an audit log shows the same objects again and again.  Not
 * thread-safe.
 */
enum line_what {
	/* A fact.  A line of an audit log or of /status may have more facts:
	 * line_more. */
	LINE_FACT,
	LINE_NOTHING,	 /* the line is empty, the head of a record, or a piece
			    of a line that goes on in the next one */
	LINE_OTHER,	 /* a message that we do not read; it is in *message */
	LINE_INCOMPLETE, /* a message that we read, but a part that we need
				   is missing or odd; the message is in
				   *message */
	/* An audit event without its object: at its level objects are not
	 * logged, or the object was too large. */
	LINE_BARE,
	LINE_TEXT, /* a line in zap's text format, which we do not read */
	/* Not JSON, or beyond the bounds of limits.h, or memory is short. */
	LINE_BROKEN,
	LINE_UNTIL,   /* the end of a record */
	LINE_REFUSED, /* an answer of /status that we cannot use; *message says
			   why */
	LINE_VERSION, /* the head of a record of another version; *message is
			   that version */
	LINE_WHATS,
};

struct line;

struct line *line_new(void);	/* NULL if no memory */
void line_free(struct line *l); /* accepts NULL */

/* Reads one line of n bytes, without its newline.  *f is set for LINE_FACT
 * only, and *message where the comments above say so.  Both are valid until the
 * next call. */
enum line_what line_read(struct line *l, const char *bytes, size_t n,
			 struct fact *f, const char **message);

/* Gets the next fact of a line for which line_read returned LINE_FACT.  It is
 * valid until the next line_read.  Returns false if there is none. */
bool line_more(struct line *l, struct fact *f);

/* Returns the time of the latest line, or STAMP_NONE if the line has no time.
 * Up to this time the stream has shown everything, except for late lines.  Call
 * it after LINE_OTHER, LINE_BARE or LINE_UNTIL; a fact has a time of its
 * own. */
int64_t line_time(const struct line *l);

#endif
