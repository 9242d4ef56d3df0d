/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/nodepool.h"

#include <limits.h>
#include <string.h>

#include "core/base/duration.h"
#include "core/base/object.h"
#include "core/base/str.h"
#include "core/base/utf8.h"

static const struct {
	const char *name, *expected;
} keys[NODEPOOL_KEY_COUNT] = {
#define X(name_, key_, expected_) [NODEPOOL_##name_] = {key_, expected_},
	NODEPOOL_KEYS(X)
#undef X
};

const char *
nodepool_key_name(enum nodepool_key k)
{
	return keys[k].name;
}

/* Returns the key of ours that is most similar to this one, after `skip` of its
 * bytes, and how many characters differ.  Without our prefix anybody may write
 * a "reason", and "enabled". */
static const char *
most_similar(const char *key, size_t skip, unsigned *least)
{
	const char *best = NODEPOOL_REASON_KEY;
	unsigned d;

	*least = skip == 0 ? str_distance(key, best) : UINT_MAX;
	for (int k = skip == 0 ? NODEPOOL_ENABLED : NODEPOOL_HOLD_UNTIL;
	     k < NODEPOOL_KEY_COUNT; k++) {
		d = str_distance(key, keys[k].name + skip);
		if (d < *least) {
			*least = d;
			best = keys[k].name;
		}
	}
	return best;
}

const char *
nodepool_key_meant(const char *key)
{
	bool own = strncmp(key, OWN_PREFIX, strlen(OWN_PREFIX)) == 0;
	const char *best;
	unsigned wrong;

	best = most_similar(key, 0, &wrong);
	if (wrong <= NODEPOOL_KEY_SURE)
		return best;
	if (own || wrong <= NODEPOOL_KEY_TYPOS)
		return own || best == keys[NODEPOOL_ENABLED].name ? "" : best;
	if (strchr(key, '/') != NULL)
		return NULL;
	best = most_similar(key, strlen(OWN_PREFIX), &wrong);
	return wrong <= 1 ? best : NULL;
}

const char *
nodepool_expected(enum nodepool_key k)
{
	return keys[k].expected;
}

void
nodepool_init(struct nodepool *p)
{
	*p = (struct nodepool){
		.hold_until_ms = STAMP_NONE,
		.released_at_ms = STAMP_NONE,
		.ticket_ms = STAMP_NONE,
		.ticket_least_ms = STAMP_NONE,
		.ticket_next_ms = STAMP_NONE,
		.hold_ms = -1,
	};
}

static int
enabled_parse(const char *value, bool *disabled)
{
	if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
		return -1;
	*disabled = value[0] == 'f';
	return 0;
}

static int
span_parse(const char *value, int64_t *out)
{
	int64_t ms;

	if (duration_parse(value, &ms) || ms < 1)
		return -1;
	*out = ms;
	return 0;
}

static int
value_parse(struct nodepool *p, enum nodepool_key k, const char *value)
{
	switch (k) {
	case NODEPOOL_ENABLED:
		return enabled_parse(value, &p->disabled);
	case NODEPOOL_HOLD_UNTIL:
		return stamp_parse(value, &p->hold_until_ms);
	case NODEPOOL_RELEASED_AT:
		return stamp_parse(value, &p->released_at_ms);
	case NODEPOOL_HOLD_DURATION:
		return span_parse(value, &p->hold_ms);
	case NODEPOOL_KEY_COUNT:
		break;
	}
	return 0;
}

static void
bad_copy(char dst[NODEPOOL_BAD_BYTES], const char *value)
{
	size_t n = 0, left = strlen(value), len;

	if (left == 0) {
		(void)str_copy(dst, NODEPOOL_BAD_BYTES, "(empty)");
		return;
	}
	while ((len = utf8_len(value + n, left - n)) > 0 &&
	       n + len < NODEPOOL_BAD_BYTES)
		n += len;
	memcpy(dst, value, n);
	dst[n] = '\0';
}

void
nodepool_set(struct nodepool *p, enum nodepool_key k, const char *value)
{
	if (value != NULL && value_parse(p, k, value))
		bad_copy(p->bad[k], value);
}

void
nodepool_set_reason(struct nodepool *p, const char *value)
{
	char *to = p->reason;
	bool shows;
	size_t n;

	str_cut(p->reason, sizeof(p->reason), value);
	for (const char *from = p->reason; *from != '\0'; from += n) {
		n = utf8_shown(from, &shows);
		if (shows)
			to = (char *)memmove(to, from, n) + n;
		else
			*to++ = ' ';
	}
	*to = '\0';
}

void
nodepool_keep_spec(struct nodepool *p, const struct nodepool *known)
{
	if (!p->spec_known && known != NULL && strcmp(known->uid, p->uid) == 0)
		p->inert = known->inert;
}

bool
nodepool_by_ticket(const struct nodepool *p)
{
	return p->ticket_ms != STAMP_NONE && p->ticket_ms >= p->hold_until_ms;
}

int64_t
nodepool_until_ms(const struct nodepool *p)
{
	return nodepool_by_ticket(p) ? p->ticket_ms : p->hold_until_ms;
}

int64_t
nodepool_alone_ms(const struct nodepool *p)
{
	if (p->disabled)
		return INT64_MIN;
	if (!p->inert)
		return INT64_MAX;
	return nodepool_until_ms(p);
}
