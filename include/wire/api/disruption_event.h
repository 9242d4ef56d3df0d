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
 * another (docs/rules.md#consolidation-and-drift).  Each Event is about the new
 * claim.  Karpenter checks a disruption again and again until the new claim is
 * Initialized.  At each check it writes the two Events below, but each of them
 * at most once in 2 minutes (sigs.k8s.io/karpenter v1.14.1,
 * pkg/controllers/disruption/{queue.go,events/events.go}, pkg/events):
 *
 *   DisruptionLaunching         "Launching NodeClaim: Underutilized"
 *   DisruptionWaitingReadiness  "Waiting on readiness to continue disruption"
 *
 * Both are of type Normal and in the namespace default.  involvedObject has
 * kind NodeClaim, apiVersion karpenter.sh/v1, and the claim's name and uid
 * without a namespace.  The functions keep no state; any thread may call them.
 */
struct disruption_event {
	char claim_uid[UID_BYTES];
	char claim_name[NAME_BYTES]; /* for people; "" if it has none */
	char rv[RV_BYTES];	     /* the resourceVersion of the Event */
	/* Why Karpenter disrupts the claim that is replaced: one lower-case
	 * word such as "underutilized", "drifted" or "empty".  "unknown" if the
	 * message does not say why. */
	char reason[32];
	/* Whether this is one of the two Events above.  If not, only rv is
	 * set. */
	bool replacement;
};

/*
 * Where to list and watch Karpenter's Events.  The API server keeps no watch
 * cache of Events (DefaultWatchCacheSizes).  Each watch therefore reads them
 * from etcd, and decodes every Event under its path before it applies the
 * selector.  A narrow path thus saves the API server the most work.  client-go
 * writes Events about objects without a namespace to `default`.  Only accounts
 * that may write Events in `default` can forge such an Event.
 *
 * A selector has no "or", so selecting the reasons of both Events would take
 * two watches, and the API server would read and decode the Events twice.  We
 * use one watch of all Events on NodeClaims, without the reasons that repeat
 * often.  The API server sends no bookmarks on this watch, because bookmarks
 * come from the watch cache.
 */
#define DISRUPTION_EVENTS_PATH "/api/v1/namespaces/default/events"
#define DISRUPTION_EVENTS_SELECTOR                                             \
	"fieldSelector=involvedObject.kind%3DNodeClaim"                        \
	"%2Creason%21%3DDisruptionBlocked%2Creason%21%3DUnconsolidatable"      \
	"%2Creason%21%3DConsolidationCandidate"                                \
	"%2Creason%21%3DConsolidationRejected"

/* A narrower selector, which is enough to recognize replacements: at each check
 * Karpenter writes DisruptionLaunching just before
 * DisruptionWaitingReadiness. */
#define DISRUPTION_EVENTS_SELECTOR_LAUNCHING                                   \
	"fieldSelector=involvedObject.kind%3DNodeClaim"                        \
	"%2Creason%3DDisruptionLaunching"

/* Decodes one item of a list.  ERR_INPUT: the item is not JSON, or has no
 * resourceVersion. */
int disruption_event_decode(const char *bytes, size_t n,
			    struct disruption_event *out, struct err *e);

/* Decodes one watch line, as object_watch_decode does.  For WATCH_BOOKMARK only
 * out->rv is set.  For WATCH_ERROR it also returns 0; it sets *status_code and
 * *e, and leaves *out untouched.  WATCH_DELETED only means that the Event has
 * expired. */
int disruption_event_watch_decode(const char *bytes, size_t n,
				  enum watch_type *type,
				  struct disruption_event *out,
				  int *status_code, struct err *e);

#endif
