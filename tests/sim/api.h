/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_API_H
#define TESTS_SIM_API_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/object.h"
#include "core/controller/controller.h"

/*
 * The API server as our calls see it: what a patch of ours tests and changes,
 * what wire/api/object makes of annotations, and which answers there are.  It
 * keeps annotations as text and uses none of the product's functions.
 *
 * The simulator (objects.c, holder.c) and the unit tests of the controller
 * (tests/unit/core/world_run.c) have objects, watches and a time of their own.
 * What the API server does with a call is here for both.
 */

#define TEXT 64			/* an annotation's value */

/* Two keys may be the hold; a configuration names one of them. */
enum ann {
	ANN_HOLD,	/* karpenter.sh/do-not-disrupt */
	ANN_OTHER_HOLD,
	ANN_MARK,
	ANN_HELD_KEY,
	ANN_COUNT,
};
extern const char *const ann_keys[ANN_COUNT];
extern const struct hold_key hold_default, hold_other;

enum ann ann_of(const struct hold_key *k);

/* Stamps as annotations have them; from 1970 to 2099, which is all that a
 * history speaks of. */
void stamp_write(int64_t server_ms, char out[TEXT]);
bool stamp_read(const char *text, int64_t *server_ms);

/* What a patch of ours can test and change on an object.  "" is an annotation
 * that is absent. */
struct api_object {
	char uid[UID_BYTES], rv[RV_BYTES];
	char at[ANN_COUNT][TEXT];
	char class[CLASS_BYTES], class_uid[UID_BYTES];
};

/* A resourceVersion as it is written. */
void api_version(uint64_t rv, char out[RV_BYTES]);

/* Hold, mark and held-key, as a patch and the webhook write them. */
void api_hold(struct api_object *o, const struct hold_key *hold,
	      int64_t mark_ms);

/* Is that hold there? */
enum hold api_hold_of(const char at[ANN_COUNT][TEXT],
		      const struct hold_key *k);

/* Fills in what depends on annotations, and the version.  `hold` is the hold that
 * the holder sets. */
void api_show(const struct api_object *o, const struct hold_key *hold,
	      struct object *out);

/* What a list of metadata leaves of an object (ACT_LIST_CLAIMS). */
void api_metadata_only(struct object *o);

/* Is there the object that a read or a write is about?  CONTROLLER_OK, or what the
 * API server says.  `uid` is that of the object of that name, NULL where there
 * is none; `served` is whether there are objects of that kind at all. */
enum controller_code api_find(const struct action *a, const char *uid,
			   bool served);

/* One write of the controller.  Where it is CONTROLLER_OK the object has changed,
 * and the caller gives it a new version; else nothing has. */
enum controller_code api_patch(struct api_object *o, const struct action *a,
			    const struct hold_key *today);

/* What happens to one call. */
enum reply_fault {
	REPLY_WHOLE,
	REPLY_LOST,	/* the call is done, but no answer comes */
	REPLY_LATE,	/* no answer comes, and the call is done later */
	REPLY_ERROR,	/* 500: the call is not done */
	REPLY_BUSY,	/* 429, or 503 */
	REPLY_CONFLICT,	/* 409, though nothing has changed */
	REPLY_GONE,	/* 404, though the object is there */
	REPLY_INVALID,	/* 422, whatever the write contains */
	REPLY_REFUSED,	/* 403, or somebody's webhook fails */
};

/* Is the call turned down before it does anything?  Then *out is the answer. */
bool reply_refuses(enum reply_fault f, int64_t retry_after_ms,
		   struct controller_outcome *out);

/* The call was served; *out is what the caller hears of it. */
void reply_heard(enum reply_fault f, struct controller_outcome *out);

#endif
