/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_SIGHTING_H
#define DAEMON_SIGHTING_H

#include "core/base/nodepool.h"
#include "core/base/object.h"
#include "state.h"
#include "wire/api/disruption_event.h"
#include "wire/api/watch.h"

/* A sighting is an object of any kind that a list or watch has shown.  A
 * watcher decodes it here and passes it to the state.  Each watcher's thread
 * calls these functions with sightings of its own. */
struct sighting {
	enum kind kind; /* selects the member of `as` */
	union {
		struct object object; /* Node, NodeClaim */
		struct nodepool nodepool;
		struct disruption_event event;
		struct ticket ticket;
	} as;
};

/* sighting_item decodes one item of a list.  sighting_line decodes one line of
 * a watch, as object_watch_decode does.  The caller sets out->kind first.
 * The bytes may be cut (wire/api/split).  Of an object that is too large the
 * metadata is decoded.  Both return -1 if they could not decode even that.  If
 * the error is ERR_SYSTEM, there was no memory, and the caller has to list or
 * watch again.  After any other error they have logged why the object is left
 * out. */
int sighting_item(const char *bytes, size_t n, const struct hold_key *hold,
		  struct sighting *out, struct err *e);
int sighting_line(const char *bytes, size_t n, const struct hold_key *hold,
		  enum watch_type *type, struct sighting *out, int *status_code,
		  struct err *e);

/* Returns the object's resourceVersion, which belongs to *o. */
const char *sighting_rv(const struct sighting *o);
/* Passes an object that a list showed to the state. */
void sighting_track(struct state *s, const struct sighting *o);
/* Tracks or forgets the object, as the type of the watch line says. */
void sighting_take(struct state *s, enum watch_type type,
		   const struct sighting *o);

#endif
