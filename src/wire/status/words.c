/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/duration.h"
#include "core/base/stamp.h"
#include "core/base/str.h"
#include "status_parts.h"

/*
 * The formats of /status share the words in this file, so that a reader finds
 * the same words in each format: the names of states, sentences about what is
 * waited for, who holds a machine, and until when.
 *
 * words_until and words_free answer the two questions that people ask: until
 * when is a machine held, and when may Karpenter take it?  They conclude this
 * from the reports of core/controller/status.h alone.  All functions are pure.
 * Texts that they return are static, and texts that they write have a bound
 * that status_parts.h names.
 */

const char *
words_scope_kind(enum scope_kind k)
{
	static const char *const names[] = {
		[SCOPE_CLUSTER] = "cluster",
		[SCOPE_NODEPOOL] = "nodepool",
		[SCOPE_NODE] = "node",
	};

	return names[k];
}

const char *
words_scope_state(enum scope_state s)
{
	static const char *const names[] = {
		[SCOPE_QUIET] = "quiet",
		[SCOPE_HELD] = "held",
		[SCOPE_CAPPED] = "released",
	};

	return names[s];
}

const char *
words_write(enum act a)
{
	switch (a) {
	case ACT_HOLD:
		return "hold";
	case ACT_CLEAR:
		return "release";
	case ACT_UNMARK:
		return "unmark";
	default:
		return "classify";
	}
}

const char *
words_outcome(enum written_how h)
{
	static const char *const names[] = {
		[WRITTEN_OK] = "written",      [WRITTEN_CONFLICT] = "conflict",
		[WRITTEN_REFUSED] = "refused", [WRITTEN_GONE] = "gone",
		[WRITTEN_FAILED] = "failed",   [WRITTEN_OBSERVED] = "observed",
	};

	return names[h];
}

const char *
words_wait(enum status_wait w)
{
	static const char *const names[WAIT_COUNT] = {
		[WAIT_UNSEEN] = "notSeen",
		[WAIT_UNREAD] = "unread",
		[WAIT_LIST] = "freshList",
		[WAIT_LIST_FAILED] = "freshListFailed",
		[WAIT_PAUSED] = "paused",
		[WAIT_COMING] = "newMachines",
	};

	return names[w];
}

const char *
words_resource(enum kind k)
{
	static const char *const names[VIEW_COUNT] = {
		[KIND_NODE] = "nodes",	       [KIND_NODECLAIM] = "nodeclaims",
		[KIND_NODEPOOL] = "nodepools", [KIND_EVENT] = "events",
		[KIND_TICKET] = "tickets",
	};

	return k < VIEW_COUNT ? names[k] : NULL;
}

void
words_wait_sentence(char out[WAIT_BYTES], const struct status_waits *w,
		    unsigned i)
{
	const char *of = words_resource(w->at[i].kind);

	switch (w->at[i].why) {
	case WAIT_UNSEEN:
		snprintf(out, WAIT_BYTES,
			 "%s cannot be listed or watched at "
			 "the moment, so nothing is released",
			 of);
		break;
	case WAIT_UNREAD:
		snprintf(out, WAIT_BYTES, "%s %s cannot be read whole",
			 object_kind_name(w->at[i].kind),
			 w->at[i].name[0] != '\0' ? w->at[i].name
						  : "of unknown name");
		break;
	case WAIT_LIST:
		snprintf(out, WAIT_BYTES,
			 "the fresh lists before a release "
			 "are being made");
		break;
	case WAIT_LIST_FAILED:
		snprintf(out, WAIT_BYTES,
			 "a fresh list%s%s failed, or showed "
			 "more than was known, and is made again",
			 of != NULL ? " of " : "", of != NULL ? of : "");
		break;
	case WAIT_PAUSED:
		snprintf(out, WAIT_BYTES,
			 "the API server has asked for a pause");
		break;
	default:
		snprintf(out, WAIT_BYTES, "%u new machines are about to count",
			 w->at[i].machines);
	}
}

const char *
words_ticket(const struct ticket_status *t)
{
	const char *problem =
		t->fault[0] != '\0' ? t->fault : ticket_problem(t->flaw);

	return problem == NULL && t->until_ms != STAMP_NONE && t->nodepools == 0
		       ? "it matches no NodePool that may be held"
		       : problem;
}

bool
words_left(char out[LEFT_BYTES], const struct status_head *h)
{
	const uint32_t *n = h->report.table.held;

	snprintf(out, LEFT_BYTES,
		 "our hold is on %u Node%s and %u NodeClaim%s "
		 "since a holder enforced, and only uninstall "
		 "or mode enforce removes it",
		 n[KIND_NODE], n[KIND_NODE] == 1 ? "" : "s", n[KIND_NODECLAIM],
		 n[KIND_NODECLAIM] == 1 ? "" : "s");
	return h->observe && n[KIND_NODE] + n[KIND_NODECLAIM] > 0;
}

const char *
words_scope(const struct status_head *h, const char *name)
{
	return h->rules->scope == SCOPE_CLUSTER ? "cluster" : name;
}

static const char *
words_by(const struct hand_holds *hand)
{
	return hand->tickets == 0	    ? "by hold-until"
	       : hand->tickets < hand->held ? "by hold-until or tickets"
					    : "by tickets";
}

void
words_end(struct buf *b, const struct scope_status *s)
{
	if (s->state == SCOPE_CAPPED)
		buf_puts(b, " at the earliest: its cap is used up");
	else if (s->until_cap)
		buf_puts(b, ", when its cap is used up");
	else if (s->until_hand)
		buf_printf(b, ", %s", words_by(&s->by_hand));
	else if (s->earliest)
		buf_puts(b, " at the earliest: machines are booting");
}

const char *
words_least(const struct nodepool_status *p)
{
	return p->nodepool.ticket_least_ms == p->nodepool.ticket_ms
		       ? ", because tickets hold for a minute at least"
		       : "";
}

void
words_hand(const struct status_head *h, const struct hand_holds *hand,
	   char out[HAND_BYTES])
{
	snprintf(out, HAND_BYTES, "%u of %u NodePool%s %s held %s", hand->held,
		 hand->nodepools, hand->nodepools == 1 ? "" : "s",
		 h->observe	   ? "would be"
		 : hand->held == 1 ? "is"
				   : "are",
		 words_by(hand));
}

/* --- a machine ------------------------------------------------------------ */

const char *
words_half_held(const struct half_status *h)
{
	if (!h->present)
		return NULL;
	if (h->tenure == TENURE_PERSON)
		return h->other ? NULL : "person";
	return h->tenure == TENURE_OURS ? "holder" : NULL;
}

/* Karpenter obeys the hold of the Node, so the NodeClaim's hold counts only if
 * the Node has none. */
const char *
words_held_by(const struct machine_status *m)
{
	const char *by = words_half_held(&m->node);

	return by != NULL ? by : words_half_held(&m->claim);
}

static bool
has_tenure(const struct machine_status *m, enum tenure t)
{
	return (m->node.present && m->node.tenure == t) ||
	       (m->claim.present && m->claim.tenure == t);
}

static bool
is_held_by_person(const struct half_status *h)
{
	return h->present && h->tenure == TENURE_PERSON && !h->other;
}

const char *
words_person(const struct machine_status *m)
{
	if (is_held_by_person(&m->node) || is_held_by_person(&m->claim))
		return "held";
	if (has_tenure(m, TENURE_YIELDED))
		return "released";
	return has_tenure(m, TENURE_PERSON) ? "otherValue" : NULL;
}

struct machine_until
words_until(const struct machine_status *m, const struct scope_status *scope,
	    int64_t now_ms)
{
	struct machine_until u = {.at_ms = STAMP_NONE,
				  .why = m->goal == GOAL_LEAVE ? "leave"
							       : m->why};

	if (m->goal != GOAL_HOLD)
		return u;
	if (m->own_ms > now_ms) {
		u.at_ms = m->own_ms;
		u.earliest = m->booting;
	}
	/* A scope that is held until a hold-until ends does not count here.
	 * manual_ms below is the end of the hold-until of the machine's own
	 * NodePool. */
	if (scope != NULL && scope->state == SCOPE_HELD && !m->drifts &&
	    !scope->until_hand) {
		if (scope->until_ms == STAMP_NONE || scope->until_ms > u.at_ms)
			u.why = "scale-up";
		/* If it is unknown when the scope's hold ends, the machine's
		 * own deadline is only the earliest end. */
		if (scope->until_ms == STAMP_NONE) {
			u.earliest = u.at_ms != STAMP_NONE;
		} else if (scope->until_ms >= u.at_ms) {
			u.at_ms = scope->until_ms;
			u.earliest = scope->earliest;
		}
	}
	if (m->manual_ms != STAMP_NONE && m->manual_ms > u.at_ms) {
		u.at_ms = m->manual_ms;
		u.earliest = false;
		u.why = m->by_ticket ? "ticket" : "hold-until";
	}
	return u;
}

const struct scope_status *
words_restarted(const struct machine_status *m,
		const struct scope_status *scope)
{
	return m->goal == GOAL_HOLD && scope != NULL &&
			       scope->state == SCOPE_HELD &&
			       !scope->hand_alone && scope->machine[0] != '\0'
		       ? scope
		       : NULL;
}

static bool
is_deleting(const struct machine_status *m)
{
	return m->claim.deleting || m->node.deleting;
}

enum machine_free
words_free(const struct status_head *h, const struct machine_status *m,
	   const struct machine_until *until)
{
	const char *by = words_held_by(m);

	if (is_deleting(m) || !m->claim.present)
		return FREE_UNSAID;
	if (by != NULL && by[0] == 'p')
		return FREE_PERSON;
	if (h->observe && (m->node.carries || m->claim.carries))
		return FREE_UNSAID;
	if (h->observe || by == NULL)
		return FREE_NOW;
	if (m->goal != GOAL_HOLD)
		return FREE_SOON;
	return until->at_ms != STAMP_NONE ? FREE_THEN : FREE_UNKNOWN;
}

const char *
words_row_name(const struct machine_status *m)
{
	return m->node.present ? m->node.name : m->claim.name;
}

const char *
words_row_by(const struct machine_status *m)
{
	const char *by = words_held_by(m);

	return by != NULL ? by : "nobody";
}

void
words_row_why(const struct machine_status *m, const struct machine_until *until,
	      char out[ROW_WHY_BYTES], bool *with_reason)
{
	const char *person = words_person(m), *by = words_held_by(m);
	const char *what = is_deleting(m)     ? "being deleted"
			   : person == NULL   ? NULL
			   : person[0] == 'h' ? "the hold is not the holder's"
			   : person[0] == 'r' ? "a person took its hold off"
					      : "the annotation has another "
						"value";

	*with_reason = what == NULL && m->reason[0] != '\0' &&
		       (strcmp(until->why, "hold-until") == 0 ||
			strcmp(until->why, "ticket") == 0);
	if (what != NULL)
		snprintf(out, ROW_WHY_BYTES, "%s", what);
	else
		snprintf(out, ROW_WHY_BYTES, "%s%s",
			 by == NULL && m->goal == GOAL_HOLD ? "not held yet, "
			 : by != NULL && m->goal == GOAL_CLEAR
				 ? "to be released, "
				 : "",
			 until->why);
}

/* --- annotations ---------------------------------------------------------- */

bool
words_annotation(const struct nodepool_status *p, enum nodepool_key k,
		 char out[ANNOTATION_BYTES])
{
	const struct nodepool *n = &p->nodepool;

	_Static_assert(ANNOTATION_BYTES >= STAMP_BYTES &&
			       ANNOTATION_BYTES >= DURATION_BYTES,
		       "room");
	switch (k) {
	case NODEPOOL_ENABLED:
		(void)str_copy(out, ANNOTATION_BYTES, "false");
		return n->disabled;
	case NODEPOOL_HOLD_UNTIL:
		if (p->by_hand)
			stamp_format(n->hold_until_ms, out);
		return p->by_hand;
	case NODEPOOL_RELEASED_AT:
		if (n->released_at_ms == STAMP_NONE || p->released_ahead)
			return false;
		stamp_format(n->released_at_ms, out);
		return true;
	case NODEPOOL_HOLD_DURATION:
		if (n->hold_ms < 0)
			return false;
		duration_format(n->hold_ms, out);
		return true;
	default:
		return false;
	}
}

bool
words_bad(const struct nodepool_status *p, enum nodepool_key k,
	  char value[NODEPOOL_BAD_BYTES], char why[BAD_BYTES])
{
	char stamp[STAMP_BYTES];

	if (p->nodepool.bad[k][0] != '\0') {
		memcpy(value, p->nodepool.bad[k], NODEPOOL_BAD_BYTES);
		snprintf(why, BAD_BYTES, "expected %s", nodepool_expected(k));
		return true;
	}
	if (k != NODEPOOL_RELEASED_AT || !p->released_ahead)
		return false;
	stamp_format(p->nodepool.released_at_ms, stamp);
	snprintf(value, NODEPOOL_BAD_BYTES, "%s", stamp);
	snprintf(why, BAD_BYTES, "it lies ahead, and counts when it comes");
	return true;
}

/* --- items that do not fit ------------------------------------------------ */

uint64_t
words_left_out(const struct status_machines *list, uint32_t seen, uint64_t left)
{
	return left == 0 || list->total < seen ? left
					       : list->total - seen + left;
}

void
words_settle(struct buf *b, const struct buf *before, size_t limit,
	     uint64_t *left)
{
	if (!b->full && b->len <= limit)
		return;
	*b = *before;
	b->data[b->len] = '\0';
	++*left;
}
