/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KARPENTER_PARTS_H
#define WIRE_KARPENTER_PARTS_H

#include "wire/json/json.h"
#include "wire/karpenter/fact.h"
#include "wire/karpenter/line.h"

/* What the files of this room share. */

/* Room for the machines of a decision and for a text that is taken apart.  The
 * latest fact points into it. */
struct pieces {
	struct fact_node *nodes;
	size_t nodes_room;
	char *text;
};
void pieces_done(struct pieces *p);
/* Makes room for n machines, or a copy of the text.  Returns -1 if there is no
 * memory. */
int pieces_nodes(struct pieces *p, size_t n);
int pieces_text(struct pieces *p, const char *text);

/* Reads a line of Karpenter's log, or of a record, which is parsed already and
 * outlives the fact. */
enum line_what log_fact(const struct json *line, struct pieces *p,
			struct fact *f);
enum line_what record_fact(const struct json *line, struct pieces *p,
			   struct fact *f);

/* Takes a name of at most max - 1 bytes.  A value that is missing counts as "".
 * Returns -1 for one that is no string or too long. */
int take_name(const struct json *v, size_t max, const char **out);

/* Returns whether the fact names all that its kind needs. */
int fact_whole(const struct fact *f);

#endif
