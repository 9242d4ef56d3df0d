/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KARPENTER_PARTS_H
#define WIRE_KARPENTER_PARTS_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "wire/json/json.h"
#include "wire/karpenter/fact.h"
#include "wire/karpenter/reader.h"
#include "wire/karpenter/snapshot.h"

/* The files of this room share these declarations. */

/* Memory for the machines of a decision, and for texts.  The latest fact points
 * into it. */
struct pieces {
	struct fact_node *nodes;
	size_t room;
	char *text;
	struct json *parsed[4]; /* members that were JSON in strings */
	char pool[NODEPOOL_BYTES], reason[NODEPOOL_BYTES];
};
void pieces_done(struct pieces *p);
/* pieces_add adds a machine to the decision, and pieces_add_list all elements
 * of a list, which have the names as the members of these keys.  Both return -1
 * if there is no memory, and pieces_add_list if an element has no name. */
int pieces_add(struct pieces *p, struct fact *f, const char *node,
	       const char *claim);
int pieces_add_list(struct pieces *p, struct fact *f, const struct json *list,
		    const char *node_key, const char *claim_key);

/* Parses the value at the beginning of a text, like json_pick_first, however
 * many nodes or samples it has. */
struct json *pieces_parse(const char *s, size_t n, size_t *used,
			  enum json_end *end);

/* Returns of what kind the fact of such a message in Karpenter's log is, or
 * FACT_COUNT if we do not read the message. */
enum fact_kind log_kind(const char *message);

/* Read an object of Karpenter's log with a message of this kind, or an object
 * of a record.  at_ms is the time of the message, or STAMP_NONE.  The fact
 * points into the object, which has to outlive it. */
enum reader_what log_fact(const struct json *line, const char *message,
			  enum fact_kind kind, int64_t at_ms, struct pieces *p,
			  struct fact *f);
enum reader_what record_read(const struct json *line, struct pieces *p,
			     struct fact *f);

/* Reads a name of at most max - 1 bytes: a string, or the member `name` of an
 * object.  A missing value counts as "".  Returns -1 if the value is no string
 * or too long. */
int pieces_take_name(const struct json *v, size_t max, const char **out);

/* Copies the n bytes of a reason in lower case.  Returns -1, with the reason
 * "", if it is too long. */
int pieces_take_reason(const char *text, size_t n, char reason[NODEPOOL_BYTES]);

/* If v is a time, sets *out to it and returns true. */
bool snapshot_time(const struct json *v, int64_t *out);
/* Find times.  when_value reads a whole value: a date, or a number of seconds
 * or parts of a second since 1970.  when_object finds the time of an object:
 * a member with a usual name, such as `time`, or else the earliest of the
 * members whose names have a word such as `time`.
 * when_text finds the last time in a text.  when_before finds the last time in
 * the text before a value, but not in another row of a table. */
bool when_value(const struct json *v, int64_t *out);
bool when_object(const struct json *o, int64_t *out);
bool when_text(const char *s, size_t n, int64_t *out);
bool when_before(const char *s, size_t n, int64_t *out);

#define INITIALIZED_LABEL "karpenter.sh/initialized"
/* Returns the condition of this type if it is True, and sets *at_ms to the time
 * when it became True.  Otherwise it returns NULL. */
const struct json *snapshot_condition(const struct json *object,
				      const char *type, int64_t *at_ms);

/* Returns whether a value that cannot be read seems to be a decision. */
bool log_may_decide(const char *bytes, size_t n);

/* A reader of the audit log's events.  It makes facts of the objects in the
 * events, and each fact only once. */
struct audit;
struct audit *audit_new(void);	  /* NULL if no memory */
void audit_free(struct audit *a); /* accepts NULL */
/* Returns whether the object is an event of an audit log, and its time. */
bool audit_is(const struct json *line);
int64_t audit_time(const struct json *line);
/* Reads an event, and calls fn for each fact.  Returns READ_FACT if it had one
 * fact or more, and otherwise READ_OTHER, READ_INCOMPLETE or READ_BARE. */
enum reader_what audit_read(struct audit *a, const struct json *line,
			    snapshot_fn *fn, void *ctx, const char **message,
			    struct err *e);

/* holder_is and holder_read do for an answer of the holder's /status what
 * audit_is and audit_read do for an event.  holder_read returns READ_FACT or
 * READ_REFUSED. */
bool holder_is(const struct json *line);
enum reader_what holder_read(const struct json *line, snapshot_fn *fn,
			     void *ctx, const char **message, struct err *e);

#endif
