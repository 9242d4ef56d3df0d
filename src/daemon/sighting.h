/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_SIGHTING_H
#define DAEMON_SIGHTING_H

#include "core/base/nodepool.h"
#include "state.h"
#include "wire/api/disruption_event.h"
#include "wire/api/object.h"

/* What a watcher sees, of whatever kind, on its way from wire to the table. */
struct sighting {
	enum kind kind;
	union {
		struct object object;
		struct nodepool pool;
		struct disruption_event sign;
	} as;
};

/* One item of a list; one line of a watch, as watch_decode.  out->kind is to
 * be set before.  -1: it cannot be read, and the log says why. */
int sighting_item(const char *bytes, size_t n, const struct hold_key *hold,
		  struct sighting *out);
int sighting_line(const char *bytes, size_t n, const struct hold_key *hold,
		  enum watch_type *type, struct sighting *out,
		  int *status_code, struct err *e);

const char *sighting_rv(const struct sighting *o);
void sighting_track(struct state *s, const struct sighting *o);
/* As a line of a watch says. */
void sighting_take(struct state *s, enum watch_type type,
		   const struct sighting *o);

#endif
