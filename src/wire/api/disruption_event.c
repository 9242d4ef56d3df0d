/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api/disruption_event.h"

#include <string.h>

#include "core/base/str.h"
#include "wire/api/meta.h"
#include "wire/json/json.h"

#define LAUNCHING "Launching NodeClaim: "

/* Copies a word of ASCII letters in lower case.  Fails for any other text,
 * because the word becomes the value of an annotation. */
static int
word_lower(char *dst, size_t cap, const char *s)
{
	size_t n = 0;

	for (; s[n] != '\0'; n++) {
		bool upper = s[n] >= 'A' && s[n] <= 'Z';

		if (n + 1 >= cap || (!upper && (s[n] < 'a' || s[n] > 'z')))
			return -1;
		dst[n] = (char)(upper ? s[n] - 'A' + 'a' : s[n]);
	}
	dst[n] = '\0';
	return n > 0 ? 0 : -1;
}

/* Reads the reason.  The text LAUNCHING may stand anywhere in the message,
 * because client-go may put "(combined from similar events): " before it. */
static void
reason_read(const char *message, struct disruption_event *s)
{
	const char *at = message == NULL ? NULL : strstr(message, LAUNCHING);

	if (at == NULL ||
	    word_lower(s->reason, sizeof(s->reason), at + strlen(LAUNCHING)))
		(void)str_copy(s->reason, sizeof(s->reason), "unknown");
}

/* Reads which NodeClaim the Event is about.  Only the UID identifies the claim,
 * so a text that cannot be a UID identifies none. */
static bool
claim_read(const struct json *ref, struct disruption_event *s)
{
	const char *uid = json_string(json_member(ref, "uid"));
	const char *name = json_string(json_member(ref, "name"));

	if (!meta_reference_is_claim(ref) || uid == NULL || uid[0] == '\0' ||
	    str_copy(s->claim_uid, sizeof(s->claim_uid), uid))
		return false;
	if (name != NULL)
		(void)str_copy(s->claim_name, sizeof(s->claim_name), name);
	return true;
}

static int
event_read(void *out, const struct json *root, struct err *e)
{
	const struct json *meta = json_member(root, "metadata");
	const char *rv = json_string(json_member(meta, "resourceVersion"));
	struct disruption_event s = {0};

	if (rv == NULL || *rv == '\0' || str_copy(s.rv, sizeof(s.rv), rv))
		return err_set(e, ERR_INPUT,
			       "an Event without a resourceVersion");
	s.replacement =
		(json_says(root, "reason", "DisruptionLaunching") ||
		 json_says(root, "reason", "DisruptionWaitingReadiness")) &&
		claim_read(json_member(root, "involvedObject"), &s);
	if (s.replacement)
		reason_read(json_string(json_member(root, "message")), &s);
	*(struct disruption_event *)out = s;
	return 0;
}

/* The members that are read. */
static const struct json_keep claim_keep[] = {{"apiVersion", NULL},
					      {"kind", NULL},
					      {"name", NULL},
					      {"uid", NULL},
					      {NULL, NULL}};
static const struct json_keep metadata_keep[] = {{"resourceVersion", NULL},
						 {NULL, NULL}};
static const struct json_keep event_keep[] = {
	WATCH_STATUS_KEEP, /* also names reason and message */
	{"metadata", metadata_keep},
	{"involvedObject", claim_keep},
	{NULL, NULL}};
static const struct json_keep line_keep[] = {WATCH_LINE_KEEP(event_keep),
					     {NULL, NULL}};

int
disruption_event_decode(const char *bytes, size_t n,
			struct disruption_event *out, struct err *e)
{
	return watch_item_decode(bytes, n, event_keep, &json_bounds_small,
				 event_read, out, e);
}

int
disruption_event_watch_decode(const char *bytes, size_t n,
			      enum watch_type *type,
			      struct disruption_event *out, int *status_code,
			      struct err *e)
{
	char rv[RV_BYTES];

	if (watch_line_decode(bytes, n, line_keep, &json_bounds_small, type,
			      status_code, rv, event_read, out, e))
		return -1;
	if (*type == WATCH_BOOKMARK) {
		*out = (struct disruption_event){0};
		memcpy(out->rv, rv, sizeof(out->rv));
	}
	return 0;
}
