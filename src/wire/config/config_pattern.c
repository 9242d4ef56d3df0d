/* SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <string.h>

#include "config_keys.h"
#include "core/base/limits.h"

/*
 * Finds out whether a shell pattern can match the name of a NodePool.  Such a
 * name is a DNS subdomain: labels that are joined by '.'.  A label consists of
 * a-z and 0-9 and, between these, '-'.
 *
 * We read the pattern one element at a time (a character, '?', '*' or a bracket
 * expression).  After each element we keep the set of states in which the
 * names that match so far may be.  fnmatch decides which characters an element
 * matches; the code here decides only where an element ends.  If C libraries
 * disagree about that, the answer is yes, because refusing a good pattern is
 * worse than accepting a useless one.
 *
 * Lengths do not matter: a name of 253 bytes is allowed, and the shortest name
 * that a pattern matches is no longer than the pattern.
 */

enum {
	LABEL_BEGINS = 1, /* at the start, or after '.' */
	AFTER_ALNUM = 2,  /* a name may end here */
	AFTER_DASH = 4,
	ANYWHERE = LABEL_BEGINS | AFTER_ALNUM | AFTER_DASH,
};

static unsigned
step(unsigned from, char c)
{
	if (c == '.')
		return from & AFTER_ALNUM ? LABEL_BEGINS : 0;
	if (c == '-')
		return from & (AFTER_ALNUM | AFTER_DASH) ? AFTER_DASH : 0;
	return from != 0 ? AFTER_ALNUM : 0;
}

/* Returns the length of the class at p, such as "[:lower:]", or 0. */
static size_t
class_bytes(const char *p)
{
	static const char *const classes[] = {
		"[:alnum:]", "[:alpha:]", "[:blank:]", "[:cntrl:]",
		"[:digit:]", "[:graph:]", "[:lower:]", "[:print:]",
		"[:punct:]", "[:space:]", "[:upper:]", "[:xdigit:]"};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (strncmp(p, classes[i], strlen(classes[i])) == 0)
			return strlen(classes[i]);
	return 0;
}

/* Returns the length of the bracket expression at p.  Returns 1 if it has no
 * end, because it is then a plain '[', and 0 if C libraries disagree about its
 * end. */
static size_t
bracket_bytes(const char *p)
{
	size_t i = p[1] == '!' || p[1] == '^' ? 2 : 1, class;

	if (p[i] == ']' && p[1] == '^')
		/* In a C library that does not read '^' as "not", this ']' ends
		 * the expression. */
		return 0;
	i += p[i] == ']';
	for (; p[i] != '\0' && p[i] != ']'; i++) {
		if (p[i] == '\\')
			return 0;
		if (p[i] != '[' || p[i + 1] == '\0' ||
		    strchr(":.=", p[i + 1]) == NULL)
			continue;
		class = class_bytes(p + i);
		if (class == 0 || p[i - 1] == '-')
			return 0;
		i += class - 1;
	}
	return p[i] == ']' ? i + 1 : 1;
}

static size_t
element_bytes(const char *p)
{
	if (*p == '[')
		return bracket_bytes(p);
	return *p == '\\' && p[1] != '\0' ? 2 : 1;
}

/* Returns the set of states in which a name may be after this element, if it
 * was in one of the states `from` before. */
static unsigned
pass(unsigned from, const char *element)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
	unsigned to = 0;

	if (strcmp(element, "*") == 0)
		return from != 0 ? ANYWHERE : 0;
	for (const char *c = chars; *c != '\0'; c++)
		if (fnmatch(element, (const char[]){*c, '\0'}, 0) == 0)
			to |= step(from, *c);
	return to;
}

bool
config_pattern_can_match(const char *s)
{
	char element[NODEPOOL_PATTERN_BYTES];
	unsigned states = LABEL_BEGINS;

	while (*s != '\0') {
		size_t n = element_bytes(s);

		if (n == 0 || n >= sizeof(element))
			return true;
		memcpy(element, s, n);
		element[n] = '\0';
		states = pass(states, element);
		s += n;
	}
	return (states & AFTER_ALNUM) != 0;
}
