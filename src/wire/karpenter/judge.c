/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/base/stamp.h"
#include "reader_parts.h"
#include "wire/karpenter/record.h"

/*
 * Recognizes objects by their own members, whatever is around them, and tells
 * what they say.  A shipper may have renamed the message of a line, or put the
 * other members into an object beside it.
 */

/* --- what was found ------------------------------------------------------- */

static void
tell_item(struct reader *r, const struct reader_item *item)
{
	if (!r->failed)
		r->failed = r->fn(r->ctx, item, r->e) != 0;
}

void
judge_tell(struct reader *r, enum reader_what what, const char *message,
	   int64_t at_ms)
{
	tell_item(r, &(struct reader_item){
			     .what = what, .message = message, .at_ms = at_ms});
}

void
judge_broken(struct reader *r, bool decides)
{
	judge_tell(r, decides ? READ_UNDECIDED : READ_BROKEN,
		   decides ? "(a decision that is cut or damaged)" : "",
		   STAMP_NONE);
}

static int
tell_fact(struct reader *r, enum reader_what what, const struct fact *f,
	  struct err *e)
{
	(void)e;
	if (fact_whole(f))
		tell_item(r, &(struct reader_item){.what = what,
						   .fact = f,
						   .message = "",
						   .at_ms = f->at_ms});
	return r->failed ? -1 : 0;
}

static int
tell_logged(void *ctx, const struct fact *f, struct err *e)
{
	return tell_fact(ctx, READ_FACT, f, e);
}

static int
tell_object(void *ctx, const struct fact *f, struct err *e)
{
	return tell_fact(ctx, READ_OBJECT, f, e);
}

void
judge_forget(struct reader *r, unsigned n)
{
	while (r->told_n > n)
		free(r->told[--r->told_n]);
}

/* Returns whether another member of an object around this one has told the
 * same, and otherwise notes it. */
static bool
was_told(struct reader *r, const struct fact *f)
{
	if (f->at_ms == STAMP_NONE)
		return false;
	for (unsigned i = 0; i < r->told_n; i++)
		if (fact_repeats(r->told[i], f, SIMULATE_DISORDER_MS))
			return true;
	if (r->told_n < READER_TOLD_MAX) {
		r->told[r->told_n] = fact_copy(f);
		r->told_n += r->told[r->told_n] != NULL;
	}
	return false;
}

/* Tells what a log has instead of a fact, or the fact.  Without one, all facts
 * were told before. */
static void
tell_read(struct reader *r, enum reader_what what, const struct fact *f,
	  const char *message, int64_t at_ms)
{
	struct fact other;

	r->found++;
	if (what == READ_FACT && f == NULL)
		return;
	if (what != READ_FACT && r->inside > 0) {
		fact_init(&other, FACT_COUNT, at_ms);
		other.action = message;
		f = &other;
	}
	if (r->inside > 0 && was_told(r, f))
		return;
	if (what == READ_FACT)
		(void)tell_fact(r, what, f, NULL);
	else
		judge_tell(r, what, message, at_ms);
}

/* --- times ---------------------------------------------------------------- */

int64_t
judge_time(const struct json *o, const struct around *a)
{
	int64_t at;

	if (when_object(o, &at) || when_before(a->before, a->before_n, &at))
		return at;
	if (a->at_ms != STAMP_NONE)
		return a->at_ms;
	return when_text(a->behind, a->behind_n, &at) ? at : STAMP_NONE;
}

/* --- objects that are recognized ------------------------------------------ */

static bool
judge_record(struct reader *r, const struct json *o)
{
	const char *version = json_string(json_member(o, "record"));
	const char *what = json_string(json_member(o, "what"));
	const struct json *until = json_member(o, "until");
	int64_t at = STAMP_NONE;
	struct fact f;

	if (version != NULL && strcmp(version, RECORD_VERSION) != 0) {
		if (strstr(version, "/record/") == NULL)
			return false;
		tell_read(r, READ_VERSION, NULL, version, STAMP_NONE);
	} else if (version != NULL) {
		(void)when_value(until, &at);
		tell_read(r, until == NULL ? READ_NOTHING : READ_UNTIL, NULL,
			  "", at);
	} else if (what != NULL && json_member(o, "at") != NULL) {
		tell_read(r, record_read(o, &r->pieces, &f), &f, what,
			  STAMP_NONE);
	} else {
		return false;
	}
	return true;
}

static bool
judge_audit(struct reader *r, const struct json *o)
{
	const char *message = "";
	enum reader_what what = READ_LONG; /* there is no memory */

	if (!audit_is(o))
		return false;
	if (r->audit == NULL)
		r->audit = audit_new();
	if (r->audit != NULL)
		what = audit_read(r->audit, o, tell_logged, r, &message, r->e);
	tell_read(r, what, NULL, message, audit_time(o));
	return true;
}

static bool
judge_holder(struct reader *r, const struct json *o)
{
	const char *message = "";
	enum reader_what what;

	if (!holder_is(o))
		return false;
	what = holder_read(o, tell_logged, r, &message, r->e);
	tell_read(r, what, NULL, message, STAMP_NONE);
	return true;
}

static bool
judge_prometheus(struct reader *r, const struct json *o)
{
	struct reader_item item = {
		.value = o, .message = "", .at_ms = STAMP_NONE};
	const struct json *data = json_member(o, "data");
	const char *type = json_string(json_member(data, "resultType"));

	if (json_is_object(json_member(o, "metric")) &&
	    json_is_array(json_member(o, "values")))
		item.what = READ_SERIES;
	else if (json_string(json_member(o, "status")) != NULL &&
		 (type != NULL ? strcmp(type, "streams") != 0 /* Loki's */
			       : json_member(o, "errorType") != NULL))
		item.what = READ_ANSWER;
	else
		return false;
	r->found++;
	tell_item(r, &item);
	/* The series are in an answer. */
	return item.what == READ_SERIES;
}

/* Returns the kind of an object of the API server, which says it itself, or has
 * it from its list, or shows it. */
static const char *
kind_of(const struct json *o, const struct around *a)
{
	const char *kind = json_string(json_member(o, "kind"));
	int64_t at;

	if (!json_is_object(json_member(o, "metadata")))
		return NULL;
	if (kind == NULL)
		kind = a->kind;
	if (kind == NULL && json_member(o, "involvedObject") != NULL)
		kind = "Event";
	if (kind == NULL && (snapshot_condition(o, "Launched", &at) != NULL ||
			     snapshot_condition(o, "Registered", &at) != NULL))
		kind = "NodeClaim";
	return kind;
}

static bool
judge_object(struct reader *r, const struct json *o, const struct around *a)
{
	const char *kind = kind_of(o, a);

	/* An audit event of an old version may even be of a dry run. */
	if (kind == NULL && json_member(o, "responseObject") != NULL)
		kind = "";
	if (kind == NULL || json_is_array(json_member(o, "items")))
		return false;
	r->found++;
	if (snapshot_object(o, kind, tell_object, r, r->e) == SNAPSHOT_OTHER)
		judge_tell(r, READ_OTHER,
			   "(an object that says nothing of machines)",
			   STAMP_NONE);
	return true;
}

/* Finds the message of an object, and its kind.  A log shipper may have renamed
 * it. */
static const char *
message_of(const struct json *o, const struct around *a, enum fact_kind *kind)
{
	const char *message = json_string(json_member(o, "message"));

	*kind = message != NULL ? log_kind(message) : FACT_COUNT;
	if (message != NULL && *kind == FACT_COUNT &&
	    json_member(o, "logger") != NULL)
		return message;
	for (const struct json *v = json_first(o);
	     v != NULL && *kind == FACT_COUNT; v = json_next(v)) {
		if (json_string(v) == NULL)
			continue;
		*kind = log_kind(json_string(v));
		if (*kind != FACT_COUNT)
			message = json_string(v);
	}
	if (message == NULL && a->message != NULL) {
		message = a->message;
		*kind = log_kind(message);
	}
	return message;
}

/* Returns whether an object with an unknown message is a line of Karpenter's
 * log. */
static bool
is_logged(const struct json *o)
{
	const struct json *v = json_first(o);

	if (json_member(o, "logger") != NULL ||
	    json_member(o, "controller") != NULL)
		return true;
	/* A shipper has put all but the message into an object. */
	while (v != NULL && (json_member(v, "controller") == NULL ||
			     json_member(v, "message") != NULL))
		v = json_next(v);
	return v != NULL;
}

bool
judge_log(struct reader *r, const struct json *o, const struct around *a,
	  bool incomplete)
{
	enum reader_what what = READ_OTHER;
	enum fact_kind kind;
	const char *message = message_of(o, a, &kind);
	struct fact f;
	int64_t at;

	if (kind == FACT_COUNT && !is_logged(o))
		return false;
	if (message == NULL)
		message = "(no message)";
	at = judge_time(o, a);
	if (kind != FACT_COUNT)
		what = log_fact(o, message, kind, at, &r->pieces, &f);
	if (what == READ_INCOMPLETE && !incomplete)
		return false;
	if (what == READ_INCOMPLETE && kind == FACT_DECIDED)
		what = READ_UNDECIDED;
	tell_read(r, what, &f, message, at);
	return true;
}

bool
judge_value(struct reader *r, const struct json *o, const struct around *a)
{
	/* Nearly all objects are lines of the log. */
	if (json_member(o, "logger") != NULL)
		return judge_log(r, o, a, false);
	return judge_audit(r, o) || judge_record(r, o) || judge_holder(r, o) ||
	       judge_prometheus(r, o) || judge_object(r, o, a) ||
	       judge_log(r, o, a, false);
}
