/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_NODEPOOL_H
#define CORE_BASE_NODEPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/object.h"
#include "core/base/stamp.h"

/*
 * What we keep of a NodePool (karpenter.sh/v1): its identity, what people have
 * written in its annotations (docs/rules.md#nodepool-annotations), and whether
 * its spec leaves a hold without any effect
 * (docs/rules.md#nodepools-left-alone).  wire/api/nodepool decodes each list
 * item and watch line into a struct nodepool.  It is a plain value that owns
 * nothing and is copied with `=`.  The functions are pure, so any thread may
 * call them.
 */

/* The annotations: name in enum nodepool_key, key, and what a good value looks
 * like. */
#define NODEPOOL_KEYS(X)                                                       \
	X(ENABLED, OWN_PREFIX "enabled", "\"true\" or \"false\"")              \
	X(HOLD_UNTIL, OWN_PREFIX "hold-until",                                 \
	  "an RFC 3339 time such as 2026-01-02T03:04:05Z")                     \
	X(RELEASED_AT, OWN_PREFIX "released-at",                               \
	  "an RFC 3339 time such as 2026-01-02T03:04:05Z")                     \
	X(HOLD_DURATION, OWN_PREFIX "hold-duration",                           \
	  "a duration above 0 such as 10m")

enum nodepool_key {
#define X(name, key, expected) NODEPOOL_##name,
	NODEPOOL_KEYS(X)
#undef X
		NODEPOOL_KEY_COUNT,
};

/* Bytes of a bad value that are kept, so that a person can recognize it. */
#define NODEPOOL_BAD_BYTES 64

#define NODEPOOL_REASON_KEY OWN_PREFIX "reason"
/* With so many characters wrong a key is still taken for one of ours: as many
 * as in "karpenter-node-holder/hold-untill".  Another word behind our prefix
 * may mean the opposite, as "disabled" does, so which key was meant is known
 * only with NODEPOOL_KEY_SURE. */
#define NODEPOOL_KEY_TYPOS 4
#define NODEPOOL_KEY_SURE 2

struct nodepool {
	char name[NODEPOOL_BYTES];
	char uid[UID_BYTES];
	char rv[RV_BYTES]; /* metadata.resourceVersion, opaque */
	/* metadata.generation, which grows with each change of the spec, or 0
	 * if it is missing. */
	long long generation;
	/* The NodePool is too large or cannot be decoded, and *p has only its
	 * metadata (docs/rules.md#objects-that-are-too-large). */
	bool unread;
	/* Whether the spec is known.  If only the metadata was read, `inert`
	 * has no meaning. */
	bool spec_known;
	/* Karpenter never consolidates the nodes of this NodePool, because it
	 * has spec.replicas or spec.disruption.consolidateAfter: Never. */
	bool inert;
	bool disabled;	       /* enabled: "false" */
	int64_t hold_until_ms; /* server_ms, or STAMP_NONE if none */
	/* The released-at (server_ms), or STAMP_NONE if there is none.  If it
	 * is in the future, the controller, which knows the time, reports it as
	 * bad. */
	int64_t released_at_ms;
	int64_t hold_ms; /* -1 if the configuration's holdDuration applies */

	/* For each annotation with an unreadable value, that value, cut after a
	 * whole character, or "(empty)" if it is empty.  "" if the annotation
	 * is good or missing. */
	char bad[NODEPOOL_KEY_COUNT][NODEPOOL_BAD_BYTES];

	/* The controller sets the next three members (server_ms, or
	 * STAMP_NONE).  ticket_ms is until when tickets hold this NodePool.
	 * ticket_least_ms is until when they hold it even if they end earlier
	 * (TICKET_LEAST_MS).  ticket_next_ms is when the controller looks at
	 * the NodePool's tickets again. */
	int64_t ticket_ms, ticket_least_ms, ticket_next_ms;

	/* The value of NODEPOOL_REASON_KEY, in which a person gives a reason;
	 * "" if there is none.  It is shown and never interpreted. */
	char reason[REASON_BYTES];
};

/* Makes *p a NodePool without name and annotations. */
void nodepool_init(struct nodepool *p);

/* Sets the field of annotation k from its value, which is UTF-8, or NULL if the
 * annotation is missing.  Call it once for each k, after nodepool_init.  A
 * value that cannot be read leaves the field as it is and is copied to bad[k].
 * Durations have the same syntax and bounds as in the configuration
 * (duration_parse). */
void nodepool_set(struct nodepool *p, enum nodepool_key k, const char *value);

/* Sets the reason from the annotation's value, which is UTF-8, or NULL if the
 * annotation is missing.  The reason is cut at a whole character, and control
 * characters become blanks. */
void nodepool_set_reason(struct nodepool *p, const char *value);

/* If only the metadata of *p is known, copies what we keep of the spec from
 * `known`, the NodePool that was known by this name before.  If `known` is
 * NULL, or has another uid, the spec counts as empty. */
void nodepool_keep_spec(struct nodepool *p, const struct nodepool *known);

/* Returns until when people or tickets hold the NodePool (server_ms), or
 * STAMP_NONE if none do. */
int64_t nodepool_until_ms(const struct nodepool *p);
/* Returns whether tickets hold the NodePool, and its hold-until does not end
 * later. */
bool nodepool_by_ticket(const struct nodepool *p);

/* Returns the moment (server_ms) from which the NodePool is left alone:
 * INT64_MIN (always) if it is disabled, or if it is inert and neither a
 * hold-until nor a ticket holds it; nodepool_until_ms if it is inert and held
 * by one of these; otherwise INT64_MAX (never). */
int64_t nodepool_alone_ms(const struct nodepool *p);

/* Returns the annotation's key, such as "karpenter-node-holder.io/enabled".
 * Static. */
const char *nodepool_key_name(enum nodepool_key k);

/* Returns which key of ours somebody meant by this one: the same if it is one
 * of ours, "" if it looks like ours and nobody knows which one was meant, and
 * NULL if it does not look like ours.  Static. */
const char *nodepool_key_meant(const char *key);

/* Returns what a good value of annotation k looks like, to follow the word
 * "expected" in a message: "a duration above 0 such as 10m".  Static. */
const char *nodepool_expected(enum nodepool_key k);

#endif
