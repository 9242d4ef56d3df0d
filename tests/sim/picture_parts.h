/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_PICTURE_PARTS_H
#define TESTS_SIM_PICTURE_PARTS_H

#include <stdint.h>
#include <stdio.h>

#include "picture.h"

/*
 * What the files of a picture share.  picture.c makes its rows from the history
 * and reads the lines of the file, picture_look.c fills the rows while the
 * history runs, picture_words.c says what happens, and picture_draw.c writes
 * all of it as SVG.  Times are milliseconds of the history.
 */

#define ROWS 64
#define SPANS 96		/* of one row; later ones are not drawn */
#define OWN 4			/* of one machine; later ones are not drawn */
#define POINTS 96		/* of one debt's line; later ones are not
				   drawn */
#define WORDS 160		/* bytes of a text */

/* Pixels. */
#define WIDTH 880
#define LEFT 130
#define RIGHT 24
#define TOP 58
#define PITCH 42		/* from row to row: words, bar, bracket */
#define BAR 18			/* from the words down to the bar's middle */
#define CHAR_WIDTH 6		/* of a small letter, generously */

/* How a row looks for a while. */
enum look {
	NOTHING,
	STANDS_BY,
	LEADS,
	SERVER_ANSWERS,
	SERVER_REFUSES,
	SERVER_AHEAD,
	WATCHES_OPEN,
	NO_EVENTS,
	WATCH_DOWN,
	QUIET,
	SCOPE_HELD,
	WINDOW,
	DEBT,
	NODEPOOL_PLAIN,
	NODEPOOL_BY_HAND,
	NODEPOOL_OFF,
	/* A machine: how far it is, and in each of these states one look for
	 * every enum whose. */
	BOOTING,
	READY = BOOTING + 4,
	GOING = READY + 4,
	LOOKS = GOING + 4,
};

/* Whose hold stands on an object. */
enum whose {
	NO_HOLD,
	OURS,
	A_PERSONS,
	ONLY_A_MARK,
};

enum row_kind {
	ROW_HOLDER,
	ROW_SERVER,
	ROW_WATCHES,
	ROW_NODEPOOL,
	ROW_SCOPE,
	ROW_DEBT,
	ROW_MACHINE,
	ROW_CLAIM,
};

struct span {
	int64_t from, to;
	enum look look;
};

/* A machine's own quiet time.  It may end before it has begun. */
struct own {
	int64_t from, to;
};

/* Where the line of a debt bends. */
struct point {
	int64_t at, debt;
};

struct row {
	enum row_kind kind;
	int number;		/* the number of the holder or machine; for a
				   debt, the row of its scope */
	char name[24], nodepool[16];
	struct span spans[SPANS];
	int spans_n;
	/* a machine's */
	int64_t born, launched, ready, gone, said;	/* -1: not yet */
	struct own own[OWN];
	int own_n;
	/* a scope's */
	int64_t seen_at, window_left, released;
	bool leader_held;	/* it was held at the last step that had a
				   leader */
	/* a debt's, in milliseconds; its slope is in thousandths */
	enum look was;
	int64_t debt, slope;
	struct point points[POINTS];
	int points_n;
	bool ended;
};

struct word {
	int64_t at;
	int row;
	bool event;		/* it happens, and is drawn with a line */
	bool said;		/* the file describes it */
	bool left;		/* it stands to the left of its moment */
	int from, to;		/* x; equal where there was no room */
	char text[WORDS];
};

struct picture {
	const struct history *h;
	const char *file;
	char title[WORDS];
	int64_t from, to;	/* the first and the last moment that is
				   shown */
	struct row rows[ROWS];
	int rows_n;
	struct word words[2 * OPS];
	int words_n;
	bool used[LOOKS];	/* which looks were drawn, for the legend */
	bool own_time, starting;	/* whether brackets of these kinds were
					   drawn */
	bool debt, claims;	/* whether the file asks for such rows */
};

/* picture.c: the number of a row, or -1. */
int row_of(const struct picture *p, enum row_kind kind, int number);
int row_of_nodepool(const struct picture *p, const char *nodepool);

/* picture_draw.c: the x of a moment, in tenths of a pixel. */
int picture_x(const struct picture *p, int64_t at);

/* picture_words.c.  A row < 0, a text of NULL and a moment that is not shown
 * are ignored.  An event gives way to words that the file says of the same
 * moment and row: picture.c adds those first. */
void picture_say(struct picture *p, int64_t at, int row, const char *text,
		 bool event);
/* Adds words for what the history does. */
void picture_events(struct picture *p);
/* Adds words for what the rows show, and draws the lines at which scopes turn.
 * The bars are drawn over those lines. */
void picture_turns(struct picture *p, FILE *out);
/* Finds room for all words and draws them. */
void picture_words(struct picture *p, FILE *out);
/* Minutes and seconds, as in "12:05". */
void picture_clock(int64_t ms, char out[32]);
/* Which row does an event belong to? */
bool on_holder(enum op_type type);
bool on_watches(enum op_type type);
bool on_server(enum op_type type);
bool on_nodepool(enum op_type type);

#endif
