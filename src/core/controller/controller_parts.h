/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_CONTROLLER_PARTS_H
#define CORE_CONTROLLER_CONTROLLER_PARTS_H

#include "controller_state.h"

/*
 * The functions that the files of the controller call in each other.  The files
 * are layers: each calls only those above it in this list.  The public
 * functions that change the controller pass the time through controller_steady
 * first, so `now` and now_ms below are already steady.
 */

/* steady.c.  Returns the time that the controller uses for its decisions.  The
 * server time in the result does not go back by small steps.  If the API
 * server's clock was set, the function shifts the times in memory. */
struct now controller_steady(struct controller *s, struct now now);
/* Forgets the last reading of the clock, so that the next reading counts as no
 * shift.  Call it only while the table is empty, because the times in the table
 * are not shifted. */
void controller_steady_forget(struct controller *s);

/* refresh.c.  controller_queue queues the machine of entry `id`, and
 * controller_queue_all queues all machines, so that controller_next decides
 * about them again. */
void controller_queue(struct controller *s, uint32_t id);
void controller_queue_all(struct controller *s);
/* Returns what applies to the machine because of its NodePool. */
struct nodepool_terms controller_terms(const struct controller *s,
				       uint32_t head, int64_t now_ms);
/* Returns when the machine's own quiet time ends or ended, or STAMP_NONE. */
int64_t controller_own_ms(const struct controller *s, uint32_t head,
			  int64_t now_ms);
/* Call this when the facts of the entry have changed.  It sets the timer of the
 * entry's machine and queues the machine. */
void controller_refresh(struct controller *s, uint32_t id, int64_t now_ms);
/* controller_unread records whether the object, which was just seen or is gone,
 * is unread (struct object), and counts it if it is.  controller_count_skipped
 * counts an object that cannot be read. */
void controller_unread(struct controller *s, enum kind kind, const char *name,
		       bool unread);
void controller_count_skipped(struct controller *s, enum kind kind);
/* Removes an object that is gone, and everything that is known about it. */
void controller_drop(struct controller *s, uint32_t id, struct now now);

/* turns.c keeps the history.  No decision depends on it.
 * controller_scope_turned records that the scope has turned
 * (core/controller/journal.h).  It returns for how many milliseconds the scope
 * had been held, or -1 if that is unknown.  controller_turn_by_hand records
 * what has changed in the hold-until, the tickets and the released-at of the
 * NodePool in this place.  `first` means that this lead has not been shown the
 * NodePool before.  controller_turns_by_hand does this for all NodePools that
 * were shown. */
int64_t controller_scope_turned(struct controller *s, uint32_t scope,
				struct now now);
void controller_turn_by_hand(struct controller *s, uint32_t place, bool first,
			     struct now now);
void controller_turns_by_hand(struct controller *s, bool first, struct now now);
/* Returns whether a list or a watch has shown the NodePool during this lead.
 * `known` points into the table of NodePools. */
bool controller_was_shown(const struct controller *s,
			  const struct nodepool *known);
/* controller_turns_init begins an empty history.  Call controller_turns_lead
 * when a lead begins.  Call controller_turns_settle when everything is seen: it
 * records the release of each scope that the previous leader left held and that
 * is no longer held. */
void controller_turns_init(struct controller *s);
void controller_turns_lead(struct controller *s, struct now now);
void controller_turns_settle(struct controller *s, struct now now);
/* Returns when the scope turned last, or STAMP_NONE if that is unknown. */
int64_t controller_turned_ms(const struct controller *s, uint32_t scope);
/* Returns when the last of the scope's NodePools that are held by hand became
 * held, or STAMP_NONE if that is unknown. */
int64_t controller_by_hand_ms(const struct controller *s, const char *scope,
			      int64_t now_ms);
/* Returns the name of the machine with this timer, or "" for NO_ID. */
const char *controller_machine_name(const struct controller *s, uint32_t id);

/* tell.c reports scopes.  Call controller_tell_turn when a scope has turned,
 * and controller_tell_news when time has passed.  controller_news_next_boot_ms
 * returns when the next report is due if nothing else happens, or STAMP_NONE.
 */
void controller_tell_turn(struct controller *s, uint32_t scope, struct now now);
void controller_tell_news(struct controller *s, struct now now);
int64_t controller_news_next_boot_ms(const struct controller *s);
/* Ends the measurement of hold_latency_seconds for each held scope where it has
 * not ended (news.h), and records the result.  Does nothing while an object
 * still has to be held. */
void controller_latency(struct controller *s, struct now now);

/* controller_nodepools.c.  controller_nodepools_listed drops the NodePools that
 * the complete list did not show.  controller_nodepools_turn applies each
 * hold-until, end of a ticket and released-at whose time has come.
 * controller_nodepools_teach sets the cap and the released-at of each scope
 * that timers_untaught returns. */
void controller_nodepools_listed(struct controller *s, struct now now);
void controller_nodepools_turn(struct controller *s, struct now now);
void controller_nodepools_teach(struct controller *s, struct now now);
/* Computes again until when tickets hold the NodePool in this place.  Call it
 * when one of these tickets has begun, was changed or has ended. */
void controller_nodepool_tickets(struct controller *s, uint32_t place,
				 struct now now);

/* What a person or tickets hold a NodePool for. */
struct manual {
	enum manual_by by;
	int64_t until_ms; /* server time, or STAMP_NONE if nothing holds it */
	/* The ticket's place in struct tickets.  NO_ID for a person, and for
	 * tickets that have ended (TICKET_LEAST_MS). */
	uint32_t ticket;
	/* The text that describes the ticket (tickets_words), or the reason
	 * that the person gave, or "". */
	char reason[REASON_BYTES];
};

/* turns.c.  Returns what holds the NodePool in this place, if anything does
 * beside its scope: the ticket that ends last, unless its hold-until ends
 * later.  Everything that reports who holds a NodePool asks this function. */
struct manual controller_manual(const struct controller *s, uint32_t place,
				int64_t now_ms);

/* controller_tickets.c.  controller_tickets_listed drops the tickets that the
 * complete list did not show.  Call controller_tickets_forget when a lead
 * begins or ends, and controller_fresh_tickets when a fresh list begins. */
void controller_tickets_listed(struct controller *s, struct now now);
void controller_tickets_forget(struct controller *s);
void controller_fresh_tickets(struct controller *s);

/* fresh.c.  Call this when a fresh list has ended. */
void controller_fresh_done(struct controller *s, enum kind kind,
			   const struct controller_outcome *o, struct now now);

/* advance.c.  Does everything that is due by now: deadlines, scopes that turn,
 * and backoffs that end. */
void controller_advance(struct controller *s, struct now now);

/* act.c.  Returns the goal for the machine, and sets *why to the reason in one
 * word. */
enum goal controller_goal(const struct controller *s, uint32_t head,
			  struct now now, const char **why);
/* Returns whether the machine has drifted and is therefore not held for its
 * scope (DRIFT_ALLOW). */
bool controller_drifts(const struct controller *s, uint32_t head);
/* controller_act_on finds an action for one machine, and controller_start_fresh
 * the next fresh list.  Both return true if they found something that may be
 * done now. */
bool controller_act_on(struct controller *s, uint32_t head, struct now now,
		       struct action *out);
bool controller_start_fresh(struct controller *s, struct now now,
			    struct action *out);

/* wait.c.  Returns true while it is too early in a lead for any action.  If
 * time alone ends this state, the function lowers *wait_ms, which the caller
 * has set, to the number of milliseconds until then. */
bool controller_begins(struct controller *s, struct now now, int64_t *wait_ms);
/* Returns after how many milliseconds controller_next has to be called again,
 * or INT64_MAX. */
int64_t controller_wait(const struct controller *s, struct now now);

#endif
