/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_ADMISSION_ADMISSION_H
#define WIRE_ADMISSION_ADMISSION_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/rules/admit.h"

/*
 * AdmissionReview admission.k8s.io/v1 (k8s.io/api/admission/v1 types.go):
 * bytes in, bytes out, by core/rules/admit in between.  Stateless; any thread.
 */

/* What was decided, for metrics, the log and the hint. */
struct admission_fact {
	struct review review;
	struct verdict verdict;
	char name[NAME_BYTES];	/* request.name or object.metadata.name; "" for
				   generateName */
};

#define REVIEW_UID_BYTES 129	/* a UUID has 36; longer ones are refused */
/* Enough for any answer: the largest patch (PATCH_BYTES) in base64, the uid
 * were it all escapes, and the frame. */
#define ADMISSION_REPLY_BYTES (12u << 10)

/* What the answer depends on beside the review.  disabled: is the NodePool, by
 * its annotation?  NULL: none is. */
struct admission_terms {
	const struct rules *rules;
	bool (*disabled)(void *ctx, const char *pool);
	void *ctx;
	int64_t now_ms;		/* server time: the mark's value */
};

/*
 * Answers one review.
 *  0  *reply holds the AdmissionReview to send with 200
 * -1  ERR_INPUT or ERR_LIMIT: send 400 with e->text (one line); any other
 *     code is our own fault: 500
 *
 * What a mark on the object stands for is named by its held-key, and is the
 * default hold without one.  Where that hold is absent, today's counts
 * (review.hold): a patch would overwrite it, and it may be a person's.
 */
int admission_answer(const struct admission_terms *t, const char *body,
		     size_t n, struct buf *reply, struct admission_fact *fact,
		     struct err *e);

#endif
