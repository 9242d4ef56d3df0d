/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_ADMISSION_ADMISSION_H
#define WIRE_ADMISSION_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/limits.h"
#include "core/rules/admit.h"

/*
 * Decodes and encodes AdmissionReviews (admission.k8s.io/v1,
 * k8s.io/api/admission/v1 types.go).  It decides nothing; the caller runs
 * core/rules/admit between the two:
 *
 *	admission_decode	what the request says
 *	admit_decide		what to answer
 *	admission_encode	the reply
 *
 * Stateless; any thread.
 */
/* Enough for any reply: the largest patch (PATCH_BYTES) in base64, a uid of
 * which every byte is escaped, and the rest of the AdmissionReview. */
#define ADMISSION_REPLY_BYTES (12u << 10)

/* A request that has been understood.  It owns nothing and does not point into
 * the body. */
struct admission_request {
	char uid[REVIEW_UID_BYTES]; /* request.uid; the reply repeats it */
	char name[NAME_BYTES]; /* request.name or object.metadata.name; "" for
				   generateName */
	bool dry_run;
	/* What the patch depends on: metadata.annotations is a map (neither
	 * missing nor null), and the held-key is in it. */
	bool has_annotations, has_held_key;
	struct review review; /* `disabled` is false: the caller sets it */
};

/*
 * Reads one review.  `today` is the configuration's hold; out->review.hold says
 * whether the object has this hold.
 *
 * Returns 0 with *out filled in, even for an object that is malformed or that
 * we do not hold, because such a review needs an answer as well.  Returns -1
 * with *out untouched on failure.  ERR_INPUT or ERR_LIMIT: the body is no
 * review; send 400 with e->text (one line).  Any other code is an error of
 * ours; send 500.
 */
int admission_decode(const char *body, size_t n, const struct hold_key *today,
		     struct admission_request *out, struct err *e);

/*
 * Appends to b the AdmissionReview to send with 200.  If v->patch is set, its
 * patch adds `hold` and a mark with the time mark_ms (server time).  If b is
 * too small, it returns -1 with ERR_SYSTEM and leaves b as it was.
 */
int admission_encode(struct buf *b, const struct admission_request *q,
		     const struct verdict *v, const struct hold_key *hold,
		     int64_t mark_ms, struct err *e);

#endif
