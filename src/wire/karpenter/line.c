/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/karpenter/line.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "parts.h"
#include "wire/karpenter/record.h"

/*
 * Finds the JSON object in a line, however it was wrapped, and passes it to the
 * reader for its kind: Karpenter's log (log.c), an audit log (audit.c), a
 * holder's /status (holder.c) or a record (record_read.c).  Around the object
 * there may be the prefix of a container runtime, the pieces into which that
 * runtime has cut the line, and up to WRAPPERS objects of log shippers.
 *
 * Lines come from files, so everything is bounded and nothing is trusted.
 * `root` is the tree of the latest line.  The fact of this line points into the
 * tree.  If a line has several facts, `batch` has copies of them.
 */

struct line {
	/* tree of the latest line; the line's fact points into it */
	struct json *root;
	struct pieces pieces;
	struct batch batch;  /* the facts of a line that has several */
	struct audit *audit; /* NULL if no line was of an audit log */
	/* The pieces of lines that a container runtime has cut, for stdout and
	 * for stderr, whose pieces may alternate. */
	struct part {
		char *bytes;
		size_t n, room;
		bool over; /* whether the line is too long and is dropped */
	} parts[2];
};

struct line *
line_new(void)
{
	return calloc(1, sizeof(struct line));
}

void
line_free(struct line *l)
{
	if (l == NULL)
		return;
	json_free(l->root);
	pieces_done(&l->pieces);
	batch_clear(&l->batch);
	audit_free(l->audit);
	free(l->parts[0].bytes);
	free(l->parts[1].bytes);
	free(l);
}

/* The members that we read of Karpenter's log, of a record, of an audit log, of
 * /status, and of the objects into which shippers put a line. */
static const struct json_keep log_only[] = {{"log", NULL}, {NULL, NULL}};
static const struct json_keep code_only[] = {{"code", NULL}, {NULL, NULL}};
static const struct json_keep name_only[] = {{"name", NULL}, {NULL, NULL}};
static const struct json_keep machine[] = {
	{"Node", name_only}, {"NodeClaim", name_only}, {NULL, NULL}};
static const struct json_keep leader[] = {
	{"since", NULL}, {"thisReplica", NULL}, {NULL, NULL}};
static const struct json_keep turn[] = {
	{"time", NULL},	   {"what", NULL},    {"cause", NULL}, {"scope", NULL},
	{"machine", NULL}, {"heldFor", NULL}, {NULL, NULL}};
static const struct json_keep wanted[] = {
	{"time", NULL},
	{"message", NULL},
	{"controller", NULL},
	{"logger", NULL},
	{"NodePool", name_only},
	{"NodeClaim", name_only},
	{"Node", name_only},
	{"decision", NULL},
	{"reason", NULL},
	{"command", NULL},
	{"pod-count", NULL},
	{"disrupted-nodes", machine},
	{"log", NULL},
	{"line", NULL},
	{"record", NULL},
	{"until", NULL},
	{"at", NULL},
	{"what", NULL},
	{"claim", NULL},
	{"node", NULL},
	{"pool", NULL},
	{"maker", NULL},
	{"action", NULL},
	{"pods", NULL},
	{"savings", NULL},
	{"price", NULL},
	{"nodes", NULL},
	{"properties", log_only},
	{"kind", NULL},
	{"apiVersion", NULL},
	{"stage", NULL},
	{"verb", NULL},
	{"requestURI", NULL},
	{"objectRef", NULL},
	{"responseStatus", code_only},
	{"responseObject", snapshot_keep},
	{"stageTimestamp", NULL},
	{"leader", leader},
	{"history", turn},
	{NULL, NULL},
};

/* --- text around the JSON ------------------------------------------------- */

/* Finds the JSON object in a line: from the first '{' that begins an object to
 * the last '}'. */
static bool
find_object(const char **bytes, size_t *n)
{
	const char *p = *bytes, *end = *bytes + *n;

	while ((p = memchr(p, '{', (size_t)(end - p))) != NULL) {
		const char *next = p + 1;

		while (next < end && (*next == ' ' || *next == '\t'))
			next++;
		if (next < end && (*next == '"' || *next == '}'))
			break;
		p++;
	}
	if (p == NULL)
		return false;
	while (end > p && end[-1] != '}')
		end--;
	if (end == p)
		return false;
	*bytes = p;
	*n = (size_t)(end - p);
	return true;
}

static const char *
find_text(const char *bytes, size_t n, const char *text)
{
	size_t len = strlen(text);
	const char *p = bytes, *end = bytes + n;

	while ((size_t)(end - p) >= len &&
	       (p = memchr(p, text[0], (size_t)(end - p) - len + 1)) != NULL) {
		if (memcmp(p, text, len) == 0)
			return p;
		p++;
	}
	return NULL;
}

/* Returns whether the line is in zap's text format,
 * "TIME\tINFO\tcontroller\tmessage\t{…}". */
static bool
is_zap_text(const char *bytes, size_t n)
{
	static const char *const levels[] = {"\tINFO\t", "\tDEBUG\t",
					     "\tWARN\t", "\tERROR\t"};
	const char *brace = memchr(bytes, '{', n);

	if (brace != NULL)
		n = (size_t)(brace - bytes);
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (find_text(bytes, n, levels[i]) != NULL)
			return true;
	return false;
}

/* --- lines that a container runtime has cut ------------------------------- */

/* Returns the text after "… stdout P " or "… stdout F ", or after these texts
 * with "stderr" (CRI's log format).  Sets *stream, and *more if the line goes
 * on in the next one of that stream.  Returns NULL if the line is not in that
 * format. */
static const char *
cri_rest(const char *bytes, size_t n, int *stream, bool *more)
{
	static const char *const streams[] = {" stdout ", " stderr "};
	/* An RFC 3339 time with nanoseconds has 35 bytes. */
	size_t head = n < 48 ? n : 48;

	for (int i = 0; i < 2; i++) {
		const char *p = find_text(bytes, head, streams[i]);

		if (p == NULL || (size_t)(bytes + n - p) < 10 || p[9] != ' ' ||
		    (p[8] != 'P' && p[8] != 'F'))
			continue;
		*stream = i;
		*more = p[8] == 'P';
		return p + 10;
	}
	return NULL;
}

static void
part_add(struct part *p, const char *bytes, size_t n)
{
	char *room = p->bytes;

	if (p->over || n > ITEM_BYTES_MAX - p->n) {
		p->over = true;
		return;
	}
	if (p->n + n > p->room) {
		room = realloc(p->bytes, 2 * (p->n + n));
		if (room == NULL) {
			p->over = true;
			return;
		}
		p->room = 2 * (p->n + n);
		p->bytes = room;
	}
	memcpy(p->bytes + p->n, bytes, n);
	p->n += n;
}

/* Joins the pieces of a line.  Returns false if the line is not complete yet
 * (*what is LINE_NOTHING) or was too long (LINE_BROKEN). */
static bool
join(struct line *l, const char **bytes, size_t *n, enum line_what *what)
{
	bool more = false, over;
	int stream = 0;
	const char *rest = cri_rest(*bytes, *n, &stream, &more);
	struct part *p = &l->parts[stream];

	if (rest == NULL || (!more && p->n == 0 && !p->over))
		return true;
	part_add(p, rest, (size_t)(*bytes + *n - rest));
	*what = LINE_NOTHING;
	if (more)
		return false;
	*bytes = p->bytes;
	*n = p->n;
	over = p->over;
	p->n = 0;
	p->over = false;
	*what = LINE_BROKEN;
	return !over;
}

/* --- objects around the line ---------------------------------------------- */

/* Maximum number of objects around a line: Docker's, Fluent Bit's around that,
 * and one more. */
#define WRAPPERS 3

/* Returns the line that a log shipper has put into this object, or NULL. */
static const char *
wrapped(const struct json *o)
{
	static const char *const keys[] = {"log", "line", "message"};

	if (json_member(o, "logger") != NULL)
		return NULL;
	for (int i = 0; i < 4; i++) {
		/* Azure Monitor: "properties":{"log":…} */
		const struct json *in =
			i < 3 ? o : json_member(o, "properties");
		const char *s = json_string(json_member(in, keys[i % 3]));

		if (s != NULL && strstr(s, "{\"") != NULL)
			return s;
	}
	return NULL;
}

static enum line_what
parse(struct line *l, const char *bytes, size_t n)
{
	struct json_bounds bounds = json_bounds_stored;
	struct json *next;
	const char *inner;

	/* One decision may be about thousands of nodes. */
	bounds.kept_values_max = bounds.values_max;
	bounds.kept_bytes_max = ITEM_BYTES_MAX;
	for (int i = 0; i <= WRAPPERS; i++) {
		if (is_zap_text(bytes, n))
			return LINE_TEXT;
		if (!find_object(&bytes, &n))
			return LINE_BROKEN;
		next = json_pick(bytes, n, wanted, &bounds, NULL);
		json_free(l->root);
		l->root = next;
		if (next == NULL)
			return LINE_BROKEN;
		inner = wrapped(next);
		if (inner == NULL)
			return LINE_FACT;
		bytes = inner;
		n = strlen(inner);
	}
	return LINE_BROKEN;
}

/* --- reading a line ------------------------------------------------------- */

static enum line_what
judge_audit(struct line *l, const char **message)
{
	if (l->audit == NULL)
		l->audit = audit_new();
	if (l->audit == NULL)
		return LINE_BROKEN;
	return audit_read(l->audit, l->root, &l->batch, message);
}

static enum line_what
judge(struct line *l, struct fact *f, const char **message)
{
	const char *version = json_string(json_member(l->root, "record"));

	enum line_what what;

	if (audit_is(l->root) || holder_is(l->root)) {
		what = audit_is(l->root)
			       ? judge_audit(l, message)
			       : holder_read(l->root, &l->batch, message);
		if (what == LINE_FACT)
			(void)batch_next(&l->batch, f);
		return what;
	}

	if (version != NULL) {
		*message = version;
		if (strcmp(version, RECORD_VERSION) != 0)
			return LINE_VERSION;
		return json_member(l->root, "until") == NULL ? LINE_NOTHING
							     : LINE_UNTIL;
	}
	*message = json_string(json_member(l->root, "what"));
	if (*message != NULL && json_member(l->root, "at") != NULL)
		return record_read(l->root, &l->pieces, f);
	*message = json_string(json_member(l->root, "message"));
	if (*message == NULL) {
		*message = "(no message)";
		return LINE_OTHER;
	}
	return log_fact(l->root, &l->pieces, f);
}

enum line_what
line_read(struct line *l, const char *bytes, size_t n, struct fact *f,
	  const char **message)
{
	enum line_what what = LINE_NOTHING;

	batch_clear(&l->batch);
	while (n > 0 && (bytes[n - 1] == '\r' || bytes[n - 1] == ' '))
		n--;
	if (n == 0 || !join(l, &bytes, &n, &what))
		return what;
	what = parse(l, bytes, n);
	return what == LINE_FACT ? judge(l, f, message) : what;
}

bool
line_more(struct line *l, struct fact *f)
{
	return batch_next(&l->batch, f);
}

int64_t
line_time(const struct line *l)
{
	const char *key = json_member(l->root, "record") != NULL ? "until"
			  : audit_is(l->root) ? "stageTimestamp"
					      : "time";
	int64_t at;

	return log_time(json_member(l->root, key), &at) ? at : STAMP_NONE;
}
