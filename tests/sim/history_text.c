/* SPDX-License-Identifier: Apache-2.0 */
#include "history.h"

#include <stdlib.h>
#include <string.h>

const char *const op_names[OP_COUNT] = {
	[OP_CREATE] = "create",	  [OP_DISRUPT] = "disrupt",
	[OP_LIFE] = "life",	  [OP_LOOK] = "look",
	[OP_DRIFT] = "drift",	  [OP_REBOOT] = "reboot",
	[OP_DELETE] = "delete",	  [OP_AGAIN] = "again",
	[OP_RECREATE] = "recreate", [OP_UNNODE] = "unnode",
	[OP_TEMPLATE] = "template", [OP_POOL] = "pool",
	[OP_UNPOOL] = "unpool",	  [OP_REPOOL] = "repool",
	[OP_TICKET] = "ticket",	  [OP_SPOIL] = "spoil",
	[OP_LINGER] = "linger",	  [OP_UNTICKET] = "unticket",
	[OP_FORGE] = "forge",	  [OP_EXPECT] = "expect",
	[OP_PERSON] = "person",	  [OP_CUT] = "cut",
	[OP_HANG] = "hang",	  [OP_LAG] = "lag",
	[OP_REFUSE] = "refuse",	  [OP_EXPIRE] = "expire",
	[OP_DOWN] = "down",	  [OP_BUSY] = "busy",
	[OP_ERRORS] = "errors",	  [OP_LOSSY] = "lossy",
	[OP_LATE] = "late",	  [OP_SLOW] = "slow",
	[OP_DENY] = "deny",	  [OP_UNSERVE] = "unserve",
	[OP_TURNS] = "turns",	  [OP_LEASE] = "lease",
	[OP_UNINSTALL] = "uninstall", [OP_CLEANUP] = "cleanup",
	[OP_KILL] = "kill",	  [OP_START] = "start",
	[OP_PAUSE] = "pause",	  [OP_SKEW] = "skew",
	[OP_RULES] = "rules",	  [OP_OLDER] = "older",
};
const char *const scope_names[] = {"cluster", "nodepool", "node"};
static const char *const kind_names[] = {"node", "claim", "pool",
					 "event", "ticket"};
static const char *const key_names[] = {"enabled", "hold-until", "released-at",
					"hold-duration", "replicas", "consolidate-after"};
static const char *const person_names[] = {"set", "unhold", "unmark", "strip",
					   "mark", "touch", "swell", "shrink"};

/* --- one table for reading and writing ------------------------------------ */

enum type {
	INT,
	MS,		/* written in seconds */
	TEXT_OF,	/* a char array of `size` */
	FLAG,
	SCOPE,
	KIND,
	WHAT,
	KEY,
	U64,
};

struct key {
	const char *name;
	enum type type;
	size_t offset, size;
};
#define OF(s, m) offsetof(struct s, m), sizeof(((struct s *)0)->m)

static const struct key config_keys[] = {
	{"scope", SCOPE, OF(history, scope)},
	{"hold", MS, OF(history, hold_ms)},
	{"startup", MS, OF(history, startup_ms)},
	{"max", MS, OF(history, max_ms)},
	{"window", MS, OF(history, window_ms)},
	{"holders", INT, OF(history, holders)},
	{"elects", FLAG, OF(history, elects)},
	{"machines-max", INT, OF(history, machines_max)},
	{"page", INT, OF(history, page)},
	{"other-hold", FLAG, OF(history, other_hold)},
	{"count", FLAG, OF(history, count)},
	{"observe", FLAG, OF(history, observe)},
	{"allow-drift", FLAG, OF(history, allow_drift)},
	{"tickets", FLAG, OF(history, tickets)},
	{"min-scale-up", INT, OF(history, min_scale_up)},
	{"min-scale-up-percent", INT, OF(history, min_scale_up_percent)},
	{"exclude", TEXT_OF, OF(history, exclude)},
	{"seed", U64, OF(history, seed)},
	{"even", FLAG, OF(history, even)},
	{NULL, INT, 0, 0},
};

static const struct key op_keys[] = {
	{"pool", TEXT_OF, OF(op, nodepool)},
	{"n", INT, OF(op, n)},
	{"machine", INT, OF(op, machine)},
	{"holder", INT, OF(op, holder)},
	{"kind", KIND, OF(op, kind)},
	{"what", WHAT, OF(op, what)},
	{"key", KEY, OF(op, key)},
	{"value", TEXT_OF, OF(op, value)},
	{"odds", INT, OF(op, odds)},
	{"for", MS, OF(op, for_ms)},
	{"by", MS, OF(op, ms)},
	{"every", MS, OF(op, every_ms)},
	{"launch", MS, OF(op, story.launch_ms)},
	{"node", MS, OF(op, story.node_ms)},
	{"register", MS, OF(op, story.register_ms)},
	{"ready", MS, OF(op, story.ready_ms)},
	{"stale", MS, OF(op, story.stale_ms)},
	{"missed", FLAG, OF(op, story.missed)},
	{"no-condition", FLAG, OF(op, story.no_condition)},
	{"node-first", FLAG, OF(op, story.node_first)},
	{"cloned", FLAG, OF(op, story.cloned)},
	{"opted-out", FLAG, OF(op, story.opted_out)},
	{"taint-only", FLAG, OF(op, story.taint_only)},
	{"claimless", FLAG, OF(op, story.claimless)},
	{"large", FLAG, OF(op, story.large)},
	{"event", MS, OF(op, story.event_ms)},
	{"gives-up", MS, OF(op, story.gives_up_ms)},
	{"other-hold", FLAG, OF(op, other_hold)},
	{"exclude", TEXT_OF, OF(op, exclude)},
	{"scope", TEXT_OF, OF(op, scope)},
	{NULL, INT, 0, 0},
};

static bool
ms_read(const char *text, int64_t *ms)
{
	char *end;
	double s = strtod(text, &end);

	*ms = (int64_t)(s * 1000 + (s < 0 ? -0.5 : 0.5));
	if (s == -1)
		*ms = -1;	/* never */
	return end != text && *end == '\0';
}

static void
ms_write(int64_t ms, FILE *out)
{
	if (ms == -1)
		fprintf(out, "-1");
	else if (ms % 1000 == 0)
		fprintf(out, "%lld", (long long)(ms / 1000));
	else
		fprintf(out, "%.3f", (double)ms / 1000);
}

static bool
name_read(const char *const *names, int n, const char *text, void *to)
{
	for (int i = 0; i < n; i++) {
		if (strcmp(names[i], text) == 0) {
			*(int *)to = i;
			return true;
		}
	}
	return false;
}

static bool
value_read(const struct key *k, const char *text, void *to)
{
	switch (k->type) {
	case INT:
		*(int *)to = atoi(text);
		return true;
	case U64:
		*(uint64_t *)to = strtoull(text, NULL, 10);
		return true;
	case MS:
		return ms_read(text, to);
	case FLAG:
		*(bool *)to = strcmp(text, "yes") == 0;
		return *(bool *)to;
	case SCOPE:
		return name_read(scope_names, 3, text, to);
	case KIND:
		return name_read(kind_names, VIEW_COUNT, text, to);
	case WHAT:
		return name_read(person_names, 8, text, to);
	case KEY:
		return name_read(key_names, POOL_KEYS, text, to);
	default:
		snprintf(to, k->size, "%s", text);
		return strlen(text) < k->size;
	}
}

static bool
is_zero(const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (((const char *)p)[i] != 0)
			return false;
	return true;
}

static void
value_write(const struct key *k, const void *from, FILE *out)
{
	fprintf(out, " %s=", k->name);
	switch (k->type) {
	case INT:
		fprintf(out, "%d", *(const int *)from);
		break;
	case U64:
		fprintf(out, "%llu", *(const unsigned long long *)from);
		break;
	case MS:
		ms_write(*(const int64_t *)from, out);
		break;
	case FLAG:
		fprintf(out, "yes");
		break;
	case SCOPE:
		fprintf(out, "%s", scope_names[*(const int *)from]);
		break;
	case KIND:
		fprintf(out, "%s", kind_names[*(const int *)from]);
		break;
	case WHAT:
		fprintf(out, "%s", person_names[*(const int *)from]);
		break;
	case KEY:
		fprintf(out, "%s", key_names[*(const int *)from]);
		break;
	default:
		fprintf(out, "%s", (const char *)from);
	}
}

static void
keys_write(const struct key *k, const void *from, FILE *out)
{
	for (; k->name != NULL; k++)
		if (!is_zero((const char *)from + k->offset, k->size))
			value_write(k, (const char *)from + k->offset, out);
	fprintf(out, "\n");
}

void
history_write(const struct history *h, FILE *out)
{
	fprintf(out, "config");
	keys_write(config_keys, h, out);
	for (int i = 0; i < h->ops_n; i++) {
		ms_write(h->ops[i].at, out);
		fprintf(out, "\t%s", op_names[h->ops[i].type]);
		keys_write(op_keys, &h->ops[i], out);
	}
	ms_write(h->end, out);
	fprintf(out, "\tend\n");
}

/* --- reading -------------------------------------------------------------- */

static bool
keys_read(const struct key *keys, char *rest, void *to)
{
	char *save, *word;

	for (word = strtok_r(rest, " \t\n", &save); word != NULL;
	     word = strtok_r(NULL, " \t\n", &save)) {
		char *eq = strchr(word, '=');
		const struct key *k = keys;

		if (eq == NULL)
			return false;
		*eq = '\0';
		while (k->name != NULL && strcmp(k->name, word) != 0)
			k++;
		if (k->name == NULL ||
		    !value_read(k, eq + 1, (char *)to + k->offset))
			return false;
	}
	return true;
}

static bool
line_read(struct history *h, char *line)
{
	char *save, *first = strtok_r(line, " \t\n", &save), *verb;
	struct op *o = &h->ops[h->ops_n];
	int type;

	if (first == NULL)
		return true;
	if (strcmp(first, "config") == 0)
		return keys_read(config_keys, save, h);
	verb = strtok_r(NULL, " \t\n", &save);
	if (verb != NULL && strcmp(verb, "end") == 0)
		return ms_read(first, &h->end);
	if (verb == NULL || h->ops_n == OPS ||
	    !name_read(op_names, OP_COUNT, verb, &type))
		return false;
	*o = (struct op){.type = (enum op_type)type};
	h->ops_n++;
	return ms_read(first, &o->at) && (h->ops_n == 1 || o[-1].at <= o->at) &&
	       keys_read(op_keys, save, o);
}

int
history_read(struct history *h, const char *file)
{
	FILE *in = fopen(file, "r");
	char line[1024];
	int n = 0;

	if (in == NULL) {
		perror(file);
		return -1;
	}
	*h = (struct history){.hold_ms = 600000, .startup_ms = 900000,
			      .window_ms = 600000,
			      .holders = 1, .machines_max = 192, .page = 500};
	while (fgets(line, sizeof(line), in) != NULL) {
		n++;
		line[strcspn(line, "#")] = '\0';
		if (!line_read(h, line)) {
			fprintf(stderr, "%s:%d: not understood\n", file, n);
			fclose(in);
			return -1;
		}
	}
	fclose(in);
	return 0;
}
