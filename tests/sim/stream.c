/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"

#define DOWN_SAYS_MS 3	/* a server that is down refuses after so long */

void
stream_init(struct stream *s, uint64_t seed)
{
	/* The API server refuses or delays whoever asks. */
	*s = (struct stream){.fresh_list = true,
			     .refused_until = s->refused_until,
			     .lag_ms = s->lag_ms,
			     .lag_until = s->lag_until};
	reflect_init(&s->reflect, seed);
}

void
stream_done(struct stream *s)
{
	free(s->page);
	s->page = NULL;
}

int64_t
ticket_seen_until(const struct holder *h, const struct sight *s)
{
	int64_t from = s->renewed_ms < s->renewed_clock ? s->renewed_ms
							: s->renewed_clock;

	return s->renewed_ms <= 0 ||
			       s->renewed_ms > s->renewed_clock + 600000
		       ? STAMP_NONE
		       : from + s->lasts_ms + h->shifted - s->renewed_shifted;
}

/* Of a claim that is too large it sees only the metadata. */
void
holder_knows(struct holder *h, const struct thing *shown)
{
	struct thing seen = *shown;
	const struct thing *t = &seen;
	struct sight *s = &h->sights[t->index];
	int64_t now = h->w->now, clock = holder_now(h).server_ms;
	int64_t renewed_ms = ticket_is_whole(t) ? t->renewed_ms : -1;

	if (seen.large && seen.kind == KIND_NODECLAIM) {
		seen.launched = seen.rebooted = false;
		seen.disrupted_ms = seen.ready_ms = STAMP_NONE;
	}
	if (s->at < 0 || (s->launched_at < 0 && t->launched))
		h->w->sighted++;
	if (s->at < 0) {
		s->at = now;
		s->clock = clock;
		s->shifted = h->shifted;
	}
	/* A list may begin before the renewal that the watch has shown. */
	if (t->kind == KIND_TICKET && s->renewed_ms != renewed_ms &&
	    t->touched >= s->renewed_at) {
		s->renewed_at = t->touched;
		s->was_until = ticket_seen_until(h, s);
		s->renewed_ms = renewed_ms;
		s->renewed_clock = clock;
		s->renewed_shifted = h->shifted;
	}
	s->lasts_ms = t->lasts_ms;
	if (s->launched_at < 0 && t->launched)
		s->launched_at = now;
	if (s->disrupted_at < 0 && t->disrupted_ms != STAMP_NONE)
		s->disrupted_at = now;
	if (s->deleted_at < 0 && t->deleting) {
		s->deleted_at = now;
		s->deleted_clock = clock;
		s->deleted_shifted = h->shifted;
	}
	if (t->rebooted && s->ready_at >= 0 && s->old_at < 0 &&
	    s->ready_stamp == t->first_ready_ms) {
		s->old_at = s->ready_at;
		s->old_clock = s->ready_clock;
		s->old_shifted = s->ready_shifted;
	}
	if (t->rebooted && s->ready_stamp != t->ready_ms)
		s->ready_at = -1;
	if (s->ready_at < 0 && t->ready_ms != STAMP_NONE) {
		s->ready_stamp = t->ready_ms;
		s->ready_at = now;
		s->ready_clock = clock;
		s->ready_shifted = h->shifted;
	}
}

static void
show_pool(struct holder *h, const struct thing *t, bool deleted)
{
	struct nodepool p;

	thing_pool(t, true, &p);
	h->alone_ms[pool_state(h->w, p.name) - h->w->nodepools] =
		deleted ? INT64_MAX : nodepool_alone_ms(&p);
	if (deleted)
		controller_nodepool_gone(h->controller, p.name, holder_now(h));
	else
		controller_nodepool(h->controller, &p, holder_now(h));
}

static void
show_ticket(struct holder *h, const struct thing *t, bool deleted)
{
	struct ticket ticket;

	thing_ticket(t, &ticket);
	if (deleted)
		controller_ticket_gone(h->controller, ticket.name,
				       holder_now(h));
	else
		controller_ticket(h->controller, &ticket, holder_now(h));
}

static void
show(struct holder *h, const struct thing *t, bool deleted)
{
	struct object o;

	h->poked = true;
	if (t->large && t->kind != KIND_NODECLAIM) {
		controller_skipped(h->controller, t->kind, holder_now(h));
		return;
	}
	if (t->kind == KIND_NODEPOOL) {
		show_pool(h, t, deleted);
		return;
	}
	holder_knows(h, t);
	if (deleted)
		h->sights[t->index].gone_at = h->w->now;
	if (t->kind == KIND_TICKET) {
		show_ticket(h, t, deleted);
		return;
	}
	if (t->kind == KIND_EVENT) {
		if (!deleted)
			controller_disruption_event(h->controller, t->other,
						    t->class, holder_now(h));
		return;
	}
	thing_object(t, &h->rules.hold, &o);
	if (deleted)
		controller_forget(h->controller, &o, holder_now(h));
	else
		controller_track(h->controller, &o, holder_now(h));
}

/* --- list ----------------------------------------------------------------- */

/* Orders the objects by name, as etcd does. */
static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct thing *)a)->name,
		      ((const struct thing *)b)->name);
}

static void
snapshot(struct holder *h, struct stream *s, enum kind kind)
{
	struct world *w = h->w;

	free(s->page);
	s->page = calloc((size_t)w->things_n + 1, sizeof(*s->page));
	if (s->page == NULL)
		abort();
	s->page_n = s->page_at = 0;
	s->page_rv = w->rv;
	for (int i = 0; i < w->things_n; i++)
		if (w->things[i].used && w->things[i].kind == kind)
			s->page[s->page_n++] = w->things[i];
	qsort(s->page, (size_t)s->page_n, sizeof(*s->page), by_name);
}

static void
list_failed(struct holder *h, struct stream *s, enum reflect_code code,
	    int64_t retry_after_ms)
{
	s->state = STREAM_IDLE;
	s->fresh_list = true;
	reflect_done(&s->reflect,
		     &(struct reflect_outcome){
			     .code = code, .retry_after_ms = retry_after_ms},
		     holder_now(h));
}

/* A list of NodePools is complete.  A NodePool that it did not show is no
 * longer left alone. */
static void
pools_gone(struct holder *h, const struct stream *s)
{
	int64_t alone_ms[POOLS];

	for (int i = 0; i < POOLS; i++)
		alone_ms[i] = INT64_MAX;

	for (int i = 0; i < s->page_n; i++) {
		int p = (int)(pool_state(h->w, s->page[i].name) -
			      h->w->nodepools);

		alone_ms[p] = h->alone_ms[p];
	}
	memcpy(h->alone_ms, alone_ms, sizeof(alone_ms));
}

/* Forgets what the replica knew and the whole list does not show.  If the list
 * left something out, objects that are too large count as still there. */
static void
see_gone(struct holder *h, const struct stream *s, enum kind kind)
{
	bool shown[THINGS] = {false}, left_out = false;

	for (int i = 0; i < s->page_n; i++) {
		shown[s->page[i].index] = true;
		left_out |= s->page[i].large;
	}
	for (int i = 0; i < h->w->things_n; i++)
		if (h->w->things[i].kind == kind && !shown[i] &&
		    !(left_out && h->w->things[i].kind == KIND_NODE &&
		      h->w->things[i].large) &&
		    h->sights[i].at >= 0 && h->sights[i].gone_at < 0)
			h->sights[i].gone_at = h->w->now;
}

static void
list_page(struct holder *h, struct stream *s, enum kind kind)
{
	char rv[RV_BYTES];
	struct reflect_outcome o = {.code = REFLECT_PAGE,
				    .rv = rv,
				    .cont = "more",
				    .retry_after_ms = -1};
	struct world *w = h->w;

	if (w->now < w->down_until || w->now < s->refused_until) {
		list_failed(h, s, REFLECT_FAILED, -1);
		return;
	}
	if (w->now < w->busy_until) {
		list_failed(h, s, REFLECT_FAILED, w->retry_after_ms);
		return;
	}
	if (w->now < w->unserved_until[kind]) {
		s->unserved = !s->complete;
		controller_listed(h->controller, kind, false, holder_now(h));
		h->poked = true;
		list_failed(h, s, REFLECT_UNSERVED, -1);
		return;
	}
	if (s->fresh_list)
		snapshot(h, s, kind);
	else if (s->page_rv < w->compacted) {
		list_failed(h, s, REFLECT_EXPIRED, -1);
		return;
	}
	s->fresh_list = false;
	for (int n = 0; n < h->page && s->page_at < s->page_n; n++)
		show(h, &s->page[s->page_at++], false);
	snprintf(rv, sizeof(rv), "%llu", (unsigned long long)s->page_rv);
	s->state = STREAM_IDLE;
	if (s->page_at < s->page_n) {
		reflect_done(&s->reflect, &o, holder_now(h));
		return;
	}
	s->fresh_list = s->complete = true;
	s->listed = w->now;
	s->unserved = false;
	if (kind == KIND_NODEPOOL)
		pools_gone(h, s);
	see_gone(h, s, kind);
	controller_listed(h->controller, kind, true, holder_now(h));
	h->poked = true;
	tell(w, "holder %d   has listed %ss: %d", h->number, object_kind_name(kind),
	     s->page_n);
	o.code = REFLECT_COMPLETE;
	reflect_done(&s->reflect, &o, holder_now(h));
}

/* --- watch ---------------------------------------------------------------- */

static void
watch_over(struct holder *h, struct stream *s, enum kind kind,
	   enum reflect_code code)
{
	s->state = STREAM_IDLE;
	s->closed = h->w->now;
	s->hung_until = 0;
	controller_watch(h->controller, kind, false);
	h->poked = true;
	reflect_done(
		&s->reflect,
		&(struct reflect_outcome){.code = code, .retry_after_ms = -1},
		holder_now(h));
}

void
holder_restart(struct holder *h, enum kind kind)
{
	struct stream *s = &h->streams[kind];

	s->state = STREAM_IDLE;
	s->hung_until = 0;
	s->fresh_list = true;
	s->complete = s->unserved = false;
	reflect_restart(&s->reflect);
}

void
holder_cut(struct holder *h, enum kind kind)
{
	struct stream *s = &h->streams[kind];

	if (!h->up || s->state != STREAM_OPEN)
		return;
	tell(h->w, "fault      holder %d's watch of %ss is cut", h->number,
	     object_kind_name(kind));
	watch_over(h, s, kind, REFLECT_FAILED);
}

static void
watch_open(struct holder *h, struct stream *s, enum kind kind)
{
	struct world *w = h->w;
	uint64_t rv = strtoull(s->reflect.rv, NULL, 10);
	size_t n = w->lines_n[kind];

	if (w->now < w->down_until || w->now < w->busy_until ||
	    w->now < s->refused_until || w->now < w->unserved_until[kind]) {
		watch_over(h, s, kind, REFLECT_FAILED);
		return;
	}
	if (rv < w->compacted) {
		tell(w, "holder %d   watch of %ss expired", h->number,
		     object_kind_name(kind));
		watch_over(h, s, kind, REFLECT_EXPIRED);
		return;
	}
	while (n > 0 && w->lines[kind][n - 1].t.rv > rv)
		n--;
	s->pos = n;
	s->next_line = 0;
	s->last_line = w->now;
	s->state = STREAM_OPEN;
	s->opened = w->now;
	controller_watch(h->controller, kind, true);
	h->poked = true;
}

static int64_t
arrival(struct holder *h, struct stream *s, const struct line *l)
{
	struct world *w = h->w;
	int64_t lag = w->now < s->lag_until ? s->lag_ms : 0;

	if (s->next_line == 0) {
		s->next_line = l->at + between(&w->dice, 1, 40) + lag;
		if (s->next_line < s->last_line)
			s->next_line = s->last_line;
	}
	return s->next_line;
}

static void
take_line(struct holder *h, struct stream *s, const struct line *l)
{
	char rv[RV_BYTES];

	s->pos++;
	s->last_line = s->next_line;
	s->next_line = 0;
	show(h, &l->t, l->deleted);
	/* Now and then a line comes twice, as it may after a list. */
	if (roll(&h->w->dice, 64) == 0)
		show(h, &l->t, l->deleted);
	snprintf(rv, sizeof(rv), "%llu", (unsigned long long)l->t.rv);
	reflect_seen(&s->reflect, rv);
}

static int64_t
hung(struct holder *h, struct stream *s, enum kind kind)
{
	/* A watch of Events has no bookmarks that could be missed. */
	int64_t found = (kind == KIND_EVENT ? s->ends : s->hung_since) +
			WATCH_SILENT_MS;

	if (h->w->now < found)
		return s->hung_until < found ? s->hung_until : found;
	tell(h->w, "holder %d   watch of %ss is silent", h->number,
	     object_kind_name(kind));
	watch_over(h, s, kind, REFLECT_FAILED);
	return h->w->now;
}

static int64_t
watch_step(struct holder *h, struct stream *s, enum kind kind)
{
	struct world *w = h->w;

	if (w->now < w->down_until) {
		watch_over(h, s, kind, REFLECT_FAILED);
		return w->now;
	}
	if (w->now < s->hung_until)
		return hung(h, s, kind);
	while (w->now < s->ends && s->pos < w->lines_n[kind]) {
		const struct line *l = &w->lines[kind][s->pos];

		if (arrival(h, s, l) > w->now)
			return s->next_line < s->ends ? s->next_line : s->ends;
		take_line(h, s, l);
	}
	if (w->now < s->ends)
		return s->ends;
	watch_over(h, s, kind, REFLECT_ENDED);
	return w->now;
}

/* --- what core/protocol/reflect says -------------------------------------- */

static int64_t
begin(struct holder *h, struct stream *s, enum kind kind)
{
	struct world *w = h->w;
	struct reflect_todo todo = reflect_next(&s->reflect, holder_now(h));
	int64_t soon = w->now < w->down_until ? DOWN_SAYS_MS
					      : between(&w->dice, 1, 40);

	if (w->now < w->slow_until)
		soon += between(&w->dice, 0, 2000);
	switch (todo.step) {
	case REFLECT_WAIT:
		return w->now + todo.wait_ms;
	case REFLECT_LIST:
		if (s->fresh_list)
			controller_listing(h->controller, kind);
		s->state = STREAM_LISTING;
		break;
	case REFLECT_WATCH:
		s->state = STREAM_OPENING;
		s->ends = w->now + 1000 * (int64_t)todo.timeout_s;
		break;
	}
	s->at = w->now + soon;
	return s->at;
}

bool
stream_asked(struct holder *h, enum kind kind)
{
	struct stream *s = &h->streams[kind];

	if (s->state != STREAM_OPEN ||
	    !controller_wants_list(h->controller, kind))
		return false;
	reflect_restart(&s->reflect);
	watch_over(h, s, kind, REFLECT_ENDED);
	return true;
}

int64_t
stream_step(struct holder *h, enum kind kind)
{
	struct stream *s = &h->streams[kind];

	if (s->state == STREAM_OPEN) {
		int64_t next = watch_step(h, s, kind);

		if (s->state == STREAM_OPEN)
			return next;
	}
	if (s->state == STREAM_IDLE)
		return begin(h, s, kind);
	if (h->w->now < s->at)
		return s->at;
	if (s->state == STREAM_LISTING)
		list_page(h, s, kind);
	else
		watch_open(h, s, kind);
	return h->w->now;
}

int64_t
holder_behind_since(const struct holder *h, enum kind kind)
{
	const struct stream *s = &h->streams[kind];
	const struct world *w = h->w;
	uint64_t rv = strtoull(s->reflect.rv, NULL, 10);
	size_t n = w->lines_n[kind];

	if (s->state == STREAM_OPEN)
		return s->pos < n ? w->lines[kind][s->pos].at : w->now;
	/* Pages of a list are still to come. */
	if (!s->fresh_list)
		while (n > 0 && w->lines[kind][n - 1].at >= s->closed)
			n--;
	while (n > 0 && (!s->complete || w->lines[kind][n - 1].t.rv > rv))
		n--;
	return n < w->lines_n[kind] ? w->lines[kind][n].at : w->now;
}

int64_t
holder_lag_ms(const struct holder *h)
{
	int64_t oldest = h->w->now;

	for (int k = 0; k < VIEW_COUNT; k++) {
		if (!holder_watches(h, (enum kind)k))
			continue;
		int64_t since = holder_behind_since(h, (enum kind)k);

		oldest = since < oldest ? since : oldest;
	}
	return h->w->now - oldest;
}
