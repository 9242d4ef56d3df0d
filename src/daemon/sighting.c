/* SPDX-License-Identifier: Apache-2.0 */
#include "sighting.h"

#include "edge/log.h"
#include "wire/api/nodepool.h"
#include "wire/api/object.h"
#include "wire/api/resource.h"
#include "wire/api/ticket.h"

/* Logs why the object is left out.  It logs nothing if there was no memory,
 * because the caller then lists or watches again.  Returns -1. */
static int
left_out(enum kind kind, const struct err *e)
{
	if (e->code != ERR_SYSTEM && log_ratelimit("object left out", 10))
		LOG(LOG_WARN, "object left out",
		    LS("resource", resources[kind].name), LS("err", e->text));
	return -1;
}

/* Returns whether the object that was refused because of *e is a ticket whose
 * name can be read.  Such a ticket is not left out, because it ends the hold of
 * its earlier version. */
static bool
ticket_anyway(const char *bytes, size_t n, enum watch_type *type,
	      struct sighting *out, const struct err *e)
{
	return out->kind == KIND_TICKET && e->code != ERR_SYSTEM &&
	       ticket_unread_decode(bytes, n, type, &out->as.ticket, e) == 0;
}

static int
too_large(const char *bytes, size_t n, struct err *e)
{
	return bytes != NULL ? 0
			     : err_set(e, ERR_LIMIT, "%zu bytes, more than %u",
				       n, ITEM_BYTES_MAX);
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
	if (too_large(bytes, n, e))
		return left_out(out->kind, e);
	if (item_decode(bytes, n, hold, out, e) == 0 ||
	    ticket_anyway(bytes, n, NULL, out, e))
		return 0;
	return left_out(out->kind, e);
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
	if (too_large(bytes, n, e))
		return left_out(out->kind, e);
	if (any_line_decode(bytes, n, hold, type, out, status_code, e) == 0 ||
	    ticket_anyway(bytes, n, type, out, e))
		return 0;
	return left_out(out->kind, e);
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
