/* SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <stdio.h>
#include <string.h>

const char *const ann_keys[ANN_COUNT] = {
	[ANN_HOLD] = DEFAULT_HOLD_KEY,
	[ANN_OTHER_HOLD] = "example.com/keep",
	[ANN_MARK] = MARK_KEY,
	[ANN_HELD_KEY] = HELD_KEY_KEY,
};
const struct hold_key hold_default = {DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE};
const struct hold_key hold_other = {"example.com/keep", "yes"};

enum ann
ann_of(const struct hold_key *k)
{
	return strcmp(k->key, hold_default.key) == 0 ? ANN_HOLD
						     : ANN_OTHER_HOLD;
}

/* --- text ----------------------------------------------------------------- */

static int
month_days(int month, int year)
{
	static const int days[] = {31, 28, 31, 30, 31, 30,
				   31, 31, 30, 31, 30, 31};

	return days[month] + (month == 1 && year % 4 == 0);
}

void
stamp_write(int64_t server_ms, char out[TEXT])
{
	int64_t s = server_ms / 1000;
	int days = (int)(s / 86400), year = 1970, month = 0;
	int rest = (int)(s % 86400);

	for (; days >= 365 + (year % 4 == 0); year++)
		days -= 365 + (year % 4 == 0);
	for (; days >= month_days(month, year); month++)
		days -= month_days(month, year);
	snprintf(out, TEXT, "%04d-%02d-%02dT%02d:%02d:%02dZ", year, month + 1,
		 days + 1, rest / 3600, rest / 60 % 60, rest % 60);
}

bool
stamp_read(const char *text, int64_t *server_ms)
{
	int year, month, day, hour, minute, second, end = 0;
	int64_t days = 0;

	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &year, &month, &day,
		   &hour, &minute, &second, &end) != 6 ||
	    end != 20 || text[20] != '\0' || year < 1970 || year > 2099 ||
	    month < 1 || month > 12)
		return false;
	for (int y = 1970; y < year; y++)
		days += 365 + (y % 4 == 0);
	for (int m = 0; m < month - 1; m++)
		days += month_days(m, year);
	*server_ms = ((days + day - 1) * 86400 + hour * 3600 + minute * 60 +
		      second) * 1000;
	return true;
}

void
api_version(uint64_t rv, char out[RV_BYTES])
{
	snprintf(out, RV_BYTES, "%llu", (unsigned long long)rv);
}

static void
held_key_of(const struct hold_key *k, char out[TEXT])
{
	snprintf(out, TEXT, "%.30s=%.20s", k->key, k->value);
}

static bool
is_default(const struct hold_key *k)
{
	return strcmp(k->key, hold_default.key) == 0 &&
	       strcmp(k->value, hold_default.value) == 0;
}

/* --- what the wire makes of it (wire/api/object.c, in small) -------------- */

enum hold
api_hold_of(const char at[ANN_COUNT][TEXT], const struct hold_key *k)
{
	const char *value = at[ann_of(k)];

	if (value[0] == '\0')
		return HOLD_ABSENT;
	return strcmp(value, k->value) == 0 ? HOLD_SAME : HOLD_OTHER;
}

/* Returns the hold for which a mark with this held-key stands.  Its key is "" if
 * the held-key cannot be read. */
static struct hold_key
marked_hold(const char *text)
{
	struct hold_key k = {.key = ""};
	char other[TEXT];

	held_key_of(&hold_other, other);
	if (strcmp(text, other) == 0)
		return hold_other;
	return text[0] == '\0' || strchr(text, '=') != NULL ? hold_default : k;
}

void
api_show(const struct api_object *o, const struct hold_key *hold,
	 struct object *out)
{
	static const struct hold_key none;

	memcpy(out->rv, o->rv, sizeof(out->rv));
	out->hold = api_hold_of(o->at, hold);
	out->has_class = o->class[0] != '\0' || o->class_uid[0] != '\0';
	memset(out->replaces, 0, sizeof(out->replaces));
	if (strcmp(o->class_uid, o->uid) == 0)
		memcpy(out->replaces, o->class, sizeof(out->replaces));
	out->has_held_key = o->at[ANN_HELD_KEY][0] != '\0';
	out->is_other = false;
	out->other_hold = none;
	out->mark = MARK_ABSENT;
	out->mark_ms = STAMP_NONE;
	if (o->at[ANN_MARK][0] == '\0')
		return;
	out->other_hold = marked_hold(o->at[ANN_HELD_KEY]);
	if (strcmp(out->other_hold.key, hold->key) != 0) {
		out->is_other = true;
		out->hold = HOLD_OTHER;
		return;
	}
	out->other_hold = none;
	out->mark = MARK_TIME;
	if (!stamp_read(o->at[ANN_MARK], &out->mark_ms)) {
		out->mark = MARK_ODD;
		out->mark_ms = STAMP_NONE;
	}
}

/* --- reads ---------------------------------------------------------------- */

void
api_metadata_only(struct object *o)
{
	o->launched = o->launch_known = o->registered = o->disrupted = false;
	o->exposed = o->drifted = o->rebooted = o->repaired = false;
	o->ready_ms = o->disrupted_ms = STAMP_NONE;
	o->node_name[0] = '\0';
}

enum controller_code
api_find(const struct action *a, const char *uid, bool served)
{
	/* No resource is not the same as no object. */
	if (!served)
		return act_writes(a->act) ? CONTROLLER_FAILED : CONTROLLER_GONE;
	if (uid == NULL ||
	    (a->act == ACT_READ_CLAIM && strcmp(uid, a->uid) != 0))
		return CONTROLLER_GONE;
	return CONTROLLER_OK;
}

/* --- patches (wire/api/patch.c says what is in them) ---------------------- */

void
api_hold(struct api_object *o, const struct hold_key *hold, int64_t mark_ms)
{
	snprintf(o->at[ann_of(hold)], TEXT, "%.*s", TEXT - 1, hold->value);
	stamp_write(mark_ms, o->at[ANN_MARK]);
	o->at[ANN_HELD_KEY][0] = '\0';
	if (!is_default(hold))
		held_key_of(hold, o->at[ANN_HELD_KEY]);
}

/* The tests of a JSON Patch: of the uid, and of the mark's text or the
 * version. */
static bool
tests_pass(const struct api_object *o, const struct action *a)
{
	char text[TEXT];

	if (strcmp(o->uid, a->uid) != 0 || o->at[ANN_MARK][0] == '\0')
		return false;
	if (!a->mark_exact)
		return strcmp(o->rv, a->rv) == 0;
	stamp_write(a->mark_ms, text);
	return strcmp(o->at[ANN_MARK], text) == 0;
}

static enum controller_code
patch_clear(struct api_object *o, const struct action *a)
{
	if (!tests_pass(o, a) ||
	    (a->has_held_key && o->at[ANN_HELD_KEY][0] == '\0'))
		return CONTROLLER_INVALID;
	if (a->act == ACT_CLEAR) {
		if (api_hold_of(o->at, &a->hold) != HOLD_SAME)
			return CONTROLLER_INVALID;
		o->at[ann_of(&a->hold)][0] = '\0';
	}
	o->at[ANN_MARK][0] = '\0';
	if (a->has_held_key)
		o->at[ANN_HELD_KEY][0] = '\0';
	return CONTROLLER_OK;
}

enum controller_code
api_patch(struct api_object *o, const struct action *a,
	  const struct hold_key *today)
{
	if (a->act == ACT_CLEAR || a->act == ACT_UNMARK)
		return patch_clear(o, a);
	/* Merge patches, under the version that was seen. */
	if (strcmp(o->rv, a->rv) != 0)
		return CONTROLLER_CONFLICT;
	if (a->act == ACT_HOLD) {
		api_hold(o, today, a->mark_ms);
	} else {
		memcpy(o->class, a->replaces, sizeof(o->class));
		memcpy(o->class_uid, o->uid, sizeof(o->class_uid));
	}
	return CONTROLLER_OK;
}

/* --- answers -------------------------------------------------------------- */

bool
reply_refuses(enum reply_fault f, int64_t retry_after_ms, struct controller_outcome *out)
{
	static const enum controller_code codes[] = {
		[REPLY_ERROR] = CONTROLLER_FAILED,
		[REPLY_BUSY] = CONTROLLER_BUSY,
		[REPLY_CONFLICT] = CONTROLLER_CONFLICT,
		[REPLY_GONE] = CONTROLLER_GONE,
		[REPLY_INVALID] = CONTROLLER_INVALID,
		[REPLY_REFUSED] = CONTROLLER_REFUSED,
	};

	if (f < REPLY_ERROR)
		return false;
	*out = (struct controller_outcome){.code = codes[f],
				.retry_after_ms = f == REPLY_BUSY
							  ? retry_after_ms
							  : -1};
	return true;
}

void
reply_heard(enum reply_fault f, struct controller_outcome *out)
{
	if (f != REPLY_WHOLE)
		*out = (struct controller_outcome){.code = CONTROLLER_FAILED,
					.retry_after_ms = -1};
}
