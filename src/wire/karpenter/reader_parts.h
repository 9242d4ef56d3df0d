/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KARPENTER_READER_PARTS_H
#define WIRE_KARPENTER_READER_PARTS_H

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "parts.h"
#include "stash.h"
#include "wire/karpenter/reader.h"

/* reader.c finds values in a stream, and judge.c recognizes objects in them. */

#define ENVELOPE_BYTES 4096
#define SHAPE_BYTES SIMULATE_MESSAGE_BYTES

struct reader {
	reader_fn *fn;
	void *ctx;
	struct err *e;
	bool failed; /* Whether fn has failed. */
	uint64_t found;
	struct pieces pieces;
	struct audit *audit; /* NULL if there was no event of an audit log */
	struct stash stash;
	/* The facts of the objects that are being read, and the depth in these.
	 * A shipper may keep a line beside its members, which then have another
	 * time. */
	struct fact *told[READER_TOLD_MAX];
	unsigned told_n, inside;

	/* What is known of the current line. */
	bool useful;  /* A value was read. */
	bool texty;   /* It has more than brackets and commas. */
	bool broken;  /* A value is damaged, or cut at the end, */
	bool decides; /* and seems to be a decision. */
	bool is_long; /* It does not fit into a window. */

	bool opened;  /* A value is larger than the window, */
	bool in_line; /* and ends with its line. */
	bool cut;     /* The stream ends in a value, */
	bool cut_any; /* of which something was recognized. */
	struct buf envelope;
	char envelope_text[ENVELOPE_BYTES];
};

/* What is around a value. */
struct around {
	/* The text of the line before the value, and behind it. */
	const char *before, *behind;
	size_t before_n, behind_n;
	int64_t at_ms;	     /* time of the objects around it, or STAMP_NONE */
	const char *name;    /* the member that has the value, or "" */
	const char *message; /* the message before it in zap's text format */
	const char *kind;    /* the kind of a list's items, or NULL */
	const struct json *in; /* the object that has the value, or NULL */
	unsigned depth;
	bool more; /* Whether the text behind the value may be longer. */
};

/* The members of lines of Karpenter's log, of a record and of an audit log. */
extern const struct json_keep judge_wanted[];
/* Judges a line of a log of which only the wanted members were read.  Returns
 * false if it has to be read whole. */
bool judge_line(struct reader *r, const struct json *o);
/* Tells what an object is, if its own members say it.  Returns false if other
 * objects may be in it.  A line of a log that is incomplete may be the members
 * of a line that is whole in another member.  judge_log tells it if
 * `incomplete` is set. */
bool judge_value(struct reader *r, const struct json *o,
		 const struct around *a);
bool judge_log(struct reader *r, const struct json *o, const struct around *a,
	       bool incomplete);
/* Returns the time of the object, or that of the nearest thing around it. */
int64_t judge_time(const struct json *o, const struct around *a);
/* Forgets the facts that were told after the first n. */
void judge_forget(struct reader *r, unsigned n);
void judge_tell(struct reader *r, enum reader_what what, const char *message,
		int64_t at_ms);

#endif
