/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_KUBE_FOLLOW_H
#define EDGE_KUBE_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/object.h"
#include "edge/kube/kube.h"
#include "edge/timing.h"
#include "wire/api/split.h"
#include "wire/api/watch.h"

/*
 * Keeps one resource listed and watched, as a client-go reflector does.
 * core/protocol/reflect decides what to do; struct follow makes the calls,
 * splits the answers into items and lines while they arrive, and passes these
 * to the functions of its owner.  It keeps only the item or line that is not
 * complete yet.
 *
 * A follower belongs to one thread, which also runs the owner's functions.
 * Only the functions marked "any thread" may be called by others.
 */
struct follow;

/* What a line of a watch says.  The owner's function fills it in. */
struct follow_line {
	enum watch_type type;
	/* resourceVersion of the object or bookmark, or "" if unknown. */
	char rv[RV_BYTES];
	int code; /* For WATCH_ERROR: the Status' code. */
};

/* Why a watch has ended. */
enum follow_end {
	FOLLOW_ENDED,	/* the API server ended it, as it does after a while */
	FOLLOW_EXPIRED, /* 410: a new list follows */
	FOLLOW_SILENT,	/* no complete line came for too long */
	FOLLOW_FAILED,
};

/* The owner's functions.  ctx is that of struct follow_setup. */
struct follow_calls {
	/* A list begins.  After a failure it begins again from the start. */
	void (*listing)(void *ctx);
	/* Takes an item of the list, which may be cut (split_new).  Returns 0
	 * if it has used the item or left it out.  If it returns -1 with *e
	 * set, the list fails. */
	split_item_fn *item;
	/* The list is complete.  served is false if the API server does not
	 * serve the resource. */
	void (*listed)(void *ctx, bool served);
	/* A watch is open.  `sure` is false if the previous watch ended at once
	 * and without a line.  The function is then called again, with true,
	 * when the first line comes. */
	void (*watching)(void *ctx, bool sure);
	/* Takes a line of the watch, which may be cut (split_new).  Returns 0
	 * if it has filled in *out (and *e with the message of a WATCH_ERROR),
	 * or 1 if it has left the line out.  If it returns -1 with *e set, the
	 * watch fails. */
	int (*line)(void *ctx, const char *bytes, size_t n,
		    struct follow_line *out, struct err *e);
	/* The call of the watch has ended.  The watch may never have been
	 * open. */
	void (*closed)(void *ctx);
	/* Says why the watch has ended.  This is not called if follow_restart
	 * or follow_cancel ended the watch. */
	void (*ended)(void *ctx, enum follow_end why);
	/* A list or watch failed, and is tried again.  `what` says what failed,
	 * as in "list failed".  `status` is the HTTP status, or 0. */
	void (*trouble)(void *ctx, const char *what, int status,
			const char *why);
};

/* Everything that the struct points to must outlive the follower. */
struct follow_setup {
	struct kube *kube;
	const struct clock *clock;
	const struct timing *timing;
	enum kind kind;
	const char *namespace_name; /* the namespace of tickets; else ignored */
	const struct follow_calls *calls;
	void *ctx;
};

/* Returns NULL on failure, and *e says why. */
struct follow *follow_new(const struct follow_setup *s, struct err *e);
void follow_free(struct follow *f); /* NULL is allowed */

/* Makes the next call, and returns 0 when the call has ended.  If no call is
 * due, it returns at once, with the number of milliseconds to wait. */
int64_t follow_step(struct follow *f);

/* Any thread: ends the call in flight, if there is one, and lists again at
 * once. */
void follow_restart(struct follow *f);
/* Any thread: ends the call in flight and all later ones. */
void follow_cancel(struct follow *f);
/* Returns the stream of the follower's calls, for kube_stream_heartbeat_age_ms.
 * The stream belongs to the follower. */
const struct kube_stream *follow_stream(const struct follow *f);

#endif
