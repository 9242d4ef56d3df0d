/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_STATUS_STATUS_PARTS_H
#define WIRE_STATUS_STATUS_PARTS_H

#include "wire/status/status.h"

/* The functions that the files of this room share.  status.c calls the other
 * files.  status_page.c calls status_timeline.c, and both call status_html.c,
 * which calls status_text.c.  All call words.c. */

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
/* Appends one line of text that is not ours. */
void status_text_line(struct buf *b, const char *s);
/* Appends a name or value as a terminal may show it.  Returns how many
 * characters that are. */
size_t status_text_safe(struct buf *b, const char *s);
/* Append a line of the text without its first word and its newline.  Nothing in
 * the line comes from elsewhere. */
void status_text_certificate(struct buf *b, const struct status_head *h);
void status_text_admissions(struct buf *b, const struct status_admissions *a);
void status_text_views(struct buf *b, const struct status_report *r);

/* status_page.c writes the page, and status_timeline.c its timeline, whose rows
 * end before `limit` bytes of b.  The timeline borrows the end of b as its
 * working memory. */
void status_page(struct buf *b, const struct status_head *h,
		 const struct status_items *items);
void status_timeline(struct buf *b, const struct status_head *h,
		     const struct status_items *items, size_t limit);

/* status_html.c.  These two write the beginning and the end of each answer in
 * HTML. */
void html_begin(struct buf *b, const char *title);
void html_end(struct buf *b);
/* html_text appends text, escaped.  html_name appends a name or value from
 * elsewhere, which can neither leave its element nor turn the direction of the
 * text after it. */
void html_text(struct buf *b, const char *s);
void html_name(struct buf *b, const char *s);
/* Appends the name of a machine as a link to its own answer.  path: the
 * relative path to status/machines. */
void html_machine(struct buf *b, const char *path, const char *name);
/* html_span appends a duration, rounded for people.  html_moment appends a time
 * in UTC and how far away it is. */
void html_span(struct buf *b, int64_t ms);
void html_moment(struct buf *b, int64_t ms, int64_t now_ms);
/* html_part returns the part of b in which a text is to be written, and
 * html_of_text makes an answer of that text.  linked: the answer is that of
 * /status/machines/NAME and has a link to the page. */
struct buf html_part(struct buf *b);
void html_of_text(struct buf *b, const struct buf *text, bool linked);

/* words.c has the words that all formats use.  The strings are static. */
const char *words_scope_kind(enum scope_kind k);
const char *words_scope_state(enum scope_state s);
const char *words_write(enum act a);
const char *words_outcome(enum written_how h);
const char *words_wait(enum status_wait w);
const char *words_resource(enum kind k); /* NULL if none */
/* Appends what the wait means, as a sentence without a full stop. */
#define WAIT_BYTES 160
void words_wait_sentence(char out[WAIT_BYTES], const struct status_waits *w,
			 unsigned i);
/* Says that objects carry our hold although the mode is observe.  Returns false
 * if none does. */
#define LEFT_BYTES 160
bool words_left(char out[LEFT_BYTES], const struct status_head *h);
/* Returns the scope's name for people. */
const char *words_scope(const struct status_head *h, const char *name);
/* Removes the item written last if it reaches beyond `limit`, and counts it in
 * *left.  before: b as it was before the item. */
void words_settle(struct buf *b, const struct buf *before, size_t limit,
		  uint64_t *left);

/* Writes a sentence such as "1 of 2 NodePools is held by hand". */
#define HAND_BYTES 64
void words_hand(const struct status_head *h, const struct hand_holds *hand,
		char out[HAND_BYTES]);

/* Returns how many machines of a list were left out.  seen: how many were
 * looked at; if `left` is set, the last of them had no room.  There may be more
 * machines now than when they were counted. */
uint64_t words_left_out(const struct status_machines *list, uint32_t seen,
			uint64_t left);

/* Return who holds the object or the machine: "holder", "person" or NULL. */
const char *words_half_held(const struct half_status *h);
const char *words_held_by(const struct machine_status *m);
/* Returns what a person did: "held", "released", "otherValue" or NULL. */
const char *words_person(const struct machine_status *m);
/* Until when a machine is held, as far as is known, or STAMP_NONE.  `why` names
 * the reason that ends last, such as "scale-up" for its scope.  Static. */
struct machine_until {
	int64_t at_ms;
	bool earliest;
	const char *why;
};
struct machine_until words_until(const struct machine_status *m,
				 const struct scope_status *scope,
				 int64_t now_ms);
/* Returns the scope whose activity holds the machine.  NULL: none does, or it
 * is not known. */
const struct scope_status *words_restarted(const struct machine_status *m,
					   const struct scope_status *scope);
/* When Karpenter may take the machine if nothing else happens. */
enum machine_free {
	FREE_UNSAID, /* it goes anyway, or Karpenter would not disrupt it */
	FREE_NOW,
	FREE_THEN, /* at the end of words_until */
	FREE_SOON, /* once the hold is removed, which is due */
	FREE_UNKNOWN,
	FREE_PERSON, /* when the person who holds it lets go */
};
enum machine_free words_free(const struct status_head *h,
			     const struct machine_status *m,
			     const struct machine_until *until);
/* The cells of a row in a list of machines: its name, who holds it, and why.
 * If words_row_why sets *with_reason, the reason of the hold-until belongs
 * after it. */
#define ROW_WHY_BYTES 64
const char *words_row_name(const struct machine_status *m);
const char *words_row_by(const struct machine_status *m);
void words_row_why(const struct machine_status *m,
		   const struct machine_until *until, char out[ROW_WHY_BYTES],
		   bool *with_reason);

/* Writes the value of annotation k of the NodePool in its normal form.  Returns
 * false if it has none that is in force. */
#define ANNOTATION_BYTES 40
bool words_annotation(const struct nodepool_status *p, enum nodepool_key k,
		      char out[ANNOTATION_BYTES]);
/* Writes the value of annotation k if it does not count, and why.  Returns
 * false if it counts, or if there is none. */
#define BAD_BYTES 160
bool words_bad(const struct nodepool_status *p, enum nodepool_key k,
	       char value[NODEPOOL_BAD_BYTES], char why[BAD_BYTES]);

#endif
