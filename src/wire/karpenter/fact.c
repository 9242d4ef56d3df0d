/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/karpenter/fact.h"

#include <stdlib.h>
#include <string.h>

static const char *const fact_names[FACT_COUNT] = {
	[FACT_CREATED] = "created",
	[FACT_LAUNCHED] = "launched",
	[FACT_REGISTERED] = "registered",
	[FACT_READY] = "ready",
	[FACT_DECIDED] = "decided",
	[FACT_DELETING] = "deleting",
	[FACT_NODE_GONE] = "node-gone",
	[FACT_GONE] = "gone",
	[FACT_HELD] = "held",
	[FACT_RELEASED] = "released",
	[FACT_WATCHED] = "watched",
};
static const char *const maker_names[MAKER_COUNT] = {
	[MAKER_UNKNOWN] = "",
	[MAKER_PROVISIONER] = "provisioner",
	[MAKER_DISRUPTION] = "disruption",
	[MAKER_STATIC] = "static",
};

const char *
fact_name(enum fact_kind kind)
{
	return fact_names[kind];
}

const char *
fact_maker_name(enum fact_maker maker)
{
	return maker_names[maker];
}

bool
fact_heeds_hold(const struct fact *f)
{
	return strcmp(f->reason, "unhealthy") != 0;
}

void
fact_init(struct fact *f, enum fact_kind kind, int64_t at_ms)
{
	*f = (struct fact){.at_ms = at_ms,
			   .kind = kind,
			   .claim = "",
			   .node = "",
			   .pool = "",
			   .action = "",
			   .reason = "",
			   .pods = -1,
			   .savings = -1,
			   .price = -1};
}

static void
put_text(char **to, const char **text)
{
	size_t n = strlen(*text) + 1;

	memcpy(*to, *text, n);
	*text = *to;
	*to += n;
}

#define TEXTS(f)                                                               \
	{                                                                      \
		&(f)->claim, &(f)->node, &(f)->pool, &(f)->action,             \
			&(f)->reason                                           \
	}
#define TEXTS_N 5

size_t
fact_bytes(const struct fact *f)
{
	const char *const *of[TEXTS_N] = TEXTS(f);
	size_t size = sizeof(*f) + f->nodes_n * sizeof(*f->nodes);

	for (int i = 0; i < TEXTS_N; i++)
		size += strlen(*of[i]) + 1;
	for (size_t i = 0; i < f->nodes_n; i++)
		size += strlen(f->nodes[i].node) + strlen(f->nodes[i].claim) +
			2;
	return size;
}

struct fact *
fact_copy(const struct fact *f)
{
	struct fact *copy = malloc(fact_bytes(f));
	struct fact_node *nodes;
	char *to;

	if (copy == NULL)
		return NULL;
	*copy = *f;
	nodes = (struct fact_node *)(copy + 1);
	to = (char *)(nodes + f->nodes_n);
	const char **texts[TEXTS_N] = TEXTS(copy);
	for (int i = 0; i < TEXTS_N; i++)
		put_text(&to, texts[i]);
	for (size_t i = 0; i < f->nodes_n; i++) {
		nodes[i] = f->nodes[i];
		put_text(&to, &nodes[i].node);
		put_text(&to, &nodes[i].claim);
	}
	copy->nodes = nodes;
	return copy;
}

static int
compare(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

int
fact_compare(const struct fact *a, const struct fact *b)
{
	const char *const *of_a[TEXTS_N] = TEXTS(a);
	const char *const *of_b[TEXTS_N] = TEXTS(b);
	const int64_t numbers[][2] = {
		{a->at_ms, b->at_ms},
		{a->kind, b->kind},
		{a->maker, b->maker},
		{a->pods, b->pods},
		{a->savings, b->savings},
		{a->price, b->price},
		{(int64_t)a->nodes_n, (int64_t)b->nodes_n},
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(numbers) / sizeof(*numbers);
	     i++)
		rc = compare(numbers[i][0], numbers[i][1]);
	for (int i = 0; rc == 0 && i < TEXTS_N; i++)
		rc = strcmp(*of_a[i], *of_b[i]);
	for (size_t i = 0; rc == 0 && i < a->nodes_n; i++) {
		rc = strcmp(a->nodes[i].node, b->nodes[i].node);
		if (rc == 0)
			rc = strcmp(a->nodes[i].claim, b->nodes[i].claim);
	}
	return rc;
}

bool
fact_repeats(const struct fact *a, const struct fact *b, int64_t within_ms)
{
	struct fact same = *b;

	same.at_ms = a->at_ms;
	return a->at_ms - b->at_ms <= within_ms &&
	       b->at_ms - a->at_ms <= within_ms && fact_compare(a, &same) == 0;
}

#define DOLLAR 1000000
#define DOLLARS_TOP 1000000000 /* maximum dollars an hour; more is refused */

int
fact_dollars_parse(const char *s, size_t n, int64_t *out)
{
	size_t i = n > 0 && s[0] == '-';
	int64_t v = 0, unit = DOLLAR;
	bool digits = false, dot = false;

	for (; i < n; i++) {
		if (s[i] == '.' && !dot) {
			dot = true;
			continue;
		}
		if (s[i] < '0' || s[i] > '9' ||
		    v > DOLLARS_TOP * (int64_t)DOLLAR)
			return -1;
		digits = true;
		if (dot)
			unit /= 10;
		v = dot ? v + (s[i] - '0') * unit
			: v * 10 + (s[i] - '0') * (int64_t)DOLLAR;
	}
	if (!digits)
		return -1;
	*out = s[0] == '-' ? -v : v;
	return 0;
}

/* Returns whether the fact has the names that its kind needs; for a decision,
 * whether it has a machine. */
bool
fact_whole(const struct fact *f)
{
	switch (f->kind) {
	case FACT_REGISTERED:
		return f->claim[0] != '\0' && f->node[0] != '\0';
	case FACT_DECIDED:
		return f->nodes_n > 0;
	case FACT_HELD:
	case FACT_RELEASED:
		return f->pool[0] != '\0';
	case FACT_WATCHED:
		return true;
	case FACT_DELETING:
		/* An Event on an interruption names only the claim. */
		return f->node[0] != '\0' ||
		       (f->claim[0] != '\0' && f->reason[0] != '\0');
	case FACT_NODE_GONE:
		return f->node[0] != '\0';
	default:
		return f->claim[0] != '\0';
	}
}
