/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_STATUS_STATUS_PARTS_H
#define WIRE_STATUS_STATUS_PARTS_H

#include "wire/status/status.h"

/* The files of this room share these functions.  status.c calls the files of
 * the formats.  status_page.c calls status_timeline.c, and both call
 * status_html.c.  status_html.c and status_page.c call status_text.c.  All but
 * status.c and status_html.c call words.c. */

/* status_json.c, status_text.c and status_page.c write the answers in these
 * formats. */
void status_json(struct buf *b, const struct status_head *h,
		 const struct status_items *items);
void status_json_machine(struct buf *b, const struct status_head *h,
			 const char *name, const struct machine_status *m,
			 const struct scope_status *scope);
void status_json_machines(struct buf *b, const struct status_head *h,
			  const struct status_machines *list);
void status_text(struct buf *b, const struct status_head *h,
		 const struct status_items *items);
void status_text_machine(struct buf *b, const struct status_head *h,
			 const char *name, const struct machine_status *m,
			 const struct scope_status *scope);
void status_text_machines(struct buf *b, const struct status_head *h,
			  const struct status_machines *list);
void status_page_machines(struct buf *b, const struct status_head *h,
			  const struct status_machines *list);
/* Appends one line of text that comes from elsewhere, such as a reason. */
void status_text_line(struct buf *b, const char *s);
/* Appends a name or value, with a '?' for each character that a terminal does
 * not show (utf8_shown).  Returns the number of characters appended. */
size_t status_text_safe(struct buf *b, const char *s);
/* Each of these appends a line of status_text, without its first word and its
 * newline.  The line has no text that comes from elsewhere. */
void status_text_certificate(struct buf *b, const struct status_head *h);
void status_text_nobody(struct buf *b, const struct status_head *h);
void status_text_admissions(struct buf *b, const struct status_admissions *a);
void status_text_views(struct buf *b, const struct status_head *h);

/* status_page.c writes the page, and status_timeline.c its timeline, whose rows
 * end before `limit` bytes of b.  The timeline borrows the end of b as its
 * working memory. */
void status_page(struct buf *b, const struct status_head *h,
		 const struct status_items *items);
void status_timeline(struct buf *b, const struct status_head *h,
		     const struct status_items *items, size_t limit);

/* The next functions are those of status_html.c.  html_begin and html_end write
 * the beginning and the end of each answer in HTML. */
void html_begin(struct buf *b, const char *title);
void html_end(struct buf *b);
/* html_text appends text, escaped.  html_name appends a name or value from
 * elsewhere, isolated so that it cannot change the direction of the text after
 * it. */
void html_text(struct buf *b, const char *s);
void html_name(struct buf *b, const char *s);
/* Appends the name of a machine as a link to its own answer.  path: the
 * relative path to status/machines. */
void html_machine(struct buf *b, const char *path, const char *name);
/* html_span appends a duration, rounded for people.  html_time appends a time
 * in UTC, and html_moment also appends how far away it is. */
void html_span(struct buf *b, int64_t ms);
void html_time(struct buf *b, int64_t ms, int64_t now_ms);
void html_moment(struct buf *b, int64_t ms, int64_t now_ms);
/* html_part returns the part of b in which a text has to be written.
 * html_of_text then makes an HTML answer of that text.  `linked` adds a link to
 * the page, for /status/machines/NAME. */
struct buf html_part(struct buf *b);
void html_of_text(struct buf *b, const struct buf *text, bool linked);

/* words.c has the words that all formats use.  The strings are static. */
const char *words_scope_kind(enum scope_kind k);
const char *words_scope_state(enum scope_state s);
const char *words_write(enum act a);
const char *words_outcome(enum written_how h);
const char *words_wait(enum status_wait w);
const char *words_resource(enum kind k); /* NULL if none */
/* Writes what wait i means, as a sentence without a full stop. */
#define WAIT_BYTES 200
void words_wait_sentence(char out[WAIT_BYTES], const struct status_waits *w,
			 unsigned i);
/* Writes how many objects carry our hold although the mode is observe.  Returns
 * false if none does, or if the mode is enforce. */
#define LEFT_BYTES 160
bool words_left(char out[LEFT_BYTES], const struct status_head *h);
/* Returns why the ticket holds nothing or less than it asks for, or NULL. */
const char *words_ticket(const struct ticket_status *t);
/* Returns the scope's name for people. */
const char *words_scope(const struct status_head *h, const char *name);
/* Removes the item written last if it reaches beyond `limit` or does not fit,
 * and counts it in *left.  `before` is b as it was before the item. */
void words_settle(struct buf *b, const struct buf *before, size_t limit,
		  uint64_t *left);

/* Appends what ends the scope's state, or why it may end later. */
void words_end(struct buf *b, const struct scope_status *s);
/* Returns what to append to a NodePool's tickets: "", or that the hold goes on
 * after they have ended. */
const char *words_least(const struct nodepool_status *p);
/* Writes a sentence such as "1 of 2 NodePools is held by hold-until". */
#define HAND_BYTES 96
void words_hand(const struct status_head *h, const struct hand_holds *hand,
		char out[HAND_BYTES]);

/* Returns how many machines of a list were left out.  `seen` is how many were
 * visited.  If `left` is 0, all machines were visited and fitted.  Otherwise
 * the machine that was visited last did not fit.  list->total was counted
 * earlier, so there may be more machines now. */
uint64_t words_left_out(const struct status_machines *list, uint32_t seen,
			uint64_t left);

/* Return who holds the object or the machine: "holder", "person" or NULL. */
const char *words_half_held(const struct half_status *h);
const char *words_held_by(const struct machine_status *m);
/* Returns what a person did: "held", "released", "otherValue" or NULL. */
const char *words_person(const struct machine_status *m);
/* at_ms is when the hold of a machine ends, as far as is known, or STAMP_NONE.
 * `earliest` says that it may end later.  `why` names the reason that ends
 * last, such as "scale-up".  It is a static string. */
struct machine_until {
	int64_t at_ms;
	bool earliest;
	const char *why;
};
struct machine_until words_until(const struct machine_status *m,
				 const struct scope_status *scope,
				 int64_t now_ms);
/* Returns `scope` if the scope is busy and therefore holds the machine, and if
 * it is known which machine restarted the scope's quiet time.  Otherwise
 * returns NULL. */
const struct scope_status *words_restarted(const struct machine_status *m,
					   const struct scope_status *scope);
/* When Karpenter may disrupt the machine if nothing else happens. */
enum machine_free {
	/* Nothing is said: the machine is being deleted, Karpenter does not
	 * manage it, or with MODE_OBSERVE an earlier hold is still on it. */
	FREE_UNSAID,
	FREE_NOW,
	FREE_THEN, /* at until->at_ms, when the hold ends */
	FREE_SOON, /* once the hold is removed; that is due now */
	FREE_UNKNOWN,
	FREE_PERSON, /* when a person removes the hold */
};
enum machine_free words_free(const struct status_head *h,
			     const struct machine_status *m,
			     const struct machine_until *until);
/* The cells of a row in a list of machines: the machine's name, who holds it,
 * and why.  If words_row_why sets *with_reason, the caller appends the reason
 * that a person gave for the hold-until. */
#define ROW_WHY_BYTES 64
const char *words_row_name(const struct machine_status *m);
const char *words_row_by(const struct machine_status *m);
void words_row_why(const struct machine_status *m,
		   const struct machine_until *until, char out[ROW_WHY_BYTES],
		   bool *with_reason);

/* Writes the value of annotation k of the NodePool in its normal form.  Returns
 * false if the annotation is missing or not in force. */
#define ANNOTATION_BYTES 40
bool words_annotation(const struct nodepool_status *p, enum nodepool_key k,
		      char out[ANNOTATION_BYTES]);
/* Writes the value of annotation k and why it is ignored.  Returns false if the
 * annotation is in force, or is missing. */
#define BAD_BYTES 160
bool words_bad(const struct nodepool_status *p, enum nodepool_key k,
	       char value[NODEPOOL_BAD_BYTES], char why[BAD_BYTES]);

#endif
