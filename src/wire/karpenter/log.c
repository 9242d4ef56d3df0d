/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "parts.h"

/*
 * Reads Karpenter's own log.  The messages are the same from 1.0.0 to 1.15.0,
 * except for the message about a decision:
 *
 *   1.0 to 1.2  "disrupting nodeclaim(s) via replace, terminating 2 nodes (7
 *               pods) NODE/TYPE/CAPACITY, … and replacing with …", and `reason`
 *   1.3 to 1.8  "disrupting node(s)", `disrupted-nodes` and `reason`
 *   from 1.9    "disrupting node(s)", `disrupted-nodes` and `command`, which is
 *               text such as "Drifted/UUID: delete: nodepools=[general]:
 *               [NODE, …] (savings: $0.11)"
 */
static const struct {
	const char *message;
	enum fact_kind kind;
} messages[] = {
	{"created nodeclaim", FACT_CREATED},
	{"launched nodeclaim", FACT_LAUNCHED},
	{"registered nodeclaim", FACT_REGISTERED},
	{"initialized nodeclaim", FACT_READY},
	{"disrupting node(s)", FACT_DECIDED},
	{"tainted node", FACT_DELETING},
	{"deleted node", FACT_NODE_GONE},
	{"deleted nodeclaim", FACT_GONE},
};
#define MESSAGES_N (sizeof(messages) / sizeof(messages[0]))
#define VIA "disrupting nodeclaim(s) via "
#define TERMINATING "terminating "

static int
name_of(const struct json *line, const char *key, size_t max, const char **out)
{
	return pieces_take_name(json_member(json_member(line, key), "name"),
				max, out);
}

static enum fact_maker
maker_of(const struct json *line)
{
	const char *by = json_string(json_member(line, "controller"));

	if (by == NULL)
		return MAKER_UNKNOWN;
	if (strcmp(by, "provisioner") == 0)
		return MAKER_PROVISIONER;
	if (strncmp(by, "disruption", 10) == 0)
		return MAKER_DISRUPTION;
	return strncmp(by, "static", 6) == 0 ? MAKER_STATIC : MAKER_UNKNOWN;
}

/* Makes the text in p->text lower case and sets it as the reason of the
 * fact. */
static void
lower_reason(struct pieces *p, struct fact *f)
{
	for (char *c = p->text; *c != '\0'; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	f->reason = p->text;
}

/* --- decisions from Karpenter 1.3 on -------------------------------------- */

/* Takes the NodePool from "…: nodepools=[general]: …", if there is only one. */
static void
command_pool(char *command, struct fact *f)
{
	static const char key[] = "nodepools=[";
	char *from = strstr(command, key), *to;

	if (from == NULL)
		return;
	from += sizeof(key) - 1;
	to = from + strcspn(from, "], ");
	if (*to != ']' || to - from >= NODEPOOL_BYTES)
		return;
	*to = '\0';
	f->pool = from;
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

	if (reason == NULL && command == NULL)
		return 0;
	if (command != NULL)
		command_savings(command, f);
	if (pieces_text(p, reason != NULL ? reason : command))
		return -1;
	if (reason == NULL) {
		command_pool(p->text, f);
		p->text[strcspn(p->text, "/:")] = '\0';
	}
	if (strlen(p->text) >= NODEPOOL_BYTES)
		return -1;
	lower_reason(p, f);
	return 0;
}

static int
read_disrupted(const struct json *line, struct pieces *p, struct fact *f)
{
	for (const struct json *v =
		     json_first(json_member(line, "disrupted-nodes"));
	     v != NULL; v = json_next(v)) {
		struct fact_node *at;

		if (pieces_nodes(p, f->nodes_n + 1))
			return -1;
		at = &p->nodes[f->nodes_n];
		if (name_of(v, "Node", NAME_BYTES, &at->node) ||
		    name_of(v, "NodeClaim", NAME_BYTES, &at->claim) ||
		    (at->node[0] == '\0' && at->claim[0] == '\0'))
			return -1;
		f->nodes_n++;
	}
	f->nodes = p->nodes;
	return 0;
}

static int
read_decision(const struct json *line, struct pieces *p, struct fact *f)
{
	const struct json *pods = json_member(line, "pod-count");

	if (!json_is_unset(pods) &&
	    (json_integer(pods, &f->pods) || f->pods < 0))
		return -1;
	return pieces_take_name(json_member(line, "decision"), NODEPOOL_BYTES,
				&f->action) ||
			       read_reason(line, p, f) ||
			       read_disrupted(line, p, f)
		       ? -1
		       : 0;
}

/* --- decisions of Karpenter 1.0 to 1.2 ------------------------------------ */

static int
add_old_node(struct pieces *p, struct fact *f, char *node)
{
	node[strcspn(node, "/")] = '\0';
	if (node[0] == '\0' || strlen(node) >= NAME_BYTES ||
	    pieces_nodes(p, f->nodes_n + 1))
		return -1;
	p->nodes[f->nodes_n++] = (struct fact_node){node, ""};
	return 0;
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
	f->nodes = p->nodes;
	return 0;
}

/* Reads a decision such as "…delete, terminating 1 nodes (7 pods) …". */
static int
read_old_decision(const struct json *line, const char *message,
		  struct pieces *p, struct fact *f)
{
	char *at, *close, *end;

	if (pieces_text(p, message + sizeof(VIA) - 1))
		return -1;
	at = strstr(p->text, ", " TERMINATING);
	if (at == NULL)
		return -1;
	*at = '\0';
	f->action = p->text;
	at = strchr(at + 1, '(');
	close = at == NULL ? NULL : strstr(at, " pods) ");
	if (close == NULL || strlen(f->action) >= NODEPOOL_BYTES)
		return -1;
	f->pods = strtoll(at + 1, &end, 10);
	if (end == at + 1 || end != close || f->pods < 0 ||
	    pieces_take_name(json_member(line, "reason"), NODEPOOL_BYTES,
			     &f->reason))
		return -1;
	return read_old_nodes(close + 7, p, f);
}

/* --- all messages --------------------------------------------------------- */

bool
log_time(const struct json *v, int64_t *out)
{
	const char *s = json_string(v);
	size_t n = s == NULL ? 0 : strlen(s);
	char text[STAMP_US_BYTES + 8];

	if (n == 0 || stamp_parse(s, out) == 0)
		return n > 0;
	if (n < 5 || n + 2 > sizeof(text) ||
	    (s[n - 5] != '+' && s[n - 5] != '-'))
		return false;
	memcpy(text, s, n - 2);
	text[n - 2] = ':';
	memcpy(text + n - 1, s + n - 2, 3);
	return stamp_parse(text, out) == 0;
}

static int
read_rest(const struct json *line, const char *message, bool old,
	  struct pieces *p, struct fact *f)
{
	if (name_of(line, "NodeClaim", NAME_BYTES, &f->claim) ||
	    name_of(line, "Node", NAME_BYTES, &f->node) ||
	    name_of(line, "NodePool", NODEPOOL_BYTES, &f->pool))
		return -1;
	if (f->kind == FACT_CREATED)
		f->maker = maker_of(line);
	if (f->kind != FACT_DECIDED)
		return 0;
	return old ? read_old_decision(line, message, p, f)
		   : read_decision(line, p, f);
}

enum line_what
log_fact(const struct json *line, struct pieces *p, struct fact *f)
{
	const char *message = json_string(json_member(line, "message"));
	enum fact_kind kind = FACT_DECIDED;
	bool old = strncmp(message, VIA, sizeof(VIA) - 1) == 0;
	int64_t at;
	size_t i = 0;

	while (!old && i < MESSAGES_N && strcmp(message, messages[i].message))
		i++;
	if (i == MESSAGES_N)
		return LINE_OTHER;
	if (!old)
		kind = messages[i].kind;
	if (!log_time(json_member(line, "time"), &at))
		return LINE_INCOMPLETE;
	fact_init(f, kind, at);
	if (read_rest(line, message, old, p, f) || !fact_whole(f))
		return LINE_INCOMPLETE;
	return LINE_FACT;
}
