/* SPDX-License-Identifier: Apache-2.0 */
#include "sighting.h"

#include "edge/log.h"
#include "wire/api/nodepool.h"
#include "wire/api/object.h"
#include "wire/api/resource.h"
#include "wire/api/ticket.h"

/* Takes an object that the decoder has refused because of *e.  The metadata of
 * a NodeClaim or NodePool, and the name of a ticket, are read all the same.
 * Returns -1 if they cannot be read either, so that the object is left out.  If
 * there was no memory, nothing is logged, because the caller lists or watches
 * again. */
static int
refused(const char *bytes, size_t n, const struct hold_key *hold,
	enum watch_type *type, struct sighting *out, const struct err *e)
{
	const char *name = out->as.object.name;
	int rc = -1;

	if (e->code == ERR_SYSTEM)
		return -1;
	if (out->kind == KIND_TICKET &&
	    ticket_unread_decode(bytes, n, type, &out->as.ticket, e) == 0)
		return 0; /* the controller reports it */
	if (out->kind == KIND_NODECLAIM)
		rc = object_unread_decode(bytes, n, hold, type,
					  &out->as.object);
	if (out->kind == KIND_NODEPOOL) {
		rc = nodepool_unread_decode(bytes, n, type, &out->as.nodepool);
		name = out->as.nodepool.name;
	}
	if (log_ratelimit("object left out", 10))
		LOG(LOG_WARN, "object left out",
		    LS("resource", resources[out->kind].name),
		    LS("name", rc == 0 ? name : ""), LS("err", e->text));
	return rc;
}

static int
too_large(size_t n, struct err *e)
{
	return n <= ITEM_BYTES_MAX
		       ? 0
		       : err_set(e, ERR_LIMIT, "%zu bytes, more than %u", n,
				 ITEM_BYTES_MAX);
}

static int
item_decode(const char *bytes, size_t n, const struct hold_key *hold,
	    struct sighting *out, struct err *e)
{
	if (out->kind == KIND_NODEPOOL)
		return nodepool_decode(bytes, n, &out->as.nodepool, e);
	if (out->kind == KIND_EVENT)
		return disruption_event_decode(bytes, n, &out->as.event, e);
	if (out->kind == KIND_TICKET)
		return ticket_decode(bytes, n, &out->as.ticket, e);
	return object_decode(bytes, n, out->kind, hold, &out->as.object, e);
}

int
sighting_item(const char *bytes, size_t n, const struct hold_key *hold,
	      struct sighting *out, struct err *e)
{
	if (too_large(n, e) || item_decode(bytes, n, hold, out, e))
		return refused(bytes, n, hold, NULL, out, e);
	return 0;
}

static int
any_line_decode(const char *bytes, size_t n, const struct hold_key *hold,
		enum watch_type *type, struct sighting *out, int *status_code,
		struct err *e)
{
	if (out->kind == KIND_NODEPOOL)
		return nodepool_watch_decode(bytes, n, type, &out->as.nodepool,
					     status_code, e);
	if (out->kind == KIND_EVENT)
		return disruption_event_watch_decode(
			bytes, n, type, &out->as.event, status_code, e);
	if (out->kind == KIND_TICKET)
		return ticket_watch_decode(bytes, n, type, &out->as.ticket,
					   status_code, e);
	return object_watch_decode(bytes, n, out->kind, hold, type,
				   &out->as.object, status_code, e);
}

int
sighting_line(const char *bytes, size_t n, const struct hold_key *hold,
	      enum watch_type *type, struct sighting *out, int *status_code,
	      struct err *e)
{
	if (too_large(n, e) ||
	    any_line_decode(bytes, n, hold, type, out, status_code, e))
		return refused(bytes, n, hold, type, out, e);
	return 0;
}

const char *
sighting_rv(const struct sighting *o)
{
	switch (o->kind) {
	case KIND_NODEPOOL:
		return o->as.nodepool.rv;
	case KIND_EVENT:
		return o->as.event.rv;
	case KIND_TICKET:
		return o->as.ticket.rv;
	default:
		return o->as.object.rv;
	}
}

void
sighting_track(struct state *s, const struct sighting *o)
{
	switch (o->kind) {
	case KIND_NODEPOOL:
		state_nodepool(s, &o->as.nodepool);
		break;
	case KIND_EVENT:
		if (o->as.event.replacement)
			state_disruption_event(s, o->as.event.claim_uid,
					       o->as.event.reason);
		break;
	case KIND_TICKET:
		state_ticket(s, &o->as.ticket);
		break;
	default:
		state_track(s, &o->as.object);
	}
}

/* Forgets a deleted object.  The deletion of an Event only means that it has
 * expired. */
static void
forget(struct state *s, const struct sighting *o)
{
	if (o->kind == KIND_NODEPOOL)
		state_nodepool_gone(s, o->as.nodepool.name);
	else if (o->kind == KIND_TICKET)
		state_ticket_gone(s, o->as.ticket.name);
	else if (o->kind != KIND_EVENT)
		state_forget(s, &o->as.object);
}

void
sighting_take(struct state *s, enum watch_type type, const struct sighting *o)
{
	if (type == WATCH_ADDED || type == WATCH_MODIFIED)
		sighting_track(s, o);
	else if (type == WATCH_DELETED)
		forget(s, o);
}
