/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/repeat.h"

#include <stddef.h>
#include <string.h>

/* Returns the entry of the phrase.  If the phrase has no entry, it gets a free
 * one.  Returns NULL if no entry is free. */
static struct repeat *
repeat_find(struct repeats *r, const char *phrase, int64_t now_ms)
{
	struct repeat *unused = NULL;

	for (int i = 0; i < REPEAT_PHRASES; i++) {
		struct repeat *at = &r->at[i];

		if (at->phrase != NULL && strcmp(at->phrase, phrase) == 0)
			return at;
		if (unused == NULL && at->kept_back == 0 &&
		    (at->phrase == NULL || at->until_ms <= now_ms))
			unused = at;
	}
	if (unused != NULL)
		*unused = (struct repeat){.phrase = phrase, .until_ms = now_ms};
	return unused;
}

bool
repeats_allow(struct repeats *r, const char *phrase, unsigned burst,
	      int64_t now_ms)
{
	struct repeat *at;
	bool allow = true;

	at = repeat_find(r, phrase, now_ms);
	if (at != NULL) {
		/* An entry with suppressed lines stays as it is until
		 * repeats_report has reported these lines. */
		if (at->until_ms <= now_ms && at->kept_back == 0) {
			at->until_ms = now_ms + REPEAT_WINDOW_MS;
			at->said = 0;
		}
		allow = at->said < burst;
		at->said += allow;
		at->kept_back += !allow;
		if (!allow && at->until_ms < r->due_ms)
			r->due_ms = at->until_ms;
	}
	return allow;
}

static int64_t
next_due(const struct repeats *r)
{
	int64_t due_ms = INT64_MAX;

	for (int i = 0; i < REPEAT_PHRASES; i++)
		if (r->at[i].kept_back > 0 && r->at[i].until_ms < due_ms)
			due_ms = r->at[i].until_ms;
	return due_ms;
}

bool
repeats_report(struct repeats *r, int64_t now_ms, const char **phrase,
	       unsigned *kept_back)
{
	bool found = false;

	if (now_ms < r->due_ms)
		return false;
	for (int i = 0; i < REPEAT_PHRASES && !found; i++) {
		struct repeat *at = &r->at[i];

		if (at->kept_back == 0 || at->until_ms > now_ms)
			continue;
		*phrase = at->phrase;
		*kept_back = at->kept_back;
		*at = (struct repeat){0};
		found = true;
	}
	r->due_ms = next_due(r);
	return found;
}
