/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_API_DISRUPTION_EVENT_H
#define WIRE_API_DISRUPTION_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/base/limits.h"
#include "wire/api/watch.h"

/*
 * Decodes the core/v1 Events by which Karpenter says that a NodeClaim replaces
 * another (docs/rules.md#consolidation-and-drift).  They are about the new
 * claim.  Karpenter writes them at each pass over a command until the claim is
 * Initialized, at most every 2 min (sigs.k8s.io/karpenter v1.14.1,
 * pkg/controllers/disruption/{queue.go,events/events.go}, pkg/events):
 *
 *   DisruptionLaunching         "Launching NodeClaim: Underutilized"
 *   DisruptionWaitingReadiness  "Waiting on readiness to continue disruption"
 *
 * Both are Normal.  involvedObject has kind NodeClaim, apiVersion
 * karpenter.sh/v1, and the claim's name and uid without a namespace.  The Event
 * is in namespace default.  Stateless; any thread.
 */
struct disruption_event {
	char claim_uid[UID_BYTES];
	char claim_name[NAME_BYTES]; /* for people; "" if it has none */
	char rv[RV_BYTES];	     /* the resourceVersion of the Event */
	char reason[32];	     /* "underutilized", "drifted", "empty", or
				   another single word; "unknown" without one */
	bool replacement; /* false: it is another Event, and only rv is
				   set */
};

/*
 * Where to list and watch Karpenter's Events.  The API server keeps no watch
 * cache of Events (DefaultWatchCacheSizes): each watch reads them from etcd and
 * decodes every Event under its path before it applies the selector.  A narrow
 * path therefore saves the most.  client-go writes Events about objects without
 * a namespace to `default`, and only accounts that may write there can forge
 * one.
 *
 * A selector has no "or", so selecting both reasons would take two watches and
 * make the API server do this work twice.  We use one watch of all Events on
 * NodeClaims, without the reasons that repeat often.  The API server sends no
 * bookmarks on this watch, because bookmarks come from the watch cache.
 */
#define DISRUPTION_EVENTS_PATH "/api/v1/namespaces/default/events"
#define DISRUPTION_EVENTS_SELECTOR                                             \
	"fieldSelector=involvedObject.kind%3DNodeClaim"                        \
	"%2Creason%21%3DDisruptionBlocked%2Creason%21%3DUnconsolidatable"      \
	"%2Creason%21%3DConsolidationCandidate"                                \
	"%2Creason%21%3DConsolidationRejected"

/* A cheaper selector, which is enough to recognize replacements: Karpenter
 * writes DisruptionWaitingReadiness only right after DisruptionLaunching, in
 * the same pass. */
#define DISRUPTION_EVENTS_SELECTOR_LAUNCHING                                   \
	"fieldSelector=involvedObject.kind%3DNodeClaim"                        \
	"%2Creason%3DDisruptionLaunching"

/* Decodes one item of a list.  ERR_INPUT: it is no JSON, or an Event without a
 * resourceVersion. */
int disruption_event_decode(const char *bytes, size_t n,
			    struct disruption_event *out, struct err *e);

/* Decodes one watch line, like object_watch_decode.  Returns 0 also for
 * WATCH_ERROR, where *status_code and e are set and out is untouched.  Of a
 * BOOKMARK only out->rv is set.  DELETED only means that the Event has
 * expired. */
int disruption_event_watch_decode(const char *bytes, size_t n,
				  enum watch_type *type,
				  struct disruption_event *out,
				  int *status_code, struct err *e);

#endif
