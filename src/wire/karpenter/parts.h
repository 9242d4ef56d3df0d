/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KARPENTER_PARTS_H
#define WIRE_KARPENTER_PARTS_H

#include <stdbool.h>

#include "core/base/limits.h"
#include "wire/json/json.h"
#include "wire/karpenter/fact.h"
#include "wire/karpenter/line.h"
#include "wire/karpenter/snapshot.h"

/* The files of this room share these declarations. */

/* Memory for the machines of a decision, and for a text that is parsed in
 * place.  The latest fact points into it. */
struct pieces {
	struct fact_node *nodes;
	size_t nodes_room;
	char *text;
};
void pieces_done(struct pieces *p);
/* pieces_nodes makes room for n machines, and pieces_text copies the text.
 * Both return -1 if there is no memory. */
int pieces_nodes(struct pieces *p, size_t n);
int pieces_text(struct pieces *p, const char *text);

/* The facts of a line that has several.  Each fact is a copy. */
struct batch {
	struct fact *facts[LINE_FACTS_MAX];
	size_t n, given;
	bool failed; /* whether memory was short */
};
void batch_clear(struct batch *b);
/* Adds a fact if it is whole, and if there is room. */
void batch_add(struct batch *b, const struct fact *f);
/* Gets the next fact, which is valid until batch_clear.  Returns false if there
 * is none. */
bool batch_next(struct batch *b, struct fact *out);

/* Read a parsed line of Karpenter's log, or of a record.  The fact points into
 * the line, which has to outlive it. */
enum line_what log_fact(const struct json *line, struct pieces *p,
			struct fact *f);
enum line_what record_read(const struct json *line, struct pieces *p,
			   struct fact *f);

/* Reads a name of at most max - 1 bytes.  A missing value counts as "". Returns
 * -1 if the value is no string or too long. */
int pieces_take_name(const struct json *v, size_t max, const char **out);

/* Copies a reason in lower case.  A reason that is too long becomes "". */
void pieces_take_reason(const char *text, char reason[NODEPOOL_BYTES]);

/* If v is a time, sets *out to it and returns true. */
bool snapshot_time(const struct json *v, int64_t *out);
/* Like snapshot_time, but for a time as zap writes it: if the time zone is not
 * UTC, its offset has no colon ("+0100"). */
bool log_time(const struct json *v, int64_t *out);

#define INITIALIZED_LABEL "karpenter.sh/initialized"
/* Returns the condition of this type if it is True, and sets *at_ms to the time
 * when it became True.  Otherwise it returns NULL. */
const struct json *snapshot_condition(const struct json *object,
				      const char *type, int64_t *at_ms);

/* A reader of the audit log's events.  It makes facts of the objects in the
 * events, and each fact only once. */
struct audit;
struct audit *audit_new(void);	  /* NULL if no memory */
void audit_free(struct audit *a); /* accepts NULL */
/* Returns whether the line is an event of an audit log. */
bool audit_is(const struct json *line);
/* Reads an event.  Returns LINE_FACT if the batch, which was empty before, has
 * one fact or more, and otherwise LINE_OTHER, LINE_INCOMPLETE, LINE_BARE or
 * LINE_BROKEN. */
enum line_what audit_read(struct audit *a, const struct json *line,
			  struct batch *to, const char **message);

/* holder_is and holder_read do for an answer of the holder's /status what
 * audit_is and audit_read do for an event.  holder_read returns LINE_FACT,
 * LINE_REFUSED or LINE_BROKEN. */
bool holder_is(const struct json *line);
enum line_what holder_read(const struct json *line, struct batch *to,
			   const char **message);

#endif
