/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "parts.h"

#define DISRUPTING_NODES "disrupting node(s)"
#define INTERRUPTED "initiating delete from interruption message"
#define EXPIRED "deleting expired nodeclaim"

/*
 * Reads Karpenter's own log.  The messages are the same from 0.32 to 1.15,
 * except for the message about a decision:
 *
 *   to 0.32     "deprovisioning via drift replace, terminating 1 machines
 *               NODE/TYPE/CAPACITY and replacing with …"
 *   to 0.37     "disrupting via consolidation delete, terminating 1 nodes (3
 *               pods) NODE/TYPE/CAPACITY, …"
 *   1.0 to 1.2  "disrupting nodeclaim(s) via replace, terminating 2 nodes (7
 *               pods) NODE/TYPE/CAPACITY, … and replacing with …", and `reason`
 *   1.3 to 1.8  "disrupting node(s)", `disrupted-nodes` and `reason`
 *   from 1.9    "disrupting node(s)", `disrupted-nodes` and `command`, which is
 *               text such as "Drifted/UUID: delete: nodepools=[general]:
 *               [NODE, …] (savings: $0.11)"
 *
 * The names of objects have other keys in older versions, and log shippers may
 * put them into an object beside the message, or flatten them.  Some make a
 * string of what is no string, or write '_' for other characters in keys.
 */
static const struct {
	const char *message;
	enum fact_kind kind;
} messages[] = {
	{"created nodeclaim", FACT_CREATED},
	{"launched nodeclaim", FACT_LAUNCHED},
	{"registered nodeclaim", FACT_REGISTERED},
	{"initialized nodeclaim", FACT_READY},
	{DISRUPTING_NODES, FACT_DECIDED},
	{"tainted node", FACT_DELETING},
	{INTERRUPTED, FACT_DELETING},
	{EXPIRED, FACT_DELETING}, /* at level DEBUG */
	{"deleted node", FACT_NODE_GONE},
	{"deleted nodeclaim", FACT_GONE},
	/* until 0.31 */
	{"created machine", FACT_CREATED},
	{"launched machine", FACT_LAUNCHED},
	{"registered machine", FACT_REGISTERED},
	{"initialized machine", FACT_READY},
	{"deleted machine", FACT_GONE},
};
#define MESSAGES_N (sizeof(messages) / sizeof(messages[0]))

/* The keys of the names, since 0.37, since 0.32, before that, and flattened. */
static const struct log_keys {
	const char *claim, *node, *pool, *nodes, *pods;
} log_keys[] = {
	{"NodeClaim", "Node", "NodePool", "disrupted-nodes", "pod-count"},
	{"nodeclaim", "node", "nodepool", "disrupted_nodes", "pod_count"},
	{"machine", "node", "provisioner", "", ""},
	{"NodeClaim.name", "Node.name", "NodePool.name", "", ""},
	{"NodeClaim_name", "Node_name", "NodePool_name", "", ""},
};
#define KEYS_N (sizeof(log_keys) / sizeof(log_keys[0]))

/* A line: `body` is the object that has the names. */
struct log_line {
	const struct json *line, *body;
	const struct log_keys *keys;
};

enum fact_kind
log_kind(const char *message)
{
	for (size_t i = 0; i < MESSAGES_N; i++)
		/* Most messages differ in the first byte. */
		if (message[0] == messages[i].message[0] &&
		    strcmp(message, messages[i].message) == 0)
			return messages[i].kind;
	return message[0] == 'd' &&
			       (strncmp(message, "disrupting ", 11) == 0 ||
				strncmp(message, "deprovisioning ", 15) == 0)
		       ? FACT_DECIDED
		       : FACT_COUNT;
}

bool
log_may_decide(const char *bytes, size_t n)
{
	return memmem(bytes, n, "disrupting ", 11) != NULL ||
	       memmem(bytes, n, "deprovisioning ", 15) != NULL;
}

/* Returns the value or, if it is a string that begins with one of these
 * characters and is JSON, what it stands for. */
static const struct json *
unquote(const struct json *v, const char *begins, struct json **parsed)
{
	const char *s = json_string(v);
	enum json_end end;
	size_t used;

	if (s == NULL || *s == '\0' || strchr(begins, *s) == NULL)
		return v;
	json_free(*parsed);
	*parsed = pieces_parse(s, strlen(s), &used, &end);
	return *parsed != NULL ? *parsed : v;
}

static const struct log_keys *
keys_of(const struct json *o)
{
	for (size_t i = 0; i < KEYS_N; i++)
		if (json_member(o, log_keys[i].claim) != NULL ||
		    json_member(o, log_keys[i].node) != NULL ||
		    json_member(o, log_keys[i].pool) != NULL ||
		    json_member(o, log_keys[i].nodes) != NULL)
			return &log_keys[i];
	return NULL;
}

/* Finds the object that has the names: the line, or an object in it. */
static void
find_body(struct log_line *l)
{
	const struct json *v = json_first(l->line);

	l->body = l->line;
	l->keys = keys_of(l->line);
	for (; v != NULL && l->keys == NULL; v = json_next(v)) {
		l->keys = keys_of(v);
		if (l->keys != NULL)
			l->body = v;
	}
	if (l->keys == NULL)
		l->keys = log_keys;
}

static const char *
text_of(const struct log_line *l, const char *key)
{
	const char *s = json_string(json_member(l->line, key));

	return s != NULL ? s : json_string(json_member(l->body, key));
}

static enum fact_maker
maker_of(const struct log_line *l)
{
	const char *by = text_of(l, "controller"), *dot;

	if (by == NULL)
		by = text_of(l, "logger");
	if (by == NULL)
		return MAKER_UNKNOWN;
	/* "controller.provisioner", the logger until 0.36 */
	dot = strchr(by, '.');
	if (dot != NULL && strncmp(by, "controller.", 11) == 0)
		by = dot + 1;
	if (strcmp(by, "provisioner") == 0)
		return MAKER_PROVISIONER;
	if (strncmp(by, "disruption", 10) == 0 ||
	    strncmp(by, "deprovisioning", 14) == 0)
		return MAKER_DISRUPTION;
	return strncmp(by, "static", 6) == 0 ? MAKER_STATIC : MAKER_UNKNOWN;
}

/* --- decisions from Karpenter 1.3 on -------------------------------------- */

/* Takes the NodePool from "…: nodepools=[general]: …", if there is only one. */
static void
command_pool(const char *command, struct pieces *p, struct fact *f)
{
	static const char key[] = "nodepools=[";
	const char *from = strstr(command, key);
	size_t n;

	if (from == NULL)
		return;
	from += sizeof(key) - 1;
	n = strcspn(from, "], ");
	if (from[n] != ']' || n >= NODEPOOL_BYTES)
		return;
	memcpy(p->pool, from, n);
	p->pool[n] = '\0';
	f->pool = p->pool;
}

static void
command_savings(const char *command, struct fact *f)
{
	static const char key[] = "(savings: $";
	const char *from = strstr(command, key);

	if (from == NULL)
		return;
	from += sizeof(key) - 1;
	if (fact_dollars_parse(from, strcspn(from, ")"), &f->savings) == 0 &&
	    f->savings < 0)
		f->savings = -1;
}

static int
read_reason(const struct json *line, struct pieces *p, struct fact *f)
{
	const char *reason = json_string(json_member(line, "reason"));
	const char *command = json_string(json_member(line, "command"));

	f->reason = p->reason;
	if (command != NULL)
		command_savings(command, f);
	if (reason != NULL)
		return pieces_take_reason(reason, strlen(reason), p->reason);
	if (command == NULL)
		command = "";
	command_pool(command, p, f);
	return pieces_take_reason(command, strcspn(command, "/:"), p->reason);
}

static int
read_decision(const struct log_line *l, struct pieces *p, struct fact *f)
{
	const struct json *pods = unquote(json_member(l->body, l->keys->pods),
					  "0123456789", &p->parsed[3]);

	if (!json_is_unset(pods) &&
	    (json_integer(pods, &f->pods) || f->pods < 0))
		return -1;
	return pieces_take_name(json_member(l->body, "decision"),
				NODEPOOL_BYTES, &f->action) ||
			       read_reason(l->body, p, f) ||
			       pieces_add_list(
				       p, f,
				       unquote(json_member(l->body,
							   l->keys->nodes),
					       "[", &p->parsed[3]),
				       "Node", "NodeClaim")
		       ? -1
		       : 0;
}

/* --- decisions of Karpenter until 1.2 ------------------------------------- */

static int
add_old_node(struct pieces *p, struct fact *f, char *node)
{
	node[strcspn(node, "/")] = '\0';
	return node[0] == '\0' || strlen(node) >= NAME_BYTES
		       ? -1
		       : pieces_add(p, f, node, "");
}

/* Reads the nodes in "NODE/TYPE/CAPACITY, NODE/TYPE/CAPACITY". */
static int
read_old_nodes(char *list, struct pieces *p, struct fact *f)
{
	char *end = strstr(list, " and replacing with "), *next;

	if (end != NULL)
		*end = '\0';
	for (; list != NULL; list = next) {
		next = strstr(list, ", ");
		if (next != NULL) {
			*next = '\0';
			next += 2;
		}
		if (add_old_node(p, f, list))
			return -1;
	}
	return 0;
}

/* Reads "replace" or, until 0.37, "consolidation delete". */
static int
read_old_action(char *text, struct fact *f)
{
	static const char *const reasons[][2] = {
		{"consolidation", "underutilized"},
		{"emptiness", "empty"},
		{"drift", "drifted"},
		{"expiration", "expired"},
	};
	char *last = strrchr(text, ' ');

	f->action = last == NULL ? text : last + 1;
	if (strlen(f->action) >= NODEPOOL_BYTES)
		return -1;
	for (int i = 0; last != NULL && i < 4; i++)
		if (strncmp(text, reasons[i][0], strlen(reasons[i][0])) == 0)
			f->reason = reasons[i][1];
	return 0;
}

/* Reads a decision such as "…delete, terminating 1 nodes (7 pods) …". */
static int
read_old_decision(const struct log_line *l, const char *message,
		  struct pieces *p, struct fact *f)
{
	static const char via[] = " via ", terminating[] = ", terminating ";
	const char *from = strstr(message, via), *reason = text_of(l, "reason");
	char *at, *end;

	free(p->text);
	p->text = from == NULL ? NULL : strdup(from + sizeof(via) - 1);
	if (p->text == NULL)
		return -1;
	at = strstr(p->text, terminating);
	if (at == NULL)
		return -1;
	*at = '\0';
	/* "1 nodes ", "1 candidates " or "1 machines " */
	at += sizeof(terminating) - 1;
	at += strspn(at, "0123456789 ");
	at += strspn(at, "abcdefghijklmnopqrstuvwxyz");
	if (*at != ' ' || read_old_action(p->text, f))
		return -1;
	if (reason != NULL && strlen(reason) < NODEPOOL_BYTES)
		f->reason = reason;
	if (*++at == '(') {
		f->pods = strtoll(at + 1, &end, 10);
		if (end == at + 1 || strncmp(end, " pods) ", 7) != 0 ||
		    f->pods < 0)
			return -1;
		at = end + 7;
	}
	return read_old_nodes(at, p, f);
}

/* --- all messages --------------------------------------------------------- */

static int
take_named(const struct log_line *l, const char *key, size_t max,
	   struct json **parsed, const char **out)
{
	return pieces_take_name(unquote(json_member(l->body, key), "{", parsed),
				max, out);
}

static int
read_rest(const struct log_line *l, const char *message, struct pieces *p,
	  struct fact *f)
{
	if (take_named(l, l->keys->claim, NAME_BYTES, &p->parsed[0],
		       &f->claim) ||
	    take_named(l, l->keys->node, NAME_BYTES, &p->parsed[1], &f->node) ||
	    take_named(l, l->keys->pool, NODEPOOL_BYTES, &p->parsed[2],
		       &f->pool))
		return -1;
	if (f->kind == FACT_CREATED)
		f->maker = maker_of(l);
	if (f->kind == FACT_DELETING)
		f->reason = strcmp(message, INTERRUPTED) == 0 ? "interrupted"
			    : strcmp(message, EXPIRED) == 0   ? "expired"
							      : "";
	if (f->kind != FACT_DECIDED)
		return 0;
	return strcmp(message, DISRUPTING_NODES) != 0
		       ? read_old_decision(l, message, p, f)
		       : read_decision(l, p, f);
}

enum reader_what
log_fact(const struct json *line, const char *message, enum fact_kind kind,
	 int64_t at_ms, struct pieces *p, struct fact *f)
{
	struct log_line l = {.line = line};

	find_body(&l);
	/* The time of the line itself may be beside the names. */
	if (l.body != line)
		(void)when_value(json_member(l.body, "time"), &at_ms);
	if (at_ms == STAMP_NONE)
		return READ_INCOMPLETE;
	fact_init(f, kind, at_ms);
	if (read_rest(&l, message, p, f) || !fact_whole(f))
		return READ_INCOMPLETE;
	return READ_FACT;
}
