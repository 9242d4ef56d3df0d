/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAB_GLUE_H
#define LAB_GLUE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The holder for a caller in another language: the controller of src/core
 * behind plain functions, with the decoders and encoders of src/wire around
 * it.  What goes in is what an API server sends, and what comes out is what
 * the daemon sends to it.
 *
 * holder_review may be called from any thread.  All other functions belong to
 * one thread.  `why` has HOLDER_WHY_BYTES, and says what is wrong if a function
 * returns -1 or NULL.
 */
struct holder;

#define HOLDER_WHY_BYTES 240
#define HOLDER_REPLY_BYTES (16 << 10)

/* The two clocks of core/base/stamp.h. */
struct holder_now {
	int64_t server_ms, boot_ms;
};

/* The order is that of enum kind. */
enum holder_kind {
	HOLDER_NODE,
	HOLDER_NODECLAIM,
	HOLDER_NODEPOOL,
	HOLDER_EVENT,
};

enum holder_do {
	HOLDER_WAIT,
	HOLDER_MERGE_PATCH,
	HOLDER_JSON_PATCH,
	HOLDER_GET,
	HOLDER_LIST, /* a fresh list of metadata */
};

/* What the holder wants done.  `call` names it until holder_done. */
struct holder_step {
	enum holder_do what;
	enum holder_kind kind;
	unsigned call;
	int64_t wait_ms; /* WAIT: INT64_MAX until something comes */
	const char *name; /* of the object, valid until holder_done */
	const char *body; /* of the patch, valid until holder_done */
	size_t body_bytes;
};

/* The order is that of enum controller_code. */
enum holder_code {
	HOLDER_OK,
	HOLDER_CONFLICT,
	HOLDER_INVALID,
	HOLDER_REFUSED,
	HOLDER_GONE,
};

/* Makes a holder that leads and whose lists are all empty.  `config` is the
 * daemon's configuration, as YAML.  *lanes is how many calls may be under way
 * at once. */
struct holder *holder_new(const char *config, size_t n, uint64_t seed,
			  struct holder_now now, unsigned *lanes, char *why);
void holder_free(struct holder *h);

/* Answers an AdmissionReview.  Returns the length of the reply, or -1. */
int holder_review(const struct holder *h, const char *body, size_t n,
		  int64_t server_ms, char reply[HOLDER_REPLY_BYTES], char *why);

/* Takes a line of a watch. */
int holder_line(struct holder *h, enum holder_kind kind, const char *line,
		size_t n, struct holder_now now, char *why);

struct holder_step holder_next(struct holder *h, struct holder_now now);
/* Takes what a GET has read, or one item of a list.  Call it before
 * holder_done. */
int holder_read(struct holder *h, unsigned call, const char *object, size_t n,
		struct holder_now now, char *why);
/* Reports the outcome of a call.  `rv` is the resourceVersion after a patch, or
 * "". */
void holder_done(struct holder *h, unsigned call, enum holder_code code,
		 const char *rv, struct holder_now now);

#endif
