/* SPDX-License-Identifier: Apache-2.0 */
#include "config_keys.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/duration.h"
#include "core/base/str.h"
#include "wire/yaml/yaml.h"

/*
 * Reads and writes single values, as the type of the key says.  A value is
 * stored at an offset of struct config, in the C type that config_keys.h names
 * beside each enum config_type.  memcpy is used because the compiler does not
 * know what is at the offset.
 *
 * An error says what was found and what was expected (config_value_expected).
 * The digits of a number are checked before strtoul or strtoll reads it,
 * because these functions also accept signs and blanks.  config_value_get
 * writes what config_value_set reads back.
 */

const char *
config_value_expected(const struct config_key *k)
{
	static const char *const texts[] = {
		[TYPE_DURATION] = "a duration such as 10m or 1h30m",
		[TYPE_BOOL] = "true or false",
		[TYPE_TEXT] = "a string of printable characters",
		[TYPE_PATH] = "the name of a file",
		[TYPE_ADDRESS] = "host:port, :port or [v6]:port",
		[TYPE_ANNOTATION] =
			"an annotation key such as " DEFAULT_HOLD_KEY,
		[TYPE_LABEL] = "a namespace or \"\"",
		[TYPE_NAME] = "a DNS name of lower case",
		[TYPE_PATTERNS] = "a list of shell patterns such as [\"*\"]",
	};

	if (k->off_only)
		return k->type == TYPE_PATTERNS ? "[]"
		       : k->def[0] == '\0'	? "\"\""
						: k->def;
	if (k->words != NULL && k->type != TYPE_BOOL)
		return k->words;
	if (k->type == TYPE_DURATION && k->min > 0)
		return "a duration above 0 such as 10m";
	return texts[k->type];
}

static int
refuse_value(const struct config_key *k, const char *text, struct err *e)
{
	char shown[YAML_SHOW_BYTES];

	return err_set(e, ERR_INPUT, "%s%s, expected %s",
		       yaml_show(text, shown),
		       k->off_only ? " is not in this version" : "",
		       config_value_expected(k));
}

/* Returns the index of text in "a|b|c", or -1. */
static int
word_index(const char *words, const char *text)
{
	size_t n = strlen(text);

	for (int i = 0; words != NULL; i++) {
		const char *bar = strchr(words, '|');
		size_t len = bar ? (size_t)(bar - words) : strlen(words);

		if (len == n && memcmp(words, text, n) == 0)
			return i;
		words = bar ? bar + 1 : NULL;
	}
	return -1;
}

static void *
field(struct config *c, const struct config_key *k)
{
	return (char *)c + k->offset;
}

static int
set_duration(void *at, const struct config_key *k, const char *text)
{
	int64_t ms;

	if (duration_parse(text, &ms) || ms < k->min ||
	    (k->max > 0 && ms > k->max))
		return -1;
	memcpy(at, &ms, sizeof(ms));
	return 0;
}

/* Reads a number from min to max.  The text `after`, such as "%", has to follow
 * the number. */
static int
read_count(const char *text, const char *after, int64_t min, int64_t max,
	   unsigned *v)
{
	size_t digits = strspn(text, "0123456789");

	if (digits == 0 || digits > 9 || strcmp(text + digits, after) != 0)
		return -1;
	*v = (unsigned)strtoul(text, NULL, 10);
	return *v < min || *v > max ? -1 : 0;
}

static int
set_count(void *at, const struct config_key *k, const char *text)
{
	unsigned v;

	if (read_count(text, "", k->min, k->max, &v))
		return -1;
	memcpy(at, &v, sizeof(v));
	return 0;
}

static int
set_share(void *at, const struct config_key *k, const char *text)
{
	unsigned v[2] = {1, 0};

	if (read_count(text, "%", 1, 100, &v[1]) &&
	    read_count(text, "", k->min, k->max, &v[0]))
		return -1;
	memcpy(at, v, sizeof(v));
	return 0;
}

/* The suffixes of Kubernetes' resource.Quantity, in which memory is written.  A
 * Quantity may also have a fraction or an exponent, which nobody needs here. */
static const struct {
	const char *suffix;
	int64_t bytes;
} units[] = {
	{"", 1},	   {"k", 1000},		 {"M", 1000000},
	{"G", 1000000000}, {"T", 1000000000000}, {"Ki", 1 << 10},
	{"Mi", 1 << 20},   {"Gi", 1 << 30},	 {"Ti", (int64_t)1 << 40},
};

static int
set_bytes(void *at, const struct config_key *k, const char *text)
{
	size_t digits = strspn(text, "0123456789");
	int64_t v = strtoll(text, NULL, 10);

	if (digits == 0 || digits > 18)
		return -1;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(text + digits, units[i].suffix) != 0)
			continue;
		if (v > INT64_MAX / units[i].bytes ||
		    (v *= units[i].bytes) < k->min)
			return -1;
		memcpy(at, &v, sizeof(v));
		return 0;
	}
	return -1;
}

static int
set_word(void *at, const struct config_key *k, const char *text)
{
	int v = word_index(k->words, text);
	bool flag = v == 1;

	if (v < 0)
		return -1;
	if (k->bytes == sizeof(flag))
		memcpy(at, &flag, sizeof(flag));
	else
		memcpy(at, &v, sizeof(v));
	return 0;
}

static bool
is_well_formed(const struct config_key *k, const char *text)
{
	switch (k->type) {
	case TYPE_PATH:
		return text[0] != '\0' && syntax_text(text);
	case TYPE_ADDRESS:
		return syntax_address(text);
	case TYPE_ANNOTATION:
		return syntax_annotation(text);
	case TYPE_LABEL:
		return text[0] == '\0' || syntax_label(text);
	case TYPE_NAME:
		return syntax_subdomain(text);
	default:
		return syntax_text(text);
	}
}

static int
set_string(void *at, const struct config_key *k, const char *text,
	   struct err *e)
{
	char shown[YAML_SHOW_BYTES];

	if (!is_well_formed(k, text))
		return refuse_value(k, text, e);
	if (k->type == TYPE_ANNOTATION &&
	    strncmp(text, OWN_PREFIX, strlen(OWN_PREFIX)) == 0)
		return err_set(
			e, ERR_INPUT,
			"%s is ours, expected a key that Karpenter reads",
			yaml_show(text, shown));
	if (str_copy(at, k->bytes, text))
		return err_set(e, ERR_INPUT,
			       "%zu bytes long, expected at most %zu",
			       strlen(text), k->bytes - 1);
	return 0;
}

/* Accepts only the value that means off.  There is nothing to store, because
 * this version of the program has no such feature. */
static int
set_off(const struct config_key *k, const char *text)
{
	int64_t ms;

	if (k->type == TYPE_DURATION)
		return duration_parse(text, &ms) || ms != 0 ? -1 : 0;
	return strcmp(text, k->def) == 0 ? 0 : -1;
}

int
config_value_set(struct config *c, const struct config_key *k, const char *text,
		 struct err *e)
{
	int rc;

	if (k->off_only)
		return set_off(k, text) ? refuse_value(k, text, e) : 0;
	switch (k->type) {
	case TYPE_DURATION:
		rc = set_duration(field(c, k), k, text);
		break;
	case TYPE_COUNT:
		rc = set_count(field(c, k), k, text);
		break;
	case TYPE_SHARE:
		rc = set_share(field(c, k), k, text);
		break;
	case TYPE_BYTES:
		rc = set_bytes(field(c, k), k, text);
		break;
	case TYPE_WORD:
	case TYPE_BOOL:
		rc = set_word(field(c, k), k, text);
		break;
	default:
		return set_string(field(c, k), k, text, e);
	}
	return rc ? refuse_value(k, text, e) : 0;
}

int
config_value_add(struct config *c, const struct config_key *k, const char *text,
		 struct err *e)
{
	char shown[YAML_SHOW_BYTES];
	struct patterns *p;

	if (k->off_only)
		return refuse_value(k, text, e);
	p = field(c, k);
	if (p->n == NODEPOOL_PATTERNS_MAX)
		return err_set(e, ERR_LIMIT, "too many, expected at most %d",
			       NODEPOOL_PATTERNS_MAX);
	if (text[0] == '\0' || !syntax_text(text) ||
	    str_copy(p->at[p->n], sizeof(p->at[0]), text))
		return err_set(e, ERR_INPUT,
			       "expected a shell pattern of 1 to %d bytes",
			       NODEPOOL_PATTERN_BYTES - 1);
	if (!config_pattern_can_match(text))
		return err_set(e, ERR_INPUT,
			       "%s can match no NodePool, expected a shell "
			       "pattern for DNS names of lower case such as "
			       "\"spot-*\"",
			       yaml_show(text, shown));
	p->n++;
	return 0;
}

static void
get_share(const void *at, struct buf *out)
{
	unsigned v[2];

	memcpy(v, at, sizeof(v));
	buf_printf(out, v[1] > 0 ? "%u%%" : "%u", v[v[1] > 0]);
}

static void
get_bytes(const void *at, struct buf *out)
{
	int64_t v;

	memcpy(&v, at, sizeof(v));
	if (v % (1 << 20) == 0)
		buf_printf(out, "%lldMi", (long long)(v >> 20));
	else
		buf_printf(out, "%lld", (long long)v);
}

static void
get_word(const void *at, const struct config_key *k, struct buf *out)
{
	const char *word = k->words;
	bool flag;
	int v;

	if (k->bytes == sizeof(flag)) {
		memcpy(&flag, at, sizeof(flag));
		v = flag;
	} else {
		memcpy(&v, at, sizeof(v));
	}
	while (v-- > 0)
		word = strchr(word, '|') + 1;
	buf_add(out, word, strcspn(word, "|"));
}

void
config_value_get(const struct config *c, const struct config_key *k,
		 struct buf *out)
{
	char text[DURATION_BYTES];
	const void *at;
	unsigned count;
	int64_t ms;

	if (k->off_only) {
		buf_puts(out, k->def);
		return;
	}
	at = (const char *)c + k->offset;
	if (k->type == TYPE_DURATION) {
		memcpy(&ms, at, sizeof(ms));
		duration_format(ms, text);
		buf_puts(out, text);
	} else if (k->type == TYPE_COUNT) {
		memcpy(&count, at, sizeof(count));
		buf_printf(out, "%u", count);
	} else if (k->type == TYPE_SHARE) {
		get_share(at, out);
	} else if (k->type == TYPE_BYTES) {
		get_bytes(at, out);
	} else if (k->type == TYPE_WORD || k->type == TYPE_BOOL) {
		get_word(at, k, out);
	} else {
		buf_puts(out, at);
	}
}
