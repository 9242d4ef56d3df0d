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
 * k8s.io/api/admission/v1 types.go).  These functions decide nothing.  The
 * caller runs core/rules/admit between decoding and encoding:
 *
 *	admission_decode	what the request says
 *	admit_decide		what to answer
 *	admission_encode	the reply
 *
 * The functions keep no state; any thread may call them.
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
	/* The patch depends on these two members.  has_annotations: whether
	 * metadata.annotations is a map, neither missing nor null.
	 * has_held_key: whether that map has the held-key annotation
	 * (HELD_KEY_KEY). */
	bool has_annotations, has_held_key;
	struct review review; /* the caller sets review.disabled */
};

/*
 * Reads one review.  `today` is the hold in the configuration; out->review.hold
 * says whether the object has this hold.
 *
 * Returns 0 with *out filled in.  It also returns 0 if the object is malformed
 * or of a kind that we do not hold, because the API server needs an answer to
 * every review.  Returns -1 with *out untouched on failure.  ERR_INPUT or
 * ERR_LIMIT: the body is no review; send 400 with e->text (one line).  Any
 * other code is an error of ours; send 500.
 */
int admission_decode(const char *body, size_t n, const struct hold_key *today,
		     struct admission_request *out, struct err *e);

/*
 * Appends to b the AdmissionReview to send with 200.  If v->patch is set, the
 * answer has a patch that adds `hold` and a mark with the time mark_ms (server
 * time).  If b is too small, returns -1 with ERR_SYSTEM.  b then keeps the text
 * that it had before the call, and b->full is set.
 */
int admission_encode(struct buf *b, const struct admission_request *q,
		     const struct verdict *v, const struct hold_key *hold,
		     int64_t mark_ms, struct err *e);

#endif
