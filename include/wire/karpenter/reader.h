/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KARPENTER_READER_H
#define WIRE_KARPENTER_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "wire/json/json.h"
#include "wire/karpenter/fact.h"

/*
 * Finds what is of use in a stream of text (docs/what-if.md#what-is-read): JSON
 * values, and any text around them.  In each value, to a depth of
 * READER_DEPTH_MAX and into strings that are JSON, objects are recognized by
 * their own members: lines of Karpenter's log, of a record or of the API
 * server's audit log, answers of the holder's /status, NodeClaims and Events,
 * and series of Prometheus.
 *
 * The caller shows the reader a window of the stream.  Each reader_step uses a
 * part of the window, at most one value, and calls the reader's function for
 * what it finds:
 *
 *	reader_new -> reader_step … reader_step -> reader_end -> reader_free
 *
 * A reader is for one stream, because a line may have been cut into pieces, and
 * an audit log shows the same objects again and again.  Not thread-safe.
 */
enum reader_what {
	READ_FACT,    /* a fact of a log: nearly in order of time */
	READ_OBJECT,  /* a fact of an object of the API server: in no order */
	READ_SERIES,  /* a series of Prometheus: the value */
	READ_ANSWER,  /* what an answer of Prometheus has besides: the value */
	READ_NOTHING, /* the head of a record, or a line without content */
	/* A message that we do not read, or the shape of a value in which
	 * nothing was recognized. */
	READ_OTHER,
	/* A message that we read, but a part that we need is missing or odd. */
	READ_INCOMPLETE,
	/* READ_INCOMPLETE for a message about a decision. */
	READ_UNDECIDED,
	/* An audit event without its object: at its level objects are not
	 * logged, or the object was too large. */
	READ_BARE,
	READ_BROKEN,  /* a line without JSON, or a piece without its rest */
	READ_LONG,    /* a line, or a piece, beyond the bounds of limits.h */
	READ_UNTIL,   /* the end of a record */
	READ_REFUSED, /* an answer of /status that we cannot use; the message
			 says why */
	READ_VERSION, /* the head of a record of another version; the message is
			 that version */
	READ_WHATS,
};

struct reader_item {
	enum reader_what what;
	const struct fact *fact;  /* for READ_FACT and READ_OBJECT */
	const struct json *value; /* for READ_SERIES and READ_ANSWER */
	const char *message;	  /* "" if there is none */
	/* The time of what was found, or STAMP_NONE.  Up to this time the
	 * stream has shown everything, except for late lines. */
	int64_t at_ms;
};
/* The item is valid during the call.  If it returns -1 with *e set, so does the
 * function of the reader. */
typedef int reader_fn(void *ctx, const struct reader_item *item, struct err *e);

struct reader;

struct reader *reader_new(reader_fn *fn, void *ctx); /* NULL if no memory */
void reader_free(struct reader *r);		     /* accepts NULL */

enum reader_rest {
	READER_MORE, /* more bytes can be added to the window */
	READER_FULL, /* the stream goes on, but the window cannot grow */
	READER_LAST, /* the stream ends with the window */
};
/* Reads from a window of n bytes, n > 0.  *used is the number of bytes that the
 * caller takes away from the beginning of the window.  It is 0 only with
 * READER_MORE, if the reader needs more bytes. */
int reader_step(struct reader *r, const char *bytes, size_t n,
		enum reader_rest rest, size_t *used, struct err *e);
/* Call this at the end of the stream.  Sets *cut to whether the stream ended in
 * the middle of a value of which something was read. */
int reader_end(struct reader *r, bool *cut, struct err *e);

#endif
