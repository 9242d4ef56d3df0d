/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KARPENTER_READER_PARTS_H
#define WIRE_KARPENTER_READER_PARTS_H

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "parts.h"
#include "wire/karpenter/reader.h"

/*
 * line.c accounts for the lines of the stream, text.c finds values in a text,
 * row.c reads rows of CSV, walk.c finds objects in a value, judge.c recognizes
 * objects, and stash.c joins the pieces of a value.
 */

#define ENVELOPE_BYTES 4096
#define SHAPE_BYTES SIMULATE_MESSAGE_BYTES
#define STASHES 4 /* how many values may wait for their rest */

struct around;

struct reader {
	reader_fn *fn;
	void *ctx;
	struct err *e;
	/* text_read, which reads the strings in a value, too. */
	void (*read)(struct reader *r, const char *s, size_t n, bool last,
		     const struct around *a);
	bool failed;	/* Whether fn has failed. */
	uint64_t found; /* how many objects were recognized */
	struct pieces pieces;
	struct audit *audit; /* NULL if there was no event of an audit log */
	/* Values that were cut, and how many of these places are in use. */
	struct stash {
		char *bytes; /* NULL: the place is free */
		size_t n;
		uint32_t name, from; /* where the first piece came from */
		int64_t at_ms;
		unsigned misses;
	} stashes[STASHES];
	unsigned stashed;
	/* The pieces of a line that come before its beginning, because the
	 * newest is first: the last n of ITEM_BYTES_MAX bytes. */
	struct tail {
		char *bytes;
		size_t n;
		uint32_t name, from;
		bool parts; /* It has more than the end of the line. */
	} tail;
	bool begun; /* Whether something was read. */
	/* The header of CSV, and how many columns it has. */
	char header[ENVELOPE_BYTES];
	size_t header_n;
	unsigned columns;
	char separator;
	/* The facts of the objects that are being read.  A shipper may keep a
	 * line beside its members, which then have another time. */
	struct fact *told[READER_TOLD_MAX];
	unsigned told_n;
	unsigned inside; /* in how many objects and strings the reader is */

	/* What is known of the current line. */
	enum {
		LINE_EMPTY, /* It has only brackets and commas. */
		LINE_TEXT,
		LINE_BROKEN, /* A value is damaged, or cut at the end. */
		LINE_READ,
	} line;
	bool decides;	 /* The broken value seems to be a decision. */
	bool opened;	 /* A value is larger than the window, */
	bool in_line;	 /* and ends with its line. */
	bool cut;	 /* The stream ends in a value. */
	uint64_t before; /* `found` when that value began */
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
	const char *piece;     /* the string of that object that is read */
	unsigned depth;	       /* in how many objects the value is */
	enum reader_rest rest; /* what follows the text of the value */
};
#define AROUND_NOTHING                                                         \
	(struct around)                                                        \
	{                                                                      \
		.before = "", .behind = "", .at_ms = STAMP_NONE, .name = "",   \
		.rest = READER_LAST                                            \
	}

/* Account for the text between values, and for values that cannot be read.
 * They do nothing within a value.  n is the number of bytes in the line. */
void reader_text(struct reader *r, const char *s, size_t n);
void reader_end_line(struct reader *r);
void reader_broken(struct reader *r, const char *s, size_t n);

/* Takes a line without a value, or the next value and the text before it.
 * Returns the number of bytes, or 0 if more are needed. */
size_t text_step(struct reader *r, const char *s, size_t n,
		 const struct around *a);
/* Reads a text that is whole, such as a string, or that goes on with a value
 * that was cut.  `last` is set if nothing can follow the text in its line. */
void text_read(struct reader *r, const char *s, size_t n, bool last,
	       const struct around *a);

/* Keeps the first line of the stream if it is a header of CSV. */
void row_header(struct reader *r, const char *s, size_t n);
/* Returns the row at s as JSON of *n bytes, which the caller frees, and sets
 * *row to its size.  Returns NULL if the text is no row, with *cut set if that
 * is not known or it does not end. */
char *row_json(struct reader *r, const char *s, const char *end,
	       enum reader_rest rest, size_t *row, size_t *n, bool *cut);

/* Looks for objects in a value. */
void walk(struct reader *r, const struct json *v, struct around a);

/* Keeps the beginning of a value that was cut. */
void stash_keep(struct reader *r, const char *s, size_t n,
		const struct around *a);
/* Returns whether the text continues a value that was cut, and reads that value
 * if it is whole now. */
bool stash_join(struct reader *r, const char *s, size_t n, bool last,
		const struct around *a);
/* Do the same if the newest line is first.  stash_end keeps the end of a line,
 * and stash_before takes a piece that comes before it in the line. */
void stash_end(struct reader *r, const char *s, size_t n,
	       const struct around *a);
bool stash_before(struct reader *r, const char *s, size_t n,
		  const struct around *a);
void stash_end_up(struct reader *r);
/* Gives the value up, and tells that. */
void stash_give_up(struct reader *r, struct stash *s);

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
void judge_broken(struct reader *r, bool decides);
void judge_tell(struct reader *r, enum reader_what what, const char *message,
		int64_t at_ms);

#endif
